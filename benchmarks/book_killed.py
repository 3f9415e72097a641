"""A real book, made with the built-in voice, killed three times with SIGKILL, edited once, verified.

    python benchmarks/book_killed.py [--out FOLDER] [--voice NAME] [--document FILE] [--chapters N]

Prints one JSON object and leaves the book and its report in FOLDER. Exit code 1 when a promise was not kept:
a finished take said again, a worker alive 5 s after the kill, more than one chunk said after the edit, or a file
that is not as long as its parts or not as loud as its profile asks.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from langdu.models.store import model_dir

ROOT = Path(__file__).resolve().parent.parent
KILLS_AT = (0.2, 0.45, 0.7)
"""Shares of the chunks after which the run is killed."""


class Run:
    """One `langdu book --json`, whose events are read as they come."""

    def __init__(self, arguments: list[str], data: Path) -> None:
        command = [sys.executable, "-m", "langdu", "book", *arguments, "--json"]
        environment = {**os.environ, "LANGDU_DATA_DIR": str(data)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self.started = time.perf_counter()

    def events(self) -> Any:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def kill(self) -> float:
        """SIGKILL the parent; seconds until its workers were gone."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        began = time.perf_counter()
        psutil.wait_procs(children, timeout=30)
        return time.perf_counter() - began


def kept(data: Path) -> int:
    from langdu.synthesis.takes import TakeStore

    with TakeStore(data / "takes") as store:
        return store.size()[0]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("book-demo"))
    parser.add_argument("--document", type=Path, default=ROOT / "examples" / "book.zh.md")
    parser.add_argument("--voice", default="zf_xiaobei")
    parser.add_argument("--chapters", type=int, help="only the first N chapters, for a short run")
    asked = parser.parse_args()
    out: Path = asked.out.resolve()
    data = out / "data"
    data.mkdir(parents=True, exist_ok=True)
    if not (data / "models").exists():
        (data / "models").symlink_to(model_dir("kokoro").parent)
    text = out / "book.md"
    text.write_text(asked.document.read_text("utf-8"), "utf-8")
    arguments = [str(text), "-o", str(out / "book.m4b"), "--voice", asked.voice]
    if asked.chapters:
        arguments += ["--to", str(asked.chapters)]

    broken: list[str] = []
    kills = []
    for share in KILLS_AT:
        before = kept(data)
        run = Run(arguments, data)
        takes = chunks = 0
        for event in run.events():
            chunks = event["chunks"] if event["event"] == "plan" else chunks
            takes += event["event"] == "take"
            if chunks and before + takes >= share * chunks:
                break
        gone_s = run.kill()
        after = kept(data)
        kills.append({"kept_before": before, "kept_after": after, "workers_gone_s": round(gone_s, 2)})
        if gone_s > 5:
            broken.append(f"workers lived {gone_s:.1f} s after the kill")
    finished = kept(data)
    whole = last_event(Run(arguments, data))
    if whole["said"] - whole["retries"] > whole["chunks"] - finished:
        broken.append(f"{whole['said']} said although {finished} of {whole['chunks']} were kept")

    text.write_text(text.read_text("utf-8").replace("外婆正在剥豆子", "外婆正在院子里剥豆子"), "utf-8")
    edited = last_event(Run(arguments, data))
    if edited["said"] - edited["retries"] != 1:
        broken.append(f"{edited['said']} chunks said after one sentence was edited")
    again = last_event(Run(arguments, data))
    if again["said"]:
        broken.append("the same book again said something")
    broken += edited["problems"]
    print(json.dumps({
        "characters": len(asked.document.read_text("utf-8")), "kills": kills, "whole": whole, "edited": edited,
        "again_times_real_time": round(again["audio_seconds"] / again["seconds"], 1), "broken": broken,
    }, ensure_ascii=False, indent=1))  # fmt: skip
    return 1 if broken else 0


def last_event(run: Run) -> dict[str, Any]:
    event: dict[str, Any] = {}
    for found in run.events():
        event = found
    if run.process.wait() not in (0, 1) or event.get("event") != "summary":
        raise SystemExit(f"langdu book ended with {run.process.returncode}")
    return event


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main())
