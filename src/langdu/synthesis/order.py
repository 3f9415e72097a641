"""Outcomes in the order of their chunks, whatever order the workers finished in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from langdu.synthesis.runner import Outcome


def in_order(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Yield outcomes by rising, gapless `job.chunk.index` from 0; each as soon as those before it are out."""
    waiting: dict[int, Outcome] = {}
    wanted = 0
    for outcome in outcomes:
        waiting[outcome.job.chunk.index] = outcome
        while wanted in waiting:
            yield waiting.pop(wanted)
            wanted += 1
    for index in sorted(waiting):
        yield waiting[index]
