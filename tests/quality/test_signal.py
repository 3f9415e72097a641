"""Figures of sounds whose answers are known by hand."""

import numpy as np
import pytest

from langdu.quality.signal import clipped_share, loudness, measure, true_peak

RATE_HZ = 24_000


def tone(hz: float, seconds: float, level: float = 0.5) -> np.ndarray:
    at = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    return (level * np.sin(2 * np.pi * hz * at + 0.3)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * RATE_HZ), np.float32)


def test_level_of_a_sine_is_3_db_under_its_peak() -> None:
    assert measure(tone(440, 2), RATE_HZ).level_db == pytest.approx(20 * np.log10(0.5) - 3.01, abs=0.05)


def test_a_full_scale_sine_at_997_hz_is_minus_3_lufs() -> None:
    assert loudness(tone(997, 3, 1.0), RATE_HZ) == pytest.approx(-3.01, abs=0.1)


def test_true_peak_finds_what_lies_between_samples() -> None:
    at = np.arange(4800)
    quarter = np.sin(np.pi / 2 * at + np.pi / 4).astype(np.float32)  # every sample at 0.707 of the crest
    assert float(np.abs(quarter).max()) == pytest.approx(0.7071, abs=1e-3)
    assert true_peak(quarter[100:-100]) == pytest.approx(1.0, abs=0.03)


def test_clipping_counts_flat_tops_wherever_the_ceiling_is() -> None:
    whole = tone(200, 1, 1.0)
    cut = np.clip(whole, -0.5, 0.5)
    assert clipped_share(whole) < 0.05
    assert clipped_share(cut) == pytest.approx(2 / 3, abs=0.02)
    assert clipped_share(cut * 0.3) == pytest.approx(2 / 3, abs=0.02)


def test_silences_are_found_where_they_are() -> None:
    facts = measure(np.concatenate([silence(0.5), tone(300, 1), silence(2.5), tone(300, 1), silence(0.8)]), RATE_HZ)
    assert facts.leading_silence_s == pytest.approx(0.5, abs=0.03)
    assert facts.longest_pause_s == pytest.approx(2.5, abs=0.06)
    assert facts.trailing_silence_s == pytest.approx(0.8, abs=0.03)
    assert facts.active_s == pytest.approx(2.0, abs=0.1)


def test_zero_crossings_are_given_as_at_24_khz() -> None:
    at_48 = np.sin(2 * np.pi * 1200 * np.arange(96_000) / 48_000).astype(np.float32)
    assert measure(tone(1200, 2), RATE_HZ).zcr == pytest.approx(0.1, abs=0.005)
    assert measure(at_48, 48_000).zcr == pytest.approx(0.1, abs=0.005)


def test_a_hissing_tail_shows_in_the_last_segments() -> None:
    noise = np.random.default_rng(1).normal(0, 0.2, RATE_HZ // 2).astype(np.float32)
    segments = measure(np.concatenate([tone(200, 1.5), noise]), RATE_HZ).zcr_segments
    assert max(segments[:5]) < 0.05
    assert min(segments[6:]) > 0.4


def test_white_noise_is_flat_and_a_tone_is_not() -> None:
    noise = np.random.default_rng(1).normal(0, 0.2, RATE_HZ).astype(np.float32)
    assert measure(noise, RATE_HZ).flatness > 0.45
    assert measure(tone(440, 1), RATE_HZ).flatness < 0.01


def test_bands_hold_the_share_of_energy_inside_them() -> None:
    facts = measure(tone(300, 1) + tone(1000, 1), RATE_HZ)
    assert facts.band_100_500 == pytest.approx(0.5, abs=0.02)
    assert facts.band_500_2000 == pytest.approx(0.5, abs=0.02)


def test_an_offset_is_measured_and_does_not_hide_silence() -> None:
    facts = measure(silence(1) + np.float32(0.1), RATE_HZ)
    assert facts.dc == pytest.approx(0.1)
    assert facts.active_s == 0


@pytest.mark.parametrize("samples", [0, 1, 100])
def test_sounds_too_short_to_frame_have_figures_too(samples: int) -> None:
    assert measure(tone(440, 1)[:samples], RATE_HZ).seconds == samples / RATE_HZ
