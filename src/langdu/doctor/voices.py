"""The user's personas, and the default voice made to speak."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from langdu.doctor.finding import Finding

if TYPE_CHECKING:
    from langdu.voices.audit import Row
    from langdu.voices.entries import Problem
    from langdu.voices.persona import Persona

SENTENCES = {
    "zh": "你好，世界。今天天气很好。",
    "en": "Hello, world. It is a fine day.",
    "ja": "こんにちは。いい天気ですね。",
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """What became of the default voice's test sentence."""

    voice: str
    speaks: bool
    reason: str = ""
    hint: str = ""
    engine: str = ""
    model: str = ""
    device: str = ""
    precision: str = ""
    seconds: float = 0.0
    audio_seconds: float = 0.0
    tried: bool = True
    """False: nothing was said, only what speaking needs was looked for."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def needs(persona: Persona) -> tuple[str, str]:
    """The extra and the model a persona speaks with."""
    return ("kokoro", "kokoro") if persona.kind == "builtin" else ("qwen3", persona.model)


def speak(persona: Persona) -> Spoken:
    """Say a short sentence in a worker and measure it: silence, noise or half a sentence is not speech."""
    from langdu.errors import LangduError
    from langdu.quality.verdict import judge as listen
    from langdu.synthesis.say import Saying, SayRequest
    from langdu.voices.listing import language_of

    language: Any = language_of(persona)
    request = SayRequest(SENTENCES[language], voice=persona.name, language=language, workers=1)
    try:
        with Saying(request) as saying:
            for _ in saying.blocks():
                pass
            facts = saying.finish("")
            chunks = {chunk.index: chunk for chunk in saying.plan.chunks}
            faults = [
                f.message
                for index, take in saying.takes
                for f in listen(chunks[index], take).findings
                if f.level == "fault"
            ]
    except LangduError as error:
        return Spoken(persona.name, False, error.message, error.hint)
    return Spoken(
        persona.name, not faults, "; ".join(faults), "", facts.engine, facts.model, facts.device, facts.precision,
        facts.seconds, facts.audio_seconds,
    )  # fmt: skip


def could_speak(persona: Persona) -> Spoken:
    """Whether all is there that speaking needs, without speaking."""
    from langdu.voices.runnable import model_of

    reason = model_of(*needs(persona)).problem
    return Spoken(persona.name, not reason, reason, tried=False)


def judge_default(found: Spoken) -> Finding:
    if not found.speaks:
        reason = f"{found.reason} {found.hint}".strip()
        what = f"The default voice {found.voice} cannot speak"
        return Finding("error", "default-voice", what, reason, _command(found))
    if not found.tried:
        return Finding("ok", "default-voice", f"{found.voice} has all it needs", "not tried (--quick)")
    how = f"{found.engine}, {found.model} {found.precision} on {found.device}"
    reason = f"{found.audio_seconds:.1f} s of sound in {found.seconds:.1f} s with loading; {how}"
    return Finding("ok", "default-voice", f"{found.voice} speaks", reason)


def _command(found: Spoken) -> str:
    """The command the hint names; for a voice that nobody knows, a voice that is known."""
    if found.reason.startswith("There is no voice"):
        return "langdu config set voice zf_xiaobei"
    missing = re.search(r"The model (\S+) is not on this machine", found.reason)
    if missing:
        return f"langdu models get {missing[1]}"
    return found.hint.partition("Run: ")[2].rstrip(".") or f"langdu voices show {found.voice}"


def judge_personas(rows: Iterable[Row], problems: Iterable[Problem], file: str, *, no_qwen3: str = "") -> list[Finding]:
    """`no_qwen3`: why Qwen3-TTS makes no sense on this machine; then its models are not proposed for fetching."""
    findings = [
        Finding("error", "voices", f"personas.json is damaged: {problem}", file, "langdu voices audit")
        for problem in problems
    ]
    rows = list(rows)
    for row in rows:
        for text in row.wrong:
            what, reason = f"{row.name}: {text}", f"a {row.kind} voice of {row.model}"
            findings.append(Finding("warning", "voices", what, reason, _mend(row.name, text)))
        for text in row.remarks:
            what, command = f"{row.name}: {text}", f"langdu voices confirm {row.name}"
            findings.append(Finding("note", "voices", what, "a wrong word in it makes a wrong voice", command))
        if row.cannot_run:
            findings.append(_cannot(row, no_qwen3))
    good = [row for row in rows if not row.wrong and not row.cannot_run]
    if good:
        findings.append(Finding("ok", "voices", ", ".join(f"{row.name} ({row.kind})" for row in good), file))
    return findings


def _cannot(row: Row, no_qwen3: str) -> Finding:
    what, reason = f"{row.name} cannot speak here", row.cannot_run
    if row.engine == "qwen3" and no_qwen3:
        command = f"langdu voices export {row.name} {row.name}.zip"
        return Finding("note", "voices", what, f"{no_qwen3}; a machine with one can take it in", command)
    fetch = "is not on this machine" in reason
    command = f"langdu models get {row.model}" if fetch else "langdu voices audit"
    return Finding("warning", "voices", what, reason.partition(" Run: ")[0], command)


def _mend(name: str, text: str) -> str:
    again = ("the clip is gone", "the clip has changed", "there is no consent")
    if text.startswith(again):
        return f"langdu voices remove {name} && langdu voices add {name} --clone CLIP.wav"
    return f"langdu voices show {name}"
