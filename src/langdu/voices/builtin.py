"""The voices that come with kokoro and that this product speaks: Mandarin, English, Japanese."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from langdu.errors import VoiceError
from langdu.models.kokoro_files import VOICES
from langdu.voices.persona import BuiltinPersona

LANGUAGES = {"z": ("zh", "Mandarin"), "a": ("en", "English (US)"), "b": ("en", "English (UK)"), "j": ("ja", "Japanese")}
GENDERS = {"f": "female", "m": "male"}


@dataclass(frozen=True, slots=True)
class BuiltinVoice:
    name: str
    language: str
    language_name: str
    gender: str
    engine: str = "kokoro"
    licence: str = "Apache-2.0"

    def persona(self) -> BuiltinPersona:
        return BuiltinPersona(name=self.name, voice=self.name)


BUILTIN: dict[str, BuiltinVoice] = {
    name: BuiltinVoice(name, *LANGUAGES[name[0]], GENDERS[name[1]])
    for name in sorted(VOICES, key=lambda name: ("zabj".index(name[0]), name))
}


def unknown(name: str, known: list[str]) -> VoiceError:
    """The error for a voice nobody knows: it lists the nearest names."""
    near = difflib.get_close_matches(name, known, 4, 0.4)
    if near:
        hint = f"Did you mean {', '.join(near)}?"
    else:
        more = "" if len(known) <= 12 else ", …; all of them: langdu say -v '?'"
        hint = f"There are {', '.join(known[:12])}{more}"
    return VoiceError(f'There is no voice "{name}".', hint=hint)
