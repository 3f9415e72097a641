"""A user's pronunciations: `lexicon.toml`, a table of word = "how it is said".

    [words]
    "重庆" = "[[chong2 qing4]]"     # pinyin, for an engine that takes it (kokoro); others get the word
    "SQL" = "sequel"

The longest entry wins. An entry of Latin letters matches whole words only, whatever their case.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import regex

from langdu.errors import DocumentError
from langdu.text import pronunciation
from langdu.text.model import Change


@dataclass(frozen=True)
class Lexicon:
    """DocumentError for an entry that cannot be used."""

    words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for word, said in self.words.items():
            if not word.strip():
                raise DocumentError(f'A lexicon has a blank word (for "{said}").')
            if said.startswith("[[") and not pronunciation.VALUE.fullmatch(said):
                hint = 'Syllables with tone numbers, 5 for the neutral one: "[[chong2 qing4]]"'
                raise DocumentError(f'In a lexicon "{word}" has {said}, which is no pinyin.', hint=hint)

    @staticmethod
    def read(path: Path) -> Lexicon:
        """Raises DocumentError that names the file and the line."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise DocumentError(f"{path} cannot be read ({error.strerror}).") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise DocumentError(
                f"{path} is not a lexicon: {error}.", hint='Lines look like: "SQL" = "sequel"'
            ) from None
        words = table.get("words", table)
        wrong = [word for word, said in words.items() if not isinstance(said, str)]
        if wrong:
            raise DocumentError(f'{path}: the entry "{wrong[0]}" must be a text.')
        try:
            return Lexicon(dict(words))
        except DocumentError as error:
            raise DocumentError(f"{path}: {error.message}", hint=error.hint) from None

    def merged(self, other: Mapping[str, str]) -> Lexicon:
        """These entries, with those of `other` before them."""
        return Lexicon({**self.words, **other}) if other else self

    def apply(self, text: str) -> tuple[str, list[Change]]:
        """The text with each word as it is said. What stands in a pronunciation already stays as it is."""
        if not self.words:
            return text, []
        changes: list[Change] = []

        def say(match: regex.Match[str]) -> str:
            after = self._said.get(match[0].casefold())
            if after is None:  # a pronunciation
                return match[0]
            if given := pronunciation.VALUE.fullmatch(after):
                after = pronunciation.mark(match[0], given["pinyin"])
            changes.append(Change("lexicon", match[0], after))
            return after

        return self._pattern.sub(say, text), changes

    @functools.cached_property
    def _said(self) -> dict[str, str]:
        return {word.casefold(): said for word, said in self.words.items()}

    @functools.cached_property
    def _pattern(self) -> regex.Pattern[str]:
        words = sorted(self.words, key=len, reverse=True)
        return regex.compile("|".join([pronunciation.ANY.pattern, *map(_whole, words)]), regex.IGNORECASE)


def _whole(word: str) -> str:
    escaped = regex.escape(word)
    before = r"(?<![A-Za-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return f"{before}{escaped}{after}"
