"""One more saying of one chunk of a book made earlier, as a person asked for it."""

from __future__ import annotations

from dataclasses import replace

from langdu.quality.verdict import rank, seed_for
from langdu.settings import settings
from langdu.synthesis.making import Ear, as_facts, failure_of
from langdu.synthesis.pool import Pool
from langdu.synthesis.project import ProjectChunk
from langdu.synthesis.runner import Job
from langdu.synthesis.takes import Kept, TakeStore


def redo(wanted: ProjectChunk, store: TakeStore, *, seed: int | None, check: bool) -> tuple[Kept, bool]:
    """The new take, accepted, and whether its engine is deterministic. Raises EngineError when it fails."""
    chunk = wanted.chunk()
    ear = Ear(settings().checker) if check else None
    attempt = 1 + max((kept.attempt for kept in store.of(chunk.key)), default=0)
    job = Job(chunk, seed_for(attempt, 0) if seed is None else seed, attempt)
    with Pool(wanted.engine(), 1, personas=[chunk.persona]) as pool:
        outcome = next(iter(pool.run([job])))
    if outcome.take is None:
        assert outcome.failed is not None
        raise failure_of(chunk, outcome.failed)
    take = replace(outcome.take, attempt=attempt)
    kept = store.add(take)
    if ear is not None:
        verdict, words = ear(chunk, take)
        kept = store.judged(kept.id, as_facts(verdict, words), rank(verdict))
    store.accept(kept.id)
    return store.get(kept.id), take.engine.deterministic
