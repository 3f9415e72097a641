"""langdu service: start the service at login, look after it, take it away."""

from __future__ import annotations

import click


@click.group("service")
def command() -> None:
    """Have the service start by itself (launchd on macOS, systemd on Linux)."""


@command.command("install", context_settings={"ignore_unknown_options": True})
@click.option("--overwrite", is_flag=True, help="Replace a file that differs.")
@click.option("--no-start", is_flag=True, help="Write the file only.")
@click.option("--print", "print_", is_flag=True, help="Show the file instead of writing it.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def install_(overwrite: bool, no_start: bool, print_: bool, arguments: tuple[str, ...]) -> None:
    """Start the service now and at every login. ARGUMENTS are those of langdu serve."""
    from langdu.cli.serve import command as serve
    from langdu.service.install import agent, install

    serve.make_context("serve", list(arguments))  # a wrong argument is said now, not in a log at the next login
    found = agent(arguments)
    if print_:
        click.echo(found.text.decode(), nl=False)
        return
    install(found, overwrite=overwrite, tell=not no_start)
    click.echo(f"{found.path}\nLogs: {found.log_folder}")


@command.command("status")
@click.option("--json", "as_json", is_flag=True)
def status(as_json: bool) -> None:
    """Whether it is installed and runs. Exit code 1: installed, but not running."""
    from langdu.cli.io import print_json
    from langdu.service.install import agent, running

    found = agent()
    installed = found.path.exists()
    runs = running(found)
    if as_json:
        facts = {"installed": installed, "running": runs, "file": str(found.path), "logs": str(found.log_folder)}
        print_json(facts)
    else:
        state = "running" if runs else "installed, but not running" if installed else "not installed"
        click.echo(f"{state}\nfile: {found.path}\nlogs: {found.log_folder}")
    if installed and not runs:
        raise SystemExit(1)


@command.command("uninstall")
@click.option("--no-stop", is_flag=True, help="Remove the file only.")
def uninstall_(no_stop: bool) -> None:
    """Stop it and remove its file. Voices, models and jobs stay."""
    from langdu.service.install import agent, uninstall

    found = agent()
    click.echo(f"removed {found.path}" if uninstall(found, tell=not no_stop) else "it was not installed")
