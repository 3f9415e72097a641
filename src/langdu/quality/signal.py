"""Figures of a sound that need no model: level, peaks, silence, noise. Pure functions on arrays.

Rates of zero crossings are brought to 24 kHz, where the limits people share for them were found.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.audio.join import sound_span
from langdu.engines.base import Audio

FLOOR_DB = -90.0
"""What digital silence is given as."""
FRAME_S, HOP_S = 0.032, 0.016
QUIET_DB = -40.0
"""A frame this far below the loudest one is a pause, for holes and for what counts as voice."""
ZCR_HZ = 24_000
SEGMENTS = 8
OVERSAMPLING = 4
CLIP_NEAR = 0.998
"""Samples within 0.2 % of the peak, where runs of them mean that the wave was cut flat."""


@dataclass(frozen=True, slots=True)
class SignalFacts:
    """Levels in dBFS of a full-scale square; times in seconds; shares from 0 to 1."""

    seconds: float
    level_db: float
    """RMS over the frames with sound."""
    loudness_lufs: float
    """As ITU-R BS.1770-4, mono, K weighting applied in the spectrum of each 400 ms block."""
    true_peak_db: float
    """Between the samples too: four times oversampled."""
    clipped_share: float
    dc: float
    leading_silence_s: float
    trailing_silence_s: float
    longest_pause_s: float
    """Longest silence between two sounds."""
    active_s: float
    """Seconds of frames with sound."""
    zcr: float
    """Zero crossings per sample over frames with sound, as at 24 kHz."""
    zcr_segments: tuple[float, ...]
    """The same in eight equal stretches: a take that decays into hiss shows at its end."""
    band_100_500: float
    band_500_2000: float
    """Shares of the energy: references to compare voices by, no verdict."""
    flatness: float
    """Median spectral flatness of frames with sound: near 0.56 for white noise, under 0.1 for voice."""


def measure(audio: Audio, sample_rate_hz: int) -> SignalFacts:
    """Measure mono samples of shape (n,). An empty or silent sound has levels of -90 dB and no active seconds."""
    seconds = len(audio) / sample_rate_hz
    dc = float(np.mean(audio, dtype=np.float64)) if len(audio) else 0.0
    span = sound_span(audio - np.float32(dc), sample_rate_hz, floor_db=QUIET_DB)
    if span is None:
        return SignalFacts(
            seconds,
            FLOOR_DB,
            FLOOR_DB,
            FLOOR_DB,
            0.0,
            dc,
            seconds,
            0.0,
            0.0,
            0.0,
            0.0,
            (0.0,) * SEGMENTS,
            0.0,
            0.0,
            0.0,
        )
    centred = (audio - np.float32(dc)).astype(np.float32)
    frames, hop = _frames(centred, sample_rate_hz)
    power = np.mean(frames.astype(np.float64) ** 2, axis=1)
    active = power >= power.max() * 10 ** (QUIET_DB / 10)
    crossings = np.mean(np.signbit(frames[:, 1:]) != np.signbit(frames[:, :-1]), axis=1) * sample_rate_hz / ZCR_HZ
    spectra = np.abs(np.fft.rfft(frames[active] * np.hanning(frames.shape[1]), axis=1)) ** 2
    frequencies = np.fft.rfftfreq(frames.shape[1], 1 / sample_rate_hz)
    total = float(spectra.sum()) or 1.0

    def band(low_hz: float, high_hz: float) -> float:
        return float(spectra[:, (frequencies >= low_hz) & (frequencies < high_hz)].sum() / total)

    return SignalFacts(
        seconds=seconds,
        level_db=_db(float(power[active].mean())),
        loudness_lufs=loudness(centred, sample_rate_hz),
        true_peak_db=2 * _db(true_peak(audio)),
        clipped_share=clipped_share(audio),
        dc=dc,
        leading_silence_s=span[0] / sample_rate_hz,
        trailing_silence_s=(len(audio) - span[1]) / sample_rate_hz,
        longest_pause_s=_longest_gap(active, hop / sample_rate_hz),
        active_s=float(active.sum()) * hop / sample_rate_hz,
        zcr=float(crossings[active].mean()),
        zcr_segments=_by_segment(crossings, active),
        band_100_500=band(100, 500),
        band_500_2000=band(500, 2000),
        flatness=_flatness(spectra[:, (frequencies >= 100) & (frequencies < 8000)]),
    )


def true_peak(audio: Audio) -> float:
    """Highest magnitude at four times the rate, by a windowed sinc of 12 samples each side (as BS.1770-4 asks)."""
    if not len(audio):
        return 0.0
    taps = np.arange(-12, 12)
    found = float(np.max(np.abs(audio)))
    for phase in range(1, OVERSAMPLING):
        at = taps + phase / OVERSAMPLING
        kernel = np.sinc(at) * np.cos(np.pi * at / 26) ** 2
        found = max(found, float(np.max(np.abs(np.convolve(audio, kernel / kernel.sum(), "same")))))
    return found


def clipped_share(audio: Audio) -> float:
    """Share of samples that lie in flat tops: two or more neighbours within 0.2 % of the peak on the same side."""
    peak = float(np.max(np.abs(audio))) if len(audio) else 0.0
    if peak < 1e-4:
        return 0.0
    share = 0.0
    for side in (audio, -audio):
        top = side >= CLIP_NEAR * peak
        beside = np.zeros_like(top)
        beside[1:] |= top[:-1]
        beside[:-1] |= top[1:]
        share += float(np.mean(top & beside))
    return share


def loudness(audio: Audio, sample_rate_hz: int) -> float:
    """Integrated loudness in LUFS: 400 ms blocks, 75 % overlap, gates at -70 LUFS and 10 LU under the mean."""
    size = int(0.4 * sample_rate_hz)
    if len(audio) < size:
        audio = np.pad(audio, (0, size - len(audio)))
    return gated_lufs(block_powers(audio, sample_rate_hz))


def block_powers(audio: Audio, sample_rate_hz: int) -> npt.NDArray[np.float64]:
    """K-weighted mean square of each 400 ms block, every 100 ms; (blocks,)."""
    size = int(0.4 * sample_rate_hz)
    blocks = np.lib.stride_tricks.sliding_window_view(audio, size)[:: size // 4]
    weight = _k_weight_of(size, sample_rate_hz)
    return np.array([2 * np.sum(np.abs(np.fft.rfft(b)) ** 2 * weight) / size**2 for b in blocks])


def gated_lufs(powers: npt.NDArray[np.float64]) -> float:
    """Integrated loudness of block powers, by both gates of BS.1770-4."""
    kept = powers[_lufs(powers) > -70]
    if not len(kept):
        return FLOOR_DB
    kept = kept[_lufs(kept) > float(_lufs(np.array([kept.mean()]))[0]) - 10]
    return float(_lufs(np.array([kept.mean()]))[0])


def _lufs(powers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return -0.691 + 10 * np.log10(np.maximum(powers, 1e-12))


@functools.lru_cache(maxsize=8)
def _k_weight_of(size: int, sample_rate_hz: int) -> npt.NDArray[np.float64]:
    return _k_weight(np.fft.rfftfreq(size, 1 / sample_rate_hz))


def _k_weight(frequencies: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """Squared magnitude of BS.1770's two filters, whose coefficients are given at 48 kHz."""
    shelf = ([1.53512485958697, -2.69169618940638, 1.19839281085285], [1.0, -1.69065929318241, 0.73248077421585])
    highpass = ([1.0, -2.0, 1.0], [1.0, -1.99004745483398, 0.99007225036621])
    z = np.exp(-2j * np.pi * np.minimum(frequencies, 23_900) / 48_000)
    weight = np.ones(len(frequencies))
    for upper, lower in (shelf, highpass):
        weight = weight * np.abs(np.polyval(upper[::-1], z) / np.polyval(lower[::-1], z)) ** 2
    return weight


def _frames(audio: Audio, sample_rate_hz: int) -> tuple[Audio, int]:
    size, hop = int(FRAME_S * sample_rate_hz), int(HOP_S * sample_rate_hz)
    if len(audio) < size:
        audio = np.pad(audio, (0, size - len(audio)))
    return np.lib.stride_tricks.sliding_window_view(audio, size)[::hop], hop


def _longest_gap(active: npt.NDArray[np.bool_], hop_s: float) -> float:
    at = np.flatnonzero(active)
    return float(max(0, int(np.diff(at).max()) - 1) * hop_s) if len(at) > 1 else 0.0


def _by_segment(crossings: npt.NDArray[np.float64], active: npt.NDArray[np.bool_]) -> tuple[float, ...]:
    at = np.flatnonzero(active)
    parts = np.array_split(np.arange(at[0], at[-1] + 1), SEGMENTS)
    return tuple(float(crossings[part][active[part]].mean()) if active[part].any() else 0.0 for part in parts)


def _flatness(spectra: npt.NDArray[np.float64]) -> float:
    floor = spectra + 1e-14
    return float(np.median(np.exp(np.mean(np.log(floor), axis=1)) / np.mean(floor, axis=1)))


def _db(power: float) -> float:
    return float(max(FLOOR_DB, 10 * np.log10(max(power, 1e-12))))
