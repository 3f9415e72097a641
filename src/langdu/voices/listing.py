"""Every voice that can be asked for by name, as rows."""

from __future__ import annotations

from langdu.voices.builtin import BUILTIN
from langdu.voices.library import Library
from langdu.voices.persona import BuiltinPersona, ClonePersona, Persona

QWEN3_LICENCE = "Apache-2.0 (model)"


def rows(library: Library | None = None) -> list[dict[str, str]]:
    """name, kind, language, gender, engine, licence, note: the user's personas first, then the built-in voices."""
    found = []
    for persona in (library or Library()).personas():
        row = {
            "name": persona.name, "kind": persona.kind, "language": persona.language or "", "gender": "",
            "engine": "qwen3", "licence": QWEN3_LICENCE, "note": persona.note,
        }  # fmt: skip
        if isinstance(persona, BuiltinPersona) and persona.voice in BUILTIN:
            voice = BUILTIN[persona.voice]
            row |= {"engine": voice.engine, "licence": voice.licence, "gender": voice.gender}
            row["language"] = row["language"] or voice.language_name
        if isinstance(persona, ClonePersona):
            row["licence"] = "consent given" if persona.consent else "no consent on file"
        found.append(row)
    return found + [
        {
            "name": voice.name, "kind": "builtin", "language": voice.language_name, "gender": voice.gender,
            "engine": voice.engine, "licence": voice.licence, "note": "",
        }
        for voice in BUILTIN.values()
    ]  # fmt: skip


def language_of(persona: Persona) -> str:
    """The language a persona is shown in: its own, its built-in voice's, or Mandarin."""
    if persona.language in ("zh", "en", "ja"):
        return persona.language
    if isinstance(persona, BuiltinPersona) and persona.voice in BUILTIN:
        return BUILTIN[persona.voice].language
    return "zh"
