"""The frame step as one CUDA kernel, for bf16 weights of the published sizes (`frame_kernel.cu` says how it works).

Keys and values are too large to copy each frame, so the kernel writes them in place. MLX does not know that it
does: `_cache` must never be given to another operation, and each launch takes an array that the launch before
returned, so they run in order.
"""

from __future__ import annotations

import ctypes
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from langdu.engines.qwen3.inputs import Inputs
from langdu.engines.qwen3.prefill import prefill
from langdu.engines.qwen3.prompt import Prompt
from langdu.engines.qwen3.sampling import Sampling
from langdu.errors import CapacityError, DeviceError

Array = Any
THREADS = 512
HEAD_DIM = 128
MOST_ROWS = 32
BODY = "// ---- body of the kernel"
INPUTS = (
    "talker", "predictor", "norms", "codes_table", "narrow_codes", "rope", "short_rope", "text", "text_length", "pad",
    "floats", "ints", "x", "position", "frame", "seen", "cache", "short_cache", "scratch", "barrier",
)  # fmt: skip
OUTPUTS = ("codes", "x_out", "position_out", "frame_out", "seen_out")
STORE = """
  const int row = where[0], length = where[1];
  const size_t heads = (size_t)KV, total = (size_t)LAYERS * 2 * heads * length * 16;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x) {
    const size_t p = i / 16 % length, head = i / 16 / length % heads, layer = i / 16 / length / heads;
    const size_t to = ((layer * R + row) * heads + head) * S * 16 + p * 16 + i % 16;
    reinterpret_cast<uint4*>(const_cast<__nv_bfloat16*>(cache))[to] = reinterpret_cast<const uint4*>(block)[i];
  }
  const int r = threadIdx.x;
  if (blockIdx.x == 0 && r < B) position_out[r] = r == row ? length : position[r];
"""


def unsupported(talker: Any) -> str:
    """Why the kernel cannot run this talker here; "" when it can."""
    import mlx.core as mx

    config, predictor = talker.config, talker.code_predictor.config
    if not mx.cuda.is_available() or mx.default_device() != mx.Device(mx.gpu):
        return "it needs an NVIDIA GPU"
    if "scales" in talker.model.layers[0].self_attn.q_proj or talker.model.norm.weight.dtype != mx.bfloat16:
        return "it needs bf16 weights"
    same = ("head_dim", "num_attention_heads", "num_key_value_heads", "rms_norm_eps", "rope_theta")
    if any(getattr(config, name) != getattr(predictor, name) for name in same):
        return "talker and code predictor have different heads"
    if config.head_dim != HEAD_DIM or config.num_attention_heads != 2 * config.num_key_value_heads:
        return "it needs heads of 128 in pairs"
    widths = (config.hidden_size, config.intermediate_size, predictor.hidden_size, predictor.intermediate_size)
    if any(width % THREADS for width in (*widths, config.vocab_size, predictor.vocab_size)):
        return f"its widths must be multiples of {THREADS}"
    if config.num_code_groups != 16 or "bias" in talker.model.layers[0].self_attn.q_proj:
        return "it needs 16 codebooks and projections without bias"
    return ""


class KernelStep:
    """`FrameStep`'s counterpart: the same calls, the same codes to rounding, one launch a frame."""

    def __init__(self, talker: Any, *, rows: int, capacity: int = 2048) -> None:
        """`capacity` positions for each of at most 32 rows. Raises DeviceError where the kernel cannot run."""
        reason = unsupported(talker)
        if reason:
            raise DeviceError(f"The CUDA frame kernel cannot run this model: {reason}.")
        if not 0 < rows <= MOST_ROWS:
            raise CapacityError(f"The CUDA frame kernel runs 1 to {MOST_ROWS} rows, not {rows}.")
        self.rows, self.capacity = rows, capacity
        self.end_code = int(talker.config.codec_eos_token_id)
        self._talker = talker
        self._blocks = multiprocessors()
        self._padded = next(size for size in (8, 16, 32) if rows <= size)
        self._weights = _pack(talker, capacity)
        self._allocate()

    def _allocate(self) -> None:
        import mlx.core as mx

        c, p = self._talker.config, self._talker.code_predictor.config
        padded, heads, kv = self._padded, c.num_attention_heads, c.num_key_value_heads
        chunks = -(-self.capacity // 128)
        floats = (heads + 2 * kv) * HEAD_DIM + c.vocab_size + kv * chunks * (2 * HEAD_DIM + 4)
        halves = heads * HEAD_DIM + max(c.intermediate_size, p.intermediate_size) + c.hidden_size + 2 * p.hidden_size
        self._cache = mx.zeros((c.num_hidden_layers, 2, padded, kv, self.capacity, HEAD_DIM), mx.bfloat16)
        self._short_cache = mx.zeros((p.num_hidden_layers, 2, padded, kv, 16, HEAD_DIM), mx.bfloat16)
        self._scratch = mx.zeros((padded * (floats + halves // 2),))
        self._barrier = mx.zeros((32 + padded * kv,), mx.uint32)
        self._inputs = Inputs(self.rows, c.hidden_size, mx.bfloat16)
        self._x = mx.zeros((self.rows, 1, c.hidden_size), mx.bfloat16)
        self._position = mx.full((self.rows,), -1, mx.int32)
        self._frame = mx.zeros((self.rows,), mx.int32)
        self._seen = mx.zeros((self.rows, c.vocab_size), mx.bool_)
        mx.eval(self._cache, self._short_cache, self._scratch, self._barrier, self._x)
        self._shared = [
            ("KV", kv), ("LAYERS", c.num_hidden_layers), ("R", padded), ("S", self.capacity), ("B", self.rows),
        ]  # fmt: skip
        self._constants = [
            *self._shared, ("G", self._blocks), ("H", c.hidden_size), ("I", c.intermediate_size),
            ("HP", p.hidden_size), ("IP", p.intermediate_size), ("HEADS", heads), ("PLAYERS", p.num_hidden_layers),
            ("V", c.vocab_size), ("VP", p.vocab_size), ("END", self.end_code),
            ("PROJECT", self._talker.code_predictor.small_to_mtp_projection is not None),
            ("EPS_E9", round(c.rms_norm_eps * 1e9)),
        ]  # fmt: skip
        tiles = 4 if padded == 32 else 6
        self._kernel = _frame_kernel(4 * (max(16 * tiles * padded * 8, 4736) + 16 * padded))

    def room(self, length: int, frames: int) -> None:
        if length + frames > self.capacity:
            raise CapacityError(
                f"A prompt of {length} positions and {frames} frames need more than a row's {self.capacity} positions.",
                hint="Use a shorter reference clip, shorter chunks, or more context.",
            )

    def admit(self, row: int, prompt: Prompt, sampling: Sampling, seed: int) -> None:
        import mlx.core as mx

        length = prompt.length - 1
        if length:
            block = mx.stack([mx.concatenate([k, v]) for k, v in prefill(self._talker, prompt)])
            where = mx.array([row, length], mx.int32)
            (self._position,) = _store_kernel()(
                inputs=[block, self._cache, self._position, where], template=self._shared,
                grid=(self._blocks * THREADS, 1, 1), threadgroup=(THREADS, 1, 1),
                output_shapes=[(self.rows,)], output_dtypes=[mx.int32],
            )  # fmt: skip
        else:
            self._position[row] = 0
        self._x[row] = prompt.embeds[0, -1:].astype(mx.bfloat16)
        self._frame[row] = 0
        self._seen[row] = False
        self._inputs.set(row, prompt, sampling, seed)
        mx.async_eval(self._x, self._position)  # type: ignore[no-untyped-call]

    def release(self, row: int) -> None:
        self._position[row] = -1
        self._inputs.clear(row)

    def step(self) -> Array:
        import mlx.core as mx

        inputs, shape = self._inputs, (self.rows, 1, self._x.shape[2])
        codes, self._x, self._position, self._frame, self._seen = self._kernel(
            inputs=[
                *self._weights, inputs.text, inputs.text_length, inputs.pad, inputs.floats, inputs.ints, self._x,
                self._position, self._frame, self._seen, self._cache, self._short_cache, self._scratch, self._barrier,
            ],
            template=self._constants, grid=(self._blocks * THREADS, 1, 1), threadgroup=(THREADS, 1, 1),
            output_shapes=[(self.rows, 16), shape, (self.rows,), (self.rows,), self._seen.shape],
            output_dtypes=[mx.int32, mx.bfloat16, mx.int32, mx.int32, mx.bool_],
        )  # fmt: skip
        mx.async_eval(codes, self._x, self._position, self._frame, self._seen)  # type: ignore[no-untyped-call]
        return codes


@cache
def multiprocessors() -> int:
    """Multiprocessors of GPU 0: the grid's size, one block on each, so that all of them run at once."""
    driver = ctypes.CDLL("libcuda.so.1")
    count, device = ctypes.c_int(), ctypes.c_int()
    for code in (
        driver.cuInit(0),
        driver.cuDeviceGet(ctypes.byref(device), 0),
        driver.cuDeviceGetAttribute(ctypes.byref(count), 16, device),
    ):
        if code:
            raise DeviceError(f"The NVIDIA driver answered with error {code}.")
    return count.value


def _source() -> tuple[str, str]:
    text = Path(__file__).with_name("frame_kernel.cu").read_text(encoding="utf-8")
    header, body = text.split(BODY, 1)
    return header, body.split("\n", 1)[1]


@cache
def _frame_kernel(shared_memory: int) -> Any:
    import mlx.core as mx

    header, body = _source()
    # MLX keeps compiled kernels on disk by name, so the name follows the source.
    name = "langdu_frame_" + hashlib.sha256((header + body).encode()).hexdigest()[:12]
    return mx.fast.cuda_kernel(
        name=name, input_names=list(INPUTS), output_names=list(OUTPUTS), header=header, source=body,
        shared_memory=shared_memory,
    )  # fmt: skip


@cache
def _store_kernel() -> Any:
    import mlx.core as mx

    name = "langdu_store_" + hashlib.sha256(STORE.encode()).hexdigest()[:12]
    return mx.fast.cuda_kernel(
        name=name, input_names=["block", "cache", "position", "where"], output_names=["position_out"], source=STORE
    )


def tile(weight: Array) -> Array:
    """weight [N, K] as tiles of 8 × 32, flat: [N / 8, K / 32, 8, 32], each tile's rows in four parts of 8."""
    n, k = weight.shape
    return weight.reshape(n // 8, 8, k // 32, 32).transpose(0, 2, 1, 3).flatten()


def _layer(layer: Any) -> tuple[list[Array], list[Array]]:
    """A layer's packed projections, and its norms, in the kernel's order."""
    import mlx.core as mx

    a, m = layer.self_attn, layer.mlp
    gate, up = m.gate_proj.weight, m.up_proj.weight
    pairs = mx.stack([w.reshape(-1, 8, w.shape[1]) for w in (gate, up)], axis=1).reshape(-1, gate.shape[1])
    qkv = mx.concatenate([a.q_proj.weight, a.k_proj.weight, a.v_proj.weight])
    packed = [tile(w) for w in (qkv, a.o_proj.weight, pairs, m.down_proj.weight)]
    norms = [layer.input_layernorm, layer.post_attention_layernorm, a.q_norm, a.k_norm]
    return packed, [norm.weight for norm in norms]


def _pack(talker: Any, capacity: int) -> list[Array]:
    """The first seven inputs: packed weights, norms, tables of embeddings, angles."""
    import mlx.core as mx

    predictor, config = talker.code_predictor, talker.config
    project = predictor.small_to_mtp_projection
    norms: list[Array] = []

    def join(layers: Any, rest: list[Array]) -> Array:
        parts = []
        for layer in layers:
            packed, own = _layer(layer)
            parts.append(mx.concatenate(packed))
            norms.extend(own)
            mx.eval(parts[-1])
        return mx.concatenate([*parts, *(tile(w) for w in rest)]).view(mx.uint32)

    talker_weights = join(talker.model.layers, [talker.codec_head.weight])
    norms.append(talker.model.norm.weight)
    rest = [*([project.weight] if project is not None else []), *(head.weight for head in predictor.lm_head)]
    predictor_weights = join(predictor.model.layers, rest)
    norms.append(predictor.model.norm.weight)
    norms.append(project.bias if project is not None else mx.zeros((predictor.config.hidden_size,), mx.bfloat16))
    table = mx.concatenate([talker.model.codec_embedding.weight, *(e.weight for e in predictor.codec_embedding)])
    narrow = project(table) if project is not None else table
    arrays = [
        talker_weights, predictor_weights, mx.concatenate(norms), table, narrow,
        angles(config.rope_theta, capacity), angles(config.rope_theta, 16),
    ]  # fmt: skip
    mx.eval(arrays)
    return arrays


def angles(theta: float, positions: int) -> Array:
    """cos and sin of the rotary embedding, [positions, HEAD_DIM / 2, 2] float32."""
    import mlx.core as mx

    inverse = theta ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    turn = np.arange(positions)[:, None] * inverse
    return mx.array(np.stack([np.cos(turn), np.sin(turn)], axis=-1).astype(np.float32))
