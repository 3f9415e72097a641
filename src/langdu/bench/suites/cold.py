"""What a user waits for who types a command: interpreter, imports, model, voice, sound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langdu.bench.context import Context
from langdu.bench.figures import Figure
from langdu.bench.model import Row
from langdu.bench.target import Target
from langdu.bench.texts import text
from langdu.bench.voice import NAME
from langdu.errors import EngineError
from langdu.settings import settings
from langdu.voices.library import Library

FIRST_READ = 1 << 12


def cold(context: Context, target: Target) -> Iterator[Row]:
    """`langdu say` in a process of its own, its sound read from its output as it comes. One run before the counted
    ones brings the files into the system's cache, so this is a fresh process, not a machine that has just started.
    """
    command, environment = _command(context, target)
    found: list[dict[str, Any]] = []
    for number in range(context.repeats + 1):
        context.say(f"run {number} of {context.repeats}" if number else "warming the file cache")
        found.append(_timed(command, environment))
    runs = found[1:]
    figures = {name: Figure.of(run[name] for run in runs) for name in ("first_sound_s", "seconds", "audio_s")}
    figures["rtf"] = Figure.of(run["seconds"] / run["audio_s"] for run in runs)
    figures["load_s"] = Figure.of(run["load_s"] for run in runs)
    figures["peak_memory_mb"] = Figure.of([max(run["peak_memory_mb"] for run in runs)])
    ended = None if target.fixed_length else not any(run["faults"] for run in runs)
    why = "" if ended else "not judged: the lengths were fixed" if ended is None else "a take ran into its frame budget"
    facts = {"characters": 30, "command": "langdu " + " ".join(command[3:])}
    yield Row("cold", target.label, "fresh process", figures, facts, ended, why)


def _command(context: Context, target: Target) -> tuple[list[str], dict[str, str]]:
    """The command, and the environment in which the voice of this bench has a library of its own."""
    environment = dict(os.environ)
    if target.persona.name == NAME:
        environment["LANGDU_DATA_DIR"] = str(_home(context.work, target))
    command = [sys.executable, "-m", "langdu", "say", text("short", target.language), "-v", target.persona.name]
    if target.spec.engine != "tone":
        command += ["--engine", target.spec.engine]
    if target.spec.model:
        command += ["--model", target.spec.model]
    return [*command, "-o", "-", "--format", "pcm", "--json"], environment


def _home(work: Path, target: Target) -> Path:
    """A data folder with the same models and only the bench's voice."""
    home = work / f"home-{target.persona.content_hash()[:8]}"
    if not home.is_dir():
        (home / "voices").mkdir(parents=True)
        if settings().models_dir.is_dir():
            (home / "models").symlink_to(settings().models_dir)
        Library(home / "voices" / "personas.json").add(target.persona)
    return home


def _timed(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            first = process.stdout.read(FIRST_READ)
            first_s = time.perf_counter() - started
            while process.stdout.read(1 << 20):
                pass
            lines = process.stderr.read().decode(errors="replace").strip().splitlines()
            status = process.wait()
        except BaseException:
            process.terminate()
            raise
    seconds = time.perf_counter() - started
    if status not in (0, 1) or not first:
        raise EngineError(f"A fresh `langdu say` failed: {lines[-1] if lines else f'exit code {status}'}")
    facts = json.loads(next(line for line in reversed(lines) if line.startswith("{")))
    return {
        "first_sound_s": first_s, "seconds": seconds, "audio_s": facts["audio_seconds"],
        "load_s": facts["load_seconds"], "peak_memory_mb": facts["peak_memory_mb"], "faults": facts["faults"],
    }  # fmt: skip
