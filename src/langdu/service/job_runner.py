"""Jobs being made: one at a time, in the background class of the queue, so that short requests pass them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from pathlib import Path

from langdu.audio.encode import Writer, write
from langdu.audio.join import Joiner
from langdu.audio.read import read
from langdu.engines.base import Piece
from langdu.errors import LangduError
from langdu.quality.verdict import Verdict, better, judge, seed_for
from langdu.service.core import Core
from langdu.service.jobs import JobStore
from langdu.service.problems import NotFound
from langdu.service.speech import Speech
from langdu.settings import settings
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.runner import EngineSpec

log = logging.getLogger("langdu.jobs")


class JobRunner:
    def __init__(self, core: Core, store: JobStore) -> None:
        self._core, self.store = core, store
        self._wake = asyncio.Event()
        self._change = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._current: tuple[str, asyncio.Task[None]] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop in mid-chunk; the job stays `running` on disk and goes on at the next start."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def wake(self) -> None:
        self._wake.set()

    async def changed(self, timeout_s: float) -> None:
        """Wait until any job changes, or so long."""
        async with self._change:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._change.wait(), timeout_s)

    async def abort(self, job: str) -> None:
        """Stop working on this job, now."""
        if self._current is not None and self._current[0] == job:
            task = self._current[1]
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])

    async def tell(self) -> None:
        async with self._change:
            self._change.notify_all()

    async def _run(self) -> None:
        while True:
            job = self.store.next_queued()
            if job is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            self.store.set_state(job, "running")
            task = asyncio.create_task(self._make(job))
            self._current = (job, task)
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
                self._current = None
            if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, NotFound):
                if not isinstance(error, LangduError):
                    log.error("job %s failed", job, exc_info=error)
                message = str(error) if isinstance(error, LangduError) else f"{type(error).__name__}: {error}"
                self.store.set_state(job, "failed", error=message)
            await self.tell()

    async def _make(self, job: str) -> None:
        spec, chunks = self.store.plan(job)
        verify = self.store.get(job).verify
        folder = self.store.folder_of(job)
        folder.mkdir(parents=True, exist_ok=True)
        wanted = self.store.unmade(job)
        while wanted:
            picked = tuple(chunks[index] for index, _ in wanted)
            seeds = tuple(seed_for(attempt, 0) for _, attempt in wanted)
            speech = Speech(self._core.hub, spec, picked, client=f"job:{job}", seeds=seeds, background=True)
            async with contextlib.aclosing(speech.parts()) as parts:
                async for place, take in parts:
                    assert not isinstance(take, Piece)
                    index, attempt = wanted[place]
                    await self._keep(job, spec, chunks[index], replace(take, attempt=attempt), folder, verify=verify)
            wanted = self.store.unmade(job)  # a redo may have come in meanwhile
        seconds = await asyncio.to_thread(self._render, job, chunks)
        self.store.finish(job, audio_seconds=seconds)

    async def _keep(self, job: str, spec: EngineSpec, chunk: Chunk, take: Take, folder: Path, *, verify: bool) -> None:
        """Judge a take; a fault is said again with new seeds where that can help, and the best one is kept."""
        verdict = await self._judge(chunk, take) if verify else None
        seconds, last = take.seconds, take.attempt
        again = 0 if take.engine.deterministic or take.engine.engine == "kokoro" else settings().max_retries
        while verdict is not None and verdict.outcome == "fault" and again:
            again, last = again - 1, last + 1
            seeds = (seed_for(last, 0),)
            speech = Speech(self._core.hub, spec, (chunk,), client=f"job:{job}", seeds=seeds, background=True)
            async with contextlib.aclosing(speech.parts()) as parts:
                async for _, other in parts:
                    assert isinstance(other, Take)
                    seconds += other.seconds
                    found = await self._judge(chunk, replace(other, attempt=last))
                    if better(verdict, found) is found:
                        take, verdict = replace(other, attempt=last), found
        name = f"{chunk.index:05d}.{last}.wav"
        await asyncio.to_thread(write, folder / name, [take.audio], take.sample_rate_hz)
        self.store.made(
            job, chunk.index, attempt=last, file=name, verdict=verdict.outcome if verdict else "unheard",
            heard=verdict.heard.text if verdict and verdict.heard else "",
            faults=[finding.message for finding in verdict.findings] if verdict else [],
            cer=round(verdict.comparison.cer, 4) if verdict and verdict.comparison else None,
            audio_seconds=take.audio_seconds, seconds=seconds,
        )  # fmt: skip
        await self.tell()

    async def _judge(self, chunk: Chunk, take: Take) -> Verdict:
        async with self._core.ear() as checker:
            return await asyncio.to_thread(judge, chunk, take, checker=checker)

    def _render(self, job: str, chunks: tuple[Chunk, ...]) -> float:
        """All chunks joined into the result; returns its seconds. One chunk is in memory at a time."""
        target = self.store.folder_of(job) / f"result.{self.store.get(job).format}"
        first, rate_hz = read(self.store.sound(job, 0))
        joiner = Joiner(rate_hz)
        with Writer(target, rate_hz) as writer:
            for chunk in chunks:
                audio = first if chunk.index == 0 else read(self.store.sound(job, chunk.index))[0]
                for block in joiner.add(audio, chunk.pause_after_s):
                    writer.write(block)
        return joiner.samples / rate_hz
