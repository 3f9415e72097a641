"""Takes end to end: no clicks, and the planned length to the sample."""

from __future__ import annotations

import numpy as np
import pytest

from langdu.audio.join import KEEP_S, Joiner, fade, trim

RATE = 24_000


def ramp(start: float, end: float, seconds: float) -> np.ndarray:
    return np.linspace(start, end, int(seconds * RATE), dtype=np.float32)


def test_a_join_of_takes_that_begin_and_end_loud_has_no_step() -> None:
    joiner = Joiner(RATE)
    takes = [ramp(0.8, -0.7, 0.5), ramp(0.8, -0.7, 0.4), ramp(0.8, -0.7, 0.3)]
    joined = np.concatenate([block for take in takes for block in joiner.add(take, 0.15)])
    assert np.abs(np.diff(joined)).max() <= 0.05 * np.abs(joined).max()


@pytest.mark.parametrize("pauses", [(0.15, 0.35, 1.2), (0.0, 0.0, 0.0)])
def test_the_length_is_as_planned(pauses: tuple[float, ...]) -> None:
    joiner = Joiner(RATE)
    takes = [ramp(0.5, -0.5, seconds) for seconds in (0.5, 0.31, 1.0)]
    joined = np.concatenate([b for take, pause in zip(takes, pauses, strict=True) for b in joiner.add(take, pause)])
    planned = sum(len(take) for take in takes) + sum(round(pause * RATE) for pause in pauses[:-1])
    assert len(joined) == planned == joiner.samples


def test_trim_keeps_a_little_silence_at_each_end() -> None:
    sound = np.sin(np.arange(RATE) * 0.1).astype(np.float32)
    silence = np.zeros(RATE, np.float32)
    trimmed = trim(np.concatenate([silence, sound, silence]), RATE)
    assert abs(len(trimmed) - (len(sound) + 2 * KEEP_S * RATE)) <= 0.02 * RATE


def test_silence_trims_to_nothing() -> None:
    assert len(trim(np.zeros(RATE, np.float32), RATE)) == 0


def test_fade_leaves_the_middle_alone() -> None:
    sound = np.full(RATE, 0.5, np.float32)
    faded = fade(sound, RATE)
    assert faded[0] == 0
    np.testing.assert_array_equal(faded[1000:-1000], sound[1000:-1000])
