"""What is on this machine, and whether it is whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from langdu.errors import ModelError, SettingError
from langdu.models.catalog import CATALOG, ModelFile, find
from langdu.models.store import MANIFEST, folder_of, installed, model_dir, read_manifest, remove, write_manifest

NAME = "whisper-small"


@pytest.fixture
def here(data_dir: Path) -> Path:
    folder = folder_of(NAME)
    folder.mkdir(parents=True)
    (folder / "model.bin").write_bytes(b"1234")
    write_manifest(folder, NAME, "MIT", "a test", [ModelFile("model.bin", 4, "0" * 64)])
    return folder


def test_an_installed_model_has_one_folder_for_all(here: Path, data_dir: Path) -> None:
    assert model_dir(NAME) == here == data_dir / "models" / NAME


def test_a_model_that_is_not_here_says_how_to_get_it(data_dir: Path) -> None:
    with pytest.raises(ModelError) as caught:
        model_dir(NAME)
    assert caught.value.hint == f"Run: langdu models get {NAME}"


@pytest.mark.parametrize(("data", "state"), [(None, "missing"), (b"123", "damaged")])
def test_a_model_with_a_file_missing_or_short_is_not_whole(here: Path, data: bytes | None, state: str) -> None:
    (here / "model.bin").unlink()
    if data is not None:
        (here / "model.bin").write_bytes(data)
    with pytest.raises(ModelError, match=f"model.bin is {state}"):
        model_dir(NAME)


@pytest.mark.parametrize(
    "manifest",
    ["", "{", "[]", '{"files": 3}', '{"name": "x", "files": {"../../x": {"size": 1, "sha256": ""}}}'],
)
def test_a_damaged_manifest_is_one_damaged_model_not_a_crash(here: Path, manifest: str) -> None:
    (here / MANIFEST).write_text(manifest)
    with pytest.raises(ModelError, match=r"langdu\.json cannot be read"):
        read_manifest(here)
    assert [(model.entry.name, bool(model.problem)) for model in installed()] == [(NAME, True)]


def test_a_removed_model_leaves_nothing(here: Path, data_dir: Path) -> None:
    here.with_name(f".{NAME}.partial").mkdir()
    remove(NAME)
    assert [path.name for path in (data_dir / "models").iterdir()] == [f".{NAME}.lock"]


def test_a_folder_of_the_users_is_not_removed(data_dir: Path) -> None:
    folder_of(NAME).mkdir(parents=True)
    with pytest.raises(ModelError, match="not made by Langdu"):
        remove(NAME)
    assert folder_of(NAME).is_dir()


def test_an_unknown_name_lists_near_ones() -> None:
    with pytest.raises(SettingError) as caught:
        find("kokorro")
    assert "kokoro" in caught.value.hint


@pytest.mark.parametrize("size", ["0.6b", "1.7b"])
@pytest.mark.parametrize("kind", ["base", "customvoice", "voicedesign"])
def test_every_published_qwen3_conversion_is_in_the_catalogue(size: str, kind: str) -> None:
    for suffix in ("bf16", "8bit", "6bit", "4bit"):
        entry = CATALOG[f"qwen3-{size}-{kind}-{suffix}"]
        assert entry.hub.lower() == f"mlx-community/qwen3-tts-12hz-{size}-{kind}-{suffix}"
    assert CATALOG[f"qwen3-{size}-{kind}-official"].hub.lower() == f"qwen/qwen3-tts-12hz-{size}-{kind}"


@pytest.mark.parametrize("name", ["kokoro", "whisper-base", "speaker-encoder"])
def test_models_from_registries_have_every_file_pinned(name: str) -> None:
    entry = CATALOG[name]
    assert entry.files and all(len(file.sha256) == 64 and file.size > 0 for file in entry.files)
    carried = {target for package in entry.packages for _, target in package.members}
    assert carried == {file.path for file in entry.files}


def test_a_manifest_is_readable_json(here: Path) -> None:
    assert json.loads((here / MANIFEST).read_text())["source"] == "a test"
