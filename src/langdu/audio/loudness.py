"""Loudness of whole productions: profiles, a meter that reads blocks as they come, gains and a limiter.

Meter.add(block)...  -> Levels        integrated loudness, true peak, RMS, noise floor
gain_db(audio, ...)  -> dB            brings one take to the profile's level (so takes match each other)
limit(audio, ...)    -> audio         no sample, and no peak between samples, above the ceiling
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Audio
from langdu.errors import SettingError
from langdu.quality.signal import FLOOR_DB, OVERSAMPLING, block_powers, gated_lufs, loudness

FLOOR_WINDOW_S = 0.5
"""ACX judges the noise floor by the quietest half second."""
MOST_GAIN_DB = 24.0
"""A take further off than this is not speech at another level; it is left for the verdict to name."""
LOOKAHEAD_S = 0.005
SURELY = 0.5
"""Speech whose samples stay 6 dB under the ceiling has no peak between them that reaches it."""


@dataclass(frozen=True, slots=True)
class Levels:
    """dB figures of a whole file. `rms_db` counts pauses, as ACX does."""

    lufs: float
    true_peak_db: float
    peak_db: float
    rms_db: float
    noise_floor_db: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What a platform asks of a file.

    podcast: -19 LUFS for one channel (-16 for two), -1 dBTP. broadcast: EBU R 128, -23 LUFS, -1 dBTP.
    acx: RMS -23 to -18 dBFS, peak at most -3, noise floor at most -60, 44.1 kHz, 192 kbit/s, room before and after.
    """

    name: str
    target: float | None
    """LUFS, or dBFS RMS where `by` is rms; None leaves levels as the takes have them."""
    by: Literal["lufs", "rms"] = "lufs"
    tolerance: float = 0.5
    ceiling_db: float = -1.0
    """True peak; where `by` is rms, sample peak."""
    noise_floor_db: float | None = None
    rate_hz: int | None = None
    bit_rate: int | None = None
    head_s: float = 0.0
    tail_s: float = 0.0
    split: bool = False
    """One file for each chapter."""

    def problems(self, levels: Levels) -> list[str]:
        """What the file is not, in words; empty when it fits the profile."""
        if self.target is None:
            return []
        figure, unit = (levels.lufs, "LUFS") if self.by == "lufs" else (levels.rms_db, "dBFS RMS")
        found = []
        if abs(figure - self.target) > self.tolerance:
            found.append(f"loudness {figure:.1f} {unit}, wanted {self.target:.1f} ± {self.tolerance:.1f}")
        peak, kind = (levels.true_peak_db, "dBTP") if self.by == "lufs" else (levels.peak_db, "dBFS")
        if peak > self.ceiling_db:
            found.append(f"peak {peak:.1f} {kind}, at most {self.ceiling_db:.1f}")
        if self.noise_floor_db is not None and levels.noise_floor_db > self.noise_floor_db:
            found.append(f"noise floor {levels.noise_floor_db:.0f} dBFS, at most {self.noise_floor_db:.0f}")
        return found


PROFILES = {
    "podcast": Profile("podcast", -19.0),
    "broadcast": Profile("broadcast", -23.0),
    "acx": Profile(
        "acx", -20.5, by="rms", tolerance=2.5, ceiling_db=-3.0, noise_floor_db=-60.0, rate_hz=44_100, bit_rate=192_000,
        head_s=0.75, tail_s=2.0, split=True,
    ),
    "none": Profile("none", None),
}  # fmt: skip


def profile(name: str) -> Profile:
    """Raises SettingError that lists the profiles."""
    if name not in PROFILES:
        raise SettingError(f'There is no loudness profile "{name}".', hint=f"Known: {', '.join(PROFILES)}.")
    return PROFILES[name]


def gain_db(audio: Audio, sample_rate_hz: int, target_lufs: float) -> float:
    """Gain that brings one take to `target_lufs`; 0 for silence."""
    found = loudness(audio, sample_rate_hz)
    if found <= -70:
        return 0.0
    return float(np.clip(target_lufs - found, -MOST_GAIN_DB, MOST_GAIN_DB))


def limit(audio: Audio, sample_rate_hz: int, ceiling_db: float) -> Audio:
    """A copy whose true peak is at most `ceiling_db`, turned down smoothly around each peak.

    The gain each sample needs is held over the look-ahead on both sides (a running minimum) and smoothed by a
    window no longer than that hold, so the smoothed gain never exceeds what any peak needs.
    """
    ceiling = 10 ** (ceiling_db / 20)
    if not len(audio) or float(np.abs(audio).max()) <= SURELY * ceiling:
        return audio
    peaks = _peaks(audio)
    if float(peaks.max()) <= ceiling:
        return audio
    half = max(1, int(LOOKAHEAD_S * sample_rate_hz))
    need = np.minimum(1.0, ceiling / np.maximum(peaks, 1e-9))
    held = _running_minimum(np.pad(need, 2 * half, mode="edge"), 2 * half + 1)
    total = np.cumsum(np.concatenate(([0.0], held)))
    smooth = (total[2 * half + 1 :] - total[: -2 * half - 1]) / (2 * half + 1)
    return np.asarray(audio * np.minimum(smooth, 1.0), np.float32)


def _running_minimum(values: npt.NDArray[np.floating[Any]], width: int) -> npt.NDArray[np.floating[Any]]:
    """Minimum over each window of `width`, by doubling: (n,) -> (n - width + 1,)."""
    reach = 1
    while reach < width:
        step = min(reach, width - reach)
        values = np.minimum(values[:-step], values[step:])
        reach += step
    return values


def _peaks(audio: Audio) -> Audio:
    """Per sample, the highest magnitude around it at four times the rate (see quality.signal.true_peak)."""
    taps = np.arange(-12, 12)
    found = np.abs(audio).astype(np.float32)
    for phase in range(1, OVERSAMPLING):
        at = taps + phase / OVERSAMPLING
        kernel = (np.sinc(at) * np.cos(np.pi * at / 26) ** 2).astype(np.float32)
        if len(audio) >= len(kernel):
            between = np.abs(np.convolve(audio, kernel / kernel.sum(), "same"))
            found = np.maximum(found, between)
    # A peak between two samples belongs to both.
    found[1:] = np.maximum(found[1:], found[:-1])
    found[:-1] = np.maximum(found[:-1], found[1:])
    return found


class Meter:
    """Reads a whole production block by block; keeps ten numbers a second."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._rate = sample_rate_hz
        self._size = int(0.4 * sample_rate_hz)
        self._hop = self._size // 4
        self._waiting: list[Audio] = []
        self._count = 0
        self._powers: list[float] = []
        self._samples = 0
        self._energy = 0.0
        self._peak = self._true_peak = 0.0
        self._windows: list[float] = []

    def add(self, block: Audio) -> None:
        self._waiting.append(block)
        self._count += len(block)
        if self._count >= 8 * self._rate:
            self._work(final=False)

    def extend(self, blocks: Iterable[Audio]) -> None:
        for block in blocks:
            self.add(block)

    def _work(self, *, final: bool) -> None:
        sound = np.concatenate(self._waiting) if self._waiting else np.zeros(0, np.float32)
        hops = max(0, (len(sound) - self._size) // self._hop + 1)
        used = len(sound) if final else hops * self._hop
        if hops:
            powers = block_powers(sound[: (hops - 1) * self._hop + self._size], self._rate)
            self._powers.extend(powers.tolist())
        done = sound[:used]
        if len(done):
            self._energy += float(np.sum(done.astype(np.float64) ** 2))
            self._peak = max(self._peak, float(np.abs(done).max()))
            self._true_peak = max(self._true_peak, float(_peaks(done).max()))
            window = int(FLOOR_WINDOW_S * self._rate)
            for at in range(0, len(done) - window + 1, window):
                self._windows.append(float(np.mean(done[at : at + window].astype(np.float64) ** 2)))
        self._samples += used
        self._waiting = [sound[used:]]
        self._count = len(sound) - used

    def levels(self) -> Levels:
        """Ends the reading."""
        self._work(final=True)
        mean = self._energy / max(1, self._samples)
        return Levels(
            gated_lufs(np.array(self._powers)), _db(self._true_peak**2), _db(self._peak**2), _db(mean),
            _db(min(self._windows, default=0.0)), self._samples / self._rate,
        )  # fmt: skip


def _db(power: float) -> float:
    return float(max(FLOOR_DB, 10 * np.log10(max(power, 1e-12))))
