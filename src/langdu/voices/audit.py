"""What each persona really uses, what has no effect, and what is missing."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass, field
from typing import Any

from langdu.errors import InputError, LangduError
from langdu.quality.transcript import Checker
from langdu.voices.builtin import BUILTIN
from langdu.voices.library import Library, sha256_of
from langdu.voices.persona import BuiltinPersona, ClonePersona, DesignPersona, Persona, SpeakerPersona

CAPABILITIES = ("clip", "transcript", "description", "instruction", "speaker", "language", "lexicon")
SAMPLING = {"temperature", "top_k", "top_p", "repetition_penalty", "max_s"}
WORKS = {
    "builtin": {"language": False, "settings": {"speed"}},
    "clone": {"language": True, "settings": SAMPLING},
    "design": {"language": True, "settings": SAMPLING},
    "speaker": {"language": True, "settings": SAMPLING},
}


@dataclass(slots=True)
class Row:
    name: str
    kind: str
    engine: str
    model: str
    uses: dict[str, str] = field(default_factory=dict)
    """Capability: used, ignored, missing, unconfirmed or "" (does not apply)."""
    settings_used: list[str] = field(default_factory=list)
    settings_ignored: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    cannot_run: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def audit(library: Library, checker: Checker | None = None) -> list[Row]:
    """A row for each persona of the library; the file's own problems are in `library.problems`.

    With a checker every clip is listened to, and its transcript compared with what is heard.
    """
    return [_row(persona, checker) for persona in library.personas()]


def _row(persona: Persona, checker: Checker | None) -> Row:
    kokoro = isinstance(persona, BuiltinPersona)
    row = Row(persona.name, persona.kind, "kokoro" if kokoro else "qwen3", _model(persona))
    row.uses = dict.fromkeys(CAPABILITIES, "")
    if isinstance(persona, BuiltinPersona):
        row.uses["speaker"] = "used" if persona.voice in BUILTIN else "missing"
        if persona.voice not in BUILTIN:
            row.wrong.append(f'there is no built-in voice "{persona.voice}"')
    elif isinstance(persona, ClonePersona):
        _clone(persona, row, checker)
    elif isinstance(persona, DesignPersona):
        row.uses["description"] = "used"
        _wrong_variant(row, "voicedesign")
    elif isinstance(persona, SpeakerPersona):
        row.uses["speaker"] = "used"
        row.uses["instruction"] = "used" if persona.instruct else ""
        _wrong_variant(row, "customvoice")
        if persona.instruct and "0.6b" in persona.model:
            row.uses["instruction"] = "ignored"
            row.wrong.append("the 0.6B CustomVoice checkpoint takes no instruction")
    works = WORKS[persona.kind]
    if persona.language:
        row.uses["language"] = "used" if works["language"] else "ignored"
    row.uses["lexicon"] = "used" if persona.lexicon else ""
    known: Any = works["settings"]
    row.settings_used = sorted(set(persona.settings) & known)
    row.settings_ignored = sorted(set(persona.settings) - known)
    if row.settings_ignored:
        row.wrong.append(f"{row.engine} does not know the settings {', '.join(row.settings_ignored)}")
    row.cannot_run = why_not(row.engine, row.model)
    return row


def _clone(persona: ClonePersona, row: Row, checker: Checker | None) -> None:
    row.uses["clip"] = "used" if persona.clip.is_file() else "missing"
    if not persona.clip.is_file():
        row.wrong.append(f"the clip is gone: {persona.clip}")
    elif persona.clip_sha256 and sha256_of(persona.clip) != persona.clip_sha256:
        row.wrong.append(f"the clip has changed since it was checked: {persona.clip}")
    else:
        _listen(persona, row, checker)
    row.uses["transcript"] = "used" if persona.transcript_by == "person" else "unconfirmed"
    if persona.x_vector_only:
        row.uses["transcript"] = "ignored"
    elif persona.transcript_by == "asr":
        row.remarks.append("nobody has confirmed the transcript yet")
    if not persona.consent:
        row.wrong.append("there is no consent on file")
    _wrong_variant(row, "base")


def _listen(persona: ClonePersona, row: Row, checker: Checker | None) -> None:
    from langdu.audio.read import read
    from langdu.text.language import language_of
    from langdu.voices.reference import LONGEST_S, REFUSE_UNDER_S, TAIL_S, match

    try:
        sound, rate_hz = read(persona.clip)
        seconds = len(sound) / rate_hz
        if not REFUSE_UNDER_S <= seconds <= LONGEST_S + 2 * TAIL_S:
            row.wrong.append(f"the clip has {seconds:.1f} s; {REFUSE_UNDER_S:.0f} to {LONGEST_S:.0f} s can be used")
        elif checker is not None:
            language = persona.language or language_of(persona.transcript)
            match(persona.transcript, checker.hear(sound, rate_hz, language).text, language, persona.clip)
    except InputError as error:
        row.wrong.append(error.message.strip())


def _wrong_variant(row: Row, variant: str) -> None:
    variants = {"base", "voicedesign", "customvoice"}
    named = variants & set(row.model.casefold().split("-"))
    if named and variant not in named:
        row.wrong.append(f"a {row.kind} needs a {variant} checkpoint, and {row.model} is another")


def _model(persona: Persona) -> str:
    return "kokoro" if isinstance(persona, BuiltinPersona) else persona.model


def why_not(engine: str, model: str) -> str:
    """Why a persona of that engine and model cannot speak here; empty when all it needs is there."""
    module = "onnxruntime" if engine == "kokoro" else "mlx"
    if importlib.util.find_spec(module) is None:
        return f'{module} is not installed (pip install "langdu[{engine}]")'
    from langdu.engines import ENGINES
    from langdu.models.store import model_dir

    if importlib.util.find_spec(ENGINES[engine]) is None:
        return f"this version of Langdu has no {engine} engine"
    try:
        model_dir(model)
    except LangduError as error:
        return str(error)
    return ""
