"""What each row was given: text fed step by step, its padding, sampling settings. Changes only when a row is filled."""

from __future__ import annotations

from typing import Any, Protocol

from langdu.engines.qwen3.draw import Mode, Settings, rows_of

Array = Any
TEXT_BUCKET = 64
"""Room for text fed step by step grows by this many positions; a step compiled for a shape is compiled once more."""


class Prompt(Protocol):
    """What a row starts from: embeds [1, L, H]; trailing_text [1, T, H], one position a frame; then pad [1, 1, H]."""

    embeds: Array
    trailing_text: Array
    pad: Array


class Inputs:
    """Arrays over all rows: text [B, T, H], text_length [B], pad [B, 1, H], floats [B, 5] and ints [B, 4] (see `rows_of`)."""

    def __init__(self, rows: int, hidden: int, dtype: Any) -> None:
        import mlx.core as mx

        self._dtype = dtype
        self.text = mx.zeros((rows, TEXT_BUCKET, hidden), dtype)
        self.text_length = mx.zeros((rows,), mx.int32)
        self.pad = mx.zeros((rows, 1, hidden), dtype)
        self.floats = mx.ones((rows, 5))
        self.ints = mx.zeros((rows, 4), mx.int32)
        self._settings: list[Settings | None] = [None] * rows

    def set(self, row: int, prompt: Prompt, settings: Settings, seed: int) -> None:
        import mlx.core as mx

        text = prompt.trailing_text
        length, room = int(text.shape[1]), int(self.text.shape[1])
        if length > room:
            wanted = -(-length // TEXT_BUCKET) * TEXT_BUCKET
            self.text = mx.pad(self.text, [(0, 0), (0, wanted - room), (0, 0)])
        if length:
            self.text[row, :length] = text[0].astype(self._dtype)
        self.text_length[row] = length
        self.pad[row] = prompt.pad[0].astype(self._dtype)
        floats, ints = rows_of(settings, seed)
        self.floats[row] = mx.array(floats)
        self.ints[row] = mx.array(ints)
        self._settings[row] = settings

    def clear(self, row: int) -> None:
        self._settings[row] = None

    @property
    def mode(self) -> Mode:
        return Mode.of([settings for settings in self._settings if settings is not None])
