"""Medians, spreads and ratios on hand-written values."""

from __future__ import annotations

import pytest

from langdu.bench.figures import Figure, beyond_spread, ratio


def test_a_figure_has_a_median_and_a_spread():
    figure = Figure.of([3.0, 1.0, 2.0])
    assert (figure.median, figure.low, figure.high) == (2.0, 1.0, 3.0)


def test_json_keeps_every_value_in_order():
    figure = Figure.of([3.0, 1.23456789, 2.0])
    assert figure.as_dict() == {"median": 2.0, "low": 1.23457, "high": 3.0, "values": [3.0, 1.23457, 2.0]}
    assert Figure.from_dict(figure.as_dict()).values == (3.0, 1.23457, 2.0)


def test_a_figure_without_values_is_refused():
    with pytest.raises(ValueError, match="without values"):
        Figure.from_dict({"values": []})


def test_the_ratio_is_taken_round_by_round():
    """Both sides slow down together in the second round; the ratio does not."""
    found = ratio([1.0, 10.0, 1.0], [2.0, 20.0, 2.0])
    assert (found.low, found.high) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("before", "after", "beyond"),
    [
        ((1.0, 1.1), (1.05, 1.2), False),
        ((1.0, 1.1), (1.2, 1.3), True),
        ((1.2, 1.3), (1.0, 1.1), True),
        ((1.0, 1.0), (1.01, 1.01), False),
        ((1.0,), (9.0, 9.0), False),
        ((0.0, 0.0), (0.5, 0.5), True),
    ],
    ids=["ranges meet", "slower", "faster", "under the floor", "taken once", "from zero"],
)
def test_only_ranges_that_do_not_meet_are_a_change(before, after, beyond):
    assert beyond_spread(Figure.of(before), Figure.of(after)) is beyond
