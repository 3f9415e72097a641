"""The same model in bf16, 8, 6 and 4 bit: what each costs, and whether it still says the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from langdu.bench.context import Context
from langdu.bench.figures import Figure
from langdu.bench.hearing import Judged
from langdu.bench.measure import Session, chunks_of, repeat
from langdu.bench.model import Row
from langdu.bench.target import Target
from langdu.bench.texts import text
from langdu.quality.compare import compare

PRECISIONS = ("bf16", "8bit", "6bit", "4bit")
SUFFIX = re.compile(rf"(?:[-_](?:{'|'.join(PRECISIONS)}))?$")


def precision(context: Context, target: Target) -> Iterator[Row]:
    """The article's first paragraph by each precision found beside the target's folder, highest first. A folder
    without such a suffix counts as the highest."""
    found = siblings(target.folder) if target.folder is not None and target.spec.engine == "qwen3" else []
    if len(found) < 2:
        context.notes.append(f"precision, {target.label}: no second precision of this model is on this machine")
    highest: Judged | None = None
    paragraph = text("long", target.language).split("\n")[0]
    chunks = chunks_of(target, paragraph)
    for name, folder in found if len(found) > 1 else []:
        one = replace(target, spec=replace(target.spec, model=str(folder)), folder=folder)
        context.say(f"{name}, loading")
        with Session(one) as session:
            measured = repeat(session, chunks, context.repeats, context.at(name))
        context.say(f"{name}, listening")
        judged = context.listener.judge(one, chunks, measured.runs[-1].takes)
        highest = highest or judged
        figures = measured.figures() | judged.figures()
        if judged.heard and highest.heard:
            figures["agreement_cer"] = Figure.of([_apart(highest, judged, target.language)])
        facts = {"folder": folder.name, "size_mb": round(one.size_bytes / 1e6, 1),
                 "precision": session.info.precision} | judged.facts()  # fmt: skip
        yield Row("precision", target.label, name, figures, facts, judged.passed, judged.why)


def siblings(folder: Path) -> list[tuple[str, Path]]:
    """Folders of the same model beside this one, itself among them: (precision, folder), highest first."""
    stem = SUFFIX.sub("", folder.name)
    candidates = {"as it is": folder.parent / stem}
    candidates |= {bits: folder.parent / f"{stem}{joint}{bits}" for bits in PRECISIONS for joint in ("_", "-")
                   if (folder.parent / f"{stem}{joint}{bits}").is_dir()}  # fmt: skip
    return [(name, path) for name, path in candidates.items() if (path / "config.json").is_file()]


def _apart(highest: Judged, judged: Judged, language: str) -> float:
    return compare(str(highest.facts()["heard"]), str(judged.facts()["heard"]), language).cer
