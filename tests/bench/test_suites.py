"""The suites on the tone engine: what is measured, when it stops, what it leaves."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from langdu.bench.context import Context
from langdu.bench.hearing import Listener, endings
from langdu.bench.measure import Session, chunks_of, repeat
from langdu.bench.suites import SUITES
from langdu.bench.target import tone
from langdu.engines.base import EngineInfo
from langdu.synthesis.model import Take


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(tmp_path, Listener(None, "not measured"), repeats=2)


def test_short_has_the_first_sound_before_the_end(context):
    (row,) = SUITES["short"][0](context, tone().with_options(delay_s=0.005))
    first, end = row.figures["first_sound_s"], row.figures["seconds"]
    assert len(end.values) == 2
    assert first.high < end.low
    assert row.figures["audio_s"].median == pytest.approx(30 * 0.05, abs=0.2)


def test_rtf_is_work_over_sound(context):
    (row,) = SUITES["long"][0](context, tone())
    figures = row.figures
    for seconds, audio, rtf in zip(*(figures[n].values for n in ("seconds", "audio_s", "rtf")), strict=True):
        assert rtf == pytest.approx(seconds / audio)


def test_a_burst_says_when_each_was_done(context):
    three, eight = SUITES["burst"][0](context, tone())
    assert (three.setup, eight.setup) == ("3 at once", "8 at once")
    assert three.facts["done_s"] == sorted(three.facts["done_s"])
    assert len(eight.facts["done_s"]) == 8
    assert eight.figures["first_done_s"].median <= eight.figures["median_done_s"].median


def test_scaling_stops_with_a_reason(context):
    context.processes = 2
    rows = list(SUITES["scale"][0](context, tone().with_options(delay_s=0.004)))
    assert [row.setup for row in rows] == ["1 worker", "2 workers"]
    assert rows[0].figures["speedup"].median == pytest.approx(1)
    assert rows[1].figures["speedup"].median > 1.2, "sleeping workers do not share anything"
    assert context.notes == ["scale, tone: stopped before 4 workers: 2 processes were asked for"]


def test_a_batched_engine_scales_by_slots_and_by_processes(context):
    context.processes = 1
    rows = list(SUITES["scale"][0](context, tone().with_options(slots=2)))
    assert {row.setup for row in rows} >= {"1 slot", "1 worker"}


def test_memory_is_given_back_by_the_end_of_the_process(context):
    (row,) = SUITES["memory"][0](context, tone())
    assert row.passed
    assert row.figures["peak_memory_mb"].median >= row.figures["idle_memory_mb"].median > 10
    assert row.figures["unloaded_memory_mb"].median == 0
    assert row.figures["unload_s"].median == pytest.approx(row.facts["idle_s"], abs=2)


def test_a_fresh_process_is_timed_from_outside(context):
    (row,) = SUITES["cold"][0](context, tone())
    assert row.passed
    assert row.figures["load_s"].median < row.figures["first_sound_s"].median <= row.figures["seconds"].median


def test_quality_measures_the_signal_where_no_words_are(context):
    (row,) = SUITES["quality"][0](context, tone())
    assert (row.passed, row.why) == (None, "not judged: a tone has no words")
    assert len(row.facts["zcr_segments"]) == 8
    assert 2 * 200 / 24_000 < row.figures["zcr"].low <= row.figures["zcr"].high < 2 * 800 / 24_000
    assert "cer" not in row.figures


def test_one_precision_alone_is_said(context):
    assert list(SUITES["precision"][0](context, tone())) == []
    assert "no second precision" in context.notes[0]


def test_leaving_a_session_leaves_no_process():
    target = tone()
    with Session(target, workers=2) as session:
        repeat(session, chunks_of(target, "一二三。"), 1)
        assert len(psutil.Process().children()) == 2
    assert psutil.Process().children() == []


def test_a_take_that_ran_away_does_not_pass():
    import numpy as np

    info = EngineInfo("qwen3", "m", "r", "8bit", "cpu", 24_000)
    cut = Take("", np.ones(10, np.float32), 24_000, 0, 1.0, "budget", 1, info)
    silent = Take("", np.zeros(10, np.float32), 24_000, 0, 1.0, "ended", 1, info)
    assert endings(tone(), [cut]) == (False, "a take ran into its frame budget")
    assert endings(tone(), [silent]) == (False, "a take without sound")
