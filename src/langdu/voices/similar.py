"""How alike two voices are, by the speaker encoder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langdu.engines.base import Audio
from langdu.errors import ClipError, VoiceError
from langdu.voices.library import Library
from langdu.voices.listing import language_of
from langdu.voices.persona import ClonePersona
from langdu.voices.sentences import SENTENCES

SAME, OTHER = 0.86, 0.80
"""Cosine at and above which two sounds are taken for one voice, and under which for two; between lies doubt.

benchmarks/voice_similarity.py over 12 built-in voices: 36 pairs of one voice lay from 0.81 to 0.94, 270 pairs of two
voices from 0.39 to 0.857. So no pair of two voices reaches SAME, and no pair of one voice falls under OTHER.
"""


@dataclass(frozen=True, slots=True)
class Similarity:
    a: str
    b: str
    cosine: float
    verdict: str
    """"same", "unclear" or "different"."""
    encoder: str
    sources: tuple[str, str]
    """What was listened to: the clip, a file, or a sentence spoken now."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(a: str, b: str, library: Library) -> Similarity:
    """Compare two voices; each is a persona, a built-in voice, or a sound file."""
    from langdu.quality.speaker import MODEL, embed, similarity

    found, sources = [], []
    for name in (a, b):
        sound, rate_hz, source = _sound(name, library)
        vector = embed(sound, rate_hz)
        if not np.any(vector):
            raise ClipError(f"{name} has less than a second of voice ({source}); that is too little to compare.")
        found.append(vector)
        sources.append(source)
    cosine = similarity(found[0], found[1])
    verdict = "same" if cosine >= SAME else "different" if cosine < OTHER else "unclear"
    return Similarity(a, b, cosine, verdict, MODEL, (sources[0], sources[1]))


def _sound(name: str, library: Library) -> tuple[Audio, int, str]:
    from langdu.audio.read import read

    try:
        persona = library.get(name)
    except VoiceError:
        if not Path(name).is_file():
            raise
        return *read(name), name
    if isinstance(persona, ClonePersona):
        return *read(persona.clip), "its clip"
    from langdu.synthesis.say import Saying, SayRequest

    with Saying(SayRequest(SENTENCES[language_of(persona)], name, workers=1)) as saying:
        rate_hz = saying.sample_rate_hz()
        return np.concatenate(list(saying.blocks())), rate_hz, "the standard sentence, spoken now"
