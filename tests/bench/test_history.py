"""Results are kept, found again by machine, and followed over time."""

from __future__ import annotations

import pytest

from langdu.bench import history
from langdu.errors import OutputError
from tests.bench.results import MACHINE, report, row


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path))
    return tmp_path


def test_a_kept_result_is_found_again():
    made = report(row())
    history.keep(made)
    found, problems = history.kept("abc")
    assert [one.report for one in found] == [made]
    assert problems == []


def test_two_of_one_second_are_both_kept():
    assert history.keep(report(row())) != history.keep(report(row()))
    assert len(history.kept()[0]) == 2


def test_results_of_other_machines_are_left_out():
    history.keep(report(row()))
    history.keep(report(row(), machine=MACHINE | {"id": "xyz"}))
    assert len(history.kept("xyz")[0]) == 1
    assert len(history.kept()[0]) == 2


def test_a_damaged_file_is_named_and_the_others_are_read(data):
    history.keep(report(row()))
    (data / "bench" / "0.json").write_text("{")
    found, problems = history.kept("abc")
    assert len(found) == 1
    assert "0.json" in problems[0]


def test_the_trend_follows_each_configuration_by_date():
    for date, rtf in (("2026-12-02", 0.3), ("2026-12-01", 0.2)):
        history.keep(report(row(rtf=[rtf]), row("long"), date=f"{date}T00:00:00Z"))
    lines = history.trend(history.kept()[0])
    assert set(lines) == {("short", "kokoro zf_xiaobei", "1 worker"), ("long", "kokoro zf_xiaobei", "1 worker")}
    points = lines["short", "kokoro zf_xiaobei", "1 worker"]
    assert [point.row.figures["rtf"].median for point in points] == [0.2, 0.3]


def test_a_figure_that_a_row_does_not_have_is_no_point():
    history.keep(report(row()))
    assert history.trend(history.kept()[0], figure="unload_s") == {}


def test_a_history_that_cannot_be_written_says_where(data):
    (data / "bench").write_text("a file, not a folder")
    with pytest.raises(OutputError, match="cannot be kept"):
        history.keep(report(row()))
