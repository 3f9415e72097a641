"""Takes put end to end: the engine's own silence trimmed, planned pauses in between, no clicks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from langdu.engines.base import Audio

FADE_S = 0.005
KEEP_S = 0.04
"""Silence left at each end of a take, so that soft onsets and tails survive the trim."""
WINDOW_S = 0.01
FLOOR_DB = -50.0
"""A window this far below the take's loudest one is silence."""


def trim(audio: Audio, sample_rate_hz: int, *, keep_s: float = KEEP_S, floor_db: float = FLOOR_DB) -> Audio:
    """`audio` without the silence at its ends, but for `keep_s` at each. Silence alone becomes empty."""
    found = sound_span(audio, sample_rate_hz, floor_db=floor_db)
    if found is None:
        return audio[:0]
    keep = int(keep_s * sample_rate_hz)
    return audio[max(0, found[0] - keep) : found[1] + keep]


def sound_span(audio: Audio, sample_rate_hz: int, *, floor_db: float = FLOOR_DB) -> tuple[int, int] | None:
    """First and past-the-last sample of sound, to a window of 10 ms; None for silence."""
    window = max(1, int(WINDOW_S * sample_rate_hz))
    count = -(-len(audio) // window)
    if count == 0:
        return None
    padded = np.zeros(count * window, np.float32)
    padded[: len(audio)] = audio
    levels = np.sqrt(np.mean(padded.reshape(count, window).astype(np.float64) ** 2, axis=1))
    peak = float(levels.max())
    if peak < 1e-5:  # -100 dBFS: nothing was said
        return None
    loud = np.flatnonzero(levels >= peak * 10 ** (floor_db / 20))
    return int(loud[0]) * window, min(len(audio), (int(loud[-1]) + 1) * window)


def fade(audio: Audio, sample_rate_hz: int, *, seconds: float = FADE_S) -> Audio:
    """A copy that rises from zero and falls to zero over `seconds`: no step at a join."""
    length = min(int(seconds * sample_rate_hz), len(audio) // 2)
    faded = audio.astype(np.float32, copy=True)
    if length:
        ramp = (0.5 - 0.5 * np.cos(np.pi * np.arange(length) / length)).astype(np.float32)
        faded[:length] *= ramp
        faded[-length:] *= ramp[::-1]
    return faded


class Joiner:
    """Joins takes one after another; keeps only what it needs, so a book never has to fit in memory."""

    def __init__(self, sample_rate_hz: int) -> None:
        self.sample_rate_hz = sample_rate_hz
        self.samples = 0
        """Samples given out so far: where the next take will start."""
        self._pause_s = 0.0

    def add(self, audio: Audio, pause_after_s: float, *, gain: float = 1.0) -> Iterator[Audio]:
        """Blocks for one take: the pause owed by the one before it, then its trimmed and faded sound."""
        sound = fade(trim(audio, self.sample_rate_hz), self.sample_rate_hz)
        if self.samples:
            yield from self._give(np.zeros(round(self._pause_s * self.sample_rate_hz), np.float32))
        yield from self._give(sound if gain == 1.0 else sound * np.float32(gain))
        self._pause_s = pause_after_s

    def pass_on(self, piece: Audio, *, first: bool) -> Iterator[Audio]:
        """Blocks for a streamed piece: the pause owed before the first of a take, then the piece as it is."""
        if first and self.samples:
            yield from self._give(np.zeros(round(self._pause_s * self.sample_rate_hz), np.float32))
        yield from self._give(piece)

    def owe(self, pause_after_s: float) -> None:
        """Say which pause follows a take that went through `pass_on`."""
        self._pause_s = pause_after_s

    def _give(self, block: Audio) -> Iterator[Audio]:
        self.samples += len(block)
        if len(block):
            yield block
