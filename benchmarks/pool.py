"""The pool on the 822-character article: one worker against two, whole process, in one run.

    python benchmarks/pool.py [--repeats 2] [--out benchmarks/results/NAME.json]

Prints throughput, RTF (seconds of work per second of delivered sound; lower is better), memory for each
worker, the first sound of a cold short sentence and what it is spent on, and how well each text is understood.
Run it with nothing else on the machine: two workers want two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ARTICLE = ROOT / "examples" / "long.zh.txt"
PAGE = ROOT / "examples" / "page.en.txt"
MIXED = ROOT / "examples" / "mixed.txt"
SENTENCE = "今天的会议改到下午三点。"


def say(*arguments: str) -> dict[str, Any]:
    """One cold `langdu say`: its facts, and the wall time of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "langdu", "say", *arguments, "-o", f"{folder}/out.wav", "--json"],
            stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        wall = time.perf_counter() - started
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts | {"wall": wall}


def median(runs: list[dict[str, Any]], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a folder for the JSON, or a name ending in .json")
    options = parser.parse_args()
    runs: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    for _ in range(options.repeats):  # interleaved, so that a busy minute falls on both
        for workers in runs:
            runs[workers].append(say("-f", str(ARTICLE), "--workers", str(workers)))
    cold = [say(SENTENCE) for _ in range(3)]
    heard = {
        "article": say("-f", str(ARTICLE), "--verify")["verify"],
        "page": say("-f", str(PAGE), "-v", "af_heart", "--verify")["verify"],
        "mixed": say("-f", str(MIXED), "--verify")["verify"],
    }
    rows = [
        {
            "workers": workers,
            "seconds": median(found, "wall"),
            "audio_seconds": median(found, "audio_seconds"),
            "rtf": median(found, "wall") / median(found, "audio_seconds"),
            "chunks": found[0]["chunks"],
            "memory_per_worker_mb": median(found, "peak_memory_mb") / workers,
        }
        for workers, found in runs.items()
    ]
    ratio = rows[0]["rtf"] / rows[1]["rtf"]
    print(f"two workers against one: {ratio:.2f} times the throughput")
    for row in rows:
        print(
            f"{row['workers']} worker(s): {row['seconds']:.1f} s for {row['audio_seconds']:.1f} s of sound, "
            f"RTF {row['rtf']:.3f} (lower is better), {row['chunks']} chunks, "
            f"{row['memory_per_worker_mb']:.0f} MB a worker"
        )
    first = {name: median(cold, name) for name in ("wall", "load_seconds", "first_sound_seconds")}
    start = first["wall"] - median(cold, "seconds")
    print(
        f"cold short sentence: first sound after {start + first['first_sound_seconds']:.2f} s "
        f"(interpreter and imports {start:.2f}, worker ready {first['load_seconds']:.2f} later, then synthesis)"
    )
    for name, verdict in heard.items():
        wer = "" if verdict["wer"] is None else f", WER {verdict['wer']:.3f}"
        print(f"{name}: CER {verdict['cer']:.3f}{wer}")
    if options.out:
        scores = {name: {"cer": verdict["cer"], "wer": verdict["wer"]} for name, verdict in heard.items()}
        machine = f"{platform.machine()}, {os.cpu_count()} cores"
        facts = {"machine": machine, "date": time.strftime("%Y-%m-%d"), "ratio": ratio, "rows": rows, "cold": first,
                 "start": start, "heard": scores}  # fmt: skip
        name = f"{facts['date']}-pool-{platform.machine()}-{os.cpu_count()}-cores.json"
        path = options.out if options.out.suffix == ".json" else options.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
