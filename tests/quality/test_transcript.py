"""What counts as heard."""

import numpy as np
import pytest

from langdu.quality.transcript import PROMPTS, is_echo, resample, speech_spans


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("以下是普通话的句子,带标点。", True),
        ("以下是普通话的句子。以下是普通话的句子。", True),
        ("普通话的句子", True),
        ("普通话", False),
        ("今天天气很好。", False),
        ("", False),
    ],
)
def test_the_prompt_said_back_is_nothing_heard(text: str, echo: bool) -> None:
    assert is_echo(text, PROMPTS["zh"]) is echo


def test_there_is_no_voice_in_noise_or_silence() -> None:
    noise = np.random.default_rng(0).normal(0, 0.05, 48_000).astype(np.float32)
    assert speech_spans(noise, 24_000) == []
    assert speech_spans(np.zeros(48_000, np.float32), 24_000) == []


def test_resampling_keeps_the_duration() -> None:
    assert len(resample(np.zeros(24_000, np.float32), 24_000, 16_000)) == 16_000
