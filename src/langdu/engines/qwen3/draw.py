"""Picking one code per row, each row with its own settings and its own random stream.

The filters are the official chain's, as in `sampling`, with a value per row instead of one for all. The stream
of a row is keyed by (seed, frame * codebooks + codebook): it does not know which rows run beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.engines.qwen3.sampling import Sampling

Array = Any


@dataclass(frozen=True, slots=True)
class Mode:
    """Which filters any row needs; they are left out of the graph when no row does."""

    sampled: bool
    nucleus: bool

    @classmethod
    def of(cls, rows: Iterable[Sampling]) -> Mode:
        filters = [filters for sampling in rows for filters in (sampling.first, sampling.others)]
        return cls(any(not f.greedy for f in filters), any(f.top_p < 1 for f in filters))


def rows_of(settings: Sampling, seed: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """One row's settings as (float32 [5], int32 [4]): temperature, top_p, penalty, sub temperature, sub top_p;
    top_k, sub top_k, minimum frames, seed (its low 32 bits)."""
    floats = (
        settings.temperature, settings.top_p, settings.repetition_penalty,
        settings.subtalker_temperature, settings.subtalker_top_p,
    )  # fmt: skip
    low = np.array([seed & 0xFFFFFFFF], np.uint32).view(np.int32)[0]
    ints = (settings.top_k, settings.subtalker_top_k, settings.min_new_tokens, low)
    return np.array(floats, np.float32), np.array(ints, np.int32)


def draw(logits: Array, temperature: Array, top_k: Array, top_p: Array, keys: Array, mode: Mode) -> Array:
    """Codes [B, 1] int32 of logits [B, V]; settings [B]; keys [B, 2] uint32."""
    import mlx.core as mx

    logits = logits.astype(mx.float32)
    if not mode.sampled:
        return mx.argmax(logits, axis=-1, keepdims=True).astype(mx.int32)
    width = logits.shape[-1]
    greedy = (temperature == 0)[:, None]
    scores = logits / mx.where(greedy, 1.0, temperature[:, None])
    k = mx.where((top_k > 0) & (top_k < width), top_k, width)[:, None]
    least = mx.take_along_axis(mx.sort(scores, axis=-1), width - k, axis=-1)
    scores = mx.where(scores < least, -mx.inf, scores)
    if mode.nucleus:
        order = mx.argsort(scores, axis=-1)
        mass = mx.cumsum(mx.softmax(mx.take_along_axis(scores, order, axis=-1), axis=-1), axis=-1)
        below = (mass <= 1 - top_p[:, None]) & (mx.arange(width) < width - 1) & (top_p < 1)[:, None]
        scores = mx.where(mx.put_along_axis(mx.zeros_like(below), order, below, axis=-1), -mx.inf, scores)
    noise = mx.vmap(lambda key: mx.random.gumbel((width,), key=key))(keys)
    return mx.argmax(mx.where(greedy, logits, scores + noise), axis=-1, keepdims=True).astype(mx.int32)
