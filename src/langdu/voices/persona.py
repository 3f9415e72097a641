"""A persona: everything that decides a voice, and nothing else.

Four kinds, told apart by `kind`:

    builtin   a voice that comes with the kokoro engine
    clone     a reference clip and its transcript            (Qwen3-TTS Base)
    design    a voice from a description                     (Qwen3-TTS VoiceDesign)
    speaker   a named speaker, optionally with instruction   (Qwen3-TTS CustomVoice)
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator


class _Persona(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=64)
    language: str | None = None
    """Language code the persona speaks by default ("zh", "en", …); None: as the text."""
    note: str = ""
    settings: dict[str, float] = Field(default_factory=dict)
    """Sampling settings (temperature, top_k, …) and speed that belong to this voice."""
    lexicon: dict[str, str] = Field(default_factory=dict)

    def content(self) -> dict[str, object]:
        """What decides the sound: all fields but the name, the note and the lexicon (it acts on the text)."""
        return self.model_dump(mode="json", exclude={"name", "note", "lexicon"}, exclude_defaults=False)

    def content_hash(self) -> str:
        """SHA-256 (hex) of `content()`; part of every take key."""
        text = json.dumps(self.content(), ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class BuiltinPersona(_Persona):
    kind: Literal["builtin"] = "builtin"
    voice: str
    """A kokoro voice such as zf_xiaobei."""


class ClonePersona(_Persona):
    kind: Literal["clone"] = "clone"
    model: str = "qwen3-1.7b-base-8bit"
    clip: Path
    """The processed clip (24 kHz mono wav); relative paths are relative to personas.json."""
    transcript: str = Field(min_length=1)
    transcript_by: Literal["person", "asr"] = "person"
    x_vector_only: bool = False
    """Clone from the speaker embedding alone; the transcript is then kept but not used."""
    layout: Literal["streaming", "whole"] = "streaming"
    """Official text layouts: text fed step by step (official default), or whole text first."""
    consent: str = ""
    clip_sha256: str = ""

    @field_validator("transcript")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the transcript is blank; a clone without its transcript speaks garble")
        return value

    def content(self) -> dict[str, object]:
        found = super().content()
        for name in ("consent", "transcript_by", "clip"):
            found.pop(name)
        if not self.clip_sha256:
            found["clip_sha256"] = hashlib.sha256(self.clip.read_bytes()).hexdigest()
        return found


class DesignPersona(_Persona):
    kind: Literal["design"] = "design"
    model: str = "qwen3-1.7b-voicedesign-8bit"
    description: str = Field(min_length=1)


class SpeakerPersona(_Persona):
    kind: Literal["speaker"] = "speaker"
    model: str = "qwen3-1.7b-customvoice-8bit"
    speaker: str
    instruct: str = ""


Persona = Annotated[BuiltinPersona | ClonePersona | DesignPersona | SpeakerPersona, Field(discriminator="kind")]
PERSONA: TypeAdapter[Persona] = TypeAdapter(Persona)
"""Validates and dumps any persona."""
