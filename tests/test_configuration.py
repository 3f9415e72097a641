"""Where settings come from, what is refused, and how the file is changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from langdu.configuration import FIELDS, read, set_value, strangers, unset
from langdu.errors import SettingError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "langdu" / "config.toml"


def value(name: str, environment: dict[str, str], file: Path) -> tuple[object, str, str]:
    found = next(one for one in read(environment, file) if one.name == name)
    return found.value, found.origin, found.where


def write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(file: Path) -> None:
    assert value("voice", {}, file) == ("zf_xiaobei", "default", "")
    write(file, 'voice = "zm_yunxi"\n')
    assert value("voice", {}, file) == ("zm_yunxi", "file", str(file))
    assert value("voice", {"LANGDU_VOICE": "me"}, file) == ("me", "environment", "LANGDU_VOICE")


def test_an_empty_variable_counts_as_not_set(file: Path) -> None:
    assert value("hub_endpoint", {"HF_ENDPOINT": ""}, file) == ("https://huggingface.co", "default", "")


def test_the_hub_is_named_by_the_variable_all_hub_clients_know_or_by_the_file(file: Path) -> None:
    write(file, 'hub_endpoint = "https://a.example"\n')
    assert value("hub_endpoint", {}, file)[0] == "https://a.example"
    assert value("hub_endpoint", {"HF_ENDPOINT": "https://b.example"}, file)[0] == "https://b.example"


@pytest.mark.parametrize(
    ("name", "text", "meant"),
    [
        ("workers", "3", 3), ("workers", "auto", None), ("port", "8000", 8000), ("pause_chunk_s", "0.2", 0.2),
        ("sources", "hub, pip", ("hub", "pip")), ("sources", '["npm"]', ("npm",)),
        ("data_dir", "~/speech", Path.home() / "speech"), ("token", "geheim", "geheim"),
    ],
)  # fmt: skip
def test_text_is_read_as_the_setting_means_it(file: Path, name: str, text: str, meant: object) -> None:
    variable = f"LANGDU_{name.upper()}"
    assert value(name, {variable: text}, file)[0] == meant
    assert set_value(name, text, file).value == meant
    assert value(name, {}, file)[:2] == (meant, "file")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('voce = "me"\n', r'there is no setting "voce"\. Did you mean voice'),
        ("port = 0\n", r"port: 0 cannot be used\. It is a whole number from 1 to 65535"),
        ('port = "8880"\n', "port: '8880' cannot be used"),
        ("chunk_chars = true\n", "chunk_chars: True cannot be used"),
        ("pause_chunk_s = nan\n", "pause_chunk_s: nan cannot be used"),
        ('workers = "many"\n', r"workers: 'many' cannot be used.*or auto"),
        ("voice = 3\n", "voice: 3 is not a text"),
        ('voice = " "\n', "voice: ' ' is not a text"),
        ('sources = ["ftp"]\n', 'sources: there is no source "ftp".*folder, hub'),
        ('sources = "hub"\n', "sources: 'hub' is not a list"),
        ('data_dir = "speech"\n', "data_dir: speech is not an absolute path"),
        ("voice = \n", r"is not TOML \(Invalid value \(at line 1"),
        ("[voice]\n", r"voice: \{\} is not a text"),
    ],
)
def test_what_is_wrong_in_the_file_is_named_with_file_and_key(file: Path, text: str, says: str) -> None:
    write(file, text)
    with pytest.raises(SettingError, match=says) as caught:
        read({}, file)
    assert str(file) in caught.value.message
    assert caught.value.exit_code == 2


def test_what_is_wrong_in_the_environment_is_named_by_its_variable(file: Path) -> None:
    with pytest.raises(SettingError, match="LANGDU_PORT: 'http' is not a whole number"):
        read({"LANGDU_PORT": "http"}, file)


def test_a_file_that_is_not_utf_8_is_an_error_and_a_byte_order_mark_is_not(file: Path) -> None:
    write(file, "")
    file.write_bytes(b"\xef\xbb\xbfport = 9000\n")
    assert value("port", {}, file)[0] == 9000
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match="is not TOML"):
        read({}, file)


def test_setting_keeps_comments_order_and_other_lines(file: Path) -> None:
    write(file, '# mine\nport = 9000  # the old one is taken\n\n# the good one\nvoice = "me"\n')
    set_value("port", "9001", file)
    assert file.read_text() == '# mine\nport = 9001  # the old one is taken\n\n# the good one\nvoice = "me"\n'


def test_a_refused_value_leaves_the_file_as_it_was(file: Path) -> None:
    write(file, "port = 9000\n")
    with pytest.raises(SettingError):
        set_value("port", "0", file)
    assert (file.read_text(), sorted(file.parent.iterdir())) == ("port = 9000\n", [file])


def test_a_wrong_value_or_key_can_be_mended_by_set_and_unset(file: Path) -> None:
    write(file, 'port = "many"\nvoce = "x"\n')
    set_value("port", "9000", file)
    assert unset("voce", file)
    assert value("port", {}, file)[0] == 9000
    assert not unset("voce", file)


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("port = 9000\n")
    link = tmp_path / "config.toml"
    link.symlink_to("dotfiles.toml")
    set_value("port", "9001", link)
    assert link.is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == "port = 9001\n"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SettingError, match="cannot be written"):
        set_value("port", "9000", tmp_path / "sub" / "config.toml")


def test_a_secret_is_not_shown(file: Path) -> None:
    assert "geheim" not in set_value("token", "geheim", file).shown


def test_a_variable_that_is_almost_a_setting_is_told_apart_from_other_programs() -> None:
    assert strangers({"LANGDU_VOICES": "me", "LANGDU_TEST_REGISTRIES": "1", "VOICE": "x"}) == {
        "LANGDU_VOICES": "LANGDU_VOICE"
    }


def test_every_setting_says_what_it_is() -> None:
    assert all(one.metadata["about"].endswith(".") for one in FIELDS.values())
