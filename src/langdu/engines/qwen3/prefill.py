"""Keys and values of a prompt, before its first frame. An instruction comes first in every prompt of its voice, so
what it leaves in the talker's layers is worked out once and kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langdu.engines.qwen3.checkpoint import Checkpoint
from langdu.engines.qwen3.kept import kept_path, read, write

if TYPE_CHECKING:
    from langdu.engines.qwen3.prompt import Prompt

Array = Any
FORMAT = "1"
"""Part of every file's name: raise it when what is kept changes."""


@dataclass(frozen=True, slots=True)
class Past:
    """What the first `length` positions of a prompt left in each layer: [layers, kv heads, length, head size]."""

    keys: Array
    values: Array

    @property
    def length(self) -> int:
        return int(self.keys.shape[2])


def prefill(talker: Any, prompt: Prompt) -> list[tuple[Array, Array]]:
    """Keys and values [1, kv heads, L - 1, head size] of each layer for all positions of `prompt` but the last."""
    length, past = prompt.length - 1, prompt.past
    embeds = prompt.embeds.astype(talker.model.norm.weight.dtype)
    if past is None:
        return _through(talker, embeds[:, :length], None)
    return _through(talker, embeds[:, past.length : length], past)


def instruction(checkpoint: Checkpoint, text: str, embeds: Array, folder: Path) -> Past:
    """The past that `embeds` [1, P, H] of an instruction make, kept in `folder`; `text` names it there."""
    import mlx.core as mx

    path = kept_path(folder, text, checkpoint.revision, checkpoint.precision, checkpoint.device, FORMAT)
    config = checkpoint.config.talker_config
    shape = (config.num_hidden_layers, config.num_key_value_heads, int(embeds.shape[1]), config.head_dim)
    found = read(path, ("keys", "values"))
    if found is not None and all(array.shape == shape for array in found.values()):
        return Past(**found)
    talker = checkpoint.talker
    layers = _through(talker, embeds.astype(talker.model.norm.weight.dtype), None)
    made = {"keys": mx.concatenate([k for k, _ in layers]), "values": mx.concatenate([v for _, v in layers])}
    write(path, made)
    return Past(**made)


def _through(talker: Any, embeds: Array, past: Past | None) -> list[tuple[Array, Array]]:
    import mlx.core as mx

    cache, done = talker.make_cache(), 0
    if past is not None:
        done = past.length
        for i, layer in enumerate(cache):
            layer.update_and_fetch(past.keys[i : i + 1], past.values[i : i + 1])
    length = int(embeds.shape[1])
    if length:
        ahead = mx.arange(done + length)[None] > mx.arange(done, done + length)[:, None]
        talker.model(embeds, mask=mx.where(ahead, -1e9, 0.0).astype(embeds.dtype), cache=cache)
    return [(layer.keys[:, :, : done + length], layer.values[:, :, : done + length]) for layer in cache]
