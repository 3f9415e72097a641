"""Dask: a real scheduler and real worker processes on loopback, one of them killed half-way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from langdu.engines.tone import describe
from langdu.errors import MachineError, NetworkError
from langdu.settings import settings
from langdu.synthesis.book import Book
from langdu.synthesis.cluster import Cluster
from langdu.synthesis.model import Chunk
from langdu.synthesis.runner import EngineSpec, Job
from langdu.synthesis.takes import TakeStore
from langdu.voices.persona import BuiltinPersona

sys.path.insert(0, str(Path(__file__).parent))

PERSONA = BuiltinPersona(name="t", voice="tone")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        assert run.stderr is not None
        address = ""
        while not address:
            line = run.stderr.readline()
            assert line, "the scheduler ended"
            found = re.search(r"tcp://127\.0\.0\.1:\d+", line)
            address = found[0] if found else ""
        yield address
        run.kill()


@pytest.fixture(scope="module")
def workers(scheduler: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [sys.executable, "-m", "langdu", "worker", scheduler, "--engine", "tone", "--force"]
    runs = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    yield runs
    for run in runs:
        for child in psutil.Process(run.pid).children(recursive=True):
            child.kill()
        run.kill()
        run.wait()


def spec(**options: float | str) -> EngineSpec:
    return EngineSpec("tone", options=dict(options))


def test_a_book_comes_back_into_the_local_store(
    scheduler: str, workers: list[subprocess.Popen[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from test_book import request

    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path / "data"))
    settings.cache_clear()
    summary = Book(replace(request(tmp_path / "a.wav"), cluster=scheduler)).make()
    assert (summary.said, summary.faults) == (12, [])
    with TakeStore(settings().takes_dir) as store:
        assert store.size()[0] == 12
    assert Book(request(tmp_path / "a.wav")).make().said == 0


def test_a_worker_with_another_model_gets_no_work(scheduler: str, workers: list[subprocess.Popen[bytes]]) -> None:
    other = replace(describe(spec()), revision="2")
    with pytest.raises(MachineError, match="model revision 1, this machine 2"):
        Cluster(scheduler, spec(), other)


def test_a_cluster_without_such_an_engine_says_how_to_start_one(scheduler: str) -> None:
    with pytest.raises(MachineError, match="No worker"):
        Cluster(scheduler, EngineSpec("kokoro"), describe(spec()))


def test_no_scheduler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langdu.synthesis.cluster.CONNECT_S", 1)
    with pytest.raises(NetworkError, match="No Dask scheduler answers"):
        Cluster("tcp://127.0.0.1:9", spec(), describe(spec()))


def test_a_worker_killed_half_way_loses_no_chunk_and_none_is_said_twice_without_need(
    scheduler: str, workers: list[subprocess.Popen[bytes]]
) -> None:
    wanted = spec(delay_s=0.03)
    jobs = [Job(Chunk(n, 0, n + 1, f"这是第{n}句话", "zh", PERSONA, 0.1, key=f"{n}")) for n in range(20)]
    cluster = Cluster(scheduler, wanted, describe(wanted))
    try:
        assert cluster.workers == 2
        outcomes = []
        for outcome in cluster.run(jobs):
            outcomes.append(outcome)
            if len(outcomes) == 6:
                for victim in psutil.Process(workers[0].pid).children(recursive=True):
                    os.kill(victim.pid, signal.SIGKILL)
                workers[0].kill()
    finally:
        cluster.close()
    assert all(outcome.take is not None for outcome in outcomes)
    assert sorted(outcome.job.chunk.index for outcome in outcomes) == list(range(20))
