"""Listening to a whole saying, chunk by chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from langdu.engines.base import Audio
from langdu.quality.compare import Comparison, compare
from langdu.quality.transcript import Checker
from langdu.settings import settings
from langdu.synthesis.model import Plan, Take


def verify_takes(plan: Plan, takes: Mapping[int, Take], checker: Checker) -> dict[str, Any]:
    """Hear every take against its chunk; the figures are over the whole text, weighted by length.

    cer, wer (None without English), heard, passed, and `doubtful`: the chunks over the threshold by name.
    """
    found = [(chunk, _hear(checker, takes[chunk.index], chunk.language, chunk.text)) for chunk in plan.chunks]
    limit = settings().cer_threshold
    doubtful = [
        {"chunk": chunk.name, "cer": round(c.cer, 4), "written": chunk.text, "heard": heard, "marked": c.marked()}
        for chunk, (c, heard) in found
        if c.cer > limit
    ]
    return _summary([c for _, (c, _) in found], "".join(f"{h} " for _, (_, h) in found).strip(), limit) | {
        "passed": not doubtful,
        "doubtful": doubtful,
    }


def verify_audio(
    audio: Audio, sample_rate_hz: int, text: str, language: str, checker: Checker, *, limit: float
) -> dict[str, Any]:
    """Hear a whole recording against its text: the summary of `verify_takes`, and the alignment step by step."""
    heard = checker.hear(audio, sample_rate_hz, language)
    comparison = compare(text, heard.text, language)
    return _summary([comparison], heard.text, limit) | {
        "sound_error": round(comparison.sound_error, 4),
        "marked": comparison.marked(),
        "alignment": [asdict(step) for step in comparison.alignment],
    }


def _hear(checker: Checker, take: Take, language: str, text: str) -> tuple[Comparison, str]:
    heard = checker.hear(take.audio, take.sample_rate_hz, language)
    return compare(text, heard.text, language), heard.text


def _summary(found: list[Comparison], heard: str, limit: float) -> dict[str, Any]:
    characters = sum(len(c.written.replace(" ", "")) for c in found)
    cer = sum(c.cer * len(c.written.replace(" ", "")) for c in found) / max(1, characters)
    english = [c for c in found if c.wer is not None]
    words = sum(len(c.written.split()) for c in english)
    wer = sum((c.wer or 0.0) * len(c.written.split()) for c in english) / max(1, words) if english else None
    return {
        "cer": round(cer, 4), "wer": None if wer is None else round(wer, 4), "heard": heard, "passed": cer <= limit,
        "threshold": limit,
    }  # fmt: skip
