"""A job's wish as the book it is: the same reading, casting and planning as `langdu book`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from langdu.errors import SettingError
from langdu.service.jobs import JobWish
from langdu.settings import settings
from langdu.synthesis.book import Book, BookRequest
from langdu.text.documents import read_document
from langdu.text.lexicon import Lexicon
from langdu.text.model import Document, Language
from langdu.text.script import ScriptOptions, plain

TEXT = "text.txt"
"""Name of a source that came as text, not as a document."""


def book_of(folder: Path, wish: JobWish) -> Book:
    """Raises what the user has done wrong (text, voice, cast, setting) before anything is said."""
    source = folder / wish.source
    document = _document(source)
    document = replace(
        document,
        title=wish.title or document.title,
        language=cast("Language | None", wish.language) or document.language,
    )
    request = BookRequest(
        document, folder / f"result.{wish.format}", str(source), wish.voice, wish.roles, script_options(wish.script),
        loudness=wish.loudness, check=wish.verify, speed=wish.speed, overwrite=True, remember=False,
        engine_options=wish.engine_options,
    )  # fmt: skip
    book = Book(request)
    for info in book.casting.infos.values():
        if wish.speed != 1.0 and not info.can_speed:
            raise SettingError(f"{info.model} cannot change its speed.", hint="Use 1.0.")
    return book


def _document(source: Path) -> Document:
    if source.name == TEXT:
        return plain(source.read_text(encoding="utf-8"))
    return read_document(source.read_bytes(), source.name)


def script_options(given: dict[str, Any]) -> ScriptOptions:
    """The settings' pauses, and what was asked for beside them; `lexicon` is a table of words."""
    found = {name: value for name, value in given.items() if value is not None}
    lexicon = Lexicon(dict(found.pop("lexicon", {})))
    pauses = {name: getattr(settings(), name) for name in ("pause_sentence_s", "pause_paragraph_s")}
    return ScriptOptions(**{**pauses, **found}, lexicon=lexicon)
