"""What passes between planning, speaking and keeping: `Chunk`, `Plan`, `Take`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from langdu.engines.base import Audio, Ending, EngineInfo
from langdu.voices.persona import Persona


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one request says: utterances of one voice and language, under the engine's limit."""

    index: int
    """Position in the plan, from 0."""
    chapter: int
    number: int
    """Position within the chapter, from 1: `chapter + 1`.`number` is how a user names it ("3.17")."""
    text: str
    language: str
    persona: Persona
    pause_after_s: float
    key: str = ""
    """`take_key`: equal keys mean the same sound."""
    utterances: tuple[int, ...] = ()
    """Indices into the script."""
    speed: float = 1.0
    pronounced: str = ""
    """`text` with its pronunciations marked, where there are any and the engine takes them."""

    @property
    def said(self) -> str:
        """What the engine gets."""
        return self.pronounced or self.text

    @property
    def name(self) -> str:
        return f"{self.chapter + 1}.{self.number}"


@dataclass(frozen=True, slots=True)
class Plan:
    chunks: tuple[Chunk, ...]
    chapters: tuple[str, ...] = ("",)
    title: str = ""
    author: str = ""
    warnings: tuple[str, ...] = ()
    """What of the text an engine cannot do."""


@dataclass(frozen=True, slots=True)
class Take:
    """One saying of one chunk: the engine's whole sound, untrimmed, and its facts."""

    key: str
    audio: Audio
    sample_rate_hz: int
    seed: int
    seconds: float
    ending: Ending
    frames: int
    engine: EngineInfo
    attempt: int = 1
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def audio_seconds(self) -> float:
        return len(self.audio) / self.sample_rate_hz


def take_key(
    text: str, language: str, persona: Persona, engine: EngineInfo, *, speed: float = 1.0, seed: int = 0
) -> str:
    """SHA-256 (hex) of everything that decides a chunk's sound; nothing else is in it."""
    parts = {
        "text": text,
        "language": language,
        "persona": persona.content_hash(),
        "engine": [engine.engine, engine.revision, engine.precision],
        "speed": speed,
        "seed": seed,
    }
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
