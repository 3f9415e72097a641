"""The resident engines: worker processes that are started when wanted and end when idle.

    client --Ticket--> Line --chunk--> Worker (child process) --Take--> client

One dispatcher thread hands out chunks; one thread for each worker listens to it. Nothing here runs an engine,
so nothing here touches MLX; unloading a model is the exit of its process, which returns all of its memory.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from langdu.engines.base import EngineInfo, Failed, Piece, Request, Spoken
from langdu.errors import CapacityError, DeadlineError, LangduError, WorkerError, by_code
from langdu.service.admission import Delivery, Line, Ticket
from langdu.synthesis.capacity import Machine, most_workers, worker_mb
from langdu.synthesis.model import Take
from langdu.synthesis.runner import EngineSpec
from langdu.synthesis.worker import Worker

TRIES = 2
"""How often a chunk is handed out before a dead worker counts as its error."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the service may use. Zero memory: what the machine has free at the start, less a reserve."""

    queue: int = 64
    workers: int = 0
    """Processes for one serial engine; 0: as many as cores and memory carry."""
    models: int = 2
    """Models resident at once."""
    memory_mb: int = 0
    idle_s: float = 600.0
    hang_s: float = 600.0


@dataclass(slots=True, eq=False)
class _Seat:
    worker: Worker
    spec: EngineSpec
    key: str
    jobs: dict[str, tuple[Ticket, int]] = field(default_factory=dict)
    ready: bool = False
    used: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)

    def room(self) -> bool:
        slots = self.worker.info.slots if self.ready and self.worker.info.batched else 1
        return self.ready and self.worker.alive and len(self.jobs) < slots


class Hub:
    """Thread-safe. `submit` a ticket; its `deliver` is called as chunks are done; `cancel` frees its row."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._line = Line(self.limits.queue)
        self._seats: list[_Seat] = []
        self._wake = threading.Condition()
        self._open = True
        self._coming = 0
        self._infos: dict[str, EngineInfo] = {}
        self.memory_mb = self.limits.memory_mb or Machine.here().free_mb
        self.loads = self.unloads = self.deaths = 0
        self._dispatcher = threading.Thread(target=self._run, name="dispatcher", daemon=True)
        self._dispatcher.start()

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """A place in the line while a request is prepared. BusyError when there is none: before the work, not after."""
        with self._wake:
            self._line.check_room(self._coming)
            self._coming += 1
        try:
            yield
        finally:
            with self._wake:
                self._coming -= 1

    def submit(self, ticket: Ticket) -> None:
        """Queue a ticket. BusyError when the line is full."""
        with self._wake:
            if not self._open:
                raise CapacityError("The service is shutting down.", hint="Try again in a moment.")
            self._line.enter(ticket)
            self._wake.notify_all()

    def taken(self, ticket: Ticket) -> None:
        """Its client took one chunk: one more may be made."""
        with self._wake:
            ticket.taken += 1
            if ticket.taken >= len(ticket.chunks):
                self._line.leave(ticket)
            self._wake.notify_all()

    def cancel(self, ticket: Ticket) -> None:
        """Its client is gone: chunks not begun are dropped, those under way are stopped at the next step."""
        with self._wake:
            self._drop(ticket)
            self._wake.notify_all()

    def info_of(self, spec: EngineSpec) -> EngineInfo | None:
        """The engine's description, if it was ever loaded here."""
        return self._infos.get(_key(spec))

    def resident(self, spec: EngineSpec) -> tuple[int, float]:
        """How many workers there are for this engine, and their memory in MB."""
        with self._wake:
            found = [_rss_mb(seat.worker.pid) for seat in self._seats if seat.key == _key(spec)]
        return len(found), sum(found)

    def status(self) -> dict[str, object]:
        with self._wake:
            return {
                "queued": len(self._line),
                "loads": self.loads, "unloads": self.unloads, "deaths": self.deaths,
                "workers": [
                    {
                        "engine": s.spec.engine, "model": s.worker.info.model if s.ready else s.spec.model,
                        "pid": s.worker.pid, "ready": s.ready, "busy": len(s.jobs),
                        "memory_mb": round(_rss_mb(s.worker.pid), 1),
                    }
                    for s in self._seats
                ],
            }  # fmt: skip

    def close(self, timeout_s: float = 5.0) -> None:
        """End every worker; tickets still waiting are told."""
        with self._wake:
            if not self._open:
                return
            self._open = False
            for ticket in self._line.tickets():
                self._fail(ticket, CapacityError("The service is shutting down.", hint="Try again in a moment."))
            seats, self._seats = self._seats, []
            self._wake.notify_all()
        self._dispatcher.join()
        for seat in seats:
            seat.worker.kill()

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._open:
                    return
                now = time.monotonic()
                for ticket in self._line.overdue(now):
                    self._fail(ticket, DeadlineError("The request was not done in the time it allowed."))
                idle = self._idle(now)
                self._hand_out()
                grown = self._grow()
                for seat in self._seats:
                    if seat.jobs and now - seat.heard > self.limits.hang_s:
                        seat.worker.abandon()
                if not idle and not grown:
                    self._wake.wait(self._patience(now))
            for seat in idle:
                seat.worker.close()

    def _patience(self, now: float) -> float:
        times = [t.deadline for t in self._line.tickets() if t.deadline is not None]
        times += [s.used + self.limits.idle_s for s in self._seats if not s.jobs]
        return max(0.01, min([*times, now + 1.0]) - now)

    def _idle(self, now: float) -> list[_Seat]:
        gone = [s for s in self._seats if s.ready and not s.jobs and now - s.used >= self.limits.idle_s]
        for seat in gone:
            self._release(seat)
        return gone

    def _release(self, seat: _Seat) -> None:
        self._seats.remove(seat)
        self.unloads += 1

    def _hand_out(self) -> None:
        while (picked := self._line.next(lambda t: self._free(t) is not None)) is not None:
            ticket, index = picked
            seat = self._free(ticket)
            assert seat is not None
            chunk = ticket.chunks[index]
            request = Request(
                f"{ticket.id}/{index}/{ticket.tries.get(index, 0)}", chunk.said, chunk.language, "", ticket.seed(index),
                chunk.speed, dict(_sampling(chunk.persona.settings)), stream=ticket.stream,
            )  # fmt: skip
            seat.jobs[request.id] = (ticket, index)
            seat.used = seat.heard = time.monotonic()
            with contextlib.suppress(WorkerError):  # its listener learns of the death and hands the chunk back
                seat.worker.submit(request, chunk.persona)

    def _free(self, ticket: Ticket) -> _Seat | None:
        seats = [s for s in self._seats if s.key == _key(ticket.spec) and s.room()]
        return min(seats, key=lambda s: len(s.jobs), default=None)

    def _grow(self) -> bool:
        """Start one worker where chunks wait and limits allow; the least recently used idle model makes room."""
        for ticket in self._line.tickets():
            if not ticket.ready() or self._free(ticket) is not None:
                continue
            key = _key(ticket.spec)
            mine = [s for s in self._seats if s.key == key]
            if any(not s.ready for s in mine) or len(mine) >= self._most(ticket.spec):
                continue
            if self._make_room(ticket.spec, key, first=not mine):
                self._start(ticket.spec, key)
                return True
            if not mine and not self._seats:
                need, have = worker_mb(ticket.spec.engine), self.memory_mb
                self._fail(ticket, CapacityError(f"The engine needs about {need} MB; the service may use {have} MB."))
                return True
        return False

    def _most(self, spec: EngineSpec) -> int:
        if spec.engine == "qwen3" or int(spec.options.get("slots", 1)) > 1:
            return 1  # a batched engine shares its slots; a second copy would only take memory
        return self.limits.workers or max(1, most_workers(spec.engine, Machine.here()))

    def _make_room(self, spec: EngineSpec, key: str, *, first: bool) -> bool:
        while True:
            models = {s.key for s in self._seats} | {key}
            used = sum(max(_rss_mb(s.worker.pid), worker_mb(s.spec.engine)) for s in self._seats)
            if len(models) <= self.limits.models and used + worker_mb(spec.engine) <= self.memory_mb:
                return True
            idle = [s for s in self._seats if s.ready and not s.jobs and s.key != key]
            if not idle or not first:
                return False
            oldest = min(idle, key=lambda s: s.used)
            self._release(oldest)
            oldest.worker.close()

    def _start(self, spec: EngineSpec, key: str) -> None:
        seat = _Seat(Worker(spec), spec, key)
        self._seats.append(seat)
        self.loads += 1
        threading.Thread(target=self._listen, args=(seat,), name=f"{spec.engine}-listener", daemon=True).start()

    def _listen(self, seat: _Seat) -> None:
        try:
            info = seat.worker.wait_ready()
            with self._wake:
                self._infos[seat.key] = info
                seat.ready, seat.used = True, time.monotonic()
                self._wake.notify_all()
            for event in seat.worker.events():
                self._heard(seat, event, info)
        except LangduError as error:
            self._died(seat, error)
            seat.worker.kill()  # it is dead already; this gives its pipes back

    def _heard(self, seat: _Seat, event: Piece | Spoken | Failed, info: EngineInfo) -> None:
        with self._wake:
            seat.heard = time.monotonic()
            if event.id not in seat.jobs:
                return
            ticket, index = seat.jobs[event.id]
            if not isinstance(event, Piece):
                del seat.jobs[event.id]
                seat.used = seat.heard
                self._wake.notify_all()
            if ticket not in self._line:
                return
            if isinstance(event, Piece):
                ticket.deliver(Delivery(index, event))
            elif isinstance(event, Failed):
                self._fail(ticket, by_code(event.code, event.message, event.hint))
            else:
                ticket.deliver(Delivery(index, _take(ticket, index, event, info)))

    def _died(self, seat: _Seat, error: LangduError) -> None:
        with self._wake:
            if seat not in self._seats:
                return
            self._seats.remove(seat)
            self.deaths += 1
            if not seat.ready:  # it never loaded: another try would end the same way
                for ticket in self._line.tickets():
                    if _key(ticket.spec) == seat.key:
                        self._fail(ticket, error)
            for ticket, index in seat.jobs.values():
                if ticket not in self._line:
                    continue
                ticket.tries[index] = ticket.tries.get(index, 0) + 1
                if ticket.tries[index] >= TRIES or ticket.stream:  # pieces that went out cannot be called back
                    self._fail(ticket, error)
                else:
                    ticket.again.append(index)
            self._wake.notify_all()

    def _fail(self, ticket: Ticket, error: LangduError) -> None:
        self._drop(ticket)
        ticket.deliver(Delivery(-1, error))

    def _drop(self, ticket: Ticket) -> None:
        self._line.leave(ticket)
        for seat in self._seats:
            for request_id, (owner, _) in seat.jobs.items():
                if owner is ticket:
                    seat.worker.cancel(request_id)


def _take(ticket: Ticket, index: int, spoken: Spoken, info: EngineInfo) -> Take:
    return Take(
        key=ticket.chunks[index].key, audio=spoken.audio, sample_rate_hz=spoken.sample_rate_hz, seed=spoken.seed,
        seconds=spoken.seconds, ending=spoken.ending, frames=spoken.frames, engine=info, facts=spoken.facts,
    )  # fmt: skip


def _sampling(settings: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in settings.items() if name != "speed"}


def _key(spec: EngineSpec) -> str:
    return json.dumps([spec.engine, spec.model, spec.options], sort_keys=True)


def _rss_mb(pid: int) -> float:
    import psutil

    try:
        return float(psutil.Process(pid).memory_info().rss) / (1 << 20)
    except psutil.Error:
        return 0.0
