"""What a bench writes down: rows of figures, what was measured, on which machine. One JSON object."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from langdu.bench.figures import Figure
from langdu.errors import DocumentError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Kind:
    """How a figure is called, printed and compared. `lower` says whether less is better (None: neither)."""

    title: str
    unit: str
    lower: bool | None
    digits: int = 2


FIGURES: dict[str, Kind] = {
    "load_s": Kind("load", "s", True),
    "seconds": Kind("seconds", "s", True),
    "audio_s": Kind("sound", "s", None, 1),
    "rtf": Kind("RTF", "", True, 3),
    "throughput": Kind("sound per second", "s/s", False),
    "speedup": Kind("speed-up", "x", False),
    "first_sound_s": Kind("first sound", "s", True),
    "first_done_s": Kind("first done", "s", True),
    "median_done_s": Kind("half done", "s", True),
    "peak_memory_mb": Kind("peak memory", "MB", True, 0),
    "device_peak_mb": Kind("GPU memory", "MB", True, 0),
    "idle_memory_mb": Kind("resident while idle", "MB", True, 0),
    "unloaded_memory_mb": Kind("after unload", "MB", True, 0),
    "unload_s": Kind("unloaded after", "s", None, 1),
    "cer": Kind("CER", "", True, 3),
    "sound_error": Kind("sound error", "", True, 3),
    "agreement_cer": Kind("CER to the highest precision", "", True, 3),
    "zcr": Kind("zero crossings", "", None, 3),
    "zcr_worst": Kind("highest of 8 segments", "", None, 3),
    "band_100_500": Kind("100-500 Hz", "", None),
    "band_500_2000": Kind("500-2000 Hz", "", None),
    "similarity": Kind("speaker similarity", "", False),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration of one suite. `passed` is None where nothing was judged, and `why` then says why."""

    suite: str
    target: str
    setup: str
    """How it was run: "2 workers", "8 slots", "3 at once"."""
    figures: dict[str, Figure]
    facts: dict[str, Any] = field(default_factory=dict)
    passed: bool | None = None
    why: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.suite, self.target, self.setup

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"figures": {name: figure.as_dict() for name, figure in self.figures.items()}}


@dataclass(frozen=True, slots=True)
class Report:
    """A finished bench. `targets` holds each target's model, precision, size on disk and file hashes."""

    date: str
    """UTC, ISO 8601."""
    machine: dict[str, Any]
    versions: dict[str, str]
    command: str
    targets: dict[str, dict[str, Any]]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    kind: str = "suites"

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT, "kind": self.kind, "date": self.date, "machine": self.machine,
            "versions": self.versions, "command": self.command, "targets": self.targets,
            "rows": [row.as_dict() for row in self.rows], "notes": list(self.notes),
        }  # fmt: skip

    def to_json(self) -> bytes:
        return (json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n").encode()

    def rows_of(self, suite: str) -> list[Row]:
        return [row for row in self.rows if row.suite == suite]


def read(path: Path | str) -> Report:
    """A report from its file. DocumentError says what is wrong with it."""
    path = Path(path)
    hint = "Give a file that langdu bench -o NAME.json wrote."
    try:
        return from_dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise DocumentError(f"{path} is not there.", hint=hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DocumentError(f"{path} holds no bench result ({error}).", hint=hint) from None


def from_dict(found: dict[str, Any]) -> Report:
    if found.get("format") != FORMAT:
        raise ValueError(f"its format is {found.get('format')!r}, not {FORMAT}")
    rows = tuple(
        Row(
            str(row["suite"]), str(row["target"]), str(row["setup"]),
            {str(name): Figure.from_dict(figure) for name, figure in row["figures"].items()},
            dict(row["facts"]), row["passed"], str(row["why"]),
        )
        for row in found["rows"]
    )  # fmt: skip
    return Report(
        str(found["date"]), dict(found["machine"]), dict(found["versions"]), str(found["command"]),
        dict(found["targets"]), rows, tuple(found["notes"]), str(found["kind"]),
    )  # fmt: skip


def printed(name: str, value: float) -> str:
    """A figure's value as text, with its unit."""
    kind = FIGURES[name]
    return f"{value:,.{kind.digits}f}{' ' if kind.unit not in ('', 'x') else ''}{kind.unit}"
