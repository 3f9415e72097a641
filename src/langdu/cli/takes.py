"""langdu takes: the takes of a book, by chapter.chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from langdu.synthesis.project import Project
    from langdu.synthesis.takes import Kept, TakeStore

BOOK = click.option("--book", "book", help="The book's output; default: the book made last.")


@click.group("takes")
def command() -> None:
    """List, play, redo, accept or reject the takes of a book; CHUNK is chapter.number, such as 3.17.

    A changed choice is heard after the next `langdu book`, which says nothing again and only renders.
    Chunks with the same words and voice share their takes.
    """


@contextmanager
def _opened(book: str | None) -> Iterator[tuple[Project, TakeStore]]:
    from langdu.settings import settings
    from langdu.synthesis import project
    from langdu.synthesis.takes import TakeStore

    found = project.load(book)
    with TakeStore(settings().takes_dir) as store:
        yield found, store


def _chosen(store: TakeStore, key: str, name: str, number: int | None) -> Kept:
    """Take `number` of a chunk, counted from 1 as `list` shows them; None: the one in use."""
    from langdu.errors import InputError

    takes = store.of(key)
    found = (
        store.choice(key) if number is None else next(iter(takes[number - 1 : number]), None) if number > 0 else None
    )
    if found is None:
        what = "no usable take" if number is None else f"no take {number}"
        raise InputError(f"Chunk {name} has {what}.", hint=f"It has {len(takes)}; langdu takes list shows them.")
    return found


@command.command("list")
@click.argument("chunk", required=False)
@BOOK
@click.option("--faults", is_flag=True, help="Only chunks that are faulty or doubtful.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(chunk: str | None, book: str | None, faults: bool, as_json: bool) -> None:
    """Takes of every chunk, or of CHUNK; * marks the one in use."""
    from langdu.cli.io import print_json

    with _opened(book) as (project, store):
        chunks = [project.find(chunk)] if chunk else list(project.chunks)
        rows: list[dict[str, Any]] = []
        for one in chunks:
            used = store.choice(one.key)
            if faults and (used is None or used.outcome not in ("fault", "inconclusive")):
                continue
            takes = [_row(number, kept, used) for number, kept in enumerate(store.of(one.key), 1)]
            rows.append({"chunk": one.name, "text": one.text, "takes": takes})
    if as_json:
        print_json({"output": project.output, "chunks": rows})
        return
    for row in rows:
        click.echo(f"{row['chunk']:>7}  {str(row['text'])[:60]}")
        for take in row["takes"]:
            mark = "*" if take["used"] else " "
            cer = "" if take["cer"] is None else f", CER {take['cer']:.2f}"
            cer += "" if take["sound_error"] is None else f" (by sound {take['sound_error']:.2f})"
            state = "" if take["state"] == "made" else f", {take['state']}"
            click.echo(
                f"        {mark} {take['take']}: {take['audio_seconds']:.1f} s, seed {take['seed']}, "
                f"{take['outcome']}{cer}{state}{', '.join(['', *take['faults']])}"
            )


def _row(number: int, kept: Kept, used: Kept | None) -> dict[str, Any]:
    verdict = kept.verdict or {}
    return {
        "take": number, "used": used is not None and used.id == kept.id, "seed": kept.seed, "state": kept.state,
        "outcome": kept.outcome, "cer": verdict.get("cer"), "sound_error": verdict.get("sound_error"),
        "audio_seconds": round(kept.audio_seconds, 2),
        "faults": [finding["name"] for finding in verdict.get("findings", []) if finding["level"] == "fault"],
    }  # fmt: skip


@command.command()
@click.argument("chunk")
@click.argument("take", type=int, required=False)
@BOOK
def play(chunk: str, take: int | None, book: str | None) -> None:
    """Play a take of CHUNK: the one in use, or TAKE by its number."""
    from langdu.audio.play import Player
    from langdu.errors import MachineError

    with _opened(book) as (project, store):
        kept = _chosen(store, project.find(chunk).key, chunk, take)
        audio = store.load(kept)
    if audio is None:
        raise MachineError(f"The sound of {chunk} is gone from disk.", hint="Run langdu book once more.")
    with Player(kept.rate_hz) as player:
        player.write(audio)


@command.command()
@click.argument("chunk")
@click.argument("take", type=int, required=False)
@BOOK
def accept(chunk: str, take: int | None, book: str | None) -> None:
    """Use this take of CHUNK, whatever its verdict."""
    with _opened(book) as (project, store):
        kept = _chosen(store, project.find(chunk).key, chunk, take)
        store.accept(kept.id)
    click.echo(f"{chunk}: the take with seed {kept.seed} is used from now on.", err=True)


@command.command()
@click.argument("chunk")
@click.argument("take", type=int, required=False)
@BOOK
def reject(chunk: str, take: int | None, book: str | None) -> None:
    """Never use this take of CHUNK; the next best is used, or the chunk is said anew."""
    with _opened(book) as (project, store):
        one = project.find(chunk)
        kept = _chosen(store, one.key, chunk, take)
        store.reject(kept.id)
        left = store.choice(one.key)
    then = "the next run says it anew" if left is None else f"the take with seed {left.seed} is used instead"
    click.echo(f"{chunk}: rejected; {then}.", err=True)


@command.command()
@click.argument("chunk")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Default: the next one in order.")
@click.option("--check/--no-check", default=True, show_default=True, help="Listen to the new take.")
@BOOK
def redo(chunk: str, seed: int | None, check: bool, book: str | None) -> None:
    """Say CHUNK once more and use the new take, unless it is faulty."""
    from langdu.synthesis.redo import redo as say_again

    with _opened(book) as (project, store):
        kept, deterministic = say_again(project.find(chunk), store, seed=seed, check=check)
    if deterministic:
        click.echo("This engine gives the same sound whatever the seed.", err=True)
    faults = [f["name"] for f in (kept.verdict or {}).get("findings", []) if f["level"] == "fault"]
    click.echo(
        f"{chunk}: {kept.audio_seconds:.1f} s, seed {kept.seed}, {kept.outcome}{', '.join(['', *faults])}", err=True
    )
    if kept.outcome == "fault":
        click.echo(f"It is kept, but not used; langdu takes accept {chunk} N uses it all the same.", err=True)
        raise SystemExit(1)


@command.command()
@click.option("--older-than-days", type=click.FloatRange(min=0), help="Drop takes not used for so long.")
@click.option("--keep-gb", type=click.FloatRange(min=0), help="Then drop the longest unused until so much is left.")
def prune(older_than_days: float | None, keep_gb: float | None) -> None:
    """Drop takes of all books, by age and size. Nothing is ever dropped unasked."""
    from langdu.errors import SettingError
    from langdu.settings import settings
    from langdu.synthesis.takes import TakeStore

    if older_than_days is None and keep_gb is None:
        raise SettingError("Say which takes may go.", hint="Use --older-than-days N, --keep-gb N, or both.")
    with TakeStore(settings().takes_dir) as store:
        age = None if older_than_days is None else older_than_days * 86400
        most = None if keep_gb is None else int(keep_gb * 1e9)
        takes, freed = store.prune(older_than_s=age, most_bytes=most)
        left, size = store.size()
    click.echo(f"{takes} takes dropped ({freed / 1e6:.1f} MB); {left} kept ({size / 1e6:.1f} MB).", err=True)
