"""A book's chunks said by the workers of the service: in the background class, so that short requests pass them."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace

from langdu.engines.base import EngineInfo, Failed
from langdu.errors import Cancelled, LangduError
from langdu.service.admission import Delivery, Ticket
from langdu.service.hub import Hub
from langdu.synthesis.model import Take
from langdu.synthesis.runner import EngineSpec, Job, Outcome

LOOK_S = 0.05
"""How often a runner looks whether it was closed, or has new work."""
AHEAD = 4
"""Chunks in the queue at once for a serial engine: more than its processes, so that none is idle."""


class HubRunner:
    """A Runner over the resident engines. `close` may come from any thread and ends `run` with Cancelled."""

    def __init__(self, hub: Hub, spec: EngineSpec, info: EngineInfo, *, client: str) -> None:
        # Threads and the language that loads first are for the command line, where each run has engines of its own.
        options = {name: value for name, value in spec.options.items() if name not in ("warm", "threads")}
        self._hub, self._spec, self._client = hub, replace(spec, options=options), client
        self._info = info
        self.workers, self.load_seconds = 0, 0.0
        self._memory_mb = 0.0
        self._closed = False
        self._inbox: queue.Queue[tuple[str, Delivery]] = queue.Queue()

    @property
    def info(self) -> EngineInfo:
        return self._info

    def run(self, jobs: Iterable[Job | None]) -> Iterator[Outcome]:
        most = max(AHEAD, 2 * self._info.slots)
        source, more = iter(jobs), True
        under_way: dict[str, tuple[Job, Ticket]] = {}
        try:
            while more or under_way:
                while more and len(under_way) < most:
                    try:
                        job = next(source)
                    except StopIteration:
                        more = False
                        break
                    if job is None:
                        break
                    ticket = self._submit(job)
                    under_way[ticket.id] = (job, ticket)
                try:
                    name, delivery = self._inbox.get(timeout=LOOK_S)
                except queue.Empty:
                    name, delivery = "", None
                if self._closed:
                    raise Cancelled("The job was stopped.")
                if delivery is None or name not in under_way:
                    continue
                job, ticket = under_way.pop(name)
                self._hub.taken(ticket)
                yield _outcome(job, delivery)
        finally:
            for _, ticket in under_way.values():
                self._hub.cancel(ticket)
            self.workers, self._memory_mb = self._hub.resident(self._spec)

    def _submit(self, job: Job) -> Ticket:
        name, inbox = uuid.uuid4().hex, self._inbox
        ticket = Ticket(
            name, self._client, self._spec, (job.chunk,), lambda delivery: inbox.put((name, delivery)), (job.seed,),
            background=True,
        )  # fmt: skip
        self._hub.submit(ticket)
        return ticket

    def peak_memory_mb(self) -> float:
        return self._memory_mb

    def close(self) -> None:
        self._closed = True


def _outcome(job: Job, delivery: Delivery) -> Outcome:
    if isinstance(delivery.what, LangduError):
        error = delivery.what
        return Outcome(job, failed=Failed(job.chunk.name, error.code, error.message, error.hint))
    assert isinstance(delivery.what, Take)
    return Outcome(job, take=delivery.what)
