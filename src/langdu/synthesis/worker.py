"""A worker as its parent sees it: a supervised child process with one engine in it.

Thread-safe: any thread may submit and cancel, one thread reads `events`. The child ends when its pipe does,
when its parent is gone, or on `close`; nothing is left behind in any case.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from langdu.engines.base import EngineInfo, Event, Request
from langdu.errors import LangduError, WorkerError, by_code
from langdu.synthesis import process, wire
from langdu.synthesis.runner import EngineSpec
from langdu.voices.persona import PERSONA, Persona

READY_S = 600.0
"""How long a model may take to load before the worker counts as stuck."""


class Worker:
    """Starts the child at once and returns; `wait_ready` waits for the engine."""

    def __init__(self, spec: EngineSpec, *, personas: Sequence[Persona] = (), name: str = "") -> None:
        self.spec = spec
        self.name = name or spec.engine
        self.peak_memory_mb = 0.0
        self.load_seconds = 0.0
        self._info: EngineInfo | None = None
        self._failure: LangduError | None = None
        self._ready = threading.Event()
        self._events: queue.Queue[Event | None] = queue.Queue(maxsize=64)
        self._write_lock = threading.Lock()
        self._closed = False
        self._started = time.perf_counter()
        self._process = process.take()
        self._send({
            "kind": "start",
            "spec": {"engine": spec.engine, "model": spec.model, "options": spec.options},
            "personas": [_dump(persona) for persona in personas],
        })  # fmt: skip
        self._reader = threading.Thread(target=self._read, name=f"{self.name}-reader", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def info(self) -> EngineInfo:
        return self._info if self._info is not None else self.wait_ready()

    def wait_ready(self, timeout_s: float = READY_S) -> EngineInfo:
        """The engine's description once it is loaded. Raises the child's own error, or WorkerError."""
        if not self._ready.wait(timeout_s):
            raise WorkerError(f"Worker {self.name} was not ready after {timeout_s:.0f} s.")
        if self._info is None:
            raise self._failure or WorkerError(f"Worker {self.name} ended while loading.")
        return self._info

    def submit(self, request: Request, persona: Persona) -> None:
        """Queue a request. `request.voice` is filled in by the child, which prepares `persona` once."""
        facts = {"request": wire.request_header(request), "persona": _dump(persona)}
        self._send({"kind": "say", **facts})

    def cancel(self, request_id: str) -> None:
        with contextlib.suppress(WorkerError):
            self._send({"kind": "cancel", "id": request_id})

    def events(self) -> Iterator[Event]:
        """Events as they come, until the worker is closed. Raises WorkerError when the child dies."""
        while (event := self._events.get()) is not None:
            yield event
        self._events.put(None)  # the next reader learns of the end as well
        if not self._closed:
            status = self._process.wait()
            cause = f"signal {-status}" if status < 0 else f"exit code {status}"
            raise self._failure or WorkerError(f"Worker {self.name} died ({cause}).")

    def close(self, timeout_s: float = 5.0) -> None:
        """Ask the child to end after what it was given, and kill it when it does not end in time."""
        self._closed = True
        with contextlib.suppress(WorkerError):
            self._send({"kind": "close"})
        self._drain(timeout_s)

    def kill(self) -> None:
        """End the child now, in mid-sentence."""
        self._closed = True
        self._process.kill()
        self._drain(5.0)

    def abandon(self) -> None:
        """Kill a child that hangs; its reader learns of the death as of any other."""
        self._process.kill()

    def _drain(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):  # a full queue would keep the child from ending
                self._events.get(timeout=0.02)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        while self._reader.is_alive():
            with contextlib.suppress(queue.Empty):
                self._events.get(timeout=0.02)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        with contextlib.suppress(queue.Full):
            self._events.put_nowait(None)

    def _send(self, header: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with self._write_lock:
            try:
                wire.write(self._process.stdin, header)
            except (BrokenPipeError, ValueError, OSError):
                raise WorkerError(f"Worker {self.name} is gone.") from None

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while (frame := wire.read(self._process.stdout)) is not None:
                self._take(*frame)
        finally:
            self._ready.set()
            self._events.put(None)

    def _take(self, header: dict[str, Any], payload: bytes) -> None:
        self.peak_memory_mb = header.pop("peak_memory_mb", self.peak_memory_mb)
        if header["kind"] == "ready":
            self._info = wire.info_of(header["info"])
            self.load_seconds = time.perf_counter() - self._started
            self._ready.set()
        elif header["kind"] == "refused":
            self._failure = by_code(header["code"], header["message"], header["hint"])
        else:
            self._events.put(wire.event_of(header, payload))


def _dump(persona: Persona) -> dict[str, Any]:
    found: dict[str, Any] = PERSONA.dump_python(persona, mode="json")
    return found
