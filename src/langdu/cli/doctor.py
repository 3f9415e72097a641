"""langdu doctor: what this machine can run, what is wrong, and the one command that mends each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from langdu.doctor.examine import Diagnosis

STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "bold red"}


@click.command("doctor")
@click.option("--quick", is_flag=True, help="Import, time and hash nothing, and do not make the default voice speak.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(quick: bool, as_json: bool) -> None:
    """What this machine can run, what is wrong, and the one command that mends each.

    Ends with 0 when no finding is an error, 1 when one is, 3 when the default voice cannot speak.
    """
    import sys

    from langdu.cli.io import print_json
    from langdu.cli.progress import told
    from langdu.doctor.examine import examine

    with told("looking at") as status:
        found = examine(quick=quick, step=status)
    if as_json:
        print_json(found.as_dict())
    else:
        (_table if sys.stdout.isatty() else _lines)(found)
        click.echo(_summary(found))
    if found.exit_code:
        raise SystemExit(found.exit_code)


def _table(found: Diagnosis) -> None:
    """What, under it why, under that the command: commands keep their line as far as the terminal is wide."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("", "", box=None, pad_edge=False, show_header=False)
    for one in found.findings:
        text = Text(one.what)
        if one.reason:
            text.append(f"\n{one.reason}", "dim")
        if one.command:
            text.append(f"\n$ {one.command}", "bold")
        table.add_row(Text(one.level, STYLES[one.level]), text)
    Console().print(table)


def _lines(found: Diagnosis) -> None:
    """One line a finding, for pipes."""
    for one in found.findings:
        cells = (one.level, one.what, one.reason, one.command)
        click.echo("\t".join(" ".join(cell.split()) for cell in cells))


def _summary(found: Diagnosis) -> str:
    from langdu.doctor.finding import LEVELS

    counts = [(level, sum(one.level == level for one in found.findings)) for level in reversed(LEVELS)]
    listed = ", ".join(
        f"{count} {level}{'s' if count > 1 and level != 'ok' else ''}" for level, count in counts if count
    )
    voice = found.default_voice
    speaks = ("speaks" if voice.tried else "has all it needs") if voice.speaks else "cannot speak"
    return f"\nThe default voice {voice.voice} {speaks}. {listed}."
