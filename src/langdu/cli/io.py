"""What commands share: reading the text to say, printing facts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from langdu.errors import InputError

if TYPE_CHECKING:
    from langdu.text.model import Document


def text_argument(text: str | None, file: str | None) -> str:
    """The text from the argument, a text file or stdin ("-"). InputError when there is none or two."""
    found = source_argument(text, file)
    if isinstance(found, str):
        return found
    return found.text or "\n\n".join(p.text for section in found.sections for p in section.paragraphs)


def source_argument(text: str | None, file: str | None) -> str | Document:
    """The text, or the document of any kind that `file` names ("-" is stdin); what was guessed goes to stderr."""
    if (text is None) == (file is None):
        raise InputError("Give a text, or a file with -f (- is stdin), not both and not neither.")
    if text is not None:
        return text
    from langdu.text.documents import read_document

    assert file is not None
    document = read_document(sys.stdin.buffer.read(), "stdin") if file == "-" else read_document(file)
    for note in document.notes:
        click.echo(note, err=True)
    return document


def print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=1))


def print_rows(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """A table on a terminal; when piped, one line a row with tabs between the cells, never wrapped."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
