"""Twice as many workers or slots, again and again: how far does it help, and where must it stop?

The work grows with the workers (each has the same share), so a run stays as long; the ideal is a line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from langdu.bench.context import Context
from langdu.bench.figures import Figure
from langdu.bench.hearing import endings
from langdu.bench.machine import gpu_facts
from langdu.bench.measure import Measured, Session, chunks_of, repeat
from langdu.bench.model import Row
from langdu.bench.target import Target
from langdu.bench.texts import text
from langdu.engines.qwen3.slots import MOST_ROWS
from langdu.errors import CapacityError
from langdu.synthesis.capacity import RESERVE_MB, Machine, worker_mb
from langdu.synthesis.model import Chunk

CHUNK_CHARS = 60
CHUNKS_EACH = 3
"""Chunks each worker or slot says in one run."""
MOST_SLOTS = 8
"""Where no device says how many help."""
GPU_PROCESSES = 4
"""More processes on one GPU only wait for each other, and each holds a model: nobody gains by trying."""
SPARE = 0.10
"""Share of the memory that stays free."""


def scale(context: Context, target: Target) -> Iterator[Row]:
    if target.batched:
        yield from _climb(context, target, "slots")
    yield from _climb(context, target, "workers")


def _climb(context: Context, target: Target, what: str) -> Iterator[Row]:
    """1, 2, 4, … of `what`, until the machine ends or doubling stops helping; the reason goes to the notes."""
    base, each_mb, last, stalled = 0.0, 0.0, 0.0, ""
    for count in itertools.accumulate(itertools.repeat(2), lambda n, by: n * by, initial=1):
        reason = stalled or _no_more(context, target, what, count, each_mb)
        if not reason:
            try:
                measured, chunks = _measure(context, target, what, count)
            except CapacityError as error:  # the engine knows its own need, and says it before it reads a weight
                reason = error.message
        if reason:
            context.notes.append(f"scale, {target.label}: stopped before {count} {what}: {reason}")
            return
        session = measured.session
        throughput = Figure.of(1 / run.rtf for run in measured.runs)
        base = base or throughput.median
        each_mb = (session.device_peak_mb or session.peak_memory_mb) / session.workers
        stalled = "the last doubling was no gain" if throughput.median <= last else ""
        last = throughput.median
        passed, why = endings(target, measured.runs[-1].takes)
        yield Row(
            "scale", target.label, f"{count} {what}"[: -1 if count == 1 else None],
            measured.figures() | {"throughput": throughput, "speedup": Figure.of(v / base for v in throughput.values)},
            {"count": count, "of": what, "chunks": len(chunks), "chunk_characters": CHUNK_CHARS}, passed, why,
        )  # fmt: skip


def _measure(context: Context, target: Target, what: str, count: int) -> tuple[Measured, tuple[Chunk, ...]]:
    asked = target.with_options(slots=count if what == "slots" else 1) if target.batched else target
    chunks = _work(target, count * CHUNKS_EACH)
    context.say(f"{count} {what}, loading")
    with Session(asked, workers=count if what == "workers" else 1) as session:
        return repeat(session, chunks, context.repeats, context.at(f"{count} {what}")), chunks


def _work(target: Target, wanted: int) -> tuple[Chunk, ...]:
    """So many chunks of the article, from its start again where it ends."""
    found = chunks_of(target, text("long", target.language), cap=CHUNK_CHARS)
    return tuple(
        replace(chunk, index=index) for index, chunk in zip(range(wanted), itertools.cycle(found), strict=False)
    )


def _no_more(context: Context, target: Target, what: str, count: int, each_mb: float) -> str:
    """Why `count` must not be tried; "" when it may."""
    if what == "slots":
        most = MOST_ROWS.get(context.machine.get("mlx_device", ""), MOST_SLOTS)
        return f"beyond {most} each only gets slower on this device" if count > most else ""
    here = Machine.here()
    most = context.processes or (GPU_PROCESSES if target.batched else here.cores)
    if count > most:
        return f"{most} processes were asked for" if context.processes else f"{here.cores} cores"
    each_mb = each_mb or (worker_mb(target.spec.engine) if not target.batched else target.size_bytes / 1e6)
    gpu = gpu_facts() if target.batched else {}
    free_mb = gpu["free"] / 1e6 * (1 - SPARE) if gpu.get("free") else here.free_mb - RESERVE_MB
    if count > 1 and count * each_mb > free_mb:
        where = "of GPU memory are free" if gpu.get("free") else "of memory are free"
        return f"{count} × {each_mb:,.0f} MB, and {free_mb:,.0f} MB {where}"
    return ""
