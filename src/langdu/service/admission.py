"""Who speaks next: a bounded queue that is fair between clients and lets short work pass long work.

Pure bookkeeping: no thread, no clock, no engine. The unit is a chunk, so whoever arrives while a book is being
made waits for one chunk at most.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from langdu.errors import BusyError
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.runner import EngineSpec

WINDOW = 8
"""Chunks of one ticket that may be under way or made but not yet taken by its client: the back-pressure."""
BACKGROUND_TURN = 8
"""After so many foreground turns in a row a waiting job gets one, so that it never stops altogether."""


@dataclass(slots=True)
class Ticket:
    """One request in the queue: chunks of one engine, in order."""

    id: str
    client: str
    spec: EngineSpec
    chunks: tuple[Chunk, ...]
    deliver: Callable[[Delivery], None]
    """Called from a worker's thread; must not block."""
    seeds: tuple[int, ...] = ()
    stream: bool = False
    background: bool = False
    deadline: float | None = None
    """On the monotonic clock, in seconds."""
    handed: int = 0
    taken: int = 0
    again: list[int] = field(default_factory=list)
    """Chunks whose worker died; they go first."""
    tries: dict[int, int] = field(default_factory=dict)

    def ready(self) -> bool:
        return bool(self.again) or (self.handed < len(self.chunks) and self.handed - self.taken < WINDOW)

    def seed(self, index: int) -> int:
        return self.seeds[index] if self.seeds else 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a ticket gets: a piece of a chunk, a chunk's take, or the error that ended it (index -1: all of it)."""

    index: int
    what: Take | object


class Line:
    """Tickets in waiting and under way. `limit` bounds the foreground; jobs have a queue of their own on disk."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._tickets: dict[str, Ticket] = {}
        self._order: dict[str, int] = {}
        self._served: dict[str, float] = {}
        self._count = itertools.count()
        self._streak = 0

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket.id in self._tickets

    def tickets(self) -> list[Ticket]:
        return list(self._tickets.values())

    def check_room(self, coming: int = 0) -> None:
        """BusyError when the foreground is full, `coming` requests counted in.

        Its `retry_after_s` is a guess by queue length.
        """
        waiting = coming + sum(not t.background for t in self._tickets.values())
        if waiting >= self.limit:
            error = BusyError(f"{waiting} requests are waiting already.", hint="Try again a little later.")
            error.retry_after_s = max(1, waiting // 8)
            raise error

    def enter(self, ticket: Ticket) -> None:
        """Take a ticket in. BusyError when the line is full."""
        if not ticket.background:
            self.check_room()
        if not any(t.client == ticket.client for t in self._tickets.values()):
            # A newcomer starts level with the least served, neither owed for its absence nor behind.
            self._served[ticket.client] = min((self._served[t.client] for t in self._tickets.values()), default=0.0)
        self._tickets[ticket.id] = ticket
        self._order[ticket.id] = next(self._count)

    def leave(self, ticket: Ticket) -> None:
        self._tickets.pop(ticket.id, None)
        self._order.pop(ticket.id, None)
        if not any(t.client == ticket.client for t in self._tickets.values()):
            self._served.pop(ticket.client, None)

    def next(self, runnable: Callable[[Ticket], bool]) -> tuple[Ticket, int] | None:
        """The next chunk among tickets that `runnable` accepts: the client served least goes first."""
        ready = [t for t in self._tickets.values() if t.ready() and runnable(t)]
        front = [t for t in ready if not t.background]
        back = [t for t in ready if t.background]
        turn_of_jobs = back and (not front or self._streak >= BACKGROUND_TURN)
        choice = back if turn_of_jobs else front
        if not choice:
            return None
        self._streak = 0 if turn_of_jobs else self._streak + 1
        ticket = min(choice, key=lambda t: (self._served[t.client], self._order[t.id]))
        if ticket.again:
            index = ticket.again.pop(0)
        else:
            index = ticket.handed
            ticket.handed += 1
        self._served[ticket.client] += len(ticket.chunks[index].text)
        return ticket, index

    def overdue(self, now: float) -> list[Ticket]:
        return [t for t in self._tickets.values() if t.deadline is not None and t.deadline <= now]
