"""Charts are drawn from the rows: the right number of bars, the right values, and no chart from nothing."""

from __future__ import annotations

import io

import numpy as np
import pytest

from langdu.bench import charts
from langdu.bench.figures import Figure
from langdu.bench.history import Point
from tests.bench.results import report, row, scale_rows

pytest.importorskip("matplotlib")


def texts(drawing):
    return [text.get_text() for text in drawing.axes[0].texts]


def test_rtf_has_a_bar_and_its_value_for_each_row():
    drawing = charts.rtf(report(row(rtf=[0.25]), row("long", rtf=[0.125]), row("memory", figures={})))
    assert texts(drawing)[:2] == ["0.250", "0.125"]


def test_scaling_draws_each_line_beside_its_ideal():
    drawing = charts.scaling(report(*scale_rows((4.0, 7.0, 8.0)), *scale_rows((4.0, 5.0), "slots")))
    lines = [list(line.get_ydata()) for line in drawing.axes[0].lines if len(line.get_ydata()) > 1]
    measured = [[Figure.of([t, t / 1.02]).median for t in run] for run in ((4.0, 7.0, 8.0), (4.0, 5.0))]
    ideals = [[run[0] * 2**n for n in range(len(run))] for run in measured]
    for line in (*measured, *ideals):
        assert any(len(line) == len(drawn) and np.allclose(line, drawn) for drawn in lines), line
    assert texts(drawing)[0].endswith("of 4x")


def test_one_point_is_no_scaling():
    assert charts.scaling(report(*scale_rows((4.0,)))) is None


def test_memory_shows_the_gpu_beside_the_process():
    both = {"peak_memory_mb": Figure.of([2048.0]), "device_peak_mb": Figure.of([10240.0])}
    assert texts(charts.memory(report(row(figures=both)))) == ["2.00", "10.00"]


def test_an_empty_report_has_no_charts_and_still_an_overview():
    assert list(charts.charts(report())) == []
    assert charts.overview(report()).startswith(b"\x89PNG")


def test_the_overview_holds_every_chart():
    from matplotlib import image

    made = report(row(), *scale_rows())
    heights = [image.imread(io.BytesIO(data), format="png").shape[0] for _, data in charts.charts(made)]
    assert len(heights) == 3
    assert image.imread(io.BytesIO(charts.overview(made)), format="png").shape[0] == pytest.approx(sum(heights), abs=3)


def test_history_is_a_line_for_each_configuration():
    points = [Point(f"2026-12-0{n}T00:00:00Z", "0.1.0", row(rtf=[0.1 * n])) for n in (1, 2, 3)]
    assert charts.history({points[0].row.key: points}, "rtf").startswith(b"\x89PNG")
    assert charts.history({}, "rtf").startswith(b"\x89PNG")


def test_a_name_no_font_has_is_drawn_without_a_warning():
    assert charts.png(charts.rtf(report(row(target="qwen3 小明"), row(target="kokoro")))).startswith(b"\x89PNG")
