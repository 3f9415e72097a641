"""Timed runs on warm workers: what is measured is the product's own pool, not a loop of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from langdu.bench.figures import Figure
from langdu.bench.target import Target
from langdu.engines.base import EngineInfo, Piece
from langdu.errors import EngineError, by_code
from langdu.settings import settings
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.plan import engine_cap, even_cap, longest_first, make_plan
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import Job
from langdu.text.script import make_script

CHARACTERS_A_SECOND = {"zh": 4.5, "en": 14.0}
"""How fast speech is: the length of a take that is fixed by its text."""


@dataclass(frozen=True, slots=True)
class Run:
    """One timed saying of some chunks."""

    seconds: float
    """First request to last take, workers warm."""
    takes: tuple[Take, ...]
    """In the order of the chunks."""
    done_s: tuple[float, ...]
    """When each chunk was finished, in the order they finished."""
    first_sound_s: float | None = None

    @property
    def audio_s(self) -> float:
        return sum(take.audio_seconds for take in self.takes)

    @property
    def rtf(self) -> float:
        return self.seconds / self.audio_s if self.audio_s else float("inf")


class Session:
    """Workers of one configuration, loaded and kept. Use as a context: leaving it ends them.

    `stream` asks for pieces, which is how the first sound is known; it costs a little, so throughput is
    measured without.
    """

    def __init__(self, target: Target, *, workers: int = 1, stream: bool = False) -> None:
        self.target, self.workers = target, workers
        self._first: float | None = None
        self._device_mb: dict[int, float] = {}
        hear = self._piece if stream else None
        self._pool = Pool(target.spec, workers, personas=[target.persona], on_piece=hear)
        try:
            self._pool.wait_ready()
        except BaseException:
            self._pool.close()
            raise

    @property
    def info(self) -> EngineInfo:
        return self._pool.info

    @property
    def load_s(self) -> float:
        """Process start to ready, of the slowest worker."""
        return self._pool.load_seconds

    @property
    def peak_memory_mb(self) -> float:
        """Resident peak, all workers together. A GPU's own memory is not in it."""
        return self._pool.peak_memory_mb()

    @property
    def device_peak_mb(self) -> float:
        """MLX's peak on a GPU, all workers together; 0 on the CPU and for engines that do not say."""
        return sum(self._device_mb.values()) if self.info.device != "cpu" else 0.0

    def say(self, chunks: Sequence[Chunk]) -> Run:
        """Say the chunks, longest first as the product does. Raises the error of a chunk that cannot be said."""
        takes: dict[int, Take] = {}
        done: list[float] = []
        self._first, started = None, time.perf_counter()
        for outcome in self._pool.run([self._job(chunk) for chunk in longest_first(chunks)]):
            done.append(time.perf_counter() - started)
            if outcome.failed is not None:
                error = by_code(outcome.failed.code, outcome.failed.message, outcome.failed.hint)
                what = f"{self.target.label} could not say “{outcome.job.chunk.text[:30]}…”: {error.message}"
                raise (type(error) if isinstance(error, EngineError) else EngineError)(what, hint=error.hint)
            assert outcome.take is not None
            takes[outcome.job.chunk.index] = outcome.take
            peak = float(outcome.take.facts.get("device_peak_mb", 0.0))
            self._device_mb[outcome.worker] = max(peak, self._device_mb.get(outcome.worker, 0.0))
        seconds = time.perf_counter() - started
        first = None if self._first is None else self._first - started
        return Run(seconds, tuple(takes[chunk.index] for chunk in chunks), tuple(done), first)

    def _job(self, chunk: Chunk) -> Job:
        if not self.target.fixed_length:
            return Job(chunk)
        return Job(chunk, max_s=len(chunk.text) / CHARACTERS_A_SECOND.get(chunk.language, 4.5))

    def _piece(self, job: Job, piece: Piece) -> None:
        if self._first is None:
            self._first = time.perf_counter()

    def close(self) -> None:
        self._pool.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(slots=True)
class Measured:
    """Repeats of one configuration, after one saying that is not counted."""

    session: Session
    runs: list[Run] = field(default_factory=list)

    def figures(self) -> dict[str, Figure]:
        """seconds, audio_s, rtf; load and memory once; the first sound where pieces were asked for."""
        found = {
            "load_s": Figure.of([self.session.load_s]),
            "seconds": Figure.of(run.seconds for run in self.runs),
            "audio_s": Figure.of(run.audio_s for run in self.runs),
            "rtf": Figure.of(run.rtf for run in self.runs),
            "peak_memory_mb": Figure.of([self.session.peak_memory_mb]),
        }
        firsts = [run.first_sound_s for run in self.runs if run.first_sound_s is not None]
        if firsts:
            found["first_sound_s"] = Figure.of(firsts)
        if self.session.device_peak_mb:
            found["device_peak_mb"] = Figure.of([self.session.device_peak_mb])
        return found


def warm(session: Session, chunks: Sequence[Chunk]) -> None:
    """One saying that is not counted: enough chunks that every worker and every slot has had one."""
    each = session.info.slots + 1 if session.info.batched else 1
    session.say(chunks[: max(1, session.workers * each)])


def repeat(
    session: Session, chunks: Sequence[Chunk], repeats: int, report: Callable[[str], None] = lambda step: None
) -> Measured:
    """Warm up, then say the chunks `repeats` times."""
    report("warming up")
    warm(session, chunks)
    measured = Measured(session)
    for number in range(1, repeats + 1):
        report(f"run {number} of {repeats}")
        measured.runs.append(session.say(chunks))
    return measured


def chunks_of(target: Target, text: str, *, cap: int | None = None, workers: int = 1) -> tuple[Chunk, ...]:
    """A text cut as the product cuts it for this engine; `cap` (characters) asks for shorter chunks."""
    script = make_script(text)
    limit = engine_cap(target.spec.engine, target.language, cap or settings().chunk_chars)
    limit = even_cap(script, limit, workers) if cap is None else limit
    pause_s = settings().pause_chunk_s
    return make_plan(script, lambda name: target.persona, None, cap=limit, pause_chunk_s=pause_s).chunks
