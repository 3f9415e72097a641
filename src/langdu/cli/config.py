"""langdu config: every setting, its value and where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from langdu.cli import complete

if TYPE_CHECKING:
    from langdu.configuration import Value


@click.group("config", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Show every setting, its value and where it came from; change the file that holds them."""
    if context.invoked_subcommand is None:
        show(as_json)


def show(as_json: bool) -> None:
    from langdu.cli.io import print_json, print_rows
    from langdu.configuration import FIELDS, read, strangers, variable
    from langdu.settings import config_file

    values = read()
    options = {name: one.metadata.get("option", "") for name, one in FIELDS.items()}
    if as_json:
        rows = [
            {
                "name": one.name, "value": _plain(one), "origin": one.origin, "where": one.where,
                "variable": variable(one.name), "option": options[one.name],
                "about": FIELDS[one.name].metadata["about"],
            }
            for one in values
        ]  # fmt: skip
        print_json({"file": str(config_file()), "file_exists": config_file().is_file(), "settings": rows})
    else:
        print_rows(
            ("setting", "value", "from", "for one run", "what it is"),
            [
                (one.name, one.shown, one.where or "default", options[one.name], FIELDS[one.name].metadata["about"])
                for one in values
            ],
        )
    for name, meant in strangers().items():
        click.echo(f"{name} is no setting; did you mean {meant}?", err=True)


@command.command("path")
def path() -> None:
    """Print the file that holds your settings, there or not."""
    from langdu.settings import config_file

    click.echo(config_file())


@command.command("set")
@click.argument("name", shell_complete=complete.settings)
@click.argument("value", shell_complete=complete.setting_value)
def set_(name: str, value: str) -> None:
    """Write setting NAME into the file; its comments and other lines stay. Lists are written a,b."""
    from langdu.configuration import set_value, variable

    _check_name_of(name, value)
    written = set_value(name, value)
    click.echo(f"{name} = {written.shown}  ({written.where})")
    _warn_if_hidden(name, variable(name))


@command.command("unset")
@click.argument("name", shell_complete=complete.settings)
def unset(name: str) -> None:
    """Take setting NAME out of the file, so that its default counts again."""
    from langdu.configuration import FIELDS, known, read, variable
    from langdu.configuration import unset as take_out
    from langdu.settings import config_file

    if not take_out(name):
        known(name)
        click.echo(f"{name} is not in {config_file()}", err=True)
    if name in FIELDS:
        now = next(one for one in read() if one.name == name)
        click.echo(f"{name} = {now.shown}  ({now.where or 'default'})")
        _warn_if_hidden(name, variable(name))


def _check_name_of(name: str, value: str) -> None:
    """A voice or a model that nobody knows is refused here, not at the next sentence."""
    if name in ("voice", "voice_en", "voice_ja"):
        from langdu.voices.library import Library

        Library().find(value)
    if name == "checker":
        from langdu.models.catalog import find

        find(value)


def _warn_if_hidden(name: str, variable: str) -> None:
    import os

    if os.environ.get(variable):
        click.echo(f"{variable} is set in the environment and wins over the file's {name}.", err=True)


def _plain(one: Value) -> object:
    """As JSON has it: paths as text, tuples as lists, a secret not at all."""
    from langdu.configuration import FIELDS

    if FIELDS[one.name].metadata.get("secret"):
        return one.shown
    if isinstance(one.value, tuple):
        return list(one.value)
    return str(one.value) if isinstance(one.value, Path) else one.value
