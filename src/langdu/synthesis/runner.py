"""How chunks get said: the one interface of `inline`, `pool` and `cluster`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from langdu.engines.base import EngineInfo, Failed
from langdu.synthesis.model import Chunk, Take


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """What a worker loads. It crosses processes as JSON, so it holds names and numbers only."""

    engine: str
    """"kokoro" or "qwen3" (or "tone", the tests' engine without a model)."""
    model: str = ""
    """Catalogue name or folder; "" is the engine's default."""
    options: dict[str, str | int | float | bool] = field(default_factory=dict)
    """Engine options such as threads, slots, device, precision."""


@dataclass(frozen=True, slots=True)
class Job:
    """One saying that is wanted: `attempt` counts from 1, a retry brings a new seed."""

    chunk: Chunk
    seed: int = 0
    attempt: int = 1
    max_s: float | None = None
    """Longest take, in seconds of sound; None lets the engine set its own budget."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: exactly one of `take` and `failed` is set."""

    job: Job
    take: Take | None = None
    failed: Failed | None = None
    worker: int = 0


class Runner(Protocol):
    """Says jobs, as many at once as its engine and machine can.

    `run` draws jobs lazily (a None means "none right now, ask again") and yields outcomes as they finish,
    not in order; `synthesis.order.in_order` restores it. A job lost to a crashed worker is said once more
    before it is `failed`. Closing the runner, or leaving `run` early, stops all work and leaves no process.
    """

    @property
    def info(self) -> EngineInfo: ...

    workers: int
    load_seconds: float
    """Process start to ready, of the slowest worker."""

    def run(self, jobs: Iterable[Job | None]) -> Iterator[Outcome]: ...

    def peak_memory_mb(self) -> float:
        """Sum over the workers' peaks so far."""

    def close(self) -> None: ...
