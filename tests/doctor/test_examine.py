"""The exit code, and that each finding says enough."""

from __future__ import annotations

from dataclasses import replace

from langdu.doctor.examine import Diagnosis
from langdu.doctor.finding import Finding, Level, worst
from langdu.doctor.voices import Spoken
from tests.doctor.machines import SERVER


def diagnosis(*levels: Level, speaks: bool = True) -> Diagnosis:
    findings = tuple(Finding(level, "x", "x") for level in levels)
    return Diagnosis(findings, Spoken("zf_xiaobei", speaks), SERVER, (), None, 1.0)


def test_exit_codes() -> None:
    assert diagnosis("ok", "note", "warning").exit_code == 0
    assert diagnosis("ok", "error").exit_code == 1
    assert diagnosis("error", speaks=False).exit_code == 3
    assert replace(diagnosis("ok"), findings=()).exit_code == 0


def test_the_worst_level_counts() -> None:
    assert worst([Finding("note", "a", "a"), Finding("error", "b", "b"), Finding("ok", "c", "c")]) == "error"
    assert worst([]) == "ok"
