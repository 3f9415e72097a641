"""From a checked clip to a persona."""

from __future__ import annotations

import io
from datetime import date
from typing import Literal

from langdu.voices.exchange import store_clip
from langdu.voices.library import Library
from langdu.voices.persona import ClonePersona
from langdu.voices.reference import RATE_HZ, Intake

CONSENT = "I confirm that the speaker of this clip has agreed to the cloning of this voice."


def consent_now() -> str:
    """The statement with the day it was given, as stored with a persona and in its exports."""
    return f"{CONSENT} ({date.today().isoformat()})"


def add_clone(
    library: Library, name: str, taken: Intake, *, consent: str, model: str = "",
    transcript: str = "", transcript_by: Literal["person", "asr"] | None = None, note: str = "",
) -> ClonePersona:  # fmt: skip
    """Store the processed clip and the persona. `transcript` replaces the intake's where a person corrected it."""
    import soundfile

    library.check_new(name)
    memory = io.BytesIO()
    soundfile.write(memory, taken.audio, RATE_HZ, format="WAV", subtype="PCM_16")
    path, digest = store_clip(library, memory.getvalue())
    persona = ClonePersona(
        name=name, language=taken.language or None, clip=path, clip_sha256=digest, consent=consent, note=note,
        transcript=transcript or taken.transcript, transcript_by=transcript_by or taken.transcript_by,
        model=model or ClonePersona.model_fields["model"].default,
    )  # fmt: skip
    library.add(persona)
    return persona
