"""Rows are refilled as they finish, and what a job gives does not depend on its neighbours."""

from __future__ import annotations

import numpy as np
import psutil
import pytest

from langdu.engines.qwen3 import prompt
from langdu.engines.qwen3.frame_step import FrameStep
from langdu.engines.qwen3.prompt import Conditions
from langdu.engines.qwen3.sampling import Sampling
from langdu.engines.qwen3.slots import AHEAD, Job, Slots, choose_rows
from langdu.errors import CapacityError

GREEDY = Sampling(temperature=0, subtalker_temperature=0)
TEXTS = ["hello", "the quick brown fox", "你好", "how are you today", "a test", "世界", "speech", "fox"]


class Script:
    """Steps that play written codes: `plays[key]` are the first codes of the job of that seed."""

    end_code = 99

    def __init__(self, rows: int, plays: dict[int, list[int]]) -> None:
        self.rows, self._plays = rows, plays
        self._now: list[list[int]] = [[] for _ in range(rows)]
        self.released: list[int] = []

    def room(self, length: int, frames: int) -> None:
        if length > 50:
            raise CapacityError("too long")

    def admit(self, row: int, start: object, sampling: Sampling, seed: int) -> None:
        self._now[row] = list(self._plays[seed])

    def release(self, row: int) -> None:
        self.released.append(row)

    def step(self) -> np.ndarray:
        return np.array([[play.pop(0) if play else 7, 0] for play in self._now], np.int32)


def job(key: int, *, length: int = 3, budget: int = 100) -> Job:
    embeds = np.zeros((1, length, 4))
    return Job(key, prompt.Prompt(embeds, embeds, embeds, 1), GREEDY, key, budget)


def finish(slots: Slots, jobs: list[Job]) -> dict[int, tuple[list[list[int]], str]]:
    """All frames and the ending of each job; rows are filled in order of the list."""
    waiting, found, endings = list(jobs), {j.key: [] for j in jobs}, {}
    while waiting or len(endings) < len(jobs):
        while waiting and slots.free:
            slots.add(waiting.pop(0))
        for frame in slots.step():
            if frame.codes is not None:
                found[frame.key].append(frame.codes.tolist())
            if frame.ending:
                endings[frame.key] = frame.ending
    return {key: (found[key], endings[key]) for key in endings}


def test_a_row_is_refilled_while_the_others_go_on():
    plays = {1: [1, 1, 99], 2: [2] * 9 + [99], 3: [3, 99], 4: [4, 4, 99]}
    found = finish(Slots(Script(2, plays)), [job(key) for key in plays])
    assert {key: [codes[0] for codes in frames] for key, (frames, _) in found.items()} == {
        1: [1, 1], 2: [2] * 9, 3: [3], 4: [4, 4],
    }  # fmt: skip
    assert {ending for _, ending in found.values()} == {"ended"}


def test_the_end_may_come_right_after_the_last_frame_of_the_budget():
    found = finish(Slots(Script(2, {1: [1, 1, 99], 2: [2, 2, 2, 2]})), [job(1, budget=2), job(2, budget=2)])
    assert {key: (len(frames), ending) for key, (frames, ending) in found.items()} == {
        1: (2, "ended"),
        2: (2, "budget"),
    }


def test_a_cancelled_job_frees_its_row_at_the_next_frame():
    steps = Script(1, {1: [1] * 50, 2: [2, 99]})
    slots = Slots(steps)
    slots.add(job(1))
    while not slots.step():
        pass
    slots.cancel(1)
    assert (slots.free, steps.released) == (1, [0])
    assert [codes[0] for codes in finish(slots, [job(2)])[2][0]] == [2]


def test_a_frame_is_queued_before_the_last_one_is_read():
    slots = Slots(Script(1, {1: [1, 2, 3]}))
    slots.add(job(1))
    assert [len(slots.step()) for _ in range(AHEAD)] == [0] * (AHEAD - 1) + [1]


def test_a_job_no_row_can_hold_leaves_the_row_free():
    slots = Slots(Script(1, {}))
    with pytest.raises(CapacityError):
        slots.add(job(1, length=51))
    assert slots.free == 1


@pytest.fixture(scope="module")
def mixed(base, official) -> list[Job]:
    """Clones with and without transcript, greedy and sampled, of unlike lengths."""
    sampled = Sampling(top_k=20, subtalker_top_p=0.8)
    clone, vector = official.clone("ref3"), Conditions("streaming", speaker=official["ref3.speaker"])
    return [
        Job(
            i, prompt.build(base, text, "auto", vector if i % 3 else clone), sampled if i % 2 else GREEDY, 40 + i, 2 + i
        )
        for i, text in enumerate(TEXTS)
    ]


@pytest.fixture(scope="module")
def alone(base, mixed) -> dict[int, tuple[list[list[int]], str]]:
    return finish(Slots(FrameStep(base.talker, rows=1, capacity=256, compiled=False)), mixed)


@pytest.mark.parametrize(("rows", "order"), [(2, 1), (5, -1), (8, 1)])
def test_codes_do_not_depend_on_the_neighbours(base, mixed, alone, rows, order):
    slots = Slots(FrameStep(base.talker, rows=rows, capacity=64, compiled=False))
    assert finish(slots, mixed[::order]) == alone


def test_memory_is_flat_over_50_requests(base, official):
    slots = Slots(FrameStep(base.talker, rows=4, capacity=64, compiled=False))
    vector = Conditions("whole", speaker=official["ref3.speaker"])

    def many(first: int, count: int) -> int:
        starts = [prompt.build(base, TEXTS[i % 8], "auto", vector) for i in range(count)]
        finish(slots, [Job(first + i, start, GREEDY, i, 2) for i, start in enumerate(starts)])
        return psutil.Process().memory_info().rss

    before = many(0, 10)
    assert many(100, 50) - before < 20_000_000


@pytest.mark.parametrize(
    ("free_gb", "device", "rows"), [(0.3, "metal", 1), (12, "metal", 16), (4, "metal", 11), (100, "cuda", 32), (100, "cpu", 4)]
)  # fmt: skip
def test_rows_follow_the_free_memory(free_gb, device, rows):
    assert choose_rows(int(free_gb * 1e9), 235_000_000, device) == rows
