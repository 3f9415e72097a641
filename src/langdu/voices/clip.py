"""Figures of a clip, the part of it worth keeping, and its level."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from langdu.engines.base import Audio

Span = tuple[float, float]
FRAME_S = 0.02
TARGET_DB, PEAK = -20.0, 0.89
"""RMS of the loud frames, and the peak (-1 dBFS) that it must not pass."""
SHORTEST_S, BEST_S = 3.0, 12.0
PAUSE_S = 0.12
"""A gap of at least this between two stretches of voice is a place to cut at."""
EDGE_S = 0.06
"""Voice nearer than this to the end of the file was cut off by it: speech fades for longer."""
MARGIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Measures:
    peak_db: float
    speech_db: float
    """RMS within voice, dBFS."""
    noise_db: float | None
    """RMS outside voice; None where there is too little of it (0.1 s)."""
    snr_db: float | None
    clipped_share: float
    speech_share: float


def measure(sound: Audio, rate_hz: int, spans: list[Span]) -> Measures:
    """Level, noise, clipping and share of speech of mono samples; `spans` are its voice in seconds."""
    mask = np.zeros(len(sound), bool)
    for start, end in spans:
        mask[round(start * rate_hz) : round(end * rate_hz)] = True
    peak = float(np.max(np.abs(sound), initial=0.0))
    # Clipped: at the peak three samples running, which sound as it comes from a microphone is not.
    top = np.abs(sound) >= max(0.999 * peak, 0.5)
    runs = top[:-2] & top[1:-1] & top[2:] if len(top) > 2 else top[:0]
    quiet = sound[~mask]
    speech_db = _db(_rms(sound[mask]))
    noise_db = _db(_rms(quiet)) if len(quiet) > 0.1 * rate_hz else None
    return Measures(
        _db(peak), speech_db, noise_db, None if noise_db is None else speech_db - noise_db,
        float(runs.mean()) if len(runs) else 0.0, float(mask.mean()),
    )  # fmt: skip


def window(spans: list[Span], seconds: float, longest_s: float, *, faded: bool = False) -> tuple[float, float, bool]:
    """(start, end, ends in mid-word) of the part to keep: pause to pause, 3 to `longest_s` where it can be.

    `faded`: the sound has died away by its end, so no word is broken there.
    The best part has the most voice, up to 12 s, and the fewest seconds beyond that.
    """
    cut_off = not faded and seconds - spans[-1][1] < EDGE_S
    groups = _between_pauses(spans)
    usable = groups[:-1] if cut_off and len(groups) > 1 else groups
    if cut_off and usable[-1][1] - usable[0][0] < 1.0:
        usable = groups
    in_word = cut_off and usable is groups
    best, best_score = (usable[0][0], min(usable[0][1], usable[0][0] + longest_s)), -np.inf
    for first, last in itertools.combinations_with_replacement(range(len(usable)), 2):
        start, end = usable[first][0], usable[last][1]
        if end - start > longest_s - 2 * MARGIN_S:
            continue
        voiced = sum(min(e, end) - max(s, start) for s, e in spans if s < end and e > start)
        score = min(voiced, BEST_S) - 0.5 * max(0.0, end - start - BEST_S) - 5.0 * (end - start < SHORTEST_S)
        if seconds <= longest_s:  # a clip that fits is kept whole, but for its silent ends and a broken word
            score = voiced
        if score > best_score:
            best, best_score = (start, end), score
    in_word = in_word and best[1] == groups[-1][1]
    before = max((e for _, e in spans if e <= best[0]), default=0.0)
    after = min((s for s, _ in spans if s >= best[1]), default=seconds)
    return max(before, best[0] - MARGIN_S), min(after, best[1] + MARGIN_S), in_word


def level(sound: Audio) -> Audio:
    """Voice at -20 dBFS (RMS of the loud half of 20 ms frames at 24 kHz), peak at or under -1 dBFS, no DC."""
    sound = sound - np.float32(sound.mean())
    size = round(FRAME_S * 24_000)
    frames = sound[: len(sound) // size * size].reshape(-1, size)
    power = np.sort(np.mean(frames.astype(np.float64) ** 2, axis=1))
    loud = float(np.sqrt(power[len(power) // 2 :].mean()))
    gain = min(10 ** (TARGET_DB / 20) / max(loud, 1e-6), PEAK / max(float(np.abs(sound).max()), 1e-6))
    return np.asarray(sound * gain, np.float32)


def _between_pauses(spans: list[Span]) -> list[Span]:
    groups = [spans[0]]
    for start, end in spans[1:]:
        if start - groups[-1][1] < PAUSE_S:
            groups[-1] = (groups[-1][0], end)
        else:
            groups.append((start, end))
    return groups


def _rms(sound: Audio) -> float:
    return float(np.sqrt(np.mean(sound.astype(np.float64) ** 2))) if len(sound) else 0.0


def _db(value: float) -> float:
    return float(20 * np.log10(max(value, 1e-6)))
