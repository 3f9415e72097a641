"""The `langdu` commands that the pages show, and what click says about them.

A command in a fenced block is complete: it is parsed, and run where it can be. One inside a sentence may leave
arguments out; of that its names and options are checked.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from markdown_it import MarkdownIt

from langdu.cli import root

ROOT = Path(__file__).parents[2]
FIRST = ("README.md", "README.zh.md", "docs/index.md", "docs/index.zh.md", "docs/voices.md", "docs/voices.zh.md")
"""As a newcomer reads: what these make is at hand for the commands of later pages."""
PAGES = (
    *FIRST,
    *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md") if f"docs/{p.name}" not in FIRST),
)


@dataclass(frozen=True, slots=True)
class Call:
    """One parsed command. `path` is "say", "models get", …; the root alone is ""."""

    path: str
    params: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        return self.params.get(name)


@dataclass(frozen=True, slots=True)
class Shown:
    page: str
    line: int
    text: str
    """A line of shell, its comment cut off."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line} {self.text}"

    def calls(self) -> list[Call]:
        """Every `langdu` of the line, parsed. Raises click.UsageError for what no longer exists."""
        return [parse(words[1:]) for words in _commands(self.text) if words[0] == "langdu"]


@functools.cache
def blocks() -> tuple[Shown, ...]:
    """Lines of code blocks that call langdu."""
    return tuple(
        Shown(page, first + number, line)
        for page in PAGES
        for token in _tokens(page)
        if token.type in ("fence", "code_block")
        for first in [(token.map or [0])[0] + (2 if token.type == "fence" else 1)]
        for number, line in enumerate(map(_uncommented, token.content.splitlines()))
        if any(words[0] == "langdu" for words in _commands(line))
    )


@functools.cache
def spans() -> tuple[Shown, ...]:
    """Code within sentences and tables that begins with langdu."""
    return tuple(
        Shown(page, (token.map or [0])[0] + 1, child.content)
        for page in PAGES
        for token in _tokens(page)
        if token.type == "inline"
        for child in token.children or ()
        if child.type == "code_inline" and re.match(r"langdu( |$)", child.content)
    )


def parse(words: list[str]) -> Call:
    """As the command line would: click.UsageError for an unknown command, option or value."""
    if not words or words[-1] in ("--help", "--version"):
        return Call(" ".join(_walk(words[:-1])[1]))
    command: click.Command = root
    context = None
    path: list[str] = []
    while True:
        context = command.make_context(path[-1] if path else "langdu", words, parent=context)
        words = [*getattr(context, "_protected_args", ()), *context.args]
        if not isinstance(command, click.Group) or not words:
            return Call(" ".join(path), context.params)
        name, found, words = command.resolve_command(context, words)
        assert name is not None and found is not None
        path.append(name)
        command = found


def unknown(span: str) -> list[str]:
    """Commands and options of an incomplete `langdu …` that do not exist."""
    words = span.replace("[", " ").replace("]", " ").split()[1:]
    command, path = _walk(words)
    rest = words[len(path) :]
    if isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        return [rest[0]]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    own = rest[: rest.index("--")] if "--" in rest else rest
    return [word for word in own if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]


def _walk(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the first words name, and those words."""
    command: click.Command = root
    path: list[str] = []
    for word in words:
        found = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if found is None:
            break
        path.append(word)
        command = found
    return command, path


@functools.cache
def _tokens(page: str) -> list[Any]:
    return MarkdownIt().enable("table").parse((ROOT / page).read_text("utf-8"))


def _uncommented(line: str) -> str:
    return re.sub(r"(^|\s+)#.*", "", line).strip()


def _commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line of shell, those in `$(…)` too, without redirections and leading assignments."""
    for inner in re.findall(r"\$\(([^()]*)\)", line):
        yield from _commands(inner)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a quote that goes on in the next line: JSON of a curl, never ours
        return
    command: list[str] = []
    skip = False
    for word in (*words, ";"):
        if skip:
            skip = False
        elif re.fullmatch(r"[<>]+", word):
            skip = True
        elif re.fullmatch(r"[|&;()]+", word):
            if command:
                yield command
            command = []
        elif command or not re.match(r"\w+=", word):
            command.append(word)
