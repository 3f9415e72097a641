"""What the service holds: while it speaks, while it waits, and after it has let go."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator

import psutil

from langdu.bench.context import Context
from langdu.bench.figures import Figure
from langdu.bench.machine import gpu_facts
from langdu.bench.measure import chunks_of
from langdu.bench.model import Row
from langdu.bench.target import Target
from langdu.bench.texts import text
from langdu.errors import EngineError, LangduError
from langdu.service.admission import Delivery, Ticket
from langdu.service.hub import Hub, Limits
from langdu.synthesis.capacity import RESERVE_MB, Machine, worker_mb
from langdu.synthesis.model import Chunk, Take

IDLE_S = 2.0
"""How long the service's workers are kept here; its own setting is minutes."""
PATIENCE_S = 900.0
UNLOAD_S = 30.0
SAMPLE_S = 0.05
CHUNKS = 4
SHORT_CAP = 40


def memory(context: Context, target: Target) -> Iterator[Row]:
    """The service's own hub says a few chunks and is then left alone until its workers have ended."""
    # The service sets each take's own budget, which a row must hold beside the prompt: short texts where takes run on.
    cap = SHORT_CAP if target.fixed_length else None
    chunks = chunks_of(target, text("long", target.language), cap=cap)[:CHUNKS]
    need_mb = worker_mb(target.spec.engine) + RESERVE_MB
    hub = Hub(Limits(idle_s=IDLE_S, workers=1, memory_mb=max(Machine.here().free_mb, need_mb)))
    gpu_before = gpu_facts().get("free", 0) if target.batched else 0
    try:
        context.say("speaking")
        peak_mb = _speak(hub, target, chunks)
        pids, idle_mb = _resident(hub)
        context.say("waiting for idle unload")
        ended, left = _unload(hub, pids)
    finally:
        hub.close()
    figures = {
        "peak_memory_mb": Figure.of([max(peak_mb, idle_mb)]), "idle_memory_mb": Figure.of([idle_mb]),
        "unloaded_memory_mb": Figure.of([left]),
    }  # fmt: skip
    if ended is not None:
        figures["unload_s"] = Figure.of([ended])
    facts: dict[str, object] = {"idle_s": IDLE_S, "chunks": len(chunks)}
    if gpu_before:
        facts |= {"gpu_free_before_mb": gpu_before / 1e6, "gpu_free_after_mb": gpu_facts().get("free", 0) / 1e6}
    why = "" if left == 0 else f"{left:.0f} MB still held {UNLOAD_S:.0f} s after the last sound"
    yield Row("memory", target.label, "service, 1 worker", figures, facts, left == 0, why)


def _speak(hub: Hub, target: Target, chunks: tuple[Chunk, ...]) -> float:
    """Say the chunks; the highest resident size of the hub's workers, sampled twenty times a second."""
    deliveries: queue.Queue[Delivery] = queue.Queue()
    ticket = Ticket("bench", "bench", target.spec, chunks, deliveries.put)
    hub.submit(ticket)
    peak_mb, said, deadline = 0.0, 0, time.monotonic() + PATIENCE_S
    while said < len(chunks):
        peak_mb = max(peak_mb, _resident(hub)[1])
        if time.monotonic() > deadline:
            raise EngineError(f"{target.label} was not done after {PATIENCE_S:.0f} s.")
        try:
            delivery = deliveries.get(timeout=SAMPLE_S)
        except queue.Empty:
            continue
        if isinstance(delivery.what, LangduError):
            raise delivery.what
        if isinstance(delivery.what, Take):
            said += 1
            hub.taken(ticket)
    return peak_mb


def _resident(hub: Hub) -> tuple[list[int], float]:
    """Process ids of the hub's workers, and their resident MB together."""
    workers = hub.status()["workers"]
    assert isinstance(workers, list)
    return [int(one["pid"]) for one in workers], sum(float(one["memory_mb"]) for one in workers)


def _unload(hub: Hub, pids: list[int]) -> tuple[float | None, float]:
    """Seconds until every worker has ended (None: not in time), and the MB that those still there hold."""
    started = time.monotonic()
    while time.monotonic() - started < UNLOAD_S:
        if not any(psutil.pid_exists(pid) for pid in pids):
            return time.monotonic() - started, 0.0
        time.sleep(SAMPLE_S)
    held = [psutil.Process(pid).memory_info().rss for pid in pids if psutil.pid_exists(pid)]
    return None, sum(held) / (1 << 20)
