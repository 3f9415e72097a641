"""The worker process: one engine, spoken to over stdin and stdout.

The main thread owns the engine (and so MLX). A reader thread turns frames from stdin into requests and
cancellations. When stdin ends or the parent is gone, the process ends at once, whatever the engine is doing:
`os._exit`, since a native call can hold the main thread for seconds.

Run as `python -m langdu.synthesis.child`; never by hand.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

from langdu import engines
from langdu.engines.base import Failed, Piece, Request
from langdu.errors import LangduError
from langdu.synthesis import wire
from langdu.synthesis.runner import EngineSpec
from langdu.voices.persona import PERSONA

WATCH_S = 1.0
"""How often the parent is looked for. The promise is 5 s; mostly the end of the pipe says it at once."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    inbox, outbox = _take_over_pipes()
    parent = os.getppid()
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    child = _Child(inbox, outbox)
    child.run()


def _take_over_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the pipe for frames and send stray prints of libraries to stderr instead."""
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(os.dup(0), "rb"), outbox


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_S)
    os._exit(75)


class _Child:
    def __init__(self, inbox: IO[bytes], outbox: IO[bytes]) -> None:
        self._inbox, self._outbox = inbox, outbox
        self._write_lock = threading.Lock()
        self._work: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._cancelled: set[str] = set()
        self._under_way = 0
        self._closing = False

    def run(self) -> None:
        first = wire.read(self._inbox)
        if first is None:
            return
        threading.Thread(target=self._read, daemon=True).start()
        started = time.perf_counter()
        try:
            self._engine = engines.load(EngineSpec(**first[0]["spec"]))
            for persona in first[0]["personas"]:
                self._prepare(persona)
        except LangduError as error:
            self._send({"kind": "refused", "code": error.code, "message": error.message, "hint": error.hint})
            return
        self._send({
            "kind": "ready", "info": self._engine.info.as_dict(), "load_s": time.perf_counter() - started,
            "peak_memory_mb": peak_memory_mb(),
        })  # fmt: skip
        self._serve()
        self._engine.close()

    def _read(self) -> None:
        while (frame := wire.read(self._inbox)) is not None:
            header = frame[0]
            if header["kind"] == "cancel":
                self._cancelled.add(header["id"])
            elif header["kind"] == "close":
                self._work.put(None)
                return
            else:
                self._work.put(header)
        os._exit(0)  # the parent closed the pipe without a word: it is gone

    def _serve(self) -> None:
        while not self._closing and (first := self._work.get()) is not None:
            for event in self._engine.speak(self._requests(first), cancelled=self._cancelled.__contains__):
                if not isinstance(event, Piece):
                    self._under_way -= 1
                    self._cancelled.discard(event.id)
                header, payload = wire.event_frame(event)
                self._send({**header, "peak_memory_mb": peak_memory_mb()}, payload)

    def _requests(self, first: dict[str, Any]) -> Iterator[Request | None]:
        """Requests as they come. None while some are under way and none waits; ends when all are said."""
        header: dict[str, Any] | None = first
        while header is not None:
            if (request := self._request(header)) is not None:
                self._under_way += 1
                yield request
            while self._work.empty() and self._under_way:
                yield None
            if self._work.empty():
                return
            header = self._work.get_nowait()
        self._closing = True

    def _request(self, header: dict[str, Any]) -> Request | None:
        facts = header["request"]
        try:
            return Request(**{**facts, "voice": self._prepare(header["persona"])})
        except LangduError as error:
            failed = Failed(facts["id"], error.code, error.message, error.hint)
            self._send(wire.event_frame(failed)[0])
            return None

    def _prepare(self, persona: dict[str, Any]) -> str:
        return self._engine.prepare(PERSONA.validate_python(persona)).key

    def _send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        with self._write_lock:
            try:
                wire.write(self._outbox, header, payload)
            except (BrokenPipeError, OSError):
                os._exit(75)


def peak_memory_mb() -> float:
    """This process's resident peak. Of `ru_maxrss`, Linux counts in KiB and macOS in bytes."""
    import resource

    if sys.platform == "linux":  # there ru_maxrss begins at the size of the process that started this one
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123 - at every take
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


if __name__ == "__main__":
    main()
