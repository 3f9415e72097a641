"""Two results side by side: what is called better, worse, the same, and what is only listed."""

from __future__ import annotations

import pytest

from langdu.bench.compare import compare
from langdu.bench.figures import Figure
from tests.bench.results import MACHINE, report, row


def change(before, after, name="rtf"):
    figures = {name: (Figure.of(before), Figure.of(after))}
    left, right = (report(row(figures={n: pair[side] for n, pair in figures.items()})) for side in (0, 1))
    return next(line for line in compare(left, right).lines if line.figure == name)


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("rtf", (0.2, 0.21), (0.3, 0.31), "worse"),
        ("rtf", (0.3, 0.31), (0.2, 0.21), "better"),
        ("throughput", (5.0, 5.1), (8.0, 8.1), "better"),
        ("audio_s", (5.0, 5.1), (8.0, 8.1), "different"),
        ("rtf", (0.2, 0.25), (0.24, 0.3), "same"),
        ("load_s", (1.0,), (3.0,), "one value"),
        ("load_s", (1.0,), (1.0,), "same"),
    ],
)
def test_a_change_is_named_by_what_the_figure_means(name, before, after, said):
    assert change(before, after, name).change == said


def test_the_ratio_is_after_over_before():
    assert change((0.2, 0.2), (0.3, 0.3)).ratio == pytest.approx(1.5)


def test_rows_on_one_side_only_are_listed():
    found = compare(report(row("short")), report(row("long")))
    assert found.lines == ()
    assert found.only_before == ("short / kokoro zf_xiaobei / 1 worker",)
    assert found.only_after == ("long / kokoro zf_xiaobei / 1 worker",)


def test_a_row_that_no_longer_passes_is_said():
    found = compare(report(row()), report(row(passed=False, why="wrong words")))
    assert found.verdicts == ("short / kokoro zf_xiaobei / 1 worker: passed before, failed (wrong words) after",)


def test_other_conditions_are_said():
    other = report(row(), machine=MACHINE | {"id": "xyz"}, versions={"langdu": "0.2.0", "mlx": "1"}, facts={"files_sha256": "0"})  # fmt: skip
    found = compare(report(row()), other).conditions
    assert "machine: abc before, xyz after" in found
    assert "langdu: 0.1.0 before, 0.2.0 after" in found
    assert "mlx: none before, 1 after" in found
    assert "kokoro zf_xiaobei: other model files" in found
