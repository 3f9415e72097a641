"""A stretch that comes again at the end is found by its spectra; other stretches are not taken for it."""

import numpy as np
import pytest

from langdu.quality.repeat import doubled_tail, repeated_tail

RATE_HZ = 16_000


def babble(seed: int, syllables: int) -> np.ndarray:
    """Syllables of 0.2 s, each with partials of its own."""
    random = np.random.default_rng(seed)
    at = np.arange(RATE_HZ // 5) / RATE_HZ
    parts = []
    for _ in range(syllables):
        partials = random.uniform(150, 6000, 6)
        sound = sum(np.sin(2 * np.pi * hz * at) for hz in partials) * np.hanning(len(at))
        parts.append(0.05 * sound)
    return np.concatenate(parts).astype(np.float32)


def test_a_copied_end_is_found_with_its_length() -> None:
    last = babble(2, 8)
    found = repeated_tail(np.concatenate([babble(1, 10), last, last]), RATE_HZ)
    assert found.similarity > 0.9
    assert found.lag_s == pytest.approx(1.6, abs=0.1)


def test_a_pause_between_does_not_hide_it() -> None:
    last, pause = babble(2, 8), np.zeros(RATE_HZ // 2, np.float32)
    assert repeated_tail(np.concatenate([babble(1, 10), pause, last, pause, last]), RATE_HZ).similarity > 0.9


def test_other_syllables_are_not_a_repeat() -> None:
    assert repeated_tail(babble(3, 30), RATE_HZ).similarity < 0.75


@pytest.mark.parametrize("audio", [np.zeros(0, np.float32), np.zeros(RATE_HZ * 3, np.float32), babble(1, 2)])
def test_nothing_repeats_in_silence_or_in_too_little(audio: np.ndarray) -> None:
    assert repeated_tail(audio, RATE_HZ).similarity == 0


@pytest.mark.parametrize(
    ("sounds", "length"),
    [("abcdefdef", 3), ("abcdef", 0), ("abab", 0), ("xabcdeabcde", 5), ("xabcdefabcdxf", 6), ("", 0)],
)
def test_the_length_of_a_doubled_tail(sounds: str, length: int) -> None:
    assert doubled_tail(tuple(sounds)) == length
