"""The suites on a tiny random checkpoint: it speaks noise, so the flow and the facts are tested, not the speed."""

from __future__ import annotations

import importlib

import pytest

from langdu.bench.context import Context
from langdu.bench.hearing import Listener
from langdu.bench.suites import SUITES
from langdu.bench.target import of_model

pytest.importorskip("mlx.core")


@pytest.fixture
def context(tmp_path):
    return Context(
        tmp_path, Listener(None, "transcript not measured: --no-transcript"), 1, machine={"mlx_device": "cpu"}
    )


@pytest.fixture
def target(tiny_base, tmp_path, monkeypatch):
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path / "data"))
    return of_model(str(tiny_base), tmp_path, fixed_length=True)


def test_short_speaks_as_long_as_its_text(context, target):
    (row,) = SUITES["short"][0](context, target)
    assert row.figures["audio_s"].median == pytest.approx(30 / 4.5, abs=0.1)
    assert row.figures["first_sound_s"].median < row.figures["seconds"].median
    assert (row.passed, row.why) == (None, "not judged: the lengths were fixed")
    assert (row.facts["device"], row.facts["precision"]) == ("cpu", "float32")


def test_scale_offers_slots_and_processes_of_one_row(context, target, monkeypatch):
    module = importlib.import_module("langdu.bench.suites.scale")
    monkeypatch.setattr(module, "CHUNK_CHARS", 12)
    monkeypatch.setattr(module, "CHUNKS_EACH", 1)
    context.processes = 2
    rows = list(SUITES["scale"][0](context, target))
    assert {row.setup for row in rows} >= {"1 slot", "2 slots", "1 worker", "2 workers"}
    assert any("slots: " in note for note in context.notes)
    assert any("workers: " in note for note in context.notes)
