"""The texts every machine says, shipped with the package: 30 characters, and an article of 822."""

from __future__ import annotations

from importlib import resources
from typing import Literal

from langdu.errors import SettingError

LANGUAGES = ("zh", "en")


def text(name: Literal["short", "long"], language: str) -> str:
    """The text of that name. SettingError for a language that has none."""
    if language not in LANGUAGES:
        raise SettingError(
            f'The bench has Mandarin and English texts, none for the language "{language}".',
            hint="Pick a voice of one of these, or compare two with your own text: langdu bench ab --text FILE",
        )
    path = resources.files("langdu.bench") / "texts" / f"{name}.{language}.txt"
    return path.read_text(encoding="utf-8").strip()
