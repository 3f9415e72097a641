"""Chunks said by Dask workers on other machines. Scheduling, retries and lost workers are Dask's.

A worker is started by `langdu worker tcp://scheduler:8786`; it offers the resource `langdu-ENGINE` and says one
chunk at a time. Before any work is sent, every worker is asked for its version of Langdu and the hash of its
model, and one that differs is an error: its sound would be kept under a key that promises another one.

Dask moves Python objects by pickle between scheduler, workers and this client: use it between machines that
trust each other, on a network that others cannot reach.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from langdu import __version__, engines
from langdu.engines.base import Engine, EngineInfo, Failed, Request, Spoken
from langdu.errors import DependencyError, LangduError, MachineError, NetworkError
from langdu.synthesis.model import Take
from langdu.synthesis.pool import take_of
from langdu.synthesis.runner import EngineSpec, Job, Outcome
from langdu.voices.persona import PERSONA

RETRIES = 3
"""Sayings of one chunk whose worker was lost, before it counts as failed."""
AHEAD = 2
"""Chunks sent for each worker: one said, one waiting."""
CONNECT_S = 20
POLL_S = 0.2


def resource(engine: str) -> str:
    return f"langdu-{engine}"


class Cluster:
    """A Runner over a Dask cluster. Raises NetworkError, or MachineError naming workers that do not match."""

    def __init__(self, address: str, spec: EngineSpec, info: EngineInfo) -> None:
        self.info, self.load_seconds = info, 0.0
        self._spec = asdict(spec)
        self._peaks: dict[str, float] = {}
        self._closed = False
        self._client = _client(address)
        try:
            self.workers = len(self._compared(address, spec.engine))
        except BaseException:
            self.close()
            raise

    def _compared(self, address: str, engine: str) -> list[str]:
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        names = [name for name, facts in known.items() if resource(engine) in facts.get("resources", {})]
        if not names:
            hint = f"Start one: langdu worker {address} --engine {engine}"
            raise MachineError(f"No worker at {address} speaks with {engine}.", hint=hint)
        wanted = _identity(self.info)
        for name, found in self._client.run(facts_of_worker, self._spec, workers=names).items():
            for what, value in wanted.items():
                if found.get(what) != value:
                    raise MachineError(
                        f"Worker {name} has {what} {found.get(what)}, this machine {value}.",
                        hint="Bring both to the same version of Langdu and the same model files.",
                    )
        return names

    def run(self, jobs: Iterable[Job | None]) -> Iterator[Outcome]:
        source = iter(jobs)
        done: queue.Queue[Any] = queue.Queue()
        under_way: dict[str, tuple[Any, Job]] = {}
        ended = False
        while not self._closed and (not ended or under_way):
            while not ended and len(under_way) < AHEAD * self.workers:
                job = next(source, _END)
                if isinstance(job, _End):
                    ended = True
                    break
                if job is None:
                    break
                future = self._send(job)
                under_way[future.key] = (future, job)
                future.add_done_callback(done.put)
            if ended and not under_way:
                return
            try:
                future = done.get(timeout=POLL_S)
            except queue.Empty:
                continue
            _, said = under_way.pop(future.key)
            yield self._outcome(future, said)

    def _send(self, job: Job) -> Any:
        chunk = job.chunk
        request = {
            "id": f"{chunk.index}.{job.attempt}", "text": chunk.text, "language": chunk.language, "seed": job.seed,
            "speed": chunk.speed, "settings": {k: v for k, v in chunk.persona.settings.items() if k != "speed"},
        }  # fmt: skip
        key = f"langdu-{chunk.key[:12]}-{time.time_ns()}"
        return self._client.submit(
            say_here, self._spec, PERSONA.dump_python(chunk.persona, mode="json"), request, pure=False,
            retries=RETRIES, resources={resource(self._spec["engine"]): 1}, key=key,
        )  # fmt: skip

    def _outcome(self, future: Any, job: Job) -> Outcome:
        try:
            said = future.result(timeout=CONNECT_S)
        except LangduError as error:
            return Outcome(job, failed=Failed("", error.code, error.message, error.hint))
        except Exception as error:  # Dask's own: the scheduler is gone, or a chunk ended several workers
            return Outcome(job, failed=Failed("", "worker", f"The cluster lost it ({type(error).__name__}: {error})."))
        finally:
            future.release()
        self._peaks[said.pop("worker")] = said.pop("peak_memory_mb")
        audio = np.frombuffer(said.pop("audio"), np.float32)
        spoken = Spoken(audio=audio, **said)
        take: Take = take_of(job, spoken, self.info)
        return Outcome(job, take=take)

    def peak_memory_mb(self) -> float:
        return sum(self._peaks.values())

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._client.close(timeout=5)


class _End:
    pass


_END = _End()


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        hint = 'Run: pip install "langdu[cluster]"'
        raise DependencyError("Dask's distributed is not installed.", hint=hint) from None
    connect: Any = Client
    try:
        return connect(address, set_as_default=False, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        hint = "Start one: dask scheduler --host 127.0.0.1"
        raise NetworkError(f"No Dask scheduler answers at {address} ({error}).", hint=hint) from None


# What runs on a worker. One engine in each worker process, made at the first chunk.

_engine: Engine | None = None
_loaded: dict[str, Any] = {}
_lock = threading.Lock()


def facts_of_worker(spec: dict[str, Any]) -> dict[str, Any]:
    """Version of Langdu and identity of the engine, by its files or by loading it."""
    found = engines.describe(EngineSpec(**spec)) or _engine_for(spec).info
    return _identity(found)


def _identity(info: EngineInfo) -> dict[str, Any]:
    return {
        "langdu": __version__, "engine": info.engine, "model revision": info.revision, "precision": info.precision,
    }  # fmt: skip


def _engine_for(spec: dict[str, Any]) -> Engine:
    global _engine, _loaded
    with _lock:
        if _engine is None or _loaded != spec:
            if _engine is not None:
                _engine.close()
            _engine, _loaded = engines.load(EngineSpec(**spec)), spec
        return _engine


def say_here(spec: dict[str, Any], persona: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Say one chunk on this worker; samples go back as float32 bytes."""
    import os
    import socket

    from langdu.synthesis.child import peak_memory_mb

    engine = _engine_for(spec)
    voice = engine.prepare(PERSONA.validate_python(persona)).key
    for event in engine.speak([Request(voice=voice, **request)]):
        if isinstance(event, Failed):
            from langdu.errors import by_code

            raise by_code(event.code, event.message, event.hint)
        if isinstance(event, Spoken):
            facts = {name: getattr(event, name) for name in ("id", "sample_rate_hz", "seed", "seconds", "ending")}
            facts |= {"frames": event.frames, "facts": event.facts}
            return {
                **facts, "audio": event.audio.astype("<f4").tobytes(), "peak_memory_mb": peak_memory_mb(),
                "worker": f"{socket.gethostname()}:{os.getpid()}",
            }  # fmt: skip
    raise LangduError("The engine said nothing.")
