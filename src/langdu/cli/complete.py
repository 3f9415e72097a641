"""What the shell offers after a tab. Runs at every keystroke, so it reads names and loads no library of voices."""

from __future__ import annotations

import json

import click
from click.shell_completion import CompletionItem


def voices(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The user's personas, then the built-in voices."""
    from langdu.models.kokoro_files import VOICES

    mine = personas(_context, _parameter, start)
    return mine + [CompletionItem(name, help="built in") for name in VOICES if name.startswith(start)]


def personas(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    return [CompletionItem(name, help="yours") for name in persona_names() if name.startswith(start)]


def files(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The shell's own completion of file names."""
    return [CompletionItem(start, type="file")]


def models(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from langdu.models.catalog import CATALOG

    return [CompletionItem(name, help=entry.note) for name, entry in CATALOG.items() if name.startswith(start)]


def settings(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from langdu.configuration import FIELDS

    return [CompletionItem(name, help=one.metadata["about"]) for name, one in FIELDS.items() if name.startswith(start)]


def setting_value(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Values of the setting named before: voices, models or folders where it holds those."""
    name = context.params.get("name") or ""
    if name.startswith("voice"):
        return voices(context, parameter, start)
    if name == "checker":
        return [item for item in models(context, parameter, start) if item.value.startswith("whisper")]
    return [CompletionItem(start, type="dir")] if name in ("data_dir", "models_folder") else []


def persona_names() -> list[str]:
    """Names in personas.json, unchecked; none when it is missing or damaged (the doctor says so)."""
    from langdu.errors import LangduError
    from langdu.settings import settings

    try:
        found = json.loads((settings().voices_dir / "personas.json").read_text(encoding="utf-8-sig"))
        personas = found.get("personas", found)
        return [name for name, value in personas.items() if isinstance(value, dict)]
    except (OSError, ValueError, AttributeError, LangduError):
        return []
