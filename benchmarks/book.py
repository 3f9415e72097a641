"""What the book pipeline costs: over bare synthesis, with checking, from cache, and in memory.

    python benchmarks/book.py [--chapters N] [--only synthesis|cache|memory]

synthesis  the pool alone (chunks said, sound thrown away), the book without checking, the book with checking;
           two workers each, all in one run. Wanted: at most 1.05 and 1.35 times.
cache      the same book again from kept takes, as m4b. Wanted: at least 50 times real time.
memory     300,000 characters from takes of the tone engine, each with a verdict and the times of its words.
           Wanted: under 500 MB, peak of the process.
Prints one JSON object. The parts run in processes of their own, so that memory and start-up are theirs.
On two cores: synthesis and cache about TIME minutes, memory about two.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from langdu.models.store import model_dir
from langdu.quality.transcript import Word
from langdu.quality.verdict import Verdict, ending_verdict
from langdu.synthesis.book import Book, BookRequest
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import Job
from langdu.text.documents import read_document
from langdu.text.model import Document, Paragraph, Section

ROOT = Path(__file__).resolve().parent.parent
CHARACTERS = 300_000


def request(folder: Path, chapters: int | None, *, check: bool) -> BookRequest:
    source = read_document(ROOT / "examples" / "book.zh.md")
    return BookRequest(source, folder / "book.m4b", voice="zf_xiaobei", check=check, workers=2, last_chapter=chapters)


def bare(folder: Path, chapters: int | None) -> dict[str, Any]:
    book = Book(request(folder, chapters, check=False))
    started = time.perf_counter()
    spec = book.casting.spec_of(book.chunks[0])
    with Pool(spec, 2, personas=[book.chunks[0].persona]) as pool:
        for outcome in pool.run(Job(chunk) for chunk in book.chunks):
            assert outcome.take is not None
    return {"seconds": time.perf_counter() - started}


def made(folder: Path, chapters: int | None, *, check: bool) -> dict[str, Any]:
    summary = Book(request(folder, chapters, check=check)).make()
    return summary.as_dict()


class Timekeeper:
    """A judge that listens to nothing and gives every character a time: what a checked book has to hold."""

    name = "benchmark/1"

    def __call__(self, chunk: Chunk, take: Take) -> tuple[Verdict, tuple[Word, ...]]:
        each = take.audio_seconds / len(chunk.text)
        return ending_verdict(take), tuple(Word(c, n * each, (n + 1) * each) for n, c in enumerate(chunk.text))


def long_book(folder: Path) -> dict[str, Any]:
    line = "这一段文字只是为了让书变得很长，里面没有什么故事，一共写了三十多个字。"
    count = CHARACTERS // (len(line) + 6)
    paragraphs = [Paragraph(f"第{n}段。{line}") for n in range(count)]
    sections = tuple(Section(f"第{n}章", tuple(paragraphs[n::60])) for n in range(60))
    base = BookRequest(Document("长书", "", "zh", sections), folder / "long.m4b", voice="tone", check=False)
    wanted = replace(base, workers=2, engine_options={"speech_s": 0.04})
    summary = Book(wanted).make(judge=Timekeeper())
    return {
        "characters": sum(len(p.text) for p in paragraphs), "chunks": summary.chunks, "said": summary.said,
        "audio_seconds": summary.audio_seconds, "seconds": summary.seconds,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip


def part(name: str, folder: Path, data: Path, chapters: int | None) -> dict[str, Any]:
    command = [sys.executable, __file__, "--part", name, "--folder", str(folder)]
    command += ["--chapters", str(chapters)] if chapters else []
    environment = {**os.environ, "LANGDU_DATA_DIR": str(data)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def fresh(folder: Path, name: str) -> Path:
    data = folder / name
    data.mkdir()
    (data / "models").symlink_to(model_dir("kokoro").parent)
    return data


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chapters", type=int)
    parser.add_argument("--only", choices=["synthesis", "cache", "memory"])
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        parts = {
            "bare": lambda: bare(asked.folder, asked.chapters),
            "made": lambda: made(asked.folder, asked.chapters, check=False),
            "checked": lambda: made(asked.folder, asked.chapters, check=True),
            "long": lambda: long_book(asked.folder),
        }
        print(json.dumps(parts[asked.part]()))
        return
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = fresh(folder, "plain")
        if asked.only in (None, "synthesis", "cache"):
            base = part("bare", folder, plain, asked.chapters)["seconds"] if asked.only != "cache" else 0.0
            unchecked = part("made", folder, plain, asked.chapters)
            if base:
                checked = part("checked", folder, fresh(folder, "checked"), asked.chapters)
                result |= {
                    "bare_seconds": base, "unchecked_seconds": unchecked["seconds"],
                    "checked_seconds": checked["seconds"], "audio_seconds": unchecked["audio_seconds"],
                    "overhead": unchecked["seconds"] / base - 1,
                    "checked_over_unchecked": checked["seconds"] / unchecked["seconds"],
                }  # fmt: skip
            cached = part("made", folder, plain, asked.chapters)
            result["cached_times_real_time"] = cached["audio_seconds"] / cached["seconds"]
        if asked.only in (None, "memory"):
            data = fresh(folder, "long")
            part("long", folder, data, None)
            result["long"] = part("long", folder, data, None)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
