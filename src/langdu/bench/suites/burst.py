"""Several people ask at the same moment: who waits how long?"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace

from langdu.bench.context import Context
from langdu.bench.figures import Figure
from langdu.bench.hearing import endings
from langdu.bench.measure import Session, chunks_of, repeat
from langdu.bench.model import Row
from langdu.bench.target import Target
from langdu.bench.texts import text
from langdu.synthesis.capacity import choose_workers

SIZES = (3, 8)
CHUNK_CHARS = 40
"""A request is a sentence or two."""


def burst(context: Context, target: Target) -> Iterator[Row]:
    """3 and 8 requests handed in together, to warm workers: when the first, the middle and the last is done."""
    sentences = chunks_of(target, text("long", target.language), cap=CHUNK_CHARS)
    for size in SIZES:
        chunks = tuple(replace(chunk, index=index) for index, chunk in enumerate(sentences[:size]))
        workers = 1 if target.batched else choose_workers(None, engine=target.spec.engine, chunks=size)
        asked = target.with_options(slots=size) if target.batched else target
        context.say(f"{size} at once, loading")
        with Session(asked, workers=workers) as session:
            measured = repeat(session, chunks, context.repeats, context.at(f"{size} at once"))
        figures = measured.figures() | {
            "first_done_s": Figure.of(run.done_s[0] for run in measured.runs),
            "median_done_s": Figure.of(statistics.median(run.done_s) for run in measured.runs),
        }
        each = [round(seconds, 3) for seconds in measured.runs[-1].done_s]
        facts = {"requests": size, "workers": workers, "slots": session.info.slots, "done_s": each,
                 "characters": sum(len(chunk.text) for chunk in chunks)}  # fmt: skip
        passed, why = endings(target, measured.runs[-1].takes)
        yield Row("burst", target.label, f"{size} at once", figures, facts, passed, why)
