"""langdu bench: what a model costs on this machine, and whether it says what is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

SUITE_NAMES = ("short", "long", "cold", "burst", "scale", "precision", "memory", "quality")


@click.group("bench", invoke_without_command=True)
@click.option("--suite", "suites", multiple=True, type=click.Choice(SUITE_NAMES), help="Repeatable; default: all.")
@click.option("-v", "--voice", help="A persona or a built-in voice; default: the model's own.")
@click.option("--engine", type=click.Choice(["kokoro", "qwen3", "tone"]), help="Default: every one installed here.")
@click.option("--model", "models", multiple=True, help="Catalogue name or folder; repeatable.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1, 100), help="Counted runs of each.")
@click.option("--workers", type=click.IntRange(1), help="Most processes of the scale suite; default: what fits.")
@click.option("--transcript/--no-transcript", default=True, help="Listen to what was said.")
@click.option("--fixed-length", is_flag=True, help="Takes as long as their text (random weights): speed alone.")
@click.option("-o", "--output", "outputs", multiple=True, help="NAME.json, .html or .png; repeatable.")
@click.option("--keep/--no-keep", default=True, help="Keep the result in the history.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def command(
    ctx: click.Context, suites: tuple[str, ...], voice: str | None, engine: str | None, models: tuple[str, ...],
    repeats: int, workers: int | None, transcript: bool, fixed_length: bool, outputs: tuple[str, ...], keep: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Measure what is installed here: time, memory, and whether the words are right.

    Without a subcommand the suites run: short (30 characters), long (822), cold (a fresh process), burst (3 and 8
    requests at once), scale (1, 2, 4, … workers or slots), precision, memory and quality.
    """
    if ctx.invoked_subcommand is not None:
        return
    import sys

    from langdu.bench import history
    from langdu.bench.run import bench, run
    from langdu.cli.bench_output import check_outputs, print_report, write_outputs
    from langdu.cli.io import print_json

    check_outputs(outputs)
    line = " ".join(["langdu", *sys.argv[1:]])
    with progress() as say, bench(
        voice=voice, engine=engine or "", models=models, repeats=repeats, transcript=transcript,
        fixed_length=fixed_length, processes=workers, say=say,
    ) as (context, found):  # fmt: skip
        report = run(context, found, suites or SUITE_NAMES, line)
    path = history.keep(report) if keep else None
    write_outputs(report, outputs)
    if as_json:
        print_json(report.as_dict())
    else:
        print_report(report)
    if path is not None:
        click.echo(f"kept: {path}", err=True)
    if any(row.passed is False for row in report.rows):
        raise SystemExit(1)


@command.command("compare")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Show also what did not change.")
@click.option("--strict", is_flag=True, help="Exit with 1 when anything got worse.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare_command(before: Path, after: Path, everything: bool, strict: bool, as_json: bool) -> None:
    """BEFORE.json against AFTER.json: what changed beyond the spread of its repeats."""
    from langdu.bench.compare import compare
    from langdu.bench.model import read
    from langdu.cli.bench_output import print_compared
    from langdu.cli.io import print_json

    found = compare(read(before), read(after))
    print_json(found.as_dict()) if as_json else print_compared(found, everything=everything)
    if strict and (found.worse or any("failed" in line.split(", ")[-1] for line in found.verdicts)):
        raise SystemExit(1)


@command.command("ab")
@click.option("--a", "spec_a", required=True, help="ENGINE_OR_MODEL:VOICE, as kokoro:zf_xiaobei.")
@click.option("--b", "spec_b", required=True, help="The same for the other side.")
@click.option("--text", "file", help="A file with the text; default: the article of 822 characters.")
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1, 100), help="Counted runs of each.")
@click.option("--transcript/--no-transcript", default=True, help="Listen to what was said.")
@click.option("--fixed-length", is_flag=True, help="Takes as long as their text (random weights): speed alone.")
@click.option("-o", "--output", "outputs", multiple=True, help="NAME.json.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def ab_command(
    spec_a: str, spec_b: str, file: str | None, repeats: int, transcript: bool, fixed_length: bool,
    outputs: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """A against B: the same text, in turns; the ratio with its spread, and both transcripts against the text."""
    import json
    import tempfile

    from langdu.bench import ab, machine
    from langdu.bench.hearing import Listener
    from langdu.bench.run import now
    from langdu.bench.texts import text
    from langdu.cli.bench_output import check_outputs, print_ab
    from langdu.cli.io import print_json, text_argument
    from langdu.voices.library import write_atomic

    check_outputs(outputs, suffixes=(".json",))
    written = text_argument(None, file) if file is not None else None
    with progress() as say, tempfile.TemporaryDirectory(prefix="langdu-bench-") as folder:
        say("looking at the machine")
        facts = machine.describe()
        a, b = (ab.parse(spec, Path(folder), fixed_length=fixed_length) for spec in (spec_a, spec_b))
        listener = Listener.make(transcript=transcript and not fixed_length)
        found = ab.run(a, b, written or text("long", a.language), repeats=repeats, listener=listener, say=say)
        result = {"kind": "ab", "date": now(), "machine": facts, "versions": machine.versions()} | found.as_dict()
    for output in outputs:
        write_atomic(Path(output).absolute(), (json.dumps(result, ensure_ascii=False, indent=1) + "\n").encode())
    print_json(result) if as_json else print_ab(found)
    if found.a.judged.passed is False or found.b.judged.passed is False:
        raise SystemExit(1)


@command.command("chart")
@click.argument("result", type=click.Path(path_type=Path))
@click.option("-o", "--output", "outputs", multiple=True, required=True, help="NAME.html or .png; repeatable.")
def chart_command(result: Path, outputs: tuple[str, ...]) -> None:
    """Draw RESULT.json, made here or on another machine."""
    from langdu.bench.model import read
    from langdu.cli.bench_output import check_outputs, write_outputs

    check_outputs(outputs, suffixes=(".html", ".png"))
    write_outputs(read(result), outputs)


@command.command("history")
@click.option("--suite", "suites", multiple=True, type=click.Choice(SUITE_NAMES), help="Repeatable; default: all.")
@click.option("--figure", default="rtf", show_default=True, help="Which figure's trend.")
@click.option("--all-machines", is_flag=True, help="Results copied here from other machines too.")
@click.option("-o", "--output", "outputs", multiple=True, help="NAME.png: the trend as a chart.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def history_command(
    suites: tuple[str, ...], figure: str, all_machines: bool, outputs: tuple[str, ...], as_json: bool
) -> None:
    """How a figure went over all benches kept on this machine."""
    from langdu.bench import history, machine
    from langdu.bench.model import FIGURES
    from langdu.cli.bench_output import check_outputs, print_trend, write_trend
    from langdu.cli.io import print_json
    from langdu.errors import SettingError

    if figure not in FIGURES:
        raise SettingError(f'There is no figure "{figure}".', hint=f"Known: {', '.join(FIGURES)}.")
    check_outputs(outputs, suffixes=(".png",))
    found, problems = history.kept(None if all_machines else machine.describe()["id"])
    for problem in problems:
        click.echo(problem, err=True)
    lines = {
        key: points for key, points in history.trend(found, figure=figure).items() if not suites or key[0] in suites
    }
    for output in outputs:
        write_trend(lines, figure, Path(output))
    if as_json:
        print_json({"figure": figure, "trend": [
            {"suite": key[0], "target": key[1], "setup": key[2], "points": [
                {"date": point.date, "langdu": point.langdu, **point.row.figures[figure].as_dict()}
                for point in points]}
            for key, points in lines.items()]})  # fmt: skip
    else:
        print_trend(lines, figure)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line that says what is being measured and for how long; nothing where stderr is a pipe."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    columns: Any = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda step: bar.update(task, description=step)
