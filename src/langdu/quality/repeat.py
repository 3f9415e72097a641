"""Said twice: Whisper writes a repeated tail once, so repetition is looked for in the sound itself.

The end of a take is laid over what came before it at every lag. Two sayings of one sentence by one voice have
similar spectra frame by frame, also when the second is not a copy; other words do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Audio
from langdu.quality.transcript import RATE_HZ, resample

HOP_S = 0.02
BANDS = 24
SHORTEST_S, LONGEST_S = 0.7, 20.0
"""Lags that are tried. A shorter repeat is a doubled word, which the transcript shows."""
SLACK = 4
"""Frames (80 ms) that two sayings may drift apart."""

DOUBLED = 3
"""Syllables or words that must come again to count: fewer are a figure of speech."""


@dataclass(frozen=True, slots=True)
class Repeat:
    similarity: float
    """Mean correlation of the end with what lies `lag_s` before it: 1 is a copy."""
    lag_s: float


def repeated_tail(audio: Audio, sample_rate_hz: int) -> Repeat:
    """The lag at which the last `lag_s` of the sound are most like the stretch before them.

    Pauses are taken out first, so that a repeat is as long as its model. Similarity 0 for a sound too short.
    """
    frames = _spectra(resample(audio, sample_rate_hz, RATE_HZ))
    count = len(frames)
    shortest = int(SHORTEST_S / HOP_S)
    lags = range(shortest, min(count // 2, int(LONGEST_S / HOP_S)) + 1)
    if not len(lags):
        return Repeat(0.0, 0.0)
    table = frames @ frames.T
    best, best_lag = 0.0, 0
    for lag in lags:
        tail = np.arange(count - lag, count)
        likeness = np.full(lag, -1.0)
        for drift in range(-SLACK, SLACK + 1):
            before = np.clip(tail - lag + drift, 0, count - 1)
            likeness = np.maximum(likeness, table[tail, before])
        mean = float(likeness.mean())
        if mean > best:
            best, best_lag = mean, lag
    return Repeat(best, best_lag * HOP_S)


def _spectra(sound: Audio) -> npt.NDArray[np.float64]:
    """Log spectra in 24 bands of frames with sound, each with mean 0 and length 1: (frames, bands)."""
    size, hop = 512, int(HOP_S * RATE_HZ)
    if len(sound) < size:
        return np.zeros((0, BANDS))
    frames = np.lib.stride_tricks.sliding_window_view(sound, size)[::hop]
    power = np.abs(np.fft.rfft(frames * np.hanning(size), axis=1)) ** 2
    edges = np.unique(np.geomspace(4, size // 2, BANDS + 1).astype(int))
    bands = np.add.reduceat(power, edges[:-1], axis=1)
    loud = bands.sum(axis=1)
    if loud.max() < 1e-9:
        return np.zeros((0, BANDS))
    kept = np.log(bands[loud > loud.max() * 1e-4] + loud.max() * 1e-7)
    kept = kept - kept.mean(axis=0)
    norm = np.linalg.norm(kept, axis=1, keepdims=True)
    return np.asarray(kept / np.maximum(norm, 1e-9))


def doubled_tail(sounds: tuple[str, ...]) -> int:
    """Longest n with the last n sounds like the n before them, a fifth of them (rounded down) misheard."""
    from rapidfuzz.distance import Levenshtein

    best = 0
    for size in range(DOUBLED, len(sounds) // 2 + 1):
        if Levenshtein.distance(sounds[-size:], sounds[-2 * size : -size]) <= size // 5:
            best = size
    return best
