"""Chunks said by Dask workers on other machines. Scheduling, retries and lost workers are Dask's.

A worker is started by `langdu worker tcp://scheduler:8786`; it offers the resource `langdu-ENGINE` and says one
chunk at a time. Before any work is sent, every worker is asked for its version of Langdu and the hash of its
model, and one that differs is an error: its sound would be kept under a key that promises another one. A worker
that joins later compares itself before it says its first chunk.

Dask moves Python objects by pickle between scheduler, workers and this client: use it between machines that
trust each other, on a network that others cannot reach.
"""

from __future__ import annotations

import functools
import hashlib
import queue
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from langdu import __version__, engines
from langdu.engines.base import Engine, EngineInfo, Failed, Request, Spoken
from langdu.errors import DependencyError, LangduError, MachineError, NetworkError, VoiceError
from langdu.synthesis.model import Take
from langdu.synthesis.pool import take_of
from langdu.synthesis.runner import EngineSpec, Job, Outcome
from langdu.voices.persona import PERSONA, Persona

RETRIES = 1
"""Sayings more after an error nobody foresaw. Chunks of lost workers go to others without it, three times by Dask's
own setting (distributed.scheduler.allowed-failures)."""
AHEAD = 2
"""Chunks sent for each worker: one said, one waiting."""
CONNECT_S = 20
SAME = "Bring both to the same version of Langdu and the same model files."
POLL_S, LOOK_S = 0.2, 5.0
DESERTED_S = 60.0
"""So long without a worker, and the run ends; what was said is kept."""


def resource(engine: str) -> str:
    return f"langdu-{engine}"


class Cluster:
    """A Runner over a Dask cluster. Raises NetworkError, or MachineError naming workers that do not match."""

    def __init__(self, address: str, spec: EngineSpec, info: EngineInfo) -> None:
        self.info, self.load_seconds = info, 0.0
        self._spec = asdict(spec)
        self._peaks: dict[str, float] = {}
        self._closed = False
        self._address, self._resource = address, resource(spec.engine)
        self._client = _client(address)
        try:
            self.workers = len(self._compared(address, spec.engine))
        except BaseException:
            self.close()
            raise

    def _compared(self, address: str, engine: str) -> list[str]:
        names = self._names()
        if not names:
            hint = f"Start one: langdu worker {address} --engine {engine}"
            raise MachineError(f"No worker at {address} speaks with {engine}.", hint=hint)
        wanted = _identity(self.info)
        for name, found in self._client.run(facts_of_worker, self._spec, workers=names).items():
            if other := _difference(name, found, wanted):
                raise MachineError(other, hint=SAME)
        return names

    def run(self, jobs: Iterable[Job | None]) -> Iterator[Outcome]:
        source = iter(jobs)
        done: queue.Queue[Any] = queue.Queue()
        under_way: dict[str, tuple[Any, Job]] = {}
        ended = False
        heard = looked = time.monotonic()
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
                now = time.monotonic()
                if now - max(heard, looked) > LOOK_S:
                    looked = now
                    heard = now if self._names() else heard
                if under_way and now - heard > DESERTED_S:
                    hint = f"Start one (langdu worker {self._address} …) and run the same command again."
                    raise NetworkError(f"No worker is left at {self._address}.", hint=hint) from None
                continue
            heard = time.monotonic()
            _, said = under_way.pop(future.key)
            yield self._outcome(future, said)

    def _names(self) -> list[str]:
        """Addresses of the workers that are there now and offer the engine; none when the scheduler is gone."""
        try:
            known = self._client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError, ValueError):
            return []
        return [name for name, facts in known.items() if self._resource in facts.get("resources", {})]

    def _send(self, job: Job) -> Any:
        chunk = job.chunk
        request = {
            "id": f"{chunk.index}.{job.attempt}", "text": chunk.said, "language": chunk.language, "seed": job.seed,
            "speed": chunk.speed, "settings": {k: v for k, v in chunk.persona.settings.items() if k != "speed"},
        }  # fmt: skip
        key = f"langdu-{chunk.key[:12]}-{time.time_ns()}"
        return self._client.submit(
            say_here, self._spec, PERSONA.dump_python(chunk.persona, mode="json"), request, _identity(self.info),
            pure=False, retries=RETRIES, resources={resource(self._spec["engine"]): 1}, key=key,
        )  # fmt: skip

    def _outcome(self, future: Any, job: Job) -> Outcome:
        try:
            said = future.result(timeout=CONNECT_S)
        except Exception as error:  # Dask's own: the scheduler is gone, or a chunk ended several workers
            if self._client.status != "running":
                hint = "Everything said so far is kept: start it and run the same command again."
                raise NetworkError(f"The scheduler at {self._address} is gone.", hint=hint) from None
            return Outcome(job, failed=Failed("", "worker", f"The cluster lost it ({type(error).__name__}: {error})."))
        finally:
            future.release()
        if "other" in said:
            raise MachineError(said["other"], hint=SAME)
        if "failed" in said:
            return Outcome(job, failed=Failed("", *said["failed"]))
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


def _difference(name: str, found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """What a worker has that this machine has not, in words; "" when they are the same."""
    for what, value in wanted.items():
        if found.get(what) != value:
            return f"Worker {name} has {what} {found.get(what)}, this machine {value}."
    return ""


def _engine_for(spec: dict[str, Any]) -> Engine:
    global _engine, _loaded
    with _lock:
        if _engine is None or _loaded != spec:
            if _engine is not None:
                _engine.close()
            _engine, _loaded = engines.load(EngineSpec(**spec)), spec
        return _engine


def say_here(
    spec: dict[str, Any], persona: dict[str, Any], request: dict[str, Any], identity: dict[str, Any]
) -> dict[str, Any]:
    """Say one chunk on this worker; samples go back as float32 bytes.

    What is wrong with the text or the voice comes back as `failed`, for an exception would be tried again.
    """
    import os
    import socket

    from langdu.synthesis.child import peak_memory_mb

    name = f"{socket.gethostname()}:{os.getpid()}"
    try:
        engine = _engine_for(spec)
        if other := _difference(name, _identity(engine.info), identity):
            return {"other": other}
        voice = engine.prepare(_own(PERSONA.validate_python(persona), name)).key
    except LangduError as error:
        return {"failed": (error.code, error.message, error.hint)}
    for event in engine.speak([Request(voice=voice, **request)]):
        if isinstance(event, Failed):
            return {"failed": (event.code, event.message, event.hint)}
        if isinstance(event, Spoken):
            facts = {name: getattr(event, name) for name in ("id", "sample_rate_hz", "seed", "seconds", "ending")}
            facts |= {"frames": event.frames, "facts": event.facts}
            return {
                **facts, "audio": event.audio.astype("<f4").tobytes(), "peak_memory_mb": peak_memory_mb(),
                "worker": name,
            }  # fmt: skip
    raise LangduError("The engine said nothing.")


@functools.lru_cache(maxsize=64)
def _own_clip(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _own(persona: Persona, name: str) -> Persona:
    """The persona, whose clip must lie here too. VoiceError when it is another one or missing."""
    if persona.kind == "clone" and persona.clip_sha256 and _own_clip(persona.clip) != persona.clip_sha256:
        raise VoiceError(f'Worker {name} has not the clip of "{persona.name}" at {persona.clip}.')
    return persona
