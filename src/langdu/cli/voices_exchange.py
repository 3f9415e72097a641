"""langdu voices export and import."""

from __future__ import annotations

from pathlib import Path

import click

from langdu.cli import complete


@click.command("export")
@click.argument("name", shell_complete=complete.personas)
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an existing file.")
def export(name: str, target: Path, force: bool) -> None:
    """Write a persona, its clip and its consent to a zip file."""
    from langdu.voices.exchange import export as write
    from langdu.voices.library import Library

    write(Library().get(name), target, force=force)
    click.echo(str(target))


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--name", help="Take the persona of a zip in under this name.")
@click.option("--yes-i-have-consent", "consent", is_flag=True, help="The speakers have agreed (voxflow clones).")
def import_(source: Path, name: str | None, consent: bool) -> None:
    """Take in a zip made by export, or the personas.json of voxflow."""
    from langdu.voices import exchange, voxflow
    from langdu.voices.adding import consent_now
    from langdu.voices.library import Library

    library = Library()
    if source.suffix.casefold() != ".json":
        click.echo(f"added {exchange.load(source, library, name=name).name}")
        return
    from langdu.cli.voices_add import checker

    found = voxflow.load(source, library, consent=consent_now() if consent else "", checker=checker(None))
    for one in found:
        click.echo(f"{one.name}: {one.kind or 'NOT taken'}{f' ({one.note})' if one.note else ''}")
    if not all(one.kind for one in found):
        raise SystemExit(1)
