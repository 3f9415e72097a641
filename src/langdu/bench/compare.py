"""Two results side by side: before and after, or two machines. Only what is beyond the spread is called a change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from langdu.bench.figures import FEWEST, Figure, beyond_spread
from langdu.bench.model import FIGURES, Report, Row

Change = Literal["better", "worse", "different", "same", "one value"]
"""`one value`: a figure that was taken once on a side has no spread, so nothing is claimed of it."""


@dataclass(frozen=True, slots=True)
class Line:
    suite: str
    target: str
    setup: str
    figure: str
    before: float
    after: float
    ratio: float | None
    """After over before; None from zero."""
    change: Change

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Compared:
    lines: tuple[Line, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    verdicts: tuple[str, ...]
    """Rows whose passing changed."""
    conditions: tuple[str, ...]
    """What was not the same: machine, versions, model files, voice."""

    @property
    def worse(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.change == "worse")

    def as_dict(self) -> dict[str, Any]:
        return {
            "lines": [line.as_dict() for line in self.lines], "only_before": list(self.only_before),
            "only_after": list(self.only_after), "verdicts": list(self.verdicts), "conditions": list(self.conditions),
        }  # fmt: skip


def compare(before: Report, after: Report) -> Compared:
    """Rows are matched by suite, target and setup; figures by name."""
    left, right = ({row.key: row for row in report.rows} for report in (before, after))
    lines = [
        _line(row, name, row.figures[name], right[key].figures[name])
        for key, row in left.items()
        if key in right
        for name in FIGURES
        if name in row.figures and name in right[key].figures
    ]
    verdicts = [
        f"{' / '.join(key)}: {_said(row)} before, {_said(right[key])} after"
        for key, row in left.items()
        if key in right and row.passed != right[key].passed
    ]
    return Compared(
        tuple(lines), tuple(" / ".join(key) for key in left if key not in right),
        tuple(" / ".join(key) for key in right if key not in left), tuple(verdicts), tuple(conditions(before, after)),
    )  # fmt: skip


def _line(row: Row, name: str, before: Figure, after: Figure) -> Line:
    ratio = after.median / before.median if before.median else None
    return Line(*row.key, name, before.median, after.median, ratio, _change(name, before, after))


def _change(name: str, before: Figure, after: Figure) -> Change:
    if before.values == after.values:
        return "same"
    if min(len(before.values), len(after.values)) < FEWEST:
        return "one value"
    if not beyond_spread(before, after):
        return "same"
    lower = FIGURES[name].lower
    if lower is None:
        return "different"
    return "better" if (after.median < before.median) == lower else "worse"


def conditions(before: Report, after: Report) -> list[str]:
    """What else differs between two results, in words."""
    found = []
    names = [("machine", before.machine.get("id"), after.machine.get("id"))]
    names += [
        (name, before.versions.get(name), after.versions.get(name)) for name in {**before.versions, **after.versions}
    ]
    for name, old, new in names:
        if old != new:
            found.append(f"{name}: {old or 'none'} before, {new or 'none'} after")
    for label in before.targets:
        for what, name in (("files_sha256", "model files"), ("persona", "voice"), ("fixed_length", "fixed length")):
            old, new = before.targets[label].get(what), after.targets.get(label, {}).get(what)
            if label in after.targets and old != new:
                found.append(f"{label}: other {name}")
    return found


def _said(row: Row) -> str:
    return {True: "passed", False: f"failed ({row.why})", None: "not judged"}[row.passed]
