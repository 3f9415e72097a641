"""Every voice that can be asked for by name, as rows."""

from __future__ import annotations

from langdu.voices.builtin import BUILTIN


def rows() -> list[dict[str, str]]:
    """name, kind, language, gender, engine, licence, note: the user's personas first, then the built-in voices."""
    return [
        {
            "name": voice.name, "kind": "builtin", "language": voice.language_name, "gender": voice.gender,
            "engine": voice.engine, "licence": voice.licence, "note": "",
        }
        for voice in BUILTIN.values()
    ]  # fmt: skip
