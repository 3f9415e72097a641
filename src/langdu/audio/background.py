"""A writer in a thread of its own, so that encoding (which needs no interpreter) runs beside levelling."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from langdu.engines.base import Audio

WAITING = 8
"""Blocks that may wait: back-pressure, and memory for as many takes."""


class Background:
    """Calls `write` with each block, in order. `put` and `close` raise what `write` raised."""

    def __init__(self, write: Callable[[Audio], None]) -> None:
        self._write = write
        self._blocks: queue.Queue[Audio | None] = queue.Queue(WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, block: Audio) -> None:
        if self._error is not None:
            raise self._error
        self._blocks.put(block)

    def close(self) -> None:
        """Wait until everything is written."""
        self._end()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """End without a word about errors; what waits is still written."""
        self._end()

    def _end(self) -> None:
        if self._thread.is_alive():
            self._blocks.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (block := self._blocks.get()) is not None:
            if self._error is None:
                try:
                    self._write(block)
                except BaseException as error:
                    self._error = error
