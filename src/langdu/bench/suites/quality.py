"""The sound itself: heard against its text, and figures to compare voices and precisions by."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from langdu.bench.context import Context
from langdu.bench.figures import Figure
from langdu.bench.measure import Session, chunks_of
from langdu.bench.model import Row
from langdu.bench.target import Target
from langdu.bench.texts import text
from langdu.errors import ModelError
from langdu.quality.signal import SEGMENTS, SignalFacts, measure
from langdu.synthesis.model import Chunk, Take


def quality(context: Context, target: Target) -> Iterator[Row]:
    """Judges the article, said by the `long` suite or said now; nothing here is timed."""
    chunks, takes = context.spoken.get(target.label) or _say(context, target)
    context.say("listening")
    judged = context.listener.judge(target, chunks, takes)
    signals = [verdict.signal for verdict in judged.verdicts] or [measure(t.audio, t.sample_rate_hz) for t in takes]
    segments = [round(statistics.fmean(one.zcr_segments[n] for one in signals), 4) for n in range(SEGMENTS)]
    figures = judged.figures() | {
        "zcr": _each(signals, "zcr"), "zcr_worst": Figure.of([max(segments)]),
        "band_100_500": _each(signals, "band_100_500"), "band_500_2000": _each(signals, "band_500_2000"),
    }  # fmt: skip
    facts = {"chunks": len(chunks), "zcr_segments": segments} | judged.facts()
    similar = [verdict.similarity for verdict in judged.verdicts if verdict.similarity is not None]
    if similar:
        figures["similarity"], facts["similarity_to"] = Figure.of(similar), "the reference clip"
    elif judged.heard and (found := _within(takes)):
        figures["similarity"], facts["similarity_to"] = Figure.of(found), "its own first chunk"
    yield Row("quality", target.label, "822 characters", figures, facts, judged.passed, judged.why)


def _say(context: Context, target: Target) -> tuple[tuple[Chunk, ...], tuple[Take, ...]]:
    chunks = chunks_of(target, text("long", target.language))
    context.say("speaking")
    with Session(target) as session:
        return chunks, session.say(chunks).takes


def _each(signals: Sequence[SignalFacts], name: str) -> Figure:
    return Figure.of(getattr(one, name) for one in signals)


def _within(takes: Sequence[Take]) -> list[float]:
    """Likeness of each chunk's voice to the first one's: whether a voice stays itself. [] without the encoder."""
    from langdu.quality.speaker import embed, similarity

    try:
        vectors = [embed(take.audio, take.sample_rate_hz) for take in takes]
    except ModelError:
        return []
    first, *others = [vector for vector in vectors if np.any(vector)] or [np.zeros(1, np.float32)]
    return [similarity(first, other) for other in others]
