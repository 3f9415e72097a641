"""Making takes: speaking, judging and saying again run side by side; ready takes come out in book order.

    jobs ──> runner (its own thread, its workers) ──> store ──> judge (one thread) ──> ready, in order
      ^                                                            │
      └────────────────── a fault: a new seed ─────────────────────┘

Only ids wait in queues; sounds and verdicts lie in the store. So memory does not grow with the book, and a kill
at any point loses at most what was being said.
"""

from __future__ import annotations

import queue
import statistics
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from langdu.engines.base import Failed
from langdu.errors import LangduError, by_code
from langdu.quality.limits import RULES
from langdu.quality.syllables import count_syllables
from langdu.quality.transcript import Checker, Word
from langdu.quality.verdict import Reference, Verdict, ending_verdict, judge, rank, seed_for
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.runner import EngineSpec, Job, Runner
from langdu.synthesis.takes import ENDINGS, Kept, TakeStore

MOST_UNJUDGED = 32
"""Takes waiting for the judge before speaking pauses."""
LEARN_S = 4.0
"""A take this long shows a voice well enough to hold others against it."""
PACES, KEPT_PACES, ENOUGH = 5, 50, 8
"""A voice's pace is the median over its last good takes, from five on, each of eight syllables or more."""


class Judge(Protocol):
    name: str
    """Who judged, and by which rules: kept with each verdict, and takes judged by another are heard again."""

    def __call__(self, chunk: Chunk, take: Take) -> tuple[Verdict, tuple[Word, ...]]:
        """A verdict, and when each word of the chunk is said (seconds of the take; () where that is not known)."""
        ...


@dataclass(slots=True)
class Counts:
    said: int = 0
    """Sayings, retries included."""
    retries: int = 0
    reused: int = 0
    """Chunks whose take was there before."""
    speaking_s: float = 0.0
    """Engine time of the sayings, summed over workers."""
    load_seconds: float = 0.0
    workers: int = 0
    peak_memory_mb: float = 0.0


class Maker:
    """Makes what the store lacks. Iterate `make`; leaving it early stops all work."""

    def __init__(
        self,
        store: TakeStore,
        spec_of: Callable[[Chunk], EngineSpec],
        runner_for: Callable[[EngineSpec, list[Chunk]], Runner],
        *,
        judge: Judge | None = None,
        retries: int = 2,
        on_take: Callable[[Chunk, Kept], None] | None = None,
    ) -> None:
        """`runner_for` starts a runner for the chunks of one engine; engines run one after another."""
        self._store, self._spec_of, self._runner_for = store, spec_of, runner_for
        self._judge, self._retries, self._on_take = judge, retries, on_take
        self.counts = Counts()
        self.missing: set[str] = set()
        """Keys without a take when `make` began."""
        # Shared by three threads, under `_change`:
        self._wanted: deque[Job] = deque()
        self._unsettled: dict[str, Chunk] = {}
        self._ready: dict[str, int | Failed] = {}
        self._failure: BaseException | None = None
        self._stopped = False
        self._runner: Runner | None = None
        self._change = threading.Condition()
        self._to_judge: queue.Queue[tuple[Chunk, Kept] | None] = queue.Queue()

    def make(self, chunks: Sequence[Chunk]) -> Generator[tuple[Chunk, Kept | Failed], None, None]:
        """Each chunk with its take, or with the failure that left it without one; in order."""
        self._sort(chunks)
        threads = [threading.Thread(target=self._guard, args=(self._speak_all,), daemon=True)]
        if self._judge is not None:
            threads.append(threading.Thread(target=self._guard, args=(self._judge_all,), daemon=True))
        for thread in threads:
            thread.start()
        try:
            for chunk in chunks:
                yield chunk, self._wait(chunk.key)
        finally:
            with self._change:
                self._stopped = True
                self._change.notify_all()
                runner = self._runner
            if runner is not None and self._unsettled:
                runner.close()  # in mid-sentence: nobody waits for it any more
            self._to_judge.put(None)
            for thread in threads:
                thread.join()

    def _sort(self, chunks: Sequence[Chunk]) -> None:
        """Chunks with a take are ready, or wait for the judge; the others are wanted, once for each key.

        A run that was killed between a fault and its retry left a key with a faulty take and tries to spare: it is
        said again here.
        """
        for chunk in {chunk.key: chunk for chunk in reversed(chunks)}.values():
            takes = self._store.usable(chunk.key)
            if not takes:
                self.missing.add(chunk.key)
            elif (unheard := self._unheard(takes)) is not None:
                self._unsettled[chunk.key] = chunk
                self._to_judge.put((chunk, unheard))
            elif not self._once_more(takes):
                self._ready[chunk.key] = takes[0].id
        self._store.touch([found for found in self._ready.values() if isinstance(found, int)])
        self.counts.reused = sum(chunk.key not in self.missing for chunk in chunks)
        for chunk in chunks:
            if chunk.key not in self._unsettled and chunk.key not in self._ready:
                self._want(chunk)

    def _unheard(self, takes: list[Kept]) -> Kept | None:
        """The take that this judge must hear: it has judged no other, and nobody accepted one."""
        if self._judge is None or takes[0].state == "accepted":
            return None
        unheard = [kept for kept in takes if kept.judge != self._judge.name]
        if takes[0] not in unheard and takes[0].outcome != "fault":
            return None
        return unheard[0] if unheard else None

    def _once_more(self, takes: list[Kept]) -> bool:
        """Whether a fault is left and another seed may mend it; `takes` best first."""
        best, judge = takes[0], ENDINGS if self._judge is None else self._judge.name
        return (
            best.outcome == "fault" and best.judge == judge and best.state != "accepted"
            and len(takes) <= self._retries and not best.facts["engine"]["deterministic"]
        )  # fmt: skip

    def _want(self, chunk: Chunk) -> None:
        attempt = 1 + max((kept.attempt for kept in self._store.of(chunk.key)), default=0)
        self._unsettled[chunk.key] = chunk
        self._wanted.append(Job(chunk, seed_for(attempt, 0), attempt))

    def _wait(self, key: str) -> Kept | Failed:
        with self._change:
            while key not in self._ready:
                if self._failure is not None:
                    raise self._failure
                self._change.wait(1.0)
            found = self._ready[key]
        return found if isinstance(found, Failed) else self._store.get(found)

    def _guard(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as error:
            with self._change:
                self._failure = self._failure or error
                self._change.notify_all()

    def _speak_all(self) -> None:
        while True:
            with self._change:
                while not self._wanted and self._unsettled and not self._ending():
                    self._change.wait(1.0)
                if self._ending() or not self._wanted:
                    return
                spec = self._spec_of(self._wanted[0].chunk)
                chunks = [job.chunk for job in self._wanted if self._spec_of(job.chunk) == spec]
            self._speak(spec, chunks)

    def _ending(self) -> bool:
        return self._stopped or self._failure is not None

    def _speak(self, spec: EngineSpec, chunks: list[Chunk]) -> None:
        runner = self._runner_for(spec, chunks)
        with self._change:
            self._runner = runner
        try:
            for outcome in runner.run(self._jobs(spec)):
                if outcome.take is not None:
                    self._said(outcome.job, outcome.take)
                elif outcome.failed is not None:
                    self._settle(outcome.job.chunk, outcome.failed)
                if self._ending():
                    return
            counts = self.counts
            counts.load_seconds = max(counts.load_seconds, runner.load_seconds)
            counts.workers = max(counts.workers, runner.workers)
            counts.peak_memory_mb = max(counts.peak_memory_mb, runner.peak_memory_mb())
        finally:
            with self._change:
                self._runner = None
            runner.close()

    def _jobs(self, spec: EngineSpec) -> Iterator[Job | None]:
        """Wanted jobs of one engine. None while the judge is behind, or may still ask for another saying."""
        while True:
            with self._change:
                if self._ending():
                    return
                job = None
                if self._to_judge.qsize() < MOST_UNJUDGED:
                    job = next((job for job in self._wanted if self._spec_of(job.chunk) == spec), None)
                if job is not None:
                    self._wanted.remove(job)
                elif not any(self._spec_of(chunk) == spec for chunk in self._unsettled.values()):
                    return
            yield job

    def _said(self, job: Job, take: Take) -> None:
        self.counts.said += 1
        self.counts.retries += job.attempt > 1
        self.counts.speaking_s += take.seconds
        take = replace(take, attempt=job.attempt)
        kept = self._store.add(take)
        if self._judge is not None:
            self._to_judge.put((job.chunk, kept))
            return
        if take.ending != "ended" or job.attempt > 1:  # never a quiet success, also where nobody listens
            verdict = ending_verdict(take)
            kept = self._store.judged(kept.id, as_facts(verdict, (), ENDINGS), rank(verdict))
        self._next(job.chunk, kept)

    def _judge_all(self) -> None:
        assert self._judge is not None
        while (waiting := self._to_judge.get()) is not None and not self._ending():
            chunk, kept = waiting
            take = self._store.take(kept)
            if take is not None:
                verdict, words = self._judge(chunk, take)
                kept = self._store.judged(kept.id, as_facts(verdict, words, self._judge.name), rank(verdict))
            self._next(chunk, kept)

    def _next(self, chunk: Chunk, kept: Kept) -> None:
        """After a saying, or a hearing: another one, or what is best so far. A take whose file was lost is no take."""
        takes = self._store.usable(chunk.key)
        unheard = self._unheard(takes) if takes else None
        if unheard is not None and unheard.id != kept.id:
            self._to_judge.put((chunk, unheard))
        elif not takes or self._once_more(takes):
            with self._change:
                self._want(chunk)
                self._change.notify_all()
        else:
            self._settle(chunk, takes[0])

    def _settle(self, chunk: Chunk, found: Kept | Failed) -> None:
        if isinstance(found, Kept) and self._on_take is not None:
            self._on_take(chunk, found)
        with self._change:
            self._ready[chunk.key] = found if isinstance(found, Failed) else found.id
            self._unsettled.pop(chunk.key, None)
            self._change.notify_all()


def judge_name(model: str) -> str:
    return f"{model}/{RULES}"


class Ear:
    """Judges takes with one checker, which also gives the times of the words it hears."""

    def __init__(self, model: str, *, checker: Checker | None = None) -> None:
        from langdu.models.store import model_dir

        model_dir(model)  # missing: said before the work, not after it
        self.name = judge_name(model)
        self._checker = checker or Checker(model, threads=1)
        self._voices: dict[str, Reference] = {}
        self._paces: defaultdict[tuple[str, str], deque[float]] = defaultdict(lambda: deque(maxlen=KEPT_PACES))

    def __call__(self, chunk: Chunk, take: Take) -> tuple[Verdict, tuple[Word, ...]]:
        verdict = judge(chunk, take, checker=self._checker, reference=self._reference(chunk))
        if verdict.heard is None or verdict.outcome == "fault":
            return verdict, ()
        self._learn(chunk, take, verdict)
        return verdict, self._checker.align(take.audio, take.sample_rate_hz, chunk.text, chunk.language)

    def _reference(self, chunk: Chunk) -> Reference:
        """What is known of the persona: the voice of a clone's clip, or what its good takes have shown."""
        persona = chunk.persona
        key = persona.content_hash()
        if persona.kind == "clone" and key not in self._voices:
            from langdu.audio.read import read
            from langdu.quality.speaker import embed

            self._voices[key] = Reference(embed(*read(persona.clip)))
        voice = self._voices.get(key, Reference())
        paces = self._paces[key, chunk.language]
        return replace(voice, syllable_s=statistics.median(paces)) if len(paces) >= PACES else voice

    def _learn(self, chunk: Chunk, take: Take, verdict: Verdict) -> None:
        """A good take shows how fast the voice is; and how a voice sounds that has no recording, as evidence and no
        more. A deterministic engine's voice cannot drift, and costs nothing."""
        key = chunk.persona.content_hash()
        syllables = count_syllables(chunk.text, chunk.language)
        if syllables >= ENOUGH:
            self._paces[key, chunk.language].append(verdict.signal.active_s * chunk.speed / syllables)
        if take.engine.deterministic or key in self._voices or take.audio_seconds < LEARN_S:
            return
        from langdu.quality.speaker import embed

        self._voices[key] = Reference(embed(take.audio, take.sample_rate_hz), certain=False)


def as_facts(verdict: Verdict, words: tuple[Word, ...] = (), by: str = "") -> dict[str, Any]:
    """A verdict as it is kept: its dict, who gave it, and the words as [text, start, end] in seconds of the take."""
    times = [[word.text, round(word.start_s, 3), round(word.end_s, 3)] for word in words]
    return verdict.as_dict() | {"by": by, "words": times}


def failure_of(chunk: Chunk, failed: Failed) -> LangduError:
    error = by_code(failed.code, failed.message, failed.hint)
    return type(error)(f"Chunk {chunk.name} ({chunk.text[:30]}…) could not be said: {failed.message}", hint=failed.hint)
