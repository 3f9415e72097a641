"""From takes to one file: trimmed, levelled, limited, joined, encoded, one take in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from langdu.audio.av_encode import Mark, Tags
from langdu.audio.background import Background
from langdu.audio.encode import Writer
from langdu.audio.join import KEEP_S, Joiner, fade, sound_span
from langdu.audio.loudness import Levels, Meter, Profile, gain_db, limit
from langdu.audio.read import blocks_of
from langdu.engines.base import Audio

HEADROOM_DB = 0.6
"""Kept under the ceiling: lossy codecs shape peaks a little higher than they were."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a second pass corrects, in dB."""

    gain_db: float = 0.0
    ceiling_db: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a take came to lie in the file."""

    start_s: float
    end_s: float
    trimmed_s: float
    """Seconds cut from the take's start: a time in the take less this, plus `start_s`, is its time in the file."""
    gain_db: float


class Renderer:
    """One file. Use as a context; leaving it on an error leaves no file behind."""

    def __init__(
        self, target: str | Path, rate_hz: int, profile: Profile, *, tags: Tags | None = None,
        tuning: Tuning | None = None, bit_rate: int | None = None,
    ) -> None:  # fmt: skip
        self.profile, self.tuning = profile, tuning or Tuning()
        self.rate_hz = profile.rate_hz or rate_hz
        self._writer = Writer(target, self.rate_hz, tags=tags, bit_rate=bit_rate or profile.bit_rate)
        self._joiner = Joiner(self.rate_hz)
        self._chapters: list[tuple[str, int]] = []
        self.samples = 0

    def __enter__(self) -> Renderer:
        self._writer.__enter__()
        self._background = Background(self._writer.write)
        self._write([np.zeros(round(self.profile.head_s * self.rate_hz), np.float32)])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            self._background.abandon()
            self._writer.__exit__(kind, error, trace)
            return
        try:
            self._write([np.zeros(round(self.profile.tail_s * self.rate_hz), np.float32)])
            self._background.close()
        except BaseException as failure:
            self._background.abandon()
            self._writer.__exit__(type(failure), failure, None)
            raise
        self._writer.chapters = self.marks()
        self._writer.__exit__(None, None, None)

    def chapter(self, title: str) -> None:
        """The next take begins a chapter."""
        self._chapters.append((title, -1))

    def add(self, audio: Audio, rate_hz: int, pause_after_s: float) -> Placed:
        """Append one take, trimmed to its sound, and the pause after it (before the next one)."""
        span = sound_span(audio, rate_hz)
        first, last = span or (0, 0)
        keep = int(KEEP_S * rate_hz)
        first, last = max(0, first - keep), min(len(audio), last + keep) if span else 0
        sound, gain = self._levelled(_resampled(audio[first:last], rate_hz, self.rate_hz))
        started = self._joiner.samples
        self._write(self._joiner.pass_on(fade(sound, self.rate_hz), first=True))
        self._joiner.owe(pause_after_s)
        start = self._joiner.samples - len(sound)
        if self._chapters and self._chapters[-1][1] < 0:  # the pause before belongs to the chapter before
            self._chapters[-1] = (self._chapters[-1][0], start if started else 0)
        head = round(self.profile.head_s * self.rate_hz)
        return Placed(
            (head + start) / self.rate_hz, (head + self._joiner.samples) / self.rate_hz, first / rate_hz, gain
        )

    def _levelled(self, sound: Audio) -> tuple[Audio, float]:
        if self.profile.target is None:
            return sound, 0.0
        gain = gain_db(sound, self.rate_hz, self.profile.target) + self.tuning.gain_db
        ceiling = self.profile.ceiling_db - HEADROOM_DB + self.tuning.ceiling_db
        return limit(sound * np.float32(10 ** (gain / 20)), self.rate_hz, ceiling), gain

    def _write(self, blocks: Iterator[Audio] | list[Audio]) -> None:
        for block in blocks:
            if len(block):
                self._background.put(block)
                self.samples += len(block)

    def marks(self) -> Sequence[Mark]:
        """Chapters of this file; one without sound is left out."""
        head = round(self.profile.head_s * self.rate_hz)
        begun = [(title, head + at if at else 0) for title, at in self._chapters if at >= 0]
        if not begun:
            return []
        ends = [at for _, at in begun[1:]] + [self.samples]
        return [
            Mark(title, at / self.rate_hz, end / self.rate_hz)
            for (title, at), end in zip(begun, ends, strict=True)
            if end > at
        ]

    @property
    def seconds(self) -> float:
        return self.samples / self.rate_hz


def levels_of(path: str | Path) -> Levels:
    """Decode a finished file and measure it."""
    meter: Meter | None = None
    for block, rate_hz in blocks_of(path):
        meter = meter or Meter(rate_hz)
        meter.add(block)
    return (meter or Meter(24_000)).levels()


def tuned(profile: Profile, levels: Levels, before: Tuning) -> Tuning:
    """The correction after a pass that missed the profile."""
    assert profile.target is not None
    figure = levels.lufs if profile.by == "lufs" else levels.rms_db
    peak = levels.true_peak_db if profile.by == "lufs" else levels.peak_db
    gain = before.gain_db
    if abs(figure - profile.target) > profile.tolerance:
        gain += profile.target - figure
    over = max(0.0, peak - profile.ceiling_db)
    return Tuning(gain, before.ceiling_db - (over + 0.3 if over else 0.0))


def _resampled(audio: Audio, from_hz: int, to_hz: int) -> Audio:
    if from_hz == to_hz or not len(audio):
        return audio
    import soxr

    return np.asarray(soxr.resample(audio, from_hz, to_hz), np.float32)
