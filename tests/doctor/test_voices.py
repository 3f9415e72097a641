"""Personas through their audit, and the default voice made to speak."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from langdu.doctor.voices import Spoken, could_speak, judge_default, judge_personas, speak
from langdu.voices.audit import Row, audit
from langdu.voices.library import Library
from langdu.voices.persona import BuiltinPersona


def row(**facts: object) -> Row:
    return Row("jxx", "clone", "qwen3", "qwen3-1.7b-base-8bit", **facts)  # type: ignore[arg-type]


def test_a_damaged_entry_is_an_error_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "personas.json"
    good = {"kind": "builtin", "voice": "zf_xiaoni"}
    file.write_text(json.dumps({"version": 1, "personas": {"a": good, "b": {"kind": "builtin"}}}, indent=1))
    library = Library(file)
    error, ok = judge_personas(audit(library), library.problems, str(file))[:2]
    assert (error.level, "damaged: line" in error.what, '"b"' in error.what or "b" in error.what) == (
        "error",
        True,
        True,
    )
    assert error.command == "langdu voices audit"
    assert ok.what.startswith("a")


def test_what_an_audit_finds_wrong_is_a_warning_with_a_command() -> None:
    (found,) = judge_personas([row(wrong=["the clip is gone: /x.wav"])], [], "personas.json")
    assert (found.level, found.command) == (
        "warning",
        "langdu voices remove jxx && langdu voices add jxx --clone CLIP.wav",
    )


def test_a_transcript_nobody_has_read_is_a_note() -> None:
    note, ok = judge_personas([row(remarks=["nobody has confirmed the transcript yet"])], [], "personas.json")
    assert (note.level, note.command, ok.level) == ("note", "langdu voices confirm jxx", "ok")


def test_a_voice_whose_model_is_missing_names_the_model() -> None:
    reason = "The model qwen3-1.7b-base-8bit is not on this machine."
    (found,) = judge_personas([row(cannot_run=reason)], [], "personas.json")
    assert (found.level, found.command) == ("warning", "langdu models get qwen3-1.7b-base-8bit")


def test_a_voice_for_which_this_machine_makes_no_sense_is_not_a_reason_to_fetch_gigabytes() -> None:
    reason = "The model qwen3-1.7b-base-8bit is not on this machine."
    (found,) = judge_personas([row(cannot_run=reason)], [], "personas.json", no_qwen3="there is no GPU")
    assert (found.level, found.command) == ("note", "langdu voices export jxx jxx.zip")
    assert found.reason.startswith("there is no GPU")


def test_a_sound_that_is_no_speech_is_not_taken_for_it() -> None:
    """The tests' engine makes a pure tone."""
    spoken = speak(BuiltinPersona(name="tone", voice="tone"))
    assert (spoken.engine, spoken.speaks) == ("tone", False)
    assert "as long as its text should take" in judge_default(spoken).reason


def test_a_model_that_is_missing_is_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path))
    persona = BuiltinPersona(name="zf_xiaobei", voice="zf_xiaobei")
    for spoken in (speak(persona), could_speak(persona)):
        found = judge_default(spoken)
        assert (found.level, found.command) == ("error", "langdu models get kokoro")


@pytest.mark.real
def test_the_built_in_voice_speaks() -> None:
    spoken = speak(BuiltinPersona(name="zf_xiaobei", voice="zf_xiaobei"))
    assert (spoken.speaks, spoken.reason, spoken.engine) == (True, "", "kokoro")
    assert 1.5 < spoken.audio_seconds < 6
    assert judge_default(spoken).what == "zf_xiaobei speaks"


def test_a_fault_is_quoted() -> None:
    found = judge_default(Spoken("v", False, "nearly silent"))
    assert (found.level, found.reason) == ("error", "nearly silent")
