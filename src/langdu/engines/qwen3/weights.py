"""Weights arranged for decoding one frame at a time: projections that share an input become one matmul."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Array = Any
"""An mlx array; MLX has no types."""

Project = Callable[[Array], Array]


def fuse(*linears: Any) -> Project:
    """One projection whose outputs are those of `linears`, side by side. Quantised alike, or not at all."""
    import mlx.core as mx

    first = linears[0]
    bias = mx.concatenate([linear.bias for linear in linears]) if "bias" in first else None
    if "scales" in first:
        weight, scales, biases = (
            mx.concatenate([linear[name] for linear in linears]) for name in ("weight", "scales", "biases")
        )
        mx.eval(weight, scales, biases)

        def project(x: Array) -> Array:
            y = mx.quantized_matmul(
                x, weight, scales, biases, transpose=True, group_size=first.group_size, bits=first.bits
            )
            return y if bias is None else y + bias

        return project
    weight = mx.concatenate([linear.weight for linear in linears]).T
    mx.eval(weight)
    return lambda x: x @ weight if bias is None else mx.addmm(bias, x, weight)


class Layer:
    """One transformer layer of the talker or the code predictor, for steps of one or two positions.

    The talker's three rotary positions are equal in speech, so plain rotary embedding gives the same angles.
    """

    def __init__(self, layer: Any, config: Any) -> None:
        import mlx.core as mx

        attention, mlp = layer.self_attn, layer.mlp
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim, self.theta, self.eps = config.head_dim, config.rope_theta, config.rms_norm_eps
        self._qkv = fuse(attention.q_proj, attention.k_proj, attention.v_proj)
        self._gate_up = fuse(mlp.gate_proj, mlp.up_proj)
        self._out, self._down = attention.o_proj, mlp.down_proj
        self._norm1, self._norm2 = layer.input_layernorm, layer.post_attention_layernorm
        norms = [
            mx.broadcast_to(norm.weight, (count, self.head_dim))
            for norm, count in ((attention.q_norm, self.heads), (attention.k_norm, self.kv_heads))
        ]
        self._qk_norm = mx.concatenate(norms)[None, :, None]
        mx.eval(self._qk_norm)

    def __call__(self, x: Array, position: Array | int, attend: Callable[[Array, Array, Array], Array]) -> Array:
        """x [B, L, H] at rotary `position` ([B] or one for all); `attend(q, k, v)` keeps the cache."""
        import mlx.core as mx

        rows, length, _ = x.shape
        both = self.heads + self.kv_heads
        y = self._qkv(self._norm1(x)).reshape(rows, length, both + self.kv_heads, self.head_dim)
        # With one position a reshape moves the heads forward; a transpose would leave strided views to be copied.
        y = y.reshape(rows, -1, 1, self.head_dim) if length == 1 else y.transpose(0, 2, 1, 3)
        qk = mx.fast.rms_norm(y[:, :both], None, self.eps) * self._qk_norm
        qk = mx.fast.rope(qk, self.head_dim, traditional=False, base=self.theta, scale=1.0, offset=position)
        o = attend(qk[:, : self.heads], qk[:, self.heads :], y[:, both:])
        o = o.reshape(rows, 1, -1) if length == 1 else o.transpose(0, 2, 1, 3).reshape(rows, length, -1)
        x = x + self._out(o)
        gate, up = mx.split(self._gate_up(self._norm2(x)), 2, axis=-1)
        return x + self._down(gate * mx.sigmoid(gate) * up)
