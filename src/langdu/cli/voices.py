"""langdu voices: the user's personas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from langdu.cli import complete, voices_add, voices_check, voices_exchange


@click.group("voices")
def command() -> None:
    """Add, check, compare and exchange voices."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> None:
    """Every voice that can be asked for: your personas, then the built-in voices."""
    from langdu.cli.io import print_json
    from langdu.voices.library import Library
    from langdu.voices.listing import rows

    library = Library()
    found = rows(library)
    if as_json:
        print_json({"voices": found, "problems": [str(problem) for problem in library.problems]})
        return
    from rich.console import Console
    from rich.table import Table

    columns = ("name", "kind", "language", "gender", "engine", "licence", "note")
    table = Table(*columns, box=None, pad_edge=False)
    for row in found:
        table.add_row(*(row[key] for key in columns))
    Console().print(table)
    report_problems(library)


@command.command()
@click.argument("name", shell_complete=complete.voices)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(name: str, as_json: bool) -> None:
    """All that a persona is made of."""
    from langdu.cli.io import print_json
    from langdu.voices.library import Library

    persona = Library().find(name)
    value: dict[str, Any] = persona.model_dump(mode="json")
    if as_json:
        print_json(value)
        return
    for key, item in value.items():
        if item not in ("", None, {}, False):
            click.echo(f"{key + ':':16}{item}")


@command.command()
@click.argument("old", shell_complete=complete.personas)
@click.argument("new")
def rename(old: str, new: str) -> None:
    """Give a persona another name. Takes made with it stay valid: they go by its content."""
    from langdu.voices.library import Library

    Library().rename(old, new)
    click.echo(f"{old} is now {new}")


@command.command()
@click.argument("name", shell_complete=complete.personas)
def remove(name: str) -> None:
    """Take a persona out; its processed clip goes too. personas.json.bak keeps the entry."""
    from langdu.voices.library import Library

    click.echo(f"removed {Library().remove(name).name}")


@command.command()
def schema() -> None:
    """JSON Schema of personas.json, for an editor."""
    from langdu.cli.io import print_json
    from langdu.voices.library import schema as made

    print_json(made())


@command.command()
@click.argument("name", shell_complete=complete.voices)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write a file instead of playing.")
@click.option("--text", help="Say this instead of the standard sentence.")
def preview(name: str, output: Path | None, text: str | None) -> None:
    """Say a standard sentence in the persona's language."""
    from langdu.cli.say import run
    from langdu.synthesis.say import SayRequest
    from langdu.voices.library import Library
    from langdu.voices.listing import language_of
    from langdu.voices.sentences import SENTENCES

    language = language_of(Library().get(name))
    request = SayRequest(text or SENTENCES[language], name, live=output is None)
    facts, _ = run(request, str(output) if output else None, None, verify=False, talkative=True)
    click.echo(f"{facts.voice}: {facts.audio_seconds:.1f} s, {facts.engine} {facts.model} -> {facts.output}")


def report_problems(library: Any) -> None:
    for problem in library.problems:
        click.echo(f"{library.path}: {problem}", err=True)


for _command in (
    voices_add.add,
    voices_check.audit,
    voices_check.confirm,
    voices_check.compare,
    voices_exchange.export,
    voices_exchange.import_,
):
    command.add_command(_command)
