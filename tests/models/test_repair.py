"""Mending keeps what was there, invents nothing, and checks its own work."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from langdu.errors import ModelError
from langdu.models.check import check
from langdu.models.repair import repair
from langdu.models.store import MANIFEST, read_manifest
from tests.models.conftest import Copy, replace


def without_block(folder: Path) -> bytes:
    config = json.loads((folder / "config.json").read_text())
    config.pop("quantization")
    config.pop("quantization_config")
    replace(folder / "config.json", json.dumps(config).encode())
    return (folder / "config.json").read_bytes()


def test_the_quantization_block_comes_back_from_the_shapes(copy: Copy) -> None:
    folder = copy("eight")
    before = without_block(folder)
    done = repair(folder)
    assert json.loads((folder / "config.json").read_text())["quantization"] == {
        "group_size": 32, "bits": 8, "mode": "affine",
    }  # fmt: skip
    assert done.mended == ["config.json: quantization set to 8 bit, groups of 32"]
    assert done.left == check(folder) == []
    assert done.backup is not None and (done.backup / "config.json").read_bytes() == before


def test_a_second_repair_finds_nothing_to_do(copy: Copy) -> None:
    folder = copy("eight")
    without_block(folder)
    repair(folder)
    again = repair(folder)
    assert (again.mended, again.backup, again.left) == ([], None, [])


def test_the_manifest_follows_what_was_mended(copy: Copy) -> None:
    folder = copy("eight")
    without_block(folder)
    repair(folder)
    manifest = read_manifest(folder)
    assert manifest.files["config.json"].size == (folder / "config.json").stat().st_size
    assert manifest.source.endswith("(repaired)")


def test_missing_files_come_from_the_original(copy: Copy) -> None:
    folder, original = copy("eight"), copy("base")
    for name in ("config.json", "generation_config.json", "vocab.json", "merges.txt"):
        (folder / name).unlink()
    shutil.rmtree(folder / "speech_tokenizer")
    done = repair(folder, original)
    assert done.left == []
    assert json.loads((folder / "config.json").read_text())["quantization"]["bits"] == 8
    for name in ("vocab.json", "speech_tokenizer/model.safetensors"):
        assert (folder / name).read_bytes() == (original / name).read_bytes()


def test_a_damaged_codec_is_replaced_and_kept(copy: Copy) -> None:
    folder, original = copy("eight"), copy("base")
    replace(folder / "speech_tokenizer/model.safetensors", b"<html>")
    done = repair(folder, original)
    assert done.left == []
    assert done.backup is not None
    assert (done.backup / "speech_tokenizer/model.safetensors").read_bytes() == b"<html>"
    assert not (done.backup / "speech_tokenizer/config.json").exists()  # it was the same


def test_without_an_original_what_cannot_be_mended_is_left_and_named(copy: Copy) -> None:
    folder = copy("eight")
    (folder / "vocab.json").unlink()
    (folder / MANIFEST).unlink()
    done = repair(folder)
    assert (done.mended, [finding.file for finding in done.left]) == ([], ["vocab.json"])


def test_weights_are_never_replaced_by_those_of_another_precision(copy: Copy) -> None:
    folder, original = copy("eight"), copy("base")
    replace(folder / "model.safetensors", b"")
    done = repair(folder, original)
    assert (folder / "model.safetensors").read_bytes() == b""
    assert [(finding.file, finding.mend) for finding in done.left] == [("model.safetensors", "fetch")]


def test_an_original_of_another_variant_is_refused_and_nothing_is_written(copy: Copy) -> None:
    folder, other = copy("eight"), copy("custom")
    (folder / "config.json").unlink()
    (folder / "vocab.json").unlink()
    with pytest.raises(ModelError, match="is of another model"):
        repair(folder, other)
    assert not (folder / "config.json").exists() and not (folder / "vocab.json").exists()


def test_an_original_with_the_same_fault_is_refused(copy: Copy) -> None:
    folder, original = copy("eight"), copy("base")
    for place in (folder, original):
        (place / "vocab.json").unlink()
    with pytest.raises(ModelError, match=r"cannot help: vocab\.json: is missing"):
        repair(folder, original)


def test_the_folder_itself_is_no_original(copy: Copy) -> None:
    folder = copy("eight")
    with pytest.raises(ModelError, match="not another model folder"):
        repair(folder, folder)
