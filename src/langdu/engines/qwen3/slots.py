"""The scheduler: a fixed number of rows, each speaking any request, refilled as they finish.

Frame n + 1 is queued before frame n is read, so the device never waits for the host. A row's end of speech is
therefore seen one frame late; that frame is computed for nothing and dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Ending
from langdu.engines.qwen3.draw import Settings
from langdu.engines.qwen3.frame_step import Steps
from langdu.engines.qwen3.inputs import Prompt

AHEAD = 2
"""Frames queued before the oldest is read."""
SPARE = 0.35
"""Share of the free memory that is left to the codec, to prefills and to others when slots are chosen."""


@dataclass(frozen=True, slots=True)
class Job:
    """One request as the rows see it. `budget` frames at most; reaching it is a fault."""

    id: str
    prompt: Prompt
    settings: Settings
    seed: int
    budget: int


@dataclass(frozen=True, slots=True)
class Frame:
    """The next frame of a job: codes (codebooks,), or None with the ending that came instead of a frame."""

    id: str
    codes: npt.NDArray[np.int32] | None
    ending: Ending | None = None


@dataclass(slots=True)
class _Row:
    job: Job
    frames: int = 0


class Slots:
    """Runs jobs through `steps.rows` rows; what a job gives does not depend on its neighbours."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._rows: list[_Row | None] = [None] * steps.rows
        self._queued: list[tuple[Any, list[_Row | None]]] = []

    @property
    def busy(self) -> int:
        return sum(row is not None for row in self._rows)

    def run(
        self, jobs: Iterable[Job | None], *, cancelled: Callable[[str], bool] = lambda _id: False
    ) -> Iterator[Frame]:
        """Frames as they come, jobs interleaved; the last of a job carries its ending.

        A job is drawn only when a row is free. A None from `jobs` means "none right now": the rows go on and
        ask again after the next frame; with no row at work that is a busy wait, so the iterable should block.
        A cancelled job leaves its row before the next frame. Raises CapacityError for a job no row can hold.
        """
        waiting = iter(jobs)
        more = True
        try:
            while True:
                for row in [row for row in self._rows if row is not None and cancelled(row.job.id)]:
                    self._free(row)
                    yield Frame(row.job.id, None, "cancelled")
                if more:
                    more = self._fill(waiting)
                if self.busy:
                    self._queued.append((self._steps.step(), list(self._rows)))
                if not self._queued:
                    if not more:
                        return
                    continue
                if len(self._queued) >= AHEAD or not self.busy:
                    yield from self._read()
        finally:
            self._queued.clear()
            for left in [row for row in self._rows if row is not None]:
                self._free(left)

    def _fill(self, waiting: Iterator[Job | None]) -> bool:
        """Give free rows their next job; False when there are no more."""
        for index, row in enumerate(self._rows):
            if row is not None:
                continue
            try:
                job = next(waiting)
            except StopIteration:
                return False
            if job is None:
                return True
            self._steps.room(int(job.prompt.embeds.shape[1]), job.budget)
            self._steps.admit(index, job.prompt, job.settings, job.seed)
            self._rows[index] = _Row(job)
        return True

    def _read(self) -> Iterator[Frame]:
        """The oldest queued frame, for rows whose job is still theirs."""
        codes, owners = self._queued.pop(0)
        values = np.array(codes)
        for index, owner in enumerate(owners):
            if owner is None or self._rows[index] is not owner:
                continue
            if values[index, 0] == self._steps.end_code:
                self._free(owner)
                yield Frame(owner.job.id, None, "ended")
                continue
            owner.frames += 1
            spent = owner.frames >= owner.job.budget
            if spent:
                self._free(owner)
            yield Frame(owner.job.id, values[index].copy(), "budget" if spent else None)

    def _free(self, row: _Row) -> None:
        index = next(i for i, other in enumerate(self._rows) if other is row)
        self._rows[index] = None
        self._steps.release(index)


def choose_rows(free_bytes: int, row_bytes: int, *, most: int) -> int:
    """How many rows fit into `free_bytes` beside SPARE of it, from 1 to `most`."""
    return max(1, min(most, int(free_bytes * (1 - SPARE)) // max(1, row_bytes)))


def row_bytes(config: Any, capacity: int, value_bytes: int) -> int:
    """Bytes of one row's keys and values: 2 × layers × kv heads × head size × positions × value size."""
    heads = int(config.num_key_value_heads) * int(config.head_dim)
    return 2 * int(config.num_hidden_layers) * heads * capacity * value_bytes
