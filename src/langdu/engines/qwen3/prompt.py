"""The embeddings a take begins with: text on one side, codec tokens on the other, added position by position.

    role         <|im_start|>assistant\\n                     text only
    prefix       think, language, think end, speaker, pad    + text pads and the beginning of text
    then, by layout
      whole      all text + end of text over codec pads, then the begin of speech; a clone's reference text
                 comes before the text and its reference codes come after, over text pads
      streaming  the first text token with the begin of speech; the rest is added to one frame after another
                 (`trailing`). A clone lines its texts up with its reference codes from the start.

An instruction or a description goes before the role. These are the official layouts of qwen-tts 0.1.1, whose
defaults are streaming for clones and whole for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from langdu.engines.qwen3.checkpoint import Checkpoint
from langdu.engines.qwen3.languages import AUTO, resolve
from langdu.engines.qwen3.prefill import Past
from langdu.engines.qwen3.reference import summed
from langdu.errors import TextError, VoiceError

Array = Any
Layout = Literal["streaming", "whole"]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a voice is made of. At most one of `codes` (a clone with its transcript) and `name` is set."""

    layout: Layout = "whole"
    speaker: npt.NDArray[np.float32] | None = None
    """Speaker embedding of a clone, (hidden,)."""
    codes: npt.NDArray[np.int32] | None = None
    """Reference codes of a clone with transcript, (frames, 16)."""
    summed: Array | None = None
    """The sum of their embeddings, when that was worked out before."""
    transcript: str = ""
    name: str = ""
    """A named speaker of a CustomVoice checkpoint, lower case."""
    instruct: str = ""
    """An instruction (CustomVoice) or a description (VoiceDesign)."""
    past: Past | None = None
    """What the instruction leaves in the layers, when that was worked out before."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What generation starts from. H is the talker's hidden size."""

    embeds: Array
    """[1, L, H]"""
    trailing: Array
    """[1, T, H]: added to the embedding of frame 0, 1, …; `pad` from frame T on."""
    pad: Array
    """[1, 1, H]"""
    text_tokens: int
    past: Past | None = None
    """Keys and values of the first positions, where they are known already."""

    @property
    def length(self) -> int:
        return int(self.embeds.shape[1])


def build(checkpoint: Checkpoint, text: str, language: str, conditions: Conditions) -> Prompt:
    """The prompt that makes `checkpoint` say `text`.

    Raises VoiceError for a language or speaker the checkpoint does not have, TextError for an empty text or
    one that spells control tokens.
    """
    import mlx.core as mx

    config = checkpoint.config.talker_config
    tokens = _text_tokens(checkpoint, text)
    embed_text, embed_codec = _embedders(checkpoint)
    ids = checkpoint.config
    bos, eos, pad = (
        embed_text([token]) for token in (ids.tts_bos_token_id, ids.tts_eos_token_id, ids.tts_pad_token_id)
    )
    codec = [embed_codec(_language_tokens(checkpoint, language, conditions.name))]
    speaker = _speaker(checkpoint, conditions, embed_codec)
    if speaker is not None:
        codec.append(speaker.astype(codec[0].dtype))
    codec.append(embed_codec([config.codec_pad_id]))
    prefix = mx.concatenate(codec, axis=1)
    over = mx.concatenate([*[pad] * (prefix.shape[1] - 1), bos], axis=1)
    role = embed_text(checkpoint.tokenizer.encode("<|im_start|>assistant\n"))
    parts = [role, over + prefix]
    if conditions.instruct:
        parts.insert(0, instruction(checkpoint, conditions.instruct))

    begin = embed_codec([config.codec_bos_id])
    spoken = [*_transcript_tokens(checkpoint, conditions), *tokens]
    written = mx.concatenate([embed_text(spoken), eos], axis=1)
    heard = begin
    if conditions.codes is not None:
        total = conditions.summed if conditions.summed is not None else summed(checkpoint, conditions.codes)
        heard = mx.concatenate([begin, total], axis=1)
    trailing = pad
    if conditions.layout == "whole":
        parts += [written + embed_codec([config.codec_pad_id]), heard + pad]
    else:
        frames = heard.shape[1]
        if written.shape[1] > frames:
            written, trailing = written[:, :frames], written[:, frames:]
        else:
            written = mx.concatenate([written, *[pad] * (frames - written.shape[1])], axis=1)
        parts.append(written + heard)
    return Prompt(mx.concatenate(parts, axis=1), trailing, pad, len(tokens), conditions.past)


def instruction(checkpoint: Checkpoint, text: str) -> Array:
    """Embeddings [1, P, H] of an instruction or a description: the first positions of its prompts."""
    _refuse_control(checkpoint, text, "instruction")
    embed_text, _ = _embedders(checkpoint)
    return embed_text(checkpoint.tokenizer.encode(f"<|im_start|>user\n{text}<|im_end|>\n"))


def suppressed(checkpoint: Checkpoint) -> npt.NDArray[np.bool_]:
    """First codes that are never sound, (vocabulary,): the last 1,024 ids but the end of speech."""
    config = checkpoint.config.talker_config
    mask: npt.NDArray[np.bool_] = np.arange(config.vocab_size) >= config.vocab_size - 1024
    mask[config.codec_eos_token_id] = False
    return mask


def length(checkpoint: Checkpoint, text: str, conditions: Conditions) -> int:
    """Positions a prompt takes, at most, without building it."""
    frames = 0 if conditions.codes is None else len(conditions.codes)
    said = len(checkpoint.tokenizer.encode(text)) + len(checkpoint.tokenizer.encode(conditions.transcript))
    return 16 + said + frames + len(checkpoint.tokenizer.encode(conditions.instruct))


def _embedders(checkpoint: Checkpoint) -> tuple[Any, Any]:
    import mlx.core as mx

    talker = checkpoint.talker

    def text(tokens: list[int]) -> Array:
        return talker.text_projection(talker.get_text_embeddings()(mx.array([tokens], dtype=mx.int32)))

    def codec(tokens: list[int]) -> Array:
        return talker.get_input_embeddings()(mx.array([tokens], dtype=mx.int32))

    return text, codec


def _text_tokens(checkpoint: Checkpoint, text: str) -> list[int]:
    if not text.strip():
        raise TextError("There is nothing to say.")
    _refuse_control(checkpoint, text, "text")
    whole = checkpoint.tokenizer.encode(f"<|im_start|>assistant\n{text}<|im_end|>\n<|im_start|>assistant\n")
    return whole[3:-5]


def _transcript_tokens(checkpoint: Checkpoint, conditions: Conditions) -> list[int]:
    if conditions.codes is None:
        return []
    if not conditions.transcript.strip():
        raise VoiceError("A clone needs the words of its clip; without them it speaks garble.")
    _refuse_control(checkpoint, conditions.transcript, "transcript")
    return checkpoint.tokenizer.encode(f"<|im_start|>assistant\n{conditions.transcript}<|im_end|>\n")[3:-2]


def _refuse_control(checkpoint: Checkpoint, text: str, what: str) -> None:
    if checkpoint.tokenizer.is_special(text):
        raise TextError(f"The {what} spells one of the model's control tokens: {text[:60]!r}.", hint="Remove it.")


def _language_tokens(checkpoint: Checkpoint, language: str, speaker: str) -> list[int]:
    """think, begin, [language], end. A speaker of a dialect brings it to Chinese and to "auto", as officially."""
    config = checkpoint.config.talker_config
    name = resolve(language, checkpoint.languages)
    dialect = (config.spk_is_dialect or {}).get(speaker) if speaker else None
    if dialect and name in ("chinese", AUTO):
        name = resolve(dialect, checkpoint.languages)
    if name == AUTO:
        return [config.codec_nothink_id, config.codec_think_bos_id, config.codec_think_eos_id]
    return [config.codec_think_id, config.codec_think_bos_id, checkpoint.languages[name], config.codec_think_eos_id]


def _speaker(checkpoint: Checkpoint, conditions: Conditions, embed_codec: Any) -> Array | None:
    import mlx.core as mx

    if conditions.speaker is not None:
        return mx.array(conditions.speaker)[None, None]
    if not conditions.name:
        return None
    ids = checkpoint.config.talker_config.spk_id or {}
    if conditions.name not in ids:
        hint = f"It has: {', '.join(sorted(ids))}."
        raise VoiceError(f'This checkpoint has no speaker "{conditions.name}".', hint=hint)
    return embed_codec([ids[conditions.name]])
