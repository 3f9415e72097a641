"""The scheduler: a fixed number of rows, each speaking any request, refilled as they finish.

Frame n + 1 is queued before frame n is read, so the device never waits for the host. A row's end of speech is
therefore seen one frame late; that frame is computed for nothing and dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Ending
from langdu.engines.qwen3.frame_step import Steps
from langdu.engines.qwen3.prompt import Prompt
from langdu.engines.qwen3.sampling import Sampling

AHEAD = 2
"""Frames queued when the oldest is read."""
OVERRUN = AHEAD + 1
"""Positions a row may take beyond its budget before its ending is seen."""
SPARE = 0.35
"""Share of the free memory that is left to the codec, to prefills and to others when the rows are chosen."""
MOST_ROWS = {"cuda": 32, "metal": 16, "cpu": 4}
"""Beyond these, measured or (Metal) reported, more rows make each of them slower than they help."""


@dataclass(frozen=True, slots=True)
class Job:
    """One request as the rows see it: `budget` frames at most; another one after them is a fault."""

    key: Hashable
    prompt: Prompt
    sampling: Sampling
    seed: int
    budget: int


@dataclass(frozen=True, slots=True)
class Frame:
    """What came of a job: the codes (codebooks,) of its next frame, or how it ended."""

    key: Hashable
    codes: npt.NDArray[np.int32] | None
    ending: Ending | None = None


@dataclass(slots=True)
class _Row:
    job: Job
    frames: int = 0


class Slots:
    """Jobs in rows: `add` while there is a free one, then `step` for frames. What a job gives does not depend on
    its neighbours."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._rows: list[_Row | None] = [None] * steps.rows
        self._queued: deque[tuple[Any, list[_Row | None]]] = deque()

    @property
    def free(self) -> int:
        return self._rows.count(None)

    def add(self, job: Job) -> None:
        """Start `job` in a free row. Raises CapacityError for one that no row can hold."""
        index = self._rows.index(None)
        self._steps.room(job.prompt.length, job.budget + OVERRUN)
        self._steps.admit(index, job.prompt, job.sampling, job.seed)
        self._rows[index] = _Row(job)

    def cancel(self, key: Hashable) -> None:
        """The job leaves its row before the next frame; nothing more comes of it."""
        for row in self._rows:
            if row is not None and row.job.key == key:
                self._free(row)

    def clear(self) -> None:
        for row in self._rows:
            if row is not None:
                self._free(row)
        self._queued.clear()

    def step(self) -> list[Frame]:
        """Queue a frame of all rows and read the oldest queued one; empty while the first is under way."""
        if self.free == len(self._rows):
            self._queued.clear()
            return []
        self._queued.append((self._steps.step(), list(self._rows)))
        return self._read() if len(self._queued) >= AHEAD else []

    def _read(self) -> list[Frame]:
        codes, owners = self._queued.popleft()
        values = np.array(codes)
        found = []
        for codes_of_row, owner in zip(values, owners, strict=True):
            if owner is None or not any(row is owner for row in self._rows):
                continue  # the row was freed, and maybe given to another job, after this frame was queued
            frame = self._frame(owner, codes_of_row)
            if frame.ending is not None:
                self._free(owner)
            found.append(frame)
        return found

    def _frame(self, row: _Row, codes: npt.NDArray[np.int32]) -> Frame:
        if codes[0] == self._steps.end_code:
            return Frame(row.job.key, None, "ended")
        if row.frames == row.job.budget:  # only now: the model may end by itself right after its last frame
            return Frame(row.job.key, None, "budget")
        row.frames += 1
        return Frame(row.job.key, codes.copy())

    def _free(self, row: _Row) -> None:
        index = next(i for i, other in enumerate(self._rows) if other is row)
        self._rows[index] = None
        self._steps.release(index)


def choose_rows(free_bytes: int, bytes_of_row: int, device: str) -> int:
    """How many rows fit into `free_bytes` beside SPARE of it: from 1 to what is useful on `device`."""
    return max(1, min(MOST_ROWS[device], int(free_bytes * (1 - SPARE)) // bytes_of_row))
