"""langdu voices audit and confirm."""

from __future__ import annotations

from pathlib import Path

import click

from langdu.cli import complete


@click.command("audit")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--listen", is_flag=True, help="Transcribe every clip and compare it with its transcript.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def audit(file: Path | None, listen: bool, as_json: bool) -> None:
    """What each persona uses, what has no effect, what is missing. Exit code 1 when something is wrong."""
    from langdu.cli.io import print_json
    from langdu.cli.voices_add import checker
    from langdu.errors import VoiceError
    from langdu.settings import settings
    from langdu.voices.audit import CAPABILITIES
    from langdu.voices.audit import audit as check
    from langdu.voices.library import Library

    if file is not None and not file.is_file():
        raise VoiceError(f"{file} is not there.")
    library = Library(file)
    rows = check(library, checker(settings().checker) if listen else None)
    wrong = bool(library.problems) or any(row.wrong or row.cannot_run for row in rows)
    if as_json:
        problems = [{"line": p.line, "name": p.name, "reason": p.reason} for p in library.problems]
        print_json({"file": str(library.path), "personas": [r.as_dict() for r in rows], "problems": problems})
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table("name", "kind", "engine", *CAPABILITIES, "settings", box=None, pad_edge=False)
        for row in rows:
            ignored = [f"{name} (ignored)" for name in row.settings_ignored]
            table.add_row(
                row.name, row.kind, row.engine, *(row.uses[name] or "-" for name in CAPABILITIES),
                ", ".join(row.settings_used + ignored) or "-",
            )  # fmt: skip
        Console(width=None if Console().is_terminal else 160).print(table)
        for problem in library.problems:
            click.echo(f"{library.path}: {problem}")
        for row in rows:
            for text in row.wrong:
                click.echo(f"{row.name}: {text}")
            for text in row.remarks:
                click.echo(f"{row.name}: note: {text}")
            if row.cannot_run:
                click.echo(f"{row.name}: cannot run here: {row.cannot_run}")
    if wrong:
        raise SystemExit(1)


@click.command("confirm")
@click.argument("name", shell_complete=complete.personas)
@click.option("--text", help="The right transcript; default: the one on file is right.")
def confirm(name: str, text: str | None) -> None:
    """Say that you have read a clone's transcript and that it is right."""
    from langdu.audio.read import read
    from langdu.cli.voices_add import checker
    from langdu.errors import VoiceError
    from langdu.text.language import language_of
    from langdu.voices.library import Library
    from langdu.voices.persona import ClonePersona
    from langdu.voices.reference import match

    library = Library()
    persona = library.find(name)
    if not isinstance(persona, ClonePersona):
        raise VoiceError(f'"{name}" is no clone; it has no transcript.')
    if text is not None and not text.strip():
        raise VoiceError("The transcript is blank.")
    words = persona.transcript if text is None else text.strip()
    listener = checker(None) if text is not None and persona.clip.is_file() else None
    if listener is not None:
        heard = listener.hear(*read(persona.clip), persona.language).text
        match(words, heard, persona.language or language_of(words), persona.clip)
    library.update(persona.model_copy(update={"transcript": words, "transcript_by": "person"}))
    click.echo(f"{name}: {words}")


@click.command("compare")
@click.argument("a", shell_complete=complete.voices)
@click.argument("b", shell_complete=complete.voices)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(a: str, b: str, as_json: bool) -> None:
    """How alike two voices are: personas, built-in voices or sound files."""
    from langdu.cli.io import print_json
    from langdu.voices import similar
    from langdu.voices.library import Library

    found = similar.compare(a, b, Library())
    if as_json:
        print_json(found.as_dict())
        return
    words = {"same": "one voice", "unclear": "could be one voice", "different": "two voices"}
    click.echo(
        f"{found.cosine:.2f}: {words[found.verdict]} (same from {similar.SAME}, different under {similar.OTHER})"
    )
    click.echo(f"{a}: {found.sources[0]}; {b}: {found.sources[1]}; encoder {found.encoder}")
