"""From logits to a code: the official chain of filters, and a random stream that belongs to one row.

The chain is what transformers' `generate` applies for the official package, in its order: repetition penalty,
minimum length, suppressed tokens, then (when sampling) temperature, top-k, top-p. Its result equals theirs
element by element. Drawing differs by nature (another generator), so a seed is Langdu's own: row key
(seed, frame * groups + codebook) of a counter-based generator, whatever rows run beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from langdu.errors import SettingError

Array = Any
"""An mlx array; MLX has no types."""


@dataclass(frozen=True, slots=True)
class Filters:
    """How one code is picked. `temperature` 0 takes the most probable one; top_k 0 and top_p 1 filter nothing."""

    temperature: float = 0.9
    top_k: int = 50
    top_p: float = 1.0

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings of one request. The first codebook and the 15 others (the sub-talker) have their own filters."""

    temperature: float = 0.9
    top_k: int = 50
    top_p: float = 1.0
    repetition_penalty: float = 1.05
    subtalker_temperature: float = 0.9
    subtalker_top_k: int = 50
    subtalker_top_p: float = 1.0
    min_new_tokens: int = 2
    """Frames before the end may come; the official package fixes it at 2."""

    @property
    def first(self) -> Filters:
        return Filters(self.temperature, self.top_k, self.top_p)

    @property
    def others(self) -> Filters:
        return Filters(self.subtalker_temperature, self.subtalker_top_k, self.subtalker_top_p)

    def with_settings(self, settings: Mapping[str, float]) -> Sampling:
        """These settings changed by a persona's or a request's own. SettingError for unknown names and bad values."""
        unknown = sorted(set(settings) - set(RANGES))
        if unknown:
            hint = f"Known: {', '.join(sorted(RANGES))}."
            raise SettingError(f"Qwen3-TTS has no such sampling setting: {', '.join(unknown)}.", hint=hint)
        for name, value in settings.items():
            low, high = RANGES[name]
            if not math.isfinite(value) or not low <= value <= high:
                raise SettingError(f"{name} of {value} is outside {low:g} to {high:g}.")
            if isinstance(getattr(self, name), int) and value != int(value):
                raise SettingError(f"{name} of {value} must be a whole number.")
        return replace(self, **{name: type(getattr(self, name))(value) for name, value in settings.items()})


RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 5), "top_k": (0, 100_000), "top_p": (1e-6, 1), "repetition_penalty": (0.5, 5),
    "subtalker_temperature": (0, 5), "subtalker_top_k": (0, 100_000), "subtalker_top_p": (1e-6, 1),
    "min_new_tokens": (0, 1000),
}  # fmt: skip
"""What a persona or a request may set, and how far."""


def from_generation_config(config: Mapping[str, Any]) -> Sampling:
    """A checkpoint's own defaults (generation_config.json); `do_sample: false` reads as temperature 0."""
    found = {name: config[name] for name in RANGES if name in config and name != "min_new_tokens"}
    if config.get("do_sample") is False:
        found["temperature"] = 0
    if config.get("subtalker_dosample") is False:
        found["subtalker_temperature"] = 0
    return Sampling().with_settings(found)


def penalize(logits: Array, seen: Array, penalty: float | Array) -> Array:
    """Divide positive and multiply negative logits of seen tokens. logits [B, V], seen [B, V] bool."""
    import mlx.core as mx

    return mx.where(seen, mx.where(logits < 0, logits * penalty, logits / penalty), logits)


def forbid(logits: Array, forbidden: Array) -> Array:
    """Minus infinity where `forbidden` ([V] or [B, V] bool)."""
    import mlx.core as mx

    return mx.where(forbidden, -mx.inf, logits)


def shape(logits: Array, filters: Filters) -> Array:
    """Temperature, top-k, top-p on logits [B, V], float32; ties at the k-th value all stay, as officially."""
    import mlx.core as mx

    logits = logits.astype(mx.float32)
    if filters.greedy:
        return logits
    logits = logits / filters.temperature
    width = logits.shape[-1]
    if 0 < filters.top_k < width:
        least = mx.sort(logits, axis=-1)[:, width - filters.top_k, None]
        logits = mx.where(logits < least, -mx.inf, logits)
    if filters.top_p < 1:
        order = mx.argsort(logits, axis=-1)
        ascending = mx.take_along_axis(logits, order, axis=-1)
        below = mx.cumsum(mx.softmax(ascending, axis=-1), axis=-1) <= 1 - filters.top_p
        below = mx.where(mx.arange(width) == width - 1, False, below)  # the most probable one always stays
        logits = mx.where(mx.put_along_axis(mx.zeros_like(below), order, below, axis=-1), -mx.inf, logits)
    return logits


def draw(scores: Array, filters: Filters, seed: int, counter: int) -> Array:
    """One code per row of filtered scores [1, V], shape [1, 1], by the Gumbel maximum with the row's own key."""
    import mlx.core as mx

    if not filters.greedy:
        scores = scores + mx.random.gumbel(scores.shape, key=key(seed, counter))
    return mx.argmax(scores, axis=-1, keepdims=True)


def key(seed: int, counter: int) -> Array:
    """The generator's key for one draw of one request; keys differ wherever seed or counter do."""
    import mlx.core as mx

    return mx.array([seed & 0xFFFFFFFF, counter & 0xFFFFFFFF], dtype=mx.uint32)
