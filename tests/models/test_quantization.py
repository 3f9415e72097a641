"""Bits and group size from shapes alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from langdu.errors import ModelError
from langdu.models.quantization import Quantization, infer
from langdu.models.safetensors import Tensor

WIDTH = 256
LAYER = "talker.model.layers.0"


def tensor(*shape: int, dtype: str = "F32") -> Tensor:
    return Tensor(dtype, shape, Path("f"), 0)


def packed(name: str, width: int, bits: int, group: int) -> dict[str, Tensor]:
    return {
        f"{name}.weight": tensor(64, width * bits // 32, dtype="U32"),
        f"{name}.scales": tensor(64, width // group),
        f"{name}.biases": tensor(64, width // group),
    }


NORMS = {f"{LAYER}.input_layernorm.weight": tensor(WIDTH), f"{LAYER}.post_attention_layernorm.weight": tensor(WIDTH)}


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_one_layer_with_its_norm_tells_both(bits: int, group: int) -> None:
    found = infer(NORMS | packed(f"{LAYER}.self_attn.q_proj", WIDTH, bits, group))
    assert found == Quantization(bits, group)


def test_eight_bits_by_32_are_told_from_four_by_64() -> None:
    """Their shapes differ in the same ratio; only the input's width tells them apart."""
    eight = packed(f"{LAYER}.self_attn.q_proj", WIDTH, 8, 32)
    four = packed(f"{LAYER}.self_attn.q_proj", WIDTH, 4, 64)
    assert infer(NORMS | eight) == Quantization(8, 32)
    assert infer(NORMS | four) == Quantization(4, 64)
    with pytest.raises(ModelError, match="no layer tells how wide"):
        infer(eight)


def test_layers_of_another_width_per_weight_are_listed() -> None:
    names = [f"{LAYER}.self_attn.{x}_proj" for x in "qkv"]
    tensors = NORMS | packed(f"{LAYER}.mlp.gate_proj", WIDTH, 8, 64)
    for name in names:
        tensors |= packed(name, WIDTH, 4, 64)
    found = infer(tensors)
    assert found is not None
    assert found.block() == {
        "group_size": 64, "bits": 4, "mode": "affine", f"{LAYER}.mlp.gate_proj": {"group_size": 64, "bits": 8},
    }  # fmt: skip


def test_whole_weights_have_no_quantization() -> None:
    assert infer(NORMS | {f"{LAYER}.self_attn.q_proj.weight": tensor(64, WIDTH)}) is None


@pytest.mark.parametrize("lost", ["weight", "biases"])
def test_scales_without_the_rest_are_refused(lost: str) -> None:
    name = f"{LAYER}.self_attn.q_proj"
    tensors = NORMS | packed(name, WIDTH, 4, 64)
    del tensors[f"{name}.{lost}"]
    with pytest.raises(ModelError, match="q_proj has scales, but no packed weight"):
        infer(tensors)


def test_shapes_that_fit_no_quantization_are_refused() -> None:
    with pytest.raises(ModelError, match="7 bits in groups of 64"):
        infer(NORMS | packed(f"{LAYER}.self_attn.q_proj", WIDTH, 7, 64))
