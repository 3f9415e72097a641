"""What the shapes of a quantised checkpoint say about how it was quantised.

MLX keeps a matrix of `out × in` weights at `bits` bits as `weight` (uint32, out × in·bits/32) with one scale
and one bias for each group of `group_size` weights (out × in/group_size). These two shapes give only the
product bits · group_size; with `in`, which a neighbour of the same layer tells, they give both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langdu.errors import ModelError
from langdu.models.safetensors import Tensor

BITS = (2, 3, 4, 5, 6, 8)
GROUP_SIZES = (32, 64, 128)

# The module whose rows (or norm) are as wide as the input of the module on the left.
_NEIGHBOURS: tuple[tuple[str, str], ...] = (
    (r"(.*)\.self_attn\.[qkv]_proj", r"\1.input_layernorm"),
    (r"(.*)\.self_attn\.o_proj", r"\1.self_attn.q_proj"),
    (r"(.*)\.mlp\.(?:gate|up)_proj", r"\1.post_attention_layernorm"),
    (r"(.*)\.mlp\.down_proj", r"\1.mlp.gate_proj"),
    (r"(.*)\.codec_head", r"\1.model.norm"),
    (r"(.*)\.lm_head\.\d+", r"\1.model.norm"),
    (r"(.*)\.text_projection\.linear_fc2", r"\1.text_projection.linear_fc1"),
    (r"(.*)\.code_predictor\.small_to_mtp_projection", r"\1.model.norm"),
)


@dataclass(frozen=True, slots=True)
class Quantization:
    bits: int
    group_size: int
    others: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Modules quantised otherwise: (bits, group_size)."""

    def block(self) -> dict[str, Any]:
        """As config.json holds it."""
        others = {name: {"group_size": group, "bits": bits} for name, (bits, group) in sorted(self.others.items())}
        return {"group_size": self.group_size, "bits": self.bits, "mode": "affine", **others}


def infer(tensors: Mapping[str, Tensor]) -> Quantization | None:
    """How the modules with scales were quantised; None when there are none. ModelError for shapes that fit nothing."""
    found: dict[str, tuple[int, int]] = {}
    products: dict[str, int] = {}
    for name in tensors:
        if not name.endswith(".scales"):
            continue
        module = name.removesuffix(".scales")
        weight, scales = tensors.get(f"{module}.weight"), tensors[name]
        if weight is None or weight.dtype != "U32" or f"{module}.biases" not in tensors:
            raise ModelError(f"{module} has scales, but no packed weight and biases to them")
        packed, groups = weight.shape[-1], scales.shape[-1]
        products[module] = _exact(32 * packed, groups, module)
        if (width := _width(module, tensors)) is not None:
            found[module] = (_exact(32 * packed, width, module), _exact(width, groups, module))
    if not products:
        return None
    if not found:
        raise ModelError("no layer tells how wide its input is, so that bits and group size cannot be told apart")
    (bits, group_size), _ = Counter(found.values()).most_common(1)[0]
    for module, product in products.items():
        if module not in found:
            found[module] = (bits, group_size) if product == bits * group_size else (product // group_size, group_size)
    for module, (own_bits, own_group) in found.items():
        if own_bits not in BITS or own_group not in GROUP_SIZES:
            raise ModelError(f"{module} would have {own_bits} bits in groups of {own_group}, which MLX does not know")
    return Quantization(bits, group_size, {name: pair for name, pair in found.items() if pair != (bits, group_size)})


def _width(module: str, tensors: Mapping[str, Tensor]) -> int | None:
    for pattern, neighbour in _NEIGHBOURS:
        if match := re.fullmatch(pattern, module):
            tensor = tensors.get(f"{match.expand(neighbour)}.weight")
            return tensor.shape[0] if tensor is not None else None
    return None


def _exact(one: int, other: int, module: str) -> int:
    if other <= 0 or one % other:
        raise ModelError(f"the shapes of {module} do not fit each other")
    return one // other
