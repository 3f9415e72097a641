"""Results written by hand, for the tests of what is made from them."""

from __future__ import annotations

from langdu.bench.figures import Figure
from langdu.bench.model import Report, Row

MACHINE = {
    "id": "abc", "system": "Linux", "cpu": "Some CPU", "cores": 2, "memory_gb": 24.0, "gpu": "", "gpu_memory_gb": 0.0,
}  # fmt: skip
TARGET = {"voice": "zf_xiaobei (built in)", "size_mb": 113.8, "files_sha256": "f" * 64, "persona": "p", "fixed_length": False}  # fmt: skip


def row(suite: str = "short", setup: str = "1 worker", *, rtf=(0.2, 0.21, 0.19), passed: bool | None = True, target="kokoro zf_xiaobei", **more) -> Row:  # fmt: skip
    figures = {"rtf": Figure.of(rtf), "peak_memory_mb": Figure.of([900.0])} | more.pop("figures", {})
    return Row(suite, target, setup, figures, more.pop("facts", {}), passed, more.pop("why", ""))


def scale_rows(throughputs=(4.0, 7.0, 8.0), of: str = "workers", target="kokoro zf_xiaobei") -> list[Row]:
    return [
        row("scale", f"{2**n} {of}", target=target, facts={"count": 2**n, "of": of}, rtf=(1 / t, 1.02 / t),
            figures={"throughput": Figure.of([t, t / 1.02]), "speedup": Figure.of([t / throughputs[0]])})
        for n, t in enumerate(throughputs)
    ]  # fmt: skip


def report(*rows: Row, date: str = "2026-12-01T05:00:00Z", **more) -> Report:
    versions = more.pop("versions", {"langdu": "0.1.0", "numpy": "2.0"})
    targets = {one.target: TARGET | more.get("facts", {}) for one in rows}
    return Report(date, more.pop("machine", MACHINE), versions, "langdu bench", targets, rows, more.pop("notes", ()))
