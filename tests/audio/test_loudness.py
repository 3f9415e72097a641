"""Loudness: measured as others measure it, and brought to where it was asked."""

from __future__ import annotations

import numpy as np
import pyloudnorm
import pytest

from langdu.audio.loudness import PROFILES, Levels, Meter, gain_db, limit, profile
from langdu.errors import SettingError
from langdu.quality.signal import true_peak


def speechlike(seconds: float, rate: int, level: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(7)
    t = np.arange(int(seconds * rate)) / rate
    voice = np.sin(2 * np.pi * 150 * t) + 0.5 * np.sin(2 * np.pi * 900 * t) + 0.1 * rng.standard_normal(len(t))
    return (level * voice * (np.sin(2 * np.pi * 0.7 * t) > -0.6)).astype(np.float32)


@pytest.mark.parametrize("rate", [24_000, 44_100])
def test_the_meter_agrees_with_pyloudnorm(rate: int) -> None:
    sound = speechlike(30, rate)
    meter = Meter(rate)
    meter.extend(sound[at : at + 7001] for at in range(0, len(sound), 7001))
    assert meter.levels().lufs == pytest.approx(pyloudnorm.Meter(rate).integrated_loudness(sound), abs=0.15)


def test_the_meter_does_not_depend_on_how_blocks_are_cut() -> None:
    sound = speechlike(20, 24_000)
    found = []
    for size in (997, 50_000):
        meter = Meter(24_000)
        meter.extend(sound[at : at + size] for at in range(0, len(sound), size))
        found.append(meter.levels())
    assert found[0].lufs == pytest.approx(found[1].lufs, abs=1e-6)
    assert found[0].true_peak_db == pytest.approx(found[1].true_peak_db, abs=0.01)
    assert found[0].seconds == found[1].seconds == 20


def test_a_sine_at_full_scale_measures_as_the_standard_says() -> None:
    t = np.arange(24_000 * 5) / 24_000
    meter = Meter(24_000)
    meter.add(np.sin(2 * np.pi * 997 * t).astype(np.float32))
    levels = meter.levels()
    assert levels.lufs == pytest.approx(-3.01, abs=0.1)
    assert levels.rms_db == pytest.approx(-3.01, abs=0.01)


def test_gain_brings_a_take_to_the_target() -> None:
    for level in (0.03, 0.1, 0.4):
        sound = speechlike(5, 24_000, level)
        gained = sound * np.float32(10 ** (gain_db(sound, 24_000, -19.0) / 20))
        assert pyloudnorm.Meter(24_000).integrated_loudness(gained) == pytest.approx(-19.0, abs=0.2)


def test_silence_is_not_raised() -> None:
    assert gain_db(np.zeros(24_000, np.float32), 24_000, -19.0) == 0.0


def test_the_limiter_holds_peaks_between_samples_too() -> None:
    sound = speechlike(5, 24_000, 0.9)
    limited = limit(sound, 24_000, -6.0)
    assert 20 * np.log10(true_peak(limited)) <= -5.95
    assert np.abs(np.diff(limited)).max() <= np.abs(np.diff(sound)).max() + 1e-6


def test_the_limiter_leaves_quiet_sound_alone() -> None:
    sound = speechlike(1, 24_000, 0.05)
    assert limit(sound, 24_000, -1.0) is sound


def test_problems_are_named_with_their_figures() -> None:
    levels = Levels(-25.0, -0.2, -0.3, -26.0, -50.0, 60.0)
    assert PROFILES["podcast"].problems(levels) == [
        "loudness -25.0 LUFS, wanted -19.0 ± 0.5",
        "peak -0.2 dBTP, at most -1.0",
    ]
    assert len(PROFILES["acx"].problems(levels)) == 3
    assert PROFILES["none"].problems(levels) == []


def test_an_unknown_profile_lists_the_known() -> None:
    with pytest.raises(SettingError, match="podcast, broadcast, acx, none"):
        profile("radio")
