"""The pool with the tone engine: order, retries, replacement, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from langdu.engines.tone import tone
from langdu.errors import SettingError, WorkerError
from langdu.synthesis.model import Chunk
from langdu.synthesis.order import in_order
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import EngineSpec, Job
from langdu.voices.persona import BuiltinPersona

PERSONA = BuiltinPersona(name="t", voice="tone")


def jobs(*texts: str) -> list[Job]:
    return [Job(Chunk(i, 0, i + 1, text, "zh", PERSONA, 0.1, key=text), seed=0) for i, text in enumerate(texts)]


def spec(**options: str | int | float | bool) -> EngineSpec:
    return EngineSpec("tone", options=options)


def test_results_come_in_order_and_are_the_engines_own() -> None:
    texts = ["一二三四五六七八", "九", "十十", "百"]
    with Pool(spec(delay_s=0.01), 2) as pool:
        outcomes = list(in_order(pool.run(jobs(*texts))))
    assert [o.job.chunk.text for o in outcomes] == texts
    for outcome in outcomes:
        assert outcome.take is not None
        np.testing.assert_array_equal(outcome.take.audio, tone(outcome.job.chunk.text))


def test_work_is_shared() -> None:
    with Pool(spec(delay_s=0.02), 2) as pool:
        outcomes = list(pool.run(jobs(*("一二三四五" for _ in range(6)))))
    assert {o.worker for o in outcomes} == {0, 1}


def test_a_failing_chunk_is_said_once_more_then_reported_and_the_rest_goes_on() -> None:
    with Pool(spec(fail_on="坏"), 2) as pool:
        outcomes = list(in_order(pool.run(jobs("好", "坏", "好好"))))
    assert [o.failed is None for o in outcomes] == [True, False, True]
    assert outcomes[1].failed is not None
    assert "坏" in outcomes[1].failed.message


def test_a_crashed_worker_is_replaced_and_its_chunk_said_again(tmp_path: Path) -> None:
    with Pool(spec(crash_on="崩", crash_once=str(tmp_path / "crashed")), 2) as pool:
        outcomes = list(in_order(pool.run(jobs("好", "崩", "好好", "好好好"))))
    assert all(o.take is not None for o in outcomes)
    assert len(outcomes) == 4


def test_a_chunk_that_always_crashes_is_reported_as_a_worker_failure() -> None:
    with Pool(spec(crash_on="崩"), 1) as pool:
        outcomes = list(in_order(pool.run(jobs("崩", "好"))))
    assert outcomes[0].failed is not None
    assert outcomes[0].failed.code == WorkerError.code
    assert outcomes[1].take is not None


def test_a_hung_worker_is_killed_and_replaced() -> None:
    with Pool(spec(hang_on="挂"), 2, hang_s=1.0) as pool:
        outcomes = list(in_order(pool.run(jobs("挂", "好"))))
    assert outcomes[0].failed is not None
    assert outcomes[1].take is not None


def test_an_engine_that_cannot_load_says_why() -> None:
    with Pool(EngineSpec("no-such-engine"), 1) as pool, pytest.raises(SettingError, match="no-such-engine"):
        list(pool.run(jobs("好")))


def test_jobs_are_drawn_only_when_a_worker_is_free() -> None:
    drawn = 0

    def source():  # type: ignore[no-untyped-def]
        nonlocal drawn
        for job in jobs(*("一" for _ in range(50))):
            drawn += 1
            yield job

    with Pool(spec(), 2) as pool:
        next(pool.run(source()))
        assert drawn <= 4


def test_a_source_may_have_nothing_for_now() -> None:
    first, second = jobs("一", "二")
    with Pool(spec(), 1) as pool:
        outcomes = list(pool.run(iter([first, None, None, second])))
    assert len(outcomes) == 2


def test_leaving_early_leaves_no_process() -> None:
    with Pool(spec(delay_s=1.0), 2) as pool:
        pids = [seat.worker.pid for seat in pool._seats]
        next(pool.run([None, *jobs("一二三", "四五六")]), None)
    assert not any(psutil.pid_exists(pid) for pid in pids)


PARENT = """
import sys
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import EngineSpec, Job
from langdu.synthesis.model import Chunk
from langdu.voices.persona import BuiltinPersona
p = BuiltinPersona(name="t", voice="tone")
pool = Pool(EngineSpec("tone", options={"delay_s": 1.0}), 2)
print(*(seat.worker.wait_ready() and seat.worker.pid for seat in pool._seats), flush=True)
list(pool.run([Job(Chunk(i, 0, i, "一" * 100, "zh", p, 0.0)) for i in range(2)]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_of_a_dead_parent_end_within_5_seconds(how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ}
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    time.sleep(0.3)
    parent.send_signal(how)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(psutil.pid_exists(pid) for pid in pids)
