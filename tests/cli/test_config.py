"""langdu config: every setting with its value and origin; changing the file; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Run


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), "LANGDU_DATA_DIR": str(tmp_path / "data")}


def test_each_setting_is_shown_with_where_it_came_from(langdu: Run, env: dict[str, str], tmp_path: Path) -> None:
    assert langdu("config", "set", "port", "9000", env=env).returncode == 0
    done = langdu("config", "--json", env=env | {"LANGDU_VOICE": "zm_yunxi", "LANGDU_TOKEN": "geheim"})
    found = json.loads(done.stdout)
    rows = {row["name"]: row for row in found["settings"]}
    assert found["file"] == str(tmp_path / "langdu" / "config.toml")
    assert {name: (rows[name]["value"], rows[name]["where"]) for name in ("port", "voice", "chunk_chars")} == {
        "port": (9000, found["file"]), "voice": ("zm_yunxi", "LANGDU_VOICE"), "chunk_chars": (160, ""),
    }  # fmt: skip
    assert "geheim" not in done.stdout
    plain = langdu("config", env=env)
    assert f"port\t9000\t{found['file']}\t--port\tPort of the service." in plain.stdout.splitlines()


def test_a_wrong_value_is_exit_2_with_file_and_key(langdu: Run, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "langdu").mkdir()
    (tmp_path / "langdu" / "config.toml").write_text("port = 99999\n")
    done = langdu("config", env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert "config.toml: port: 99999 cannot be used" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("voce", "x"), "Did you mean voice"),
        (("voice", "zf_xiaobe"), "Did you mean zf_xiaobei"),
        (("checker", "whisper-bas"), "Did you mean whisper-base"),
        (("port", "x"), "'x' is not a whole number"),
    ],
)
def test_what_cannot_be_set_is_refused_with_near_names(
    langdu: Run, env: dict[str, str], tmp_path: Path, arguments: tuple[str, str], says: str
) -> None:
    done = langdu("config", "set", *arguments, env=env)
    assert (done.returncode, says in done.stderr, (tmp_path / "langdu").exists()) == (2, True, False)


def test_a_variable_that_wins_over_the_file_is_said(langdu: Run, env: dict[str, str]) -> None:
    done = langdu("config", "set", "workers", "2", env=env | {"LANGDU_WORKERS": "1", "LANGDU_WORKER": "1"})
    assert "LANGDU_WORKERS is set in the environment and wins" in done.stderr
    assert (
        "LANGDU_WORKER is no setting; did you mean LANGDU_WORKERS?"
        in langdu("config", env=env | {"LANGDU_WORKER": "1"}).stderr
    )


def test_unset_brings_the_default_back(langdu: Run, env: dict[str, str]) -> None:
    langdu("config", "set", "workers", "2", env=env)
    assert langdu("config", "unset", "workers", env=env).stdout.strip() == "workers = auto  (default)"
    assert "is not in" in langdu("config", "unset", "workers", env=env).stderr
    assert langdu("config", "unset", "wokers", env=env).returncode == 2
