"""The sockets of the service: whoever connects and says nothing is let go, and there is room for many."""

from __future__ import annotations

import asyncio
import contextlib

from uvicorn.protocols.http.h11_impl import H11Protocol

QUIET_S = 20.0
"""A connection without a whole request for so long is closed, be it silent or one that sends a letter a second."""
LOOK_S = 2.0
FILES = 4096
"""File descriptors wanted; many systems start a process with 256 or 1024."""


class Connection(H11Protocol):
    """uvicorn's own timer knows only pauses between requests: half a request would hold its socket for ever."""

    _timer: asyncio.TimerHandle | None = None
    _quiet_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._quiet_since = self.loop.time()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        now = self.loop.time()
        if self.cycle is not None and not self.cycle.response_complete:
            self._quiet_since = now
        elif now - self._quiet_since > QUIET_S:
            self.transport.close()
            return
        self._timer = self.loop.call_later(LOOK_S, self._look)


def more_files() -> None:
    """Raise the soft limit of open files as far as this process may."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
