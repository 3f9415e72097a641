"""A probe that crashes, hangs or talks nonsense is an answer too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from langdu.doctor.child import Died, ask


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """A `sounddevice` of our own before the installed one."""
    (tmp_path / "sounddevice.py").write_text(code)
    rest = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *([rest] if rest else [])]))


def test_a_library_that_crashes_ends_only_the_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert ask("output", timeout_s=30) == Died("it crashed (SIGSEGV)")


def test_a_library_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "import time\ntime.sleep(60)\n")
    assert ask("output", timeout_s=2) == Died("no answer within 2 s")


def test_a_library_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "raise RuntimeError('no bus')\n")
    assert ask("output", timeout_s=30) == Died("RuntimeError: no bus")


def test_what_a_library_prints_does_not_spoil_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "print('ALSA lib: hello')\nraise OSError('PortAudio library not found')\n")
    found = ask("output", timeout_s=30)
    assert isinstance(found, dict) and found["error"].startswith("PortAudio is missing")
