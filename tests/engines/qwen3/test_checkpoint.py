"""A checkpoint loads whole or not at all, on the device that was asked for, where it fits."""

from __future__ import annotations

import json
import platform
import shutil
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from langdu.engines.qwen3 import checkpoint, device
from langdu.errors import CapacityError, DeviceError, ModelError, SettingError


@pytest.fixture
def copy(tiny_design: Path, tmp_path: Path) -> Path:
    """A checkpoint of this test's own, so that it may be damaged."""
    shutil.copytree(tiny_design, tmp_path / "model")
    return tmp_path / "model"


def edit(path: Path, **changes: object) -> None:
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, **changes}))


def edit_weights(path: Path, change) -> None:
    weights = load_file(path)
    change(weights)
    save_file(weights, path)


def test_it_tells_what_it_is(design):
    assert (design.kind, design.size, design.precision, design.device) == ("voice_design", "1b7", "float32", "cpu")
    assert design.languages["sichuan_dialect"] == 2062
    assert design.speakers == ()


@pytest.mark.parametrize(
    "file", ["config.json", "generation_config.json", "model.safetensors", "merges.txt", "tokenizer_config.json",
             "speech_tokenizer/config.json", "speech_tokenizer/model.safetensors"],
)  # fmt: skip
def test_a_missing_file_is_named(copy, file):
    (copy / file).unlink()
    named = "no weights" if file == "model.safetensors" else Path(file).parent.name or Path(file).name
    with pytest.raises(ModelError, match=named):
        checkpoint.load(copy, device="cpu")


@pytest.mark.parametrize(
    ("file", "weight"),
    [
        ("model.safetensors", "talker.codec_head.weight"),
        ("speech_tokenizer/model.safetensors", "decoder.pre_conv.conv.bias"),
        ("speech_tokenizer/model.safetensors", "encoder.downsample.conv.weight"),
    ],
)
def test_a_missing_weight_is_named(copy, file, weight):
    edit_weights(copy / file, lambda weights: weights.pop(weight))
    with pytest.raises(ModelError, match="missing from the weights"):
        checkpoint.load(copy, device="cpu")


def test_a_weight_of_another_shape_is_named(copy):
    edit_weights(copy / "model.safetensors", lambda w: w.update({"talker.codec_head.weight": np.zeros((3072, 95), "f")}))  # fmt: skip
    with pytest.raises(ModelError, match=r"codec_head.weight has the shape \(3072, 95\).*\(3072, 96\)"):
        checkpoint.load(copy, device="cpu")


def test_scales_without_a_quantization_block_are_explained(copy):
    edit_weights(copy / "model.safetensors", lambda w: w.update({"talker.codec_head.scales": np.zeros((3072, 2), "f")}))
    with pytest.raises(ModelError) as failure:
        checkpoint.load(copy, device="cpu")
    assert "repair" in failure.value.hint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "llama"}, "'llama' model"),
        ({"tts_model_type": "singing"}, "'singing' is none of base"),
        ({"tokenizer_type": "qwen3_tts_tokenizer_25hz"}, "25hz"),
    ],
)
def test_another_kind_of_model_is_refused(copy, changes, message):
    edit(copy / "config.json", **changes)
    with pytest.raises(ModelError, match=message):
        checkpoint.load(copy, device="cpu")


@pytest.mark.parametrize("damage", [b"", b"\x10\0\0\0\0\0\0\0not json at all", b"\xff" * 64])
def test_damaged_weights_are_named(copy, damage):
    (copy / "model.safetensors").write_bytes(damage)
    with pytest.raises(ModelError, match=r"model.safetensors cannot be read"):
        checkpoint.load(copy, device="cpu")


def test_a_part_of_the_weights_that_the_index_names_is_missed(copy):
    (copy / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model-2-of-2.safetensors"}}))
    with pytest.raises(ModelError, match="model-2-of-2"):
        checkpoint.load(copy, device="cpu")


def test_quantised_weights_are_loaded_and_named(copy):
    import mlx.nn as nn
    from mlx.utils import tree_flatten

    whole = checkpoint.load(copy, device="cpu")
    nn.quantize(whole.model.talker, 32, 8, class_predicate=lambda path, m: path == "codec_head")
    mx.save_safetensors(
        str(copy / "model.safetensors"), dict(tree_flatten({"talker": whole.model.talker.parameters()}))
    )
    edit(copy / "config.json", quantization={"group_size": 32, "bits": 8})
    found = checkpoint.load(copy, device="cpu")
    assert found.precision == "8bit"
    assert isinstance(found.model.talker.codec_head, nn.QuantizedLinear)


def test_precision_can_be_chosen(tiny_design):
    assert checkpoint.load(tiny_design, device="cpu", precision="bfloat16").precision == "bfloat16"
    with pytest.raises(SettingError, match="float31"):
        checkpoint.load(tiny_design, device="cpu", precision="float31")


def test_the_revision_follows_weights_and_configuration_not_the_place(copy, tiny_design):
    first = checkpoint.revision(copy)
    assert first == checkpoint.revision(tiny_design)
    edit_weights(copy / "model.safetensors", lambda weights: weights["talker.model.norm.weight"].fill(2))
    second = checkpoint.revision(copy)
    edit(copy / "config.json", tts_model_size="0b6")
    assert len({first, second, checkpoint.revision(copy)}) == 3


def test_memory_that_is_not_there_is_refused_with_the_numbers(tiny_base):
    config = checkpoint.read_json(tiny_base / "config.json")
    need = device.estimate(config, 4_000_000_000, slots=8, context=2048, bytes_per_value=2)
    assert need.context == 8 * 2048 * (2 * 4 * 2 * 32 * 2)
    with pytest.raises(CapacityError, match=r"weights 4.00 GB.*3.00 GB are free") as failure:
        device.check_memory(need, "cpu", available=3_000_000_000)
    assert "fewer slots" in failure.value.hint
    device.check_memory(need, "cpu", available=7_000_000_000)


@pytest.mark.skipif(platform.system() == "Darwin" or mx.is_available(mx.gpu), reason="for a machine without a GPU")
@pytest.mark.parametrize("wanted", ["gpu", "metal", "cuda"])
def test_a_device_that_is_not_there_is_refused(tiny_base, wanted):
    with pytest.raises(DeviceError, match=f"{wanted} was asked for; MLX has no GPU"):
        checkpoint.load(tiny_base, device=wanted)


def test_a_mac_without_metal_does_not_fall_back(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(device, "_gpu", lambda mx: "")
    with pytest.raises(DeviceError, match="Metal is not available"):
        device.choose("auto")
    assert device.choose("cpu") == "cpu"


def test_an_unknown_device_lists_the_known_ones():
    with pytest.raises(SettingError, match="tpu"):
        device.choose("tpu")
