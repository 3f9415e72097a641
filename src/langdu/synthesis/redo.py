"""One more saying of one chunk of a book made earlier, as a person asked for it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from langdu.errors import VoiceError
from langdu.quality.verdict import ending_verdict, rank, seed_for
from langdu.settings import settings
from langdu.synthesis.making import Ear, Judge, as_facts, failure_of
from langdu.synthesis.model import Chunk
from langdu.synthesis.pool import Pool
from langdu.synthesis.project import ProjectChunk
from langdu.synthesis.runner import Job, Runner
from langdu.synthesis.takes import ENDINGS, Kept, TakeStore
from langdu.voices.persona import Persona


def redo(wanted: ProjectChunk, store: TakeStore, *, seed: int | None, check: bool) -> tuple[Kept, bool]:
    """The new take, accepted unless it is faulty, and whether its engine is deterministic.

    Raises EngineError when it fails, VoiceError when the persona's clip is no longer the one the book was made with.
    """
    chunk = wanted.chunk()
    ear = Ear(settings().checker) if check else None
    with Pool(wanted.engine(), 1, personas=[chunk.persona]) as pool:
        return say_again(chunk, store, pool, ear, seed=seed)


def say_again(
    chunk: Chunk, store: TakeStore, runner: Runner, judge: Judge | None, *, seed: int | None = None
) -> tuple[Kept, bool]:
    """As `redo`, on a runner and with a judge that are there already."""
    _same_clip(chunk.persona)
    attempt = 1 + max((kept.attempt for kept in store.of(chunk.key)), default=0)
    job = Job(chunk, seed_for(attempt, 0) if seed is None else seed, attempt)
    (outcome,) = runner.run([job])
    if outcome.take is None:
        assert outcome.failed is not None
        raise failure_of(chunk, outcome.failed)
    take = replace(outcome.take, attempt=attempt)
    kept = store.add(take)
    if judge is not None:
        verdict, words = judge(chunk, take)
        kept = store.judged(kept.id, as_facts(verdict, words, judge.name), rank(verdict))
    elif take.ending != "ended":
        verdict = ending_verdict(take)
        kept = store.judged(kept.id, as_facts(verdict, (), ENDINGS), rank(verdict))
    if kept.outcome != "fault":
        store.accept(kept.id)
    return store.get(kept.id), take.engine.deterministic


def _same_clip(persona: Persona) -> None:
    """Another clip makes another voice, whose sound does not belong under this chunk's key."""
    if persona.kind != "clone" or not persona.clip_sha256:
        return
    found = hashlib.sha256(persona.clip.read_bytes()).hexdigest() if persona.clip.is_file() else ""
    if found != persona.clip_sha256:
        what = "has changed" if found else "is gone"
        raise VoiceError(f'The clip of "{persona.name}" {what} ({persona.clip}).', hint="Run langdu book once more.")
