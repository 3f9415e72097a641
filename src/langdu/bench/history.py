"""Every bench is kept: one JSON file each below the data folder, never changed afterwards."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from langdu.bench.model import Report, Row, read
from langdu.errors import DocumentError, OutputError
from langdu.settings import settings
from langdu.voices.library import write_atomic


def folder() -> Path:
    return settings().data_dir / "bench"


def keep(report: Report) -> Path:
    """Write the report to the history and return its path. OutputError when that cannot be written."""
    stamp = re.sub(r"[^0-9TZ]", "", report.date)
    path = folder() / f"{stamp}-{secrets.token_hex(2)}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, report.to_json())
    except OSError as error:
        raise OutputError(
            f"The result cannot be kept in {folder()} ({error.strerror}).", hint="Set LANGDU_DATA_DIR, or use -o FILE."
        ) from None
    return path


@dataclass(frozen=True, slots=True)
class Kept:
    path: Path
    report: Report


def kept(machine_id: str | None = None) -> tuple[list[Kept], list[str]]:
    """Earlier suite results, oldest first, of one machine or of all; and what could not be read."""
    found, problems = [], []
    for path in sorted(folder().glob("*.json")):
        try:
            report = read(path)
        except DocumentError as error:
            problems.append(error.message)
            continue
        if report.kind == "suites" and machine_id in (None, report.machine.get("id")):
            found.append(Kept(path, report))
    return sorted(found, key=lambda one: one.report.date), problems


@dataclass(frozen=True, slots=True)
class Point:
    """One row of one earlier result."""

    date: str
    langdu: str
    row: Row


def trend(found: list[Kept], *, figure: str = "rtf") -> dict[tuple[str, str, str], list[Point]]:
    """For each configuration that was measured, its rows by date. Rows without the figure are left out."""
    lines: dict[tuple[str, str, str], list[Point]] = {}
    for one in found:
        for row in one.report.rows:
            if figure in row.figures:
                point = Point(one.report.date, one.report.versions.get("langdu", ""), row)
                lines.setdefault(row.key, []).append(point)
    return lines
