"""A persona made into the conditions of one checkpoint, or an error that says which checkpoint it needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from langdu.engines.qwen3 import reference
from langdu.engines.qwen3.checkpoint import Checkpoint, Kind
from langdu.engines.qwen3.codec import Codec, Stream
from langdu.engines.qwen3.languages import resolve
from langdu.engines.qwen3.prefill import instruction as instruction_past
from langdu.engines.qwen3.prompt import Conditions, instruction
from langdu.engines.qwen3.sampling import Sampling
from langdu.errors import VoiceError

if TYPE_CHECKING:
    from langdu.voices.persona import Persona

NEEDS: dict[str, Kind] = {"clone": "base", "design": "voice_design", "speaker": "custom_voice"}
WAYS: dict[Kind, str] = {
    "base": "clones a voice from a clip",
    "voice_design": "makes a voice from a description",
    "custom_voice": "speaks with its named speakers",
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `speak` needs of a voice. `past` is the decoder's state after the reference, worked out once."""

    conditions: Conditions
    sampling: Sampling
    mode: str
    past: Stream | None = None


def prepare(checkpoint: Checkpoint, codec: Codec, persona: Persona, cache: Path) -> Prepared:
    """Raises VoiceError when `checkpoint` cannot be this persona, SettingError for its settings, ClipError."""
    needed = NEEDS.get(persona.kind)
    if needed is None:
        raise VoiceError(f'"{persona.name}" is a {persona.kind} voice; it belongs to the kokoro engine.')
    if needed != checkpoint.kind:
        raise VoiceError(
            f'"{persona.name}" is a {persona.kind} persona and needs a {needed} checkpoint; '
            f"{checkpoint.path.name} is {checkpoint.kind}, which {WAYS[checkpoint.kind]}.",
            hint=f"Use a model whose name has {needed.replace('_', '')} in it.",
        )
    if persona.language is not None:
        resolve(persona.language, checkpoint.languages)
    own = {name: value for name, value in persona.settings.items() if name != "speed"}
    sampling = checkpoint.defaults.with_settings(own)
    if persona.kind == "design":
        if not persona.description.strip():
            raise VoiceError(f'The description of "{persona.name}" is blank.', hint="Describe the voice.")
        return Prepared(_instructed(checkpoint, Conditions(instruct=persona.description), cache), sampling, "design")
    if persona.kind == "speaker":
        conditions = _speaker(checkpoint, persona.speaker, persona.instruct)
        return Prepared(_instructed(checkpoint, conditions, cache), sampling, "speaker")
    assert persona.kind == "clone"
    found = reference.cached(checkpoint, persona.clip, cache)
    if persona.x_vector_only:
        return Prepared(Conditions(persona.layout, speaker=found.speaker), sampling, "x-vector")
    conditions = Conditions(persona.layout, found.speaker, found.codes, found.summed, persona.transcript)
    return Prepared(conditions, sampling, f"clone, {persona.layout}", codec.prime(found.codes))


def _instructed(checkpoint: Checkpoint, conditions: Conditions, cache: Path) -> Conditions:
    """`conditions` with what their instruction leaves in the layers, from disk where it was worked out before."""
    text = conditions.instruct
    if not text:
        return conditions
    return replace(conditions, past=instruction_past(checkpoint, text, instruction(checkpoint, text), cache))


def _speaker(checkpoint: Checkpoint, name: str, instruct: str) -> Conditions:
    wanted = name.strip().lower()
    if wanted not in checkpoint.speakers:
        hint = f"It has: {', '.join(sorted(checkpoint.speakers))}."
        raise VoiceError(f'{checkpoint.path.name} has no speaker "{name}".', hint=hint)
    if instruct and checkpoint.size == "0b6":
        raise VoiceError(
            f"{checkpoint.path.name} is a 0.6B checkpoint, which was not trained on instructions.",
            hint="Leave the instruction away, or use a 1.7B one.",
        )
    return Conditions(name=wanted, instruct=instruct)
