"""Dask: a real scheduler and real worker processes on loopback, one of them killed half-way."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest

from langdu import __version__
from langdu.engines.tone import describe
from langdu.errors import MachineError, NetworkError
from langdu.settings import settings
from langdu.synthesis.book import Book
from langdu.synthesis.cluster import Cluster, say_here
from langdu.synthesis.model import Chunk
from langdu.synthesis.runner import EngineSpec, Job
from langdu.synthesis.takes import TakeStore
from langdu.voices.persona import BuiltinPersona, ClonePersona

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
        end(run)


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


def jobs(count: int) -> list[Job]:
    return [Job(Chunk(n, 0, n + 1, f"这是第{n}句话", "zh", PERSONA, 0.1, key=f"{n}")) for n in range(count)]


def test_a_chunk_that_cannot_be_said_is_not_tried_again(
    scheduler: str, workers: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    wanted = spec(fail_on="这是第1句话", log_to=str(tmp_path / "log"))
    with closing(Cluster(scheduler, wanted, describe(wanted))) as cluster:
        outcomes = list(cluster.run(jobs(3)))
    failed = [outcome for outcome in outcomes if outcome.failed is not None]
    assert [(o.job.chunk.index, o.failed.code) for o in failed if o.failed] == [(1, "engine")]
    assert len((tmp_path / "log").read_text("utf-8").splitlines()) == 3


def test_a_worker_that_joined_later_compares_itself_before_it_speaks() -> None:
    identity = {"langdu": "0", "engine": "tone", "model revision": "2", "precision": "float32"}
    dumped = PERSONA.model_dump(mode="json")
    said = say_here(asdict(spec()), dumped, {"id": "1", "text": "好", "language": "zh"}, identity)
    assert set(said) == {"other"}
    assert f"has langdu {__version__}, this machine 0" in said["other"]


def test_another_clip_at_the_same_path_is_refused(tmp_path: Path) -> None:
    clip = tmp_path / "clip.wav"
    clip.write_bytes(b"other")
    persona = ClonePersona(name="甲", clip=clip, transcript="你好", clip_sha256="0" * 64)
    identity = {"langdu": __version__, "engine": "tone", "model revision": "1", "precision": "float32"}
    dumped = persona.model_dump(mode="json")
    said = say_here(asdict(spec()), dumped, {"id": "1", "text": "好", "language": "zh"}, identity)
    assert said["failed"][0] == "invalid-voice"


def test_a_worker_killed_half_way_loses_no_chunk_and_none_is_said_twice_without_need(
    scheduler: str, workers: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    wanted = spec(delay_s=0.03, log_to=str(tmp_path / "log"))
    with closing(Cluster(scheduler, wanted, describe(wanted))) as cluster:
        assert cluster.workers == 2
        outcomes = []
        for outcome in cluster.run(jobs(20)):
            outcomes.append(outcome)
            if len(outcomes) == 6:
                end(workers[0])
    assert all(outcome.take is not None for outcome in outcomes)
    assert sorted(outcome.job.chunk.index for outcome in outcomes) == list(range(20))
    begun = (tmp_path / "log").read_text("utf-8").splitlines()
    assert len(begun) - len(set(begun)) <= 1  # what the killed worker was saying


def test_without_a_worker_left_the_run_ends_with_what_to_do(
    scheduler: str, workers: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langdu.synthesis.cluster.DESERTED_S", 2.0)
    monkeypatch.setattr("langdu.synthesis.cluster.LOOK_S", 0.5)
    wanted = spec(delay_s=0.03)
    with closing(Cluster(scheduler, wanted, describe(wanted))) as cluster:
        run = cluster.run(jobs(20))
        next(run)
        for worker in workers:
            end(worker)
        with pytest.raises(NetworkError, match="No worker is left"):
            list(run)


def end(worker: subprocess.Popen[bytes]) -> None:
    """SIGKILL a worker and the process that watches it."""
    if worker.poll() is None:
        victims = psutil.Process(worker.pid).children(recursive=True)
        worker.kill()
        for victim in victims:
            with suppress(psutil.NoSuchProcess):
                victim.kill()
        worker.wait()
