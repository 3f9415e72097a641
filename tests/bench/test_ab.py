"""A against B on the tone engine: turns, ratio, and what may be claimed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from langdu.bench import ab
from langdu.bench.figures import Figure
from langdu.bench.hearing import Judged, Listener
from langdu.bench.target import tone
from langdu.quality.compare import compare
from langdu.quality.signal import measure
from langdu.quality.verdict import Verdict

TEXT = "今天下午三点开会。"
LISTENER = Listener(None, "not measured")


def judged(heard: str) -> Judged:
    import numpy as np

    return Judged((Verdict("pass", (), measure(np.zeros(2400, np.float32), 24_000), None, compare(TEXT, heard, "zh")),))


@pytest.fixture(scope="module")
def outcome() -> ab.Outcome:
    quick, slow = tone().with_options(delay_s=0.002), tone().with_options(delay_s=0.02)
    return ab.run(quick, slow, TEXT, repeats=2, listener=LISTENER)


def test_the_ratio_is_of_the_rounds(outcome):
    pairs = zip(outcome.a.rtf.values, outcome.b.rtf.values, strict=True)
    assert outcome.ratio.values == tuple(a / b for a, b in pairs)
    assert outcome.faster == "a"


def test_words_that_were_not_heard_are_not_called_equal(outcome):
    assert outcome.equal is None


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [(TEXT, "今天下午3点开会", True), (TEXT, "今天下午三点开车。", False), ("金天下午三点", "金天下午三点", True)],
    ids=["another spelling", "one character", "both wrong alike"],
)
def test_equal_is_to_the_character(outcome, first, second, equal):
    found = replace(outcome, a=replace(outcome.a, judged=judged(first)), b=replace(outcome.b, judged=judged(second)))
    assert found.equal is equal


@pytest.mark.parametrize(
    ("rounds", "claim"), [((0.9, 0.95), "a"), ((1.2, 1.1), "b"), ((0.9, 1.1), "neither"), ((0.5,), "neither")]
)
def test_faster_is_claimed_when_every_round_says_so(outcome, rounds, claim):
    assert replace(outcome, ratio=Figure.of(rounds)).faster == claim


def test_both_say_the_same_cuts(outcome):
    assert outcome.a.audio_s.median == outcome.b.audio_s.median
