"""The command line: one small file per command, loaded only when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from langdu import __version__
from langdu.errors import LangduError

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module under langdu.cli, one line for --help); the module defines `command`
    "say": ("say", "Say a text: play it, or write a file."),
    "verify": ("verify", "Listen to a file and compare it with its text."),
    "script": ("script", "Show what will be said, and every change the reading rules made."),
    "book": ("book", "Make one verified file from a long document."),
    "takes": ("takes", "List, play, redo, accept or reject the takes of a book."),
    "voices": ("voices", "Add, check, compare and exchange voices."),
    "models": ("models", "Fetch, check, repair and convert models."),
    "bench": ("bench", "Measure time, memory and quality on this machine."),
    "serve": ("serve", "Run the HTTP service and the studio."),
    "service": ("service", "Install the service so that it starts by itself."),
    "wyoming": ("wyoming", "Serve Home Assistant (Wyoming protocol)."),
    "worker": ("worker", "Join a Dask cluster as a speaking worker."),
    "mcp": ("mcp", "Serve agents (Model Context Protocol)."),
    "doctor": ("doctor", "What this machine can run, what is wrong, and the command that mends it."),
    "config": ("config", "Show every setting, its value and where it came from."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}
COMPLETE = "_LANGDU_COMPLETE"
"""The variable by which a shell's completion script asks for candidates."""


class LazyGroup(click.Group):
    """Knows its commands by name and imports one only when it runs, so `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: Any = importlib.import_module(f"langdu.cli.{COMMANDS[cmd_name][0]}").command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True
)  # fmt: skip
@click.version_option(__version__, prog_name="langdu")
@click.pass_context
def root(context: click.Context) -> None:
    """Langdu 朗读: text in, verified speech out, on your own machine."""
    if context.invoked_subcommand is None:
        if not sys.stdout.isatty():
            click.echo(context.get_help())
            return
        from langdu.cli.greeting import greet

        greet()


def main() -> None:
    """Entry point. Exit codes: 0 good, 1 made with faults, 2 the user's input, 3 environment or model."""
    try:
        root(prog_name="langdu", complete_var=COMPLETE, standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except LangduError as error:
        click.echo(f"langdu: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
