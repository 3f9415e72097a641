"""Each fault of a model folder is named before anything is loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from langdu.errors import ModelError
from langdu.models.catalog import ModelFile
from langdu.models.check import Finding, check
from langdu.models.files import sha256
from langdu.models.store import MANIFEST, write_manifest
from tests.models.conftest import Copy, replace

Damage = Callable[[Path], object]


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    replace(path, json.dumps(value).encode())


def weights(path: Path, change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> None:
    tensors = change(load_file(path))
    path.unlink()
    save_file(tensors, path)


def codes(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.file, finding.mend) for finding in findings]


@pytest.mark.parametrize("name", ["base", "custom", "eight"])
def test_whole_folders_have_no_findings(copy: Copy, name: str) -> None:
    assert check(copy(name)) == []


def cut_short(path: Path) -> None:
    replace(path, path.read_bytes()[:-1000])


MODEL, CODEC = "model.safetensors", "speech_tokenizer/model.safetensors"
HTML = b"<html><body>404</body></html>"
CASES: list[tuple[str, Damage, tuple[str, str, str]]] = [
    ("config gone", lambda d: (d / "config.json").unlink(), ("config-missing", "config.json", "original")),
    ("config is HTML", lambda d: replace(d / "config.json", HTML), ("config-damaged", "config.json", "original")),
    ("config is empty", lambda d: replace(d / "config.json", b""), ("config-damaged", "config.json", "original")),
    (
        "config of another model",
        lambda d: edit(d / "config.json", lambda c: c.update(model_type="qwen3")),
        ("other-model", "config.json", "original"),
    ),
    (
        "config of another variant",
        lambda d: edit(d / "config.json", lambda c: c.update(tts_model_type="voice_design")),
        ("other-variant", "config.json", "original"),
    ),
    (
        "config of another size",
        lambda d: edit(d / "config.json", lambda c: c["talker_config"].update(hidden_size=64)),
        ("other-variant", "config.json", "original"),
    ),
    (
        "sizes that are no numbers",
        lambda d: edit(d / "config.json", lambda c: c["talker_config"].update(num_hidden_layers="28")),
        ("config-damaged", "config.json", "original"),
    ),
    (
        "no talker",
        lambda d: edit(d / "config.json", lambda c: c.pop("talker_config")),
        ("config-incomplete", "config.json", "original"),
    ),
    (
        "a quantization that is not there",
        lambda d: edit(d / "config.json", lambda c: c.update(quantization={"bits": 8, "group_size": 64})),
        ("quantization-unfounded", "config.json", "repair"),
    ),
    ("weights gone", lambda d: (d / MODEL).unlink(), ("weights-missing", MODEL, "fetch")),
    ("weights cut short", lambda d: cut_short(d / MODEL), ("weights-damaged", MODEL, "fetch")),
    ("weights of 0 bytes", lambda d: replace(d / MODEL, b""), ("weights-damaged", MODEL, "fetch")),
    ("weights are HTML", lambda d: replace(d / MODEL, HTML), ("weights-damaged", MODEL, "fetch")),
    (
        "a shard the index names",
        lambda d: replace(
            d / "model.safetensors.index.json",
            b'{"weight_map": {"a": "model-2.safetensors", "b": "model.safetensors"}}',
        ),
        ("weights-missing", "model-2.safetensors", "fetch"),
    ),
    (
        "a layer is not in the weights",
        lambda d: weights(d / MODEL, lambda w: {k: v for k, v in w.items() if ".layers.3." not in k}),
        ("tensors-missing", MODEL, "fetch"),
    ),
    ("vocabulary gone", lambda d: (d / "vocab.json").unlink(), ("tokenizer-missing", "vocab.json", "original")),
    ("merges gone", lambda d: (d / "merges.txt").unlink(), ("tokenizer-missing", "merges.txt", "original")),
    (
        "tokenizer settings are HTML",
        lambda d: replace(d / "tokenizer_config.json", HTML),
        ("tokenizer-damaged", "tokenizer_config.json", "original"),
    ),
    (
        "tokenizer of another model",
        lambda d: edit(d / "tokenizer_config.json", lambda t: t.update(added_tokens_decoder={})),
        ("tokenizer-of-another-model", "tokenizer_config.json", "original"),
    ),
    (
        "generation settings gone",
        lambda d: (d / "generation_config.json").unlink(),
        ("generation-config-missing", "generation_config.json", "original"),
    ),
    ("codec gone", lambda d: shutil.rmtree(d / "speech_tokenizer"), ("codec-missing", "speech_tokenizer/", "original")),
    ("codec weights gone", lambda d: (d / CODEC).unlink(), ("weights-missing", CODEC, "original")),
    ("codec weights cut short", lambda d: cut_short(d / CODEC), ("weights-damaged", CODEC, "original")),
    (
        "codec without its encoder",
        lambda d: weights(d / CODEC, lambda w: {k: v for k, v in w.items() if not k.startswith("encoder.")}),
        ("codec-encoder-missing", CODEC, "original"),
    ),
    (
        "codec configuration gone",
        lambda d: (d / "speech_tokenizer/config.json").unlink(),
        ("codec-config-missing", "speech_tokenizer/config.json", "original"),
    ),
]


@pytest.mark.parametrize(("damage", "finding"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_fault_is_named_with_its_file_and_its_remedy(
    copy: Copy, damage: Damage, finding: tuple[str, str, str]
) -> None:
    folder = copy("base")
    damage(folder)
    assert codes(check(folder)) == [finding]


def test_a_quantised_folder_without_its_block_says_what_the_weights_are(copy: Copy) -> None:
    folder = copy("eight")
    (folder / MANIFEST).unlink()
    edit(folder / "config.json", lambda c: (c.pop("quantization"), c.pop("quantization_config")))
    (finding,) = check(folder)
    assert (finding.code, finding.mend) == ("quantization-missing", "repair")
    assert finding.message == "has no quantization block; the weights are 8 bit in groups of 32"


def test_a_block_that_says_otherwise_than_the_weights_is_named(copy: Copy) -> None:
    folder = copy("eight")
    edit(folder / "config.json", lambda c: c["quantization"].update(bits=4))
    assert codes(check(folder)) == [("quantization-wrong", "config.json", "repair")]


def test_several_faults_are_all_named(copy: Copy) -> None:
    folder = copy("base")
    for name in ("config.json", "vocab.json", CODEC):
        (folder / name).unlink()
    assert [finding.file for finding in check(folder)] == ["config.json", "vocab.json", CODEC]


def test_installed_files_are_compared_by_hash(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"good")
    write_manifest(tmp_path, "w", "MIT", "", [ModelFile("model.bin", 4, sha256(tmp_path / "model.bin"))])
    assert check(tmp_path) == []
    (tmp_path / "model.bin").write_bytes(b"evil")
    assert codes(check(tmp_path)) == [("file-changed", "model.bin", "fetch")]
    assert check(tmp_path, hashes=False) == []


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no model"):
        check(tmp_path)
    with pytest.raises(ModelError, match="is not a folder"):
        check(tmp_path / "nothing")
