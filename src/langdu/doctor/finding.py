"""What a check says: how bad, what, why, and the one command that mends it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["ok", "note", "warning", "error"]
LEVELS: tuple[Level, ...] = ("ok", "note", "warning", "error")
"""ok: works. note: nothing is wrong, but worth knowing. warning: works with less than this machine could give,
or will fail at something. error: broken, or would speak wrongly."""


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    check: str
    """What was looked at; stable, kebab-case."""
    what: str
    reason: str = ""
    command: str = ""
    """One command line that mends it, or that does what still works."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def worst(findings: Iterable[Finding]) -> Level:
    return max((finding.level for finding in findings), key=LEVELS.index, default="ok")


def gigabytes(size: float) -> str:
    """As people write it; below one gigabyte in megabytes."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 or size <= 0 else f"{size / 1e6:.0f} MB"
