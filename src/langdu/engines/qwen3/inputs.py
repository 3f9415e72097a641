"""What each row was given: text fed step by step, its padding, sampling sampling. Changes only when a row is filled."""

from __future__ import annotations

from typing import Any

from langdu.engines.qwen3.draw import Mode, rows_of
from langdu.engines.qwen3.prompt import Prompt
from langdu.engines.qwen3.sampling import Sampling

Array = Any
TEXT_BUCKET = 64
"""Room for text fed step by step grows by this many positions; a step compiled for a shape is compiled once more."""


class Inputs:
    """Arrays over all rows: text [B, T, H], text_length [B], pad [B, 1, H]; floats [B, 5], ints [B, 4] of `rows_of`."""

    def __init__(self, rows: int, hidden: int, dtype: Any) -> None:
        import mlx.core as mx

        self._dtype = dtype
        self.text = mx.zeros((rows, TEXT_BUCKET, hidden), dtype)
        self.text_length = mx.zeros((rows,), mx.int32)
        self.pad = mx.zeros((rows, 1, hidden), dtype)
        self.floats = mx.ones((rows, 5))
        self.ints = mx.zeros((rows, 4), mx.int32)
        self._sampling: list[Sampling | None] = [None] * rows

    def set(self, row: int, prompt: Prompt, sampling: Sampling, seed: int) -> None:
        import mlx.core as mx

        text = prompt.trailing
        length, room = int(text.shape[1]), int(self.text.shape[1])
        if length > room:
            wanted = -(-length // TEXT_BUCKET) * TEXT_BUCKET
            self.text = mx.pad(self.text, [(0, 0), (0, wanted - room), (0, 0)])
        if length:
            self.text[row, :length] = text[0].astype(self._dtype)
        self.text_length[row] = length
        self.pad[row] = prompt.pad[0].astype(self._dtype)
        floats, ints = rows_of(sampling, seed)
        self.floats[row] = mx.array(floats)
        self.ints[row] = mx.array(ints)
        self._sampling[row] = sampling

    def clear(self, row: int) -> None:
        self._sampling[row] = None

    @property
    def mode(self) -> Mode:
        return Mode.of([sampling for sampling in self._sampling if sampling is not None])
