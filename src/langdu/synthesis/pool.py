"""N workers, each with its own engine; a chunk goes to whichever is free.

A job that failed, or whose worker died or hung, is said once more, on another worker where there is one;
a dead worker is replaced. Nothing is resident: workers start with the run and end with it.
"""

from __future__ import annotations

import collections
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from langdu.engines.base import EngineInfo, Failed, Piece, Request, Spoken
from langdu.errors import LangduError, WorkerError
from langdu.synthesis.model import Take
from langdu.synthesis.runner import EngineSpec, Job, Outcome
from langdu.synthesis.worker import Worker
from langdu.voices.persona import Persona

TRIES = 2
"""How often one job is handed out before it counts as failed."""
HANG_S = 600.0
"""A worker that says nothing for so long while it has work is stuck: killed and replaced."""


@dataclass(slots=True)
class _Seat:
    """One place in the pool: a worker, what it is saying, and when it was last heard of."""

    number: int
    worker: Worker
    jobs: dict[str, Job] = field(default_factory=dict)
    heard: float = field(default_factory=time.monotonic)
    ready: bool = False


@dataclass(slots=True)
class _Message:
    """From a seat's thread to the pool: ready (event None), an event, or the worker's end."""

    seat: _Seat
    worker: Worker
    event: Piece | Spoken | Failed | None = None
    death: LangduError | None = None


class _Source:
    """Where jobs come from: those to be said once more, then the caller's."""

    def __init__(self, jobs: Iterator[Job | None]) -> None:
        self._jobs = jobs
        self._again: collections.deque[tuple[Job, int]] = collections.deque()
        self._tries: collections.Counter[str] = collections.Counter()
        self._ended = False

    @property
    def finished(self) -> bool:
        return self._ended and not self._again

    def next(self, seat: int, *, alone: bool) -> Job | None:
        """The next job for `seat`, or None for now. A retry goes to another seat unless there is none."""
        for _ in range(len(self._again)):
            job, failed_on = self._again.popleft()
            if failed_on != seat or alone:
                return job
            self._again.append((job, failed_on))
        if self._ended:
            return None
        try:
            return next(self._jobs)
        except StopIteration:
            self._ended = True
            return None

    def again(self, job: Job, seat: int) -> bool:
        """Take a job back; False when it has had its tries."""
        self._tries[_id(job)] += 1
        if self._tries[_id(job)] >= TRIES:
            return False
        self._again.append((job, seat))
        return True


class Pool:
    """A Runner. Workers start loading at once; `run` hands out work as they become ready."""

    def __init__(
        self,
        spec: EngineSpec,
        workers: int,
        *,
        personas: Sequence[Persona] = (),
        on_piece: Callable[[Job, Piece], None] | None = None,
        hang_s: float = HANG_S,
    ) -> None:
        self._spec, self._personas, self._on_piece, self._hang_s = spec, personas, on_piece, hang_s
        self._inbox: queue.Queue[_Message] = queue.Queue()
        self._peaks: dict[int, float] = {}
        self._info: EngineInfo | None = None
        self.load_seconds = 0.0
        self._closed = False
        self._seats: list[_Seat] = []
        self.grow(workers)

    def grow(self, workers: int) -> None:
        """Start more workers, up to `workers` in all."""
        for number in range(len(self._seats), workers):
            self._seats.append(_Seat(number, self._start(number)))
            self._listen(self._seats[-1])
        self.workers = len(self._seats)

    @property
    def info(self) -> EngineInfo:
        return self._info or self._seats[0].worker.wait_ready()

    def wait_ready(self) -> None:
        """Until every worker has loaded. Raises the first error of one that cannot."""
        for seat in self._seats:
            seat.worker.wait_ready()
            self.load_seconds = max(self.load_seconds, seat.worker.load_seconds)

    def peak_memory_mb(self) -> float:
        for seat in self._seats:
            self._note_peak(seat.worker)
        return sum(self._peaks.values())

    def peaks_mb(self) -> list[float]:
        """Peak of each worker that ever ran."""
        self.peak_memory_mb()
        return list(self._peaks.values())

    def run(self, jobs: Iterable[Job | None]) -> Iterator[Outcome]:
        """Outcomes as they finish; ends soon after another thread closes the pool.

        Raises the workers' own error when none can be started.
        """
        source = _Source(iter(jobs))
        while not self._closed:
            for seat in self._seats:
                while seat.ready and len(seat.jobs) < self._capacity():
                    job = source.next(seat.number, alone=self.workers == 1)
                    if job is None:
                        break
                    self._hand(seat, job)
            busy = any(seat.jobs for seat in self._seats)
            if source.finished and not busy:
                return
            loading = not all(seat.ready for seat in self._seats)
            yield from self._hear(source, wait_s=1.0 if busy or loading else 0.02)

    def _capacity(self) -> int:
        """Requests one worker holds: one, or its slots and one more to refill a row without a pause."""
        info = self._info
        return info.slots + 1 if info is not None and info.batched else 1

    def _hand(self, seat: _Seat, job: Job) -> None:
        chunk = job.chunk
        request = Request(
            id=_id(job), text=chunk.said, language=chunk.language, voice="", seed=job.seed, speed=chunk.speed,
            settings={k: v for k, v in chunk.persona.settings.items() if k != "speed"},
            max_s=job.max_s, stream=self._on_piece is not None,
        )  # fmt: skip
        seat.jobs[request.id] = job
        seat.heard = time.monotonic()
        with contextlib.suppress(WorkerError):  # its death is on its way through the inbox
            seat.worker.submit(request, chunk.persona)

    def _hear(self, source: _Source, wait_s: float) -> Iterator[Outcome]:
        try:
            message = self._inbox.get(timeout=wait_s)
        except queue.Empty:
            self._end_hung()
            return
        seat = message.seat
        if message.worker is not seat.worker:
            return  # the last words of a worker that has been replaced
        seat.heard = time.monotonic()
        if (death := message.death) is not None:
            self._replace(seat, death)
            lost, seat.jobs = seat.jobs, {}
            for job in lost.values():
                yield from self._retry(job, Failed(_id(job), death.code, death.message), seat, source)
        elif message.event is None:
            seat.ready = True
            self._info = seat.worker.info
            self.load_seconds = max(self.load_seconds, seat.worker.load_seconds)
        else:
            yield from self._event(seat, message.event, source)

    def _event(self, seat: _Seat, event: Piece | Spoken | Failed, source: _Source) -> Iterator[Outcome]:
        if isinstance(event, Piece):
            if self._on_piece is not None and event.id in seat.jobs:
                self._on_piece(seat.jobs[event.id], event)
            return
        job = seat.jobs.pop(event.id)
        if isinstance(event, Failed):
            yield from self._retry(job, event, seat, source)
        else:
            yield Outcome(job, take=take_of(job, event, self.info), worker=seat.number)

    def _retry(self, job: Job, failed: Failed, seat: _Seat, source: _Source) -> Iterator[Outcome]:
        # What is wrong with the text or the voice stays wrong; only an engine's failure is worth another try.
        if failed.code not in ("engine", "worker", "error") or not source.again(job, seat.number):
            yield Outcome(job, failed=failed, worker=seat.number)

    def _replace(self, seat: _Seat, death: LangduError) -> None:
        """Raises the worker's own error when it never came up: a second one would not either."""
        if not seat.ready:
            raise death
        self._note_peak(seat.worker)
        seat.worker.kill()
        seat.worker, seat.ready = self._start(seat.number), False
        self._listen(seat)

    def _end_hung(self) -> None:
        for seat in self._seats:
            if seat.jobs and time.monotonic() - seat.heard > self._hang_s:
                seat.worker.abandon()

    def _start(self, number: int) -> Worker:
        return Worker(self._spec, personas=self._personas, name=f"{self._spec.engine}-{number + 1}")

    def _listen(self, seat: _Seat) -> None:
        def listen(worker: Worker) -> None:
            try:
                worker.wait_ready()
                self._inbox.put(_Message(seat, worker))
                for event in worker.events():
                    self._inbox.put(_Message(seat, worker, event))
            except LangduError as error:
                self._inbox.put(_Message(seat, worker, death=error))

        threading.Thread(target=listen, args=(seat.worker,), daemon=True).start()

    def _note_peak(self, worker: Worker) -> None:
        self._peaks[worker.pid] = max(self._peaks.get(worker.pid, 0.0), worker.peak_memory_mb)

    def close(self) -> None:
        """End every worker, in mid-sentence if need be."""
        if not self._closed:
            self._closed = True
            self.peak_memory_mb()
            for seat in self._seats:
                seat.worker.kill()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def take_of(job: Job, spoken: Spoken, info: EngineInfo) -> Take:
    return Take(
        key=job.chunk.key, audio=spoken.audio, sample_rate_hz=spoken.sample_rate_hz, seed=spoken.seed,
        seconds=spoken.seconds, ending=spoken.ending, frames=spoken.frames, engine=info, attempt=job.attempt,
        facts=spoken.facts,
    )  # fmt: skip


def _id(job: Job) -> str:
    return f"{job.chunk.index}.{job.attempt}"
