"""A whole bench: every suite on every target, into one report."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from langdu.bench import machine
from langdu.bench.context import Context
from langdu.bench.hearing import Listener
from langdu.bench.model import Report, Row
from langdu.bench.suites import SUITES
from langdu.bench.target import Target, targets
from langdu.errors import CapacityError, DeviceError, LangduError


@contextmanager
def bench(
    *, voice: str | None = None, engine: str = "", models: Sequence[str] = (), repeats: int = 3,
    transcript: bool = True, fixed_length: bool = False, processes: int | None = None,
    say: Callable[[str], None] = lambda step: None,
) -> Iterator[tuple[Context, list[Target]]]:  # fmt: skip
    """What `run` needs. The folder with its files is removed at the end, also after Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="langdu-bench-") as folder:
        say("looking at the machine")
        facts = machine.describe()
        context = Context(Path(folder), Listener.make(transcript=transcript and not fixed_length), repeats, processes,
                          facts, say)  # fmt: skip
        if facts["busy"] > machine.BUSY:
            context.notes.append(
                f"other programs were using {facts['busy']:.0%} of the cores when this began: times may be too long"
            )
        gpu = facts["mlx_device"] in ("metal", "cuda")
        yield (
            context,
            targets(context.work, voice=voice, engine=engine, models=models, fixed_length=fixed_length, gpu=gpu),
        )


def run(
    context: Context, found: Sequence[Target], suites: Sequence[str], command: str,
    on_row: Callable[[Row], None] = lambda row: None,
) -> Report:  # fmt: skip
    """The report. A suite that this machine cannot carry is noted, and the others go on; other errors end it."""
    rows: list[Row] = []
    facts = {}
    for target in found:
        context.say(f"{target.label}: hashing its files")
        facts[target.label] = target.facts()
        for name in suites:
            inside = replace(context, say=context.at(f"{name}, {target.label}"))
            try:
                for row in SUITES[name][0](inside, target):
                    rows.append(row)
                    on_row(row)
            except (CapacityError, DeviceError) as error:
                context.notes.append(f"{name}, {target.label}: left out: {error.message}")
                if len(found) == 1 and len(suites) == 1 and not rows:
                    raise
    if not rows and context.notes:
        raise LangduError(f"Nothing could be measured: {context.notes[-1]}.")
    return Report(now(), context.machine, machine.versions(), command, facts, tuple(rows), tuple(context.notes))


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
