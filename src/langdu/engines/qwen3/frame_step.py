"""One frame for every row at once: talker, sixteen codes, the next input, as one compiled graph of fixed shapes.

    step = FrameStep(talker, rows=8, capacity=1024)
    step.admit(0, prompt, sampling, seed)     # prefill; the row speaks from the next step on
    codes = step.step()                       # [rows, codebooks], queued, not yet computed

A row's keys and values lie in a ring of `capacity` columns that all rows share: each step writes the same column
of every row, and a row attends to its own last `position + 1` columns. So rows join and leave at any step, no
buffer is rearranged, and what a row computes does not depend on what its neighbours are or when they came.

The last prompt position is not prefilled but is the first step's input: one code path makes all frames.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from langdu.engines.qwen3.draw import Mode, draw
from langdu.engines.qwen3.inputs import Inputs
from langdu.engines.qwen3.prefill import prefill
from langdu.engines.qwen3.prompt import Prompt
from langdu.engines.qwen3.sampling import Sampling
from langdu.engines.qwen3.weights import Layer, fuse
from langdu.errors import CapacityError

Array = Any
RESERVED = 1024
"""The last codes of the talker's vocabulary are control codes; only the end of speech may be drawn."""


class Steps(Protocol):
    """What the scheduler drives; `FrameStep` in plain MLX, `kernels.KernelStep` on CUDA."""

    rows: int
    end_code: int

    def room(self, length: int, frames: int) -> None:
        """Make sure a prompt of `length` and `frames` frames fit a row; CapacityError when they cannot."""

    def admit(self, row: int, prompt: Prompt, sampling: Sampling, seed: int) -> None: ...

    def release(self, row: int) -> None: ...

    def step(self) -> Array:
        """Queue the next frame of every row; codes [rows, codebooks] int32."""


@dataclass(slots=True)
class State:
    """What changes with every frame. Columns [B]: position of the next input, frames made; seen [B, V] bool."""

    x: Array
    position: Array
    frame: Array
    seen: Array
    keys: list[Array]
    values: list[Array]


class FrameStep:
    """The frame step in MLX's own operations, for Metal, the CPU and quantised weights anywhere."""

    def __init__(
        self, talker: Any, *, rows: int, capacity: int = 1024, limit: int = 8192, compiled: bool = True
    ) -> None:
        """`capacity` positions a row to start with, doubled when a request needs more, at most `limit`."""
        self.rows, self.capacity, self.limit = rows, capacity, limit
        config = talker.config
        self.end_code = int(config.codec_eos_token_id)
        self.codebooks = int(config.num_code_groups)
        self._talker, self._config, self._compiled = talker, config, compiled
        predictor = talker.code_predictor
        self._layers = [Layer(layer, config) for layer in talker.model.layers]
        self._predictor_layers = [Layer(layer, predictor.config) for layer in predictor.model.layers]
        project = predictor.small_to_mtp_projection
        self._narrow: Callable[[Array], Array] = fuse(project) if project is not None else lambda x: x
        self._steps: dict[Mode, Callable[..., Any]] = {}
        self._column = 0
        self._make_state()

    def _make_state(self) -> None:
        import mlx.core as mx

        config, rows = self._config, self.rows
        dtype = self._dtype = self._talker.model.norm.weight.dtype
        shape = (rows, config.num_key_value_heads, self.capacity, config.head_dim)

        def buffers() -> list[Array]:
            return [mx.zeros(shape, dtype) for _ in self._layers]

        self._state = State(
            x=mx.zeros((rows, 1, config.hidden_size), dtype),
            position=mx.zeros((rows,), mx.int32),
            frame=mx.zeros((rows,), mx.int32),
            seen=mx.zeros((rows, config.vocab_size), mx.bool_),
            keys=buffers(),
            values=buffers(),
        )
        self._inputs = Inputs(rows, config.hidden_size, dtype)
        ids = np.arange(config.vocab_size)
        self._reserved = mx.array((ids >= config.vocab_size - RESERVED) & (ids != self.end_code))
        mx.eval(self._state.keys, self._state.values)

    # -- rows ---------------------------------------------------------------------------------------------------

    def room(self, length: int, frames: int) -> None:
        need = length + frames
        if need > self.limit:
            raise CapacityError(
                f"A prompt of {length} positions and {frames} frames need {need} positions; a row holds {self.limit}.",
                hint="Use a shorter reference clip or shorter chunks.",
            )
        while self.capacity < need:
            self._grow(min(2 * self.capacity, self.limit))

    def _grow(self, capacity: int) -> None:
        """The same history in a longer ring: its oldest column first, the new room behind the newest."""
        import mlx.core as mx

        def longer(buffer: Array) -> Array:
            old = mx.roll(buffer, -self._column, 2)
            return mx.pad(old, [(0, 0), (0, 0), (0, capacity - self.capacity), (0, 0)])

        state = self._state
        state.keys, state.values = [longer(b) for b in state.keys], [longer(b) for b in state.values]
        mx.eval(state.keys, state.values)
        self._column, self.capacity = self.capacity, capacity

    def admit(self, row: int, prompt: Prompt, sampling: Sampling, seed: int) -> None:
        """Fill `row` with a request. Frames already queued for the row's former request are not disturbed."""
        import mlx.core as mx

        state = self._state
        length = prompt.length - 1
        if length:
            for i, (keys, values) in enumerate(prefill(self._talker, prompt)):
                self._write(state.keys, i, row, keys)
                self._write(state.values, i, row, values)
        state.x[row] = prompt.embeds[0, -1:].astype(self._dtype)
        state.position[row] = length
        state.frame[row] = 0
        state.seen[row] = False
        self._inputs.set(row, prompt, sampling, seed)
        mx.async_eval(state.x, state.keys, state.values)  # type: ignore[no-untyped-call]

    def _write(self, buffers: list[Array], layer: int, row: int, block: Array) -> None:
        """Put `block` [1, kv, L, D] into the columns that end before the next one to be written."""
        length = int(block.shape[2])
        start = (self._column - length) % self.capacity
        first = min(length, self.capacity - start)
        buffers[layer][row, :, start : start + first] = block[0, :, :first]
        if first < length:
            buffers[layer][row, :, : length - first] = block[0, :, first:]

    def release(self, row: int) -> None:
        """The row goes on computing (its shape is part of the graph), but nobody reads it."""
        self._inputs.clear(row)

    # -- frames -------------------------------------------------------------------------------------------------

    def step(self) -> Array:
        import mlx.core as mx

        state, inputs = self._state, self._inputs
        arguments = (
            state.x, state.position, state.frame, state.seen, mx.array([self._column]), state.keys, state.values,
            inputs.text, inputs.text_length, inputs.pad, inputs.floats, inputs.ints,
        )  # fmt: skip
        state.keys, state.values = [], []  # the graph holds the only reference: its updates happen in place
        self._column = (self._column + 1) % self.capacity
        run = self._run(inputs.mode)
        codes, state.x, state.position, state.frame, state.seen, state.keys, state.values = run(*arguments)
        mx.async_eval(codes, state.x, state.position, state.frame, state.seen, state.keys, state.values)  # type: ignore[no-untyped-call]
        return codes

    def _run(self, mode: Mode) -> Callable[..., Any]:
        import mlx.core as mx

        if mode not in self._steps:

            def run(*arguments: Any) -> Any:
                return self._frame(mode, *arguments)

            self._steps[mode] = mx.compile(run) if self._compiled else run
        return self._steps[mode]

    def _frame(
        self, mode: Mode, x: Array, position: Array, frame: Array, seen: Array, column: Array, keys: list[Array],
        values: list[Array], text: Array, text_length: Array, pad: Array, floats: Array, ints: Array,
    ) -> Any:  # fmt: skip
        import mlx.core as mx

        temperature, top_p, penalty, sub_temperature, sub_top_p = (floats[:, i] for i in range(5))
        top_k, sub_top_k, min_frames, seed = (ints[:, i] for i in range(4))
        capacity = keys[0].shape[2]
        age = (column - mx.arange(capacity)) % capacity
        mask = (age[None] <= position[:, None])[:, None, None]
        new_keys: list[Array] = []
        new_values: list[Array] = []

        def attend(q: Array, k: Array, v: Array) -> Array:
            i = len(new_keys)
            new_keys.append(mx.slice_update(keys[i], k, column, axes=[2]))
            new_values.append(mx.slice_update(values[i], v, column, axes=[2]))
            return mx.fast.scaled_dot_product_attention(
                q, new_keys[i], new_values[i], scale=q.shape[-1] ** -0.5, mask=mask
            )

        for layer in self._layers:
            x = layer(x, position, attend)
        hidden = self._talker.model.norm(x)
        logits = self._talker.codec_head(hidden)[:, -1].astype(mx.float32)
        penalty = penalty[:, None]
        logits = mx.where(seen, mx.where(logits < 0, logits * penalty, logits / penalty), logits)
        ids = mx.arange(logits.shape[-1])
        early = (ids == self.end_code) & (frame < min_frames)[:, None]
        logits = mx.where(self._reserved | early, -mx.inf, logits)

        def keys_of(codebook: int) -> Array:
            return mx.stack([seed.view(mx.uint32), (frame * self.codebooks + codebook).astype(mx.uint32)], axis=1)

        code = draw(logits, temperature, top_k, top_p, keys_of(0), mode)
        seen = seen | (ids == code)
        codes, total = self._predict(
            code, hidden, lambda scores, i: draw(scores, sub_temperature, sub_top_k, sub_top_p, keys_of(i), mode)
        )
        at = mx.minimum(frame, text.shape[1] - 1)[:, None, None]
        fed = mx.take_along_axis(text, mx.broadcast_to(at, (text.shape[0], 1, text.shape[2])), axis=1)
        x = total + mx.where((frame < text_length)[:, None, None], fed, pad)
        return codes, x, position + 1, frame + 1, seen, new_keys, new_values

    def _predict(self, code: Array, hidden: Array, pick: Callable[[Array, int], Array]) -> tuple[Array, Array]:
        """The other codes [B, codebooks] of a frame whose first is `code`, and the sum of all codes' embeddings."""
        import mlx.core as mx

        predictor = self._talker.code_predictor
        embedded = self._talker.model.codec_embedding(code)
        codes, total = [code], embedded
        x, position = mx.concatenate([hidden, embedded], axis=1), 0
        shape = (x.shape[0], self._predictor_layers[0].kv_heads, self.codebooks, self._predictor_layers[0].head_dim)
        caches = [(mx.zeros(shape, x.dtype), mx.zeros(shape, x.dtype)) for _ in self._predictor_layers]
        for i in range(self.codebooks - 1):
            y, end = self._narrow(x), position + x.shape[1]
            for j, layer in enumerate(self._predictor_layers):

                def attend(q: Array, k: Array, v: Array, j: int = j, end: int = end) -> Array:
                    kept_k, kept_v = caches[j]
                    kept_k[:, :, end - k.shape[2] : end] = k
                    kept_v[:, :, end - k.shape[2] : end] = v
                    caches[j] = kept_k, kept_v
                    return mx.fast.scaled_dot_product_attention(
                        q, kept_k[:, :, :end], kept_v[:, :, :end], scale=q.shape[-1] ** -0.5,
                        mask="causal" if q.shape[2] > 1 else None,
                    )  # fmt: skip

                y = layer(y, position, attend)
            position = end
            logits = predictor.lm_head[i](predictor.model.norm(y[:, -1:]))[:, -1]
            code = pick(logits, i + 1)
            codes.append(code)
            x = predictor.codec_embedding[i](code)
            total = total + x
        return mx.concatenate(codes, axis=1), total


def choose(talker: Any, *, rows: int, context: int, device: str) -> Steps:
    """The fastest step that runs `talker` on `device`, with `context` positions for each of `rows` rows.

    Both give the same codes to rounding. On the CPU, which is for tests, compiling costs more than it saves.
    """
    from langdu.engines.qwen3 import kernels

    if device == "cuda" and rows <= kernels.MOST_ROWS and not kernels.unsupported(talker):
        return kernels.KernelStep(talker, rows=rows, capacity=context)
    return FrameStep(talker, rows=rows, capacity=min(512, context), limit=context, compiled=device != "cpu")
