"""One text, warm: the sentence somebody waits for, and the article."""

from __future__ import annotations

from collections.abc import Iterator

from langdu.bench.context import Context
from langdu.bench.measure import Session, chunks_of, repeat
from langdu.bench.model import Row
from langdu.bench.target import Target
from langdu.bench.texts import text
from langdu.synthesis.capacity import Machine, choose_workers, most_workers


def short(context: Context, target: Target) -> Iterator[Row]:
    """30 characters, streamed: one worker, with all cores where threads are how the engine uses them."""
    chunks = chunks_of(target, text("short", target.language))
    setup, asked = "1 slot" if target.batched else "1 worker", target
    if target.batched:
        asked = target.with_options(slots=1)
    elif target.spec.engine == "kokoro":
        threads = most_workers("kokoro", Machine.here())
        setup, asked = f"1 worker, {threads} threads", target.with_options(threads=threads)
    context.say("loading")
    with Session(asked, stream=True) as session:
        measured = repeat(session, chunks, context.repeats, context.say)
    context.say("listening")
    judged = context.listener.judge(target, chunks, measured.runs[-1].takes)
    facts = {"characters": 30, "chunks": len(chunks), "device": session.info.device,
             "precision": session.info.precision} | judged.facts()  # fmt: skip
    yield Row("short", target.label, setup, measured.figures() | judged.figures(), facts, judged.passed, judged.why)


def long(context: Context, target: Target) -> Iterator[Row]:
    """The article, with as many workers or slots as the product itself would take."""
    article = text("long", target.language)
    workers = 1 if target.batched else choose_workers(None, engine=target.spec.engine, chunks=10**6)
    chunks = chunks_of(target, article, workers=workers)
    context.say("loading")
    with Session(target, workers=min(workers, len(chunks))) as session:
        measured = repeat(session, chunks, context.repeats, context.say)
    takes = measured.runs[-1].takes
    context.spoken[target.label] = chunks, takes
    context.say("listening")
    judged = context.listener.judge(target, chunks, takes)
    setup = f"{session.info.slots} slots" if target.batched else f"{session.workers} workers"
    facts = {"characters": len("".join(article.split("\n"))), "chunks": len(chunks), "workers": session.workers,
             "slots": session.info.slots, "device": session.info.device,
             "precision": session.info.precision} | judged.facts()  # fmt: skip
    yield Row("long", target.label, setup, measured.figures() | judged.figures(), facts, judged.passed, judged.why)
