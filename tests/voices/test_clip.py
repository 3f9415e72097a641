"""Which part of a clip is kept, and how loud."""

import numpy as np
import pytest

from langdu.voices.clip import level, measure, window
from langdu.voices.words import cut_to


def test_a_clip_that_fits_is_kept_but_for_its_silent_ends() -> None:
    assert window([(1.0, 4.0), (4.5, 7.0)], 9.0, 20.0) == (0.9, 7.1, False)


def test_a_word_cut_off_by_the_end_is_dropped_at_the_last_pause() -> None:
    start, end, in_word = window([(0.5, 4.0), (4.5, 6.0)], 6.0, 20.0)
    assert (start, in_word) == (0.4, False)
    assert 4.0 <= end <= 4.5


def test_without_a_pause_a_cut_off_word_is_reported() -> None:
    assert window([(0.5, 6.0)], 6.0, 20.0)[2]


def test_a_long_clip_is_cut_pause_to_pause_within_bounds() -> None:
    spans = [(start, start + 3.6) for start in np.arange(0.2, 176, 4.0)]
    start, end, in_word = window(spans, 180.0, 20.0)
    assert 3 <= end - start <= 20 and not in_word
    assert any(abs(start + 0.1 - s) < 0.11 for s, _ in spans)
    assert any(abs(end - 0.1 - e) < 0.11 for _, e in spans)


@pytest.mark.parametrize("gain", [0.001, 0.1, 1.0])
def test_level_brings_any_voice_to_one_loudness_under_the_peak(gain: float) -> None:
    tone = np.sin(np.arange(48_000) / 20).astype(np.float32)
    found = level(tone * np.float32(gain))
    assert 20 * np.log10(np.sqrt(np.mean(found**2))) == pytest.approx(-20, abs=0.2)
    assert np.abs(found).max() <= 0.9


def test_clipping_and_noise_are_measured() -> None:
    rng = np.random.default_rng(0)
    tone = np.clip(3 * np.sin(np.arange(24_000) / 20), -1, 1)
    quiet = rng.normal(0, 0.01, 24_000)
    found = measure(np.concatenate([tone, quiet]).astype(np.float32), 24_000, [(0.0, 1.0)])
    assert found.clipped_share > 0.2
    assert found.noise_db == pytest.approx(-40, abs=0.5)
    assert found.speech_share == pytest.approx(0.5)


def test_a_transcript_is_cut_to_what_was_heard_with_its_closing_mark() -> None:
    whole = "今天天气很好。我们去公园散步，好吗？然后回家吃饭。"
    assert cut_to(whole, "我们去公园散步好吗") == "我们去公园散步，好吗？"
    assert cut_to("One two three. Four five six.", "four five") == "Four five"
