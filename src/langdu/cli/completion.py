"""langdu completion: the script that teaches a shell the commands, options, voices and models."""

from __future__ import annotations

import click

WHERE = {
    "bash": 'eval "$(langdu completion bash)"          # in ~/.bashrc (bash 4.4 or newer)',
    "zsh": 'eval "$(langdu completion zsh)"           # in ~/.zshrc, after compinit',
    "fish": "langdu completion fish > ~/.config/fish/completions/langdu.fish",
}


@click.command("completion", epilog="\b\n" + "\n".join(WHERE.values()))
@click.argument("shell", type=click.Choice(tuple(WHERE)))
def command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    from langdu.cli import COMPLETE, root

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(root, {}, "langdu", COMPLETE).source())
