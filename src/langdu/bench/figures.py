"""A measured figure: every value that was taken, their median and their spread."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

FLOOR = 0.02
"""Changes under 2 % are never called a change: repeated figures of memory or of a seeded sound have no spread at
all, and one page more is no news."""
FEWEST = 2
"""Values a figure needs before it has a spread."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Values in the order they were taken; at least one."""

    values: tuple[float, ...]

    @staticmethod
    def of(values: Iterable[float]) -> Figure:
        return Figure(tuple(float(value) for value in values))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def as_dict(self) -> dict[str, Any]:
        rounded = [_short(value) for value in self.values]
        return {"median": _short(self.median), "low": min(rounded), "high": max(rounded), "values": rounded}

    @staticmethod
    def from_dict(found: dict[str, Any]) -> Figure:
        values = found["values"]
        if not values or not all(isinstance(value, int | float) for value in values):
            raise ValueError("a figure without values")
        return Figure.of(values)


def ratio(over: Sequence[float], under: Sequence[float]) -> Figure:
    """The ratio of each round: both sides of a pair were taken under the same conditions, so drift cancels out."""
    return Figure.of(a / b for a, b in zip(over, under, strict=True))


def beyond_spread(before: Figure, after: Figure) -> bool:
    """Whether the two differ by more than their own noise: their ranges do not meet, and the medians are FLOOR
    apart. A figure taken once has no spread, so nothing is claimed of it."""
    if min(len(before.values), len(after.values)) < FEWEST:
        return False
    meet = before.low <= after.high and after.low <= before.high
    reference = abs(before.median) or 1.0
    return not meet and abs(after.median - before.median) / reference >= FLOOR


def _short(value: float) -> float:
    """Six significant digits: what is below them was not measured."""
    return float(f"{value:.6g}")
