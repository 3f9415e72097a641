"""Quantising gives what mlx-audio's own way gives, and says how far it is from the original."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from langdu.errors import ModelError, OutputError, SettingError
from langdu.models.convert import convert
from langdu.models.quantization import infer
from langdu.models.safetensors import read_header
from tests.models.conftest import Copy


@pytest.mark.parametrize(("bits", "group_size"), [(6, 64), (4, 32)])
def test_the_weights_are_packed_as_asked(tiny: dict[str, Path], tmp_path: Path, bits: int, group_size: int) -> None:
    done = convert(tiny["base"], tmp_path / "out", bits, group_size=group_size)
    found = infer(read_header(done.path / "model.safetensors"))
    assert found is not None and (found.bits, found.group_size) == (bits, group_size)
    assert done.bytes_after < done.bytes_before


def test_mlx_audio_loads_it_and_gets_what_it_would_have_made(tiny: dict[str, Path], eight_bit: Path) -> None:
    """Its loader takes the folder with no key missing or left over; each matrix equals nn.quantize's."""
    import json

    import mlx.core as mx
    import mlx.nn as nn
    from mlx.utils import tree_flatten
    from mlx_audio.tts.models.qwen3_tts import ModelConfig
    from mlx_audio.tts.models.qwen3_tts.qwen3_tts import Model
    from mlx_audio.utils import apply_quantization

    def loaded(folder: Path) -> tuple[Model, dict[str, object]]:
        config = json.loads((folder / "config.json").read_text())
        model = Model(ModelConfig.from_dict(config))
        weights = model.sanitize(dict(mx.load(str(folder / "model.safetensors"))))
        apply_quantization(model, config, weights, model.model_quant_predicate)
        model.load_weights(list(weights.items()), strict=True)
        return model, dict(tree_flatten(model.parameters()))

    ours = loaded(eight_bit)[1]
    theirs, _ = loaded(tiny["base"])
    nn.quantize(
        theirs, 32, 8,
        class_predicate=lambda name, module: (
            hasattr(module, "to_quantized") and module.weight.shape[-1] % 32 == 0
            and theirs.model_quant_predicate(name, module)
        ),
    )  # fmt: skip
    expected = dict(tree_flatten(theirs.parameters()))
    assert ours.keys() == expected.keys()
    assert all(np.array_equal(np.array(ours[name]), np.array(expected[name])) for name in expected)


def test_embeddings_speaker_encoder_and_codec_keep_their_bytes(tiny: dict[str, Path], eight_bit: Path) -> None:
    from safetensors.numpy import load_file

    before, after = load_file(tiny["base"] / "model.safetensors"), load_file(eight_bit / "model.safetensors")
    kept = [name for name in before if "embedding" in name or name.startswith("speaker_encoder.")]
    assert kept and all(np.array_equal(before[name], after[name]) for name in kept)
    codec = "speech_tokenizer/model.safetensors"
    assert (tiny["base"] / codec).read_bytes() == (eight_bit / codec).read_bytes()


def test_the_error_of_each_layer_group_is_the_true_one(tiny: dict[str, Path], tmp_path: Path) -> None:
    """Against a plain computation: round to 2^bits levels between the least and the largest weight of a group."""
    from safetensors.numpy import load_file

    done = convert(tiny["custom"], tmp_path / "out", 8, group_size=32)
    groups = {group.group: group for group in done.groups}
    assert set(groups) == {
        f"{part} {kind}" for part in ("talker", "code predictor")
        for kind in ("attention", "feed-forward", "heads", "projections")
    }  # fmt: skip
    weight = load_file(tiny["custom"] / "model.safetensors")["talker.codec_head.weight"].reshape(-1, 32)
    low, high = weight.min(1, keepdims=True), weight.max(1, keepdims=True)
    step = (high - low) / 255
    rounded = np.round((weight - low) / step) * step + low
    plain = np.sqrt(((rounded - weight) ** 2).sum() / (weight**2).sum())
    assert groups["talker heads"].relative == pytest.approx(plain, rel=0.1)  # MLX moves zero onto a level
    assert all(group.worst >= group.relative * 0.99 > 0 for group in done.groups)


def test_fewer_bits_are_further_away(tiny: dict[str, Path], tmp_path: Path) -> None:
    errors = [
        max(g.relative for g in convert(tiny["custom"], tmp_path / str(bits), bits, group_size=32).groups)
        for bits in (8, 4)
    ]
    assert errors[0] * 8 < errors[1]


def test_an_output_that_exists_is_refused(tiny: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="exists already"):
        convert(tiny["base"], tmp_path, 8)


@pytest.mark.parametrize(("bits", "group_size"), [(5, 64), (16, 64), (8, 48)])
def test_what_the_product_does_not_load_is_not_made(
    tiny: dict[str, Path], tmp_path: Path, bits: int, group_size: int
) -> None:
    with pytest.raises(SettingError, match="Cannot quantise"):
        convert(tiny["base"], tmp_path / "out", bits, group_size=group_size)


def test_a_quantised_model_is_not_quantised_again(eight_bit: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="quantised already"):
        convert(eight_bit, tmp_path / "out", 4)


def test_a_damaged_original_is_named_and_leaves_nothing(copy: Copy, tmp_path: Path) -> None:
    original = copy("base")
    (original / "vocab.json").unlink()
    with pytest.raises(ModelError, match=r"vocab\.json: is missing"):
        convert(original, tmp_path / "out", 8)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base"]
