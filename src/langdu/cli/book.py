"""langdu book: one verified file (or one for each chapter) from a long document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langdu.cli import complete
from langdu.cli.options import ScriptChoices, script_options

if TYPE_CHECKING:
    from langdu.synthesis.book import Summary


@click.command("book")
@click.argument("document", shell_complete=complete.files)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="m4b, mp3, flac, opus, wav, …")
@click.option(
    "-v",
    "--voice",
    help="A persona or a built-in voice; default: by the text's language.",
    shell_complete=complete.voices,
)
@click.option("--cast", "cast_file", help="A TOML file: the persona of each role of the text.")
@script_options
@click.option("--loudness", default="podcast", show_default=True, help="podcast, acx, broadcast or none.")
@click.option("--from", "first", default=1, show_default=True, help="First chapter.")
@click.option("--to", "last", type=int, help="Last chapter.")
@click.option("--split", is_flag=True, help="One file for each chapter.")
@click.option("--subtitles/--no-subtitles", default=True, show_default=True, help="SRT and VTT beside the output.")
@click.option("--check/--no-check", default=True, show_default=True, help="Listen to every chunk.")
@click.option("--retries", type=click.IntRange(0, 5), help="Sayings after a fault; default: the setting max_retries.")
@click.option("--workers", default="auto", show_default=True, help="Processes, or auto.")
@click.option("--force", is_flag=True, help="Start more workers than the machine carries.")
@click.option("--speed", default=1.0, show_default=True, help="0.25 to 4, where the engine can.")
@click.option("--engine", type=click.Choice(["kokoro", "qwen3"]), help="Default: the voice's own.")
@click.option("--model", default="", help="Catalogue name or folder of the engine's model.")
@click.option("--cluster", default="", help="Say the chunks on a Dask cluster: tcp://host:8786.")
@click.option("--overwrite", is_flag=True, help="Replace an output that no book made here has written.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines; the last one is the summary.")
def command(
    document: str, output: Path, voice: str | None, cast_file: str | None, choices: ScriptChoices, loudness: str,
    first: int, last: int | None, split: bool, subtitles: bool, check: bool, retries: int | None, workers: str,
    force: bool, speed: float, engine: str | None, model: str, cluster: str, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Make a book from DOCUMENT. Stopped or killed, the same command goes on where it was."""
    from dataclasses import replace

    from langdu.cli.say import _workers
    from langdu.errors import Cancelled
    from langdu.synthesis.book import Book, BookRequest
    from langdu.synthesis.casting import Cast
    from langdu.text.documents import read_document

    source = choices.sections(read_document(document))
    for note in source.notes:
        click.echo(note, err=True)
    roles = Cast.read(cast_file).roles if cast_file else {}
    options = choices.options(document)
    request = BookRequest(
        source, output, document, voice, roles, replace(options, dialogue=choices.dialogue or bool(cast_file)),
        loudness=loudness, first_chapter=first, last_chapter=last, split=split, subtitles=subtitles, check=check,
        retries=retries, workers=_workers(workers), force=force, speed=speed, overwrite=overwrite, cluster=cluster,
        engine=engine or "", model=model, language=choices.language, cap=choices.cap,
    )  # fmt: skip
    book = Book(request)
    for warning in (*book.script.warnings, *book.casting.plan.warnings):
        click.echo(f"{document}: {warning}", err=True)
    try:
        with _json_lines() if as_json else _bar() as on_event:
            summary = book.make(on_event)
    except KeyboardInterrupt:
        raise Cancelled("Stopped.", hint="What was said is kept; the same command goes on from there.") from None
    if not as_json:
        _print(summary)
    if summary.faults or summary.problems:
        raise SystemExit(1)


@contextmanager
def _json_lines() -> Iterator[Callable[[dict[str, Any]], None]]:
    yield lambda event: click.echo(json.dumps(event, ensure_ascii=False))


@contextmanager
def _bar() -> Iterator[Callable[[dict[str, Any]], None]]:
    """Chapter, chunks, RTF, time left and faults so far on a terminal; nothing where stderr is a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda event: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def show(event: dict[str, Any]) -> None:
            if event["event"] == "chunk":
                what = f"chapter {event['chapter']}/{event['chapters']}, chunk {event['chunk']}"
                what += "" if event["rtf"] is None else f", RTF {event['rtf']:.2f}"
                what += f", {event['faults_so_far']} faults" if event["faults_so_far"] else ""
                what += "" if event["left_s"] is None else f", {_clock(event['left_s'])} left"
                bar.update(task, description=what, completed=event["done"], total=event["chunks"])
            elif event["event"] == "render":
                bar.update(task, description="levelling again")

        yield show


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"


def _print(summary: Summary) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    files = summary.outputs
    rows = [
        ("file", files[0] if len(files) == 1 else f"{len(files)} files, {files[0]} …"),
        ("sound", f"{summary.audio_seconds:.1f} s in {summary.chunks} chunks"),
        ("chunks", f"{summary.said} said ({summary.retries} again), {summary.reused} reused"),
        ("time", f"{summary.seconds:.1f} s with {summary.workers} workers"),
        ("RTF", f"{summary.rtf:.2f} (seconds of work per second of sound; lower is better)"),
        ("loudness", f"{summary.lufs:.1f} LUFS, true peak {summary.true_peak_db:.1f} dBTP"),
        ("report", summary.report),
        *(("fault", f"{fault['chunk']}: {', '.join(fault['faults'])}") for fault in summary.faults),
        *(("not as asked", problem) for problem in summary.problems),
    ]
    if summary.inconclusive:
        rows.append(("to hear", f"{summary.inconclusive} chunks could not be judged; see the report"))
    for name, value in rows:
        table.add_row(f"[bold]{name}[/bold]", value)
    Console(stderr=True).print(table)
