"""The options that decide what is said of a text: the same for every command that reads one."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langdu.settings import Settings

if TYPE_CHECKING:
    from langdu.text.model import Document, Language
    from langdu.text.script import ScriptOptions

POLICIES = ("url", "email", "emoji", "table", "code")
"""An option for each; the setting say_NAME has its choices and is its default."""


@dataclass(frozen=True, slots=True)
class ScriptChoices:
    """What a user chose for a text; what is None is as the settings say."""

    language: Language | None = None
    cap: int | None = None
    """Most characters in a chunk. An engine may need shorter ones."""
    dialogue: bool = False
    lexicon: str | None = None
    everything: bool = False
    policies: dict[str, str] | None = None

    def options(self, file: str | None) -> ScriptOptions:
        """Raises DocumentError for a lexicon that cannot be read. Without one, the lexicon.toml beside `file`."""
        from langdu.text.lexicon import Lexicon
        from langdu.text.script import ScriptOptions

        beside = Path(file).parent / "lexicon.toml" if file and file != "-" else None
        path = Path(self.lexicon) if self.lexicon else beside
        words = Lexicon.read(path) if path is not None and (self.lexicon or path.is_file()) else Lexicon()
        chosen: dict[str, Any] = dict(self.policies or {})
        return replace(ScriptOptions.from_settings(), lexicon=words, dialogue=self.dialogue, **chosen)

    def sections(self, document: Document) -> Document:
        """The document with every section read, where that was asked for."""
        if not self.everything:
            return document
        return replace(document, sections=tuple(replace(section, kind="body") for section in document.sections))


def script_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; the command gets them as `choices: ScriptChoices`."""

    @functools.wraps(command)
    def collected(**given: Any) -> Any:
        policies = {name: value for name in POLICIES if (value := given.pop(f"say_{name}")) is not None}
        kept = {name: given.pop(name) for name in ("language", "cap", "dialogue", "lexicon", "everything")}
        return command(**given, choices=ScriptChoices(**kept, policies=policies))

    fields = {field.name: field for field in dataclasses.fields(Settings)}
    decorators = [
        click.option("--lang", "language", type=click.Choice(["zh", "en", "ja"]), help="Default: decided by sentence."),
        click.option("--cap", type=click.IntRange(8, 2000), help="Most characters in a chunk (setting chunk_chars)."),
        *(_policy(fields[f"say_{name}"].metadata, name) for name in POLICIES),
        click.option("--dialogue", is_flag=True, help="A paragraph that begins with NAME: is said by NAME."),
        click.option("--lexicon", type=click.Path(dir_okay=False), help="Default: the lexicon.toml beside the file."),
        click.option("--all", "everything", is_flag=True, help="Read contents, copyright pages and notes as well."),
    ]
    for decorate in reversed(decorators):
        collected = decorate(collected)
    return collected


def _policy(facts: Mapping[str, Any], name: str) -> Callable[..., Any]:
    return click.option(f"--{name}", f"say_{name}", type=click.Choice(facts["choices"]), help=facts["about"])
