"""Jobs being made: one at a time, each a book in a thread of its own, its chunks said by the hub's workers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from langdu.errors import Cancelled, LangduError
from langdu.quality.transcript import Word
from langdu.quality.verdict import Verdict
from langdu.service.core import Core
from langdu.service.hub_runner import HubRunner
from langdu.service.job_book import book_of
from langdu.service.jobs import JobStore
from langdu.service.problems import NotFound
from langdu.synthesis.book import Book
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.redo import say_again
from langdu.synthesis.runner import EngineSpec, Runner

log = logging.getLogger("langdu.jobs")
TELL_S = 0.1
"""Watchers are told of the chunks of a job at most so often."""


class JobRunner:
    def __init__(self, core: Core, store: JobStore) -> None:
        self._core, self.store = core, store
        self._wake = asyncio.Event()
        self._change = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._making: _Making | None = None
        self._books: dict[str, Book] = {}
        self._ending = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop in mid-chunk; the job stays `running` on disk and goes on at the next start."""
        self._ending = True
        if self._task is not None:
            if self._making is not None:
                self._making.stop()
                await self._making.ended.wait()
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def wake(self, job: str = "", book: Book | None = None) -> None:
        """There is work. `book`: what was read and planned when the job was made, to spare doing so again."""
        if book is not None:
            self._books[job] = book
        self._wake.set()

    def left_s(self, job: str) -> float | None:
        """Seconds a job will still take; None where that is not known."""
        return self._making.left_s if self._making is not None and self._making.job == job else None

    async def changed(self, timeout_s: float) -> None:
        """Wait until any job changes, or so long."""
        async with self._change:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._change.wait(), timeout_s)

    async def abort(self, job: str) -> None:
        """Stop working on this job, now."""
        self._books.pop(job, None)
        if self._making is not None and self._making.job == job:
            self._making.stop()
            await self._making.ended.wait()

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
            making = self._making = _Making(self._core, self.store, job, self._books.pop(job, None), self.tell)
            try:
                await asyncio.to_thread(making.run)
            except (Cancelled, NotFound):  # its state on disk says what becomes of it
                pass
            except LangduError as error:
                self.store.set_state(job, "failed", error=str(error))
            except Exception as error:
                log.exception("job %s failed", job)
                self.store.set_state(job, "failed", error=f"{type(error).__name__}: {error}")
            finally:
                self._making = None
                making.ended.set()
            await self.tell()
            if self._ending:
                return


class _Making:
    """One run of a job. `run` belongs in a thread; the rest is for the event loop."""

    def __init__(
        self, core: Core, store: JobStore, job: str, book: Book | None, tell: Callable[[], Awaitable[None]]
    ) -> None:
        self.job, self.stopped, self.ended = job, False, asyncio.Event()
        self.left_s: float | None = None
        self._core, self._store, self._book, self._changed = core, store, book, tell
        self._loop = asyncio.get_running_loop()
        self._telling = False
        self._runners: list[HubRunner] = []
        self._keys: dict[str, str] = {}

    def stop(self) -> None:
        self.stopped = True
        for runner in self._runners:
            runner.close()

    def run(self) -> None:
        started = time.perf_counter()
        wish = self._store.wish(self.job)
        book = self._book or book_of(self._store.folder_of(self.job), wish)
        self._store.replan(self.job, book.chunks)
        self._keys = {chunk.name: chunk.key for chunk in book.chunks}
        judge = _Judge(self._core, self._loop) if wish.verify else None

        def runner_for(spec: EngineSpec, chunks: list[Chunk]) -> Runner:
            info = book.casting.infos[chunks[0].persona.content_hash()]
            runner = HubRunner(self._core.hub, spec, info, client=f"job:{self.job}")
            self._runners.append(runner)
            if self.stopped:
                runner.close()
            return runner

        again = set(self._store.wanted_again(self.job))
        for chunk in book.chunks:
            if chunk.name in again:
                kept, _ = say_again(chunk, self._store.takes, runner_for(book.casting.spec_of(chunk), [chunk]), judge)
                self._store.said_again(self.job, chunk.name)
                self._store.made(self.job, chunk.name, self._store.takes.choice(chunk.key) or kept)
                self._tell()
        made = book.make(
            self._event, store=self._store.takes, judge=judge, runner_for=runner_for, stopped=lambda: self.stopped
        )
        seconds = time.perf_counter() - started
        self._store.finish(self.job, seconds=seconds, audio_seconds=made.audio_seconds, problems=made.problems)

    def _event(self, event: dict[str, Any]) -> None:
        """From the book's threads."""
        if event["event"] == "chunk":
            self.left_s = event["left_s"]
        if event["event"] in ("chunk", "take"):
            kept = self._store.takes.choice(self._keys[event["chunk"]])
            if kept is not None:
                self._store.made(self.job, event["chunk"], kept)
            self._tell()

    def _tell(self) -> None:
        if not self._telling:
            self._telling = True
            asyncio.run_coroutine_threadsafe(self._tell_soon(), self._loop)

    async def _tell_soon(self) -> None:
        await asyncio.sleep(TELL_S)
        self._telling = False
        await self._changed()


class _Judge:
    """The service's one checker as a book's judge; it waits its turn among those who have something to hear."""

    def __init__(self, core: Core, loop: asyncio.AbstractEventLoop) -> None:
        self._core, self._loop = core, loop
        self.name = core.judge_name

    def __call__(self, chunk: Chunk, take: Take) -> tuple[Verdict, tuple[Word, ...]]:
        return asyncio.run_coroutine_threadsafe(self._core.judge(chunk, take), self._loop).result()
