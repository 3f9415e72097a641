"""What benchmarks/service.py measures with: a service of its own, its memory, and what a reply must contain."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from langdu import engines
from langdu.audio.encode import to_pcm16
from langdu.audio.join import Joiner
from langdu.engines.base import Audio, Request, Spoken
from langdu.service.speech import Order, prepare
from langdu.settings import settings
from langdu.synthesis.model import Chunk
from langdu.synthesis.runner import EngineSpec

SAMPLE_S = 0.05


class Service:
    """`langdu serve` as a process, with a data folder of its own that borrows the models of the user's."""

    def __init__(self, *arguments: str, workers: int = 2) -> None:
        self._stack = contextlib.ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        (self.folder / "models").symlink_to(settings().models_dir)
        (self.folder / "cache").symlink_to(settings().data_dir / "cache")
        log = self.folder / "stderr"
        command = [sys.executable, "-m", "langdu", "serve", "--port", "0", "--workers", str(workers), *arguments]
        with log.open("wb") as stderr:
            environment = {**os.environ, "LANGDU_DATA_DIR": str(self.folder)}
            self._process = subprocess.Popen(command, env=environment, stderr=stderr)
        self.url = self._address(log)
        self.memory = psutil.Process(self._process.pid)

    def _address(self, log: Path) -> str:
        for _ in range(600):
            if found := re.search(r"http://[\d.:]+", log.read_text()):
                return found[0]
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"the service did not start: {log.read_text()}")

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise RuntimeError("the service did not end within 30 s of SIGTERM") from None
        finally:
            self._stack.close()

    def client(self, name: str = "", timeout_s: float = 300.0) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=timeout_s, headers={"X-Langdu-Client": name})

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.url}/v1/status").json()
        return found

    def workers(self) -> list[psutil.Process]:
        return [psutil.Process(row["pid"]) for row in self.status()["workers"]]

    def warm(self, voice: str, workers: int = 2) -> None:
        """Speak until so many workers are ready."""
        text = "今天天气很好，我们去公园走了一整天。" * 12
        end = time.monotonic() + 120
        while sum(row["ready"] for row in self.status()["workers"]) < workers:
            with self.client() as client:
                client.post("/v1/audio/speech", json={"input": text, "voice": voice}).raise_for_status()
            if time.monotonic() > end:
                raise RuntimeError(f"{workers} workers were not ready in 120 s")

    def rss_mb(self) -> dict[str, float]:
        """Resident memory of the server and of each worker; the median of some samples."""
        processes = {"server": self.memory, **{f"worker {n}": p for n, p in enumerate(self.workers(), 1)}}
        samples = [{name: mb(process) for name, process in processes.items()} for _ in range(9) if not time.sleep(0.05)]
        return {name: sorted(sample[name] for sample in samples)[4] for name in processes}

    @contextlib.contextmanager
    def peak(self) -> Iterator[list[float]]:
        """Highest resident memory of the server (MB) while the context is open, in the list's only item."""
        found, done = [mb(self.memory)], threading.Event()

        def watch() -> None:
            while not done.wait(SAMPLE_S):
                found[0] = max(found[0], mb(self.memory))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield found
        finally:
            done.set()
            thread.join()


def mb(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / (1 << 20)


class Reference:
    """The engine itself, in this process: how long it takes, and what exactly every reply must contain."""

    def __init__(self, engine: str, voice: str) -> None:
        self._engine = engines.load(EngineSpec(engine))
        self._voice = voice

    def chunks(self, text: str) -> tuple[Chunk, ...]:
        return prepare(Order(text, self._voice)).plan.chunks

    def say(self, chunk: Chunk) -> tuple[Audio, float]:
        """Its sound, and the seconds from the request to it."""
        voice = self._engine.prepare(chunk.persona).key
        started = time.perf_counter()
        request = Request("1", chunk.text, chunk.language, voice, speed=chunk.speed)
        (spoken,) = self._engine.speak([request])
        assert isinstance(spoken, Spoken)
        return spoken.audio, time.perf_counter() - started

    def hash(self, text: str) -> str:
        """SHA-256 of the reply to `text` as pcm."""
        joiner = Joiner(self._engine.info.sample_rate_hz)
        digest = hashlib.sha256()
        for chunk in self.chunks(text):
            for block in joiner.add(self.say(chunk)[0], chunk.pause_after_s):
                digest.update(to_pcm16(block))
        return digest.hexdigest()


def hash_of(answer: httpx.Response) -> str:
    return hashlib.sha256(answer.content).hexdigest()
