"""Verdicts that need no model: the cheap figures, the order of takes, seeds."""

import numpy as np
import pytest

from langdu.engines.base import EngineInfo
from langdu.quality.signal import measure
from langdu.quality.verdict import Verdict, better, judge, seed_for
from langdu.synthesis.model import Chunk, Take
from langdu.voices.persona import BuiltinPersona

RATE_HZ = 24_000
INFO = EngineInfo("tone", "tone", "0", "float32", "cpu", RATE_HZ)


def chunk(text: str) -> Chunk:
    return Chunk(0, 0, 1, text, "zh", BuiltinPersona(name="tone", voice="tone"), 0.15)


def take(audio: np.ndarray, **facts: object) -> Take:
    fields: dict[str, object] = {"seed": 0, "seconds": 1.0, "ending": "ended", "frames": 0, "engine": INFO} | facts
    return Take("key", audio.astype(np.float32), RATE_HZ, **fields)  # type: ignore[arg-type]


def voiced(seconds: float) -> np.ndarray:
    """A buzz with a changing pitch and a colour that never comes back: what passes for a voice to the signal checks."""
    at = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    phase = 2 * np.pi * np.cumsum(140 + 30 * np.sin(2 * np.pi * 2 * at)) / RATE_HZ
    return 0.2 * sum((1 + 0.8 * np.sin(np.sqrt(n) * 4 * at)) * np.sin(n * phase) / n for n in range(1, 9))


SIX = "今天天气很好"


def test_a_healthy_sound_of_the_right_length_passes_without_a_checker() -> None:
    assert judge(chunk(SIX), take(voiced(1.2))).outcome == "pass"


@pytest.mark.parametrize(
    ("audio", "name"),
    [
        (np.random.default_rng(0).normal(0, 0.1, 30 * RATE_HZ), "noise"),
        (np.zeros(RATE_HZ), "silent"),
        (np.zeros(0), "silent"),
        (voiced(1.2) + 0.1, "dc offset"),
        (np.clip(voiced(1.2), -0.1, 0.1), "clipped"),
        (np.concatenate([voiced(0.6), np.zeros(int(2.5 * RATE_HZ)), voiced(0.6)]), "hole"),
        (voiced(4.8), "too long"),
        (voiced(0.4), "too short"),
        (voiced(1.2) * 1e-3, "quiet"),
    ],
)
def test_faults_are_named(audio: np.ndarray, name: str) -> None:
    verdict = judge(chunk(SIX), take(audio))
    assert verdict.outcome == "fault"
    assert name in verdict.faults


def test_the_frame_budget_is_a_fault_however_good_it_sounds() -> None:
    assert judge(chunk(SIX), take(voiced(1.2), ending="budget")).faults == ("budget",)


def test_a_finding_carries_figure_threshold_and_source() -> None:
    [finding] = judge(chunk(SIX), take(voiced(1.2) + 0.1)).findings
    assert (finding.name, finding.source, finding.threshold) == ("dc offset", "signal", 0.02)
    assert finding.figure == pytest.approx(0.1, abs=0.01)


def test_half_speed_doubles_the_expected_length() -> None:
    slow = Chunk(0, 0, 1, SIX, "zh", chunk("").persona, 0.15, speed=0.5)
    assert judge(slow, take(voiced(2.4))).outcome == "pass"


def verdict(outcome: str, ratio: float = 1.0, attempt: int = 1) -> Verdict:
    return Verdict(outcome, (), measure(np.zeros(0, np.float32), RATE_HZ), duration_ratio=ratio, attempt=attempt)  # type: ignore[arg-type]


def test_pass_is_better_than_inconclusive_is_better_than_fault() -> None:
    good, unsure, bad = verdict("pass", 1.4), verdict("inconclusive", 1.2), verdict("fault", 1.0)
    assert better(unsure, good) is good
    assert better(unsure, bad) is unsure


def test_of_equal_outcomes_the_likelier_length_then_the_earlier_take_is_kept() -> None:
    assert better(verdict("fault", 1.5), verdict("fault", 1.1, 2)).attempt == 2
    assert better(verdict("fault", 1.1, 2), verdict("fault", 1.1, 1)).attempt == 1


def test_seeds_of_retries_differ_and_are_the_same_everywhere() -> None:
    assert seed_for(1, 7) == 7
    assert len({seed_for(attempt, base) for attempt in (1, 2, 3) for base in (0, 1, 2)}) == 9
    assert seed_for(2, 0) == seed_for(2, 0) < 2**31
