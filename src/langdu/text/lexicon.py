"""A user's pronunciations: `lexicon.toml`, a table of word = "how it is said".

    [words]
    "重庆" = "[[chong2 qing4]]"     # pinyin, for an engine that takes it (kokoro)
    "SQL" = "sequel"

The longest entry wins. An entry of Latin letters matches whole words only, whatever their case.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import regex

from langdu.errors import DocumentError
from langdu.text.model import Change


@dataclass(frozen=True)
class Lexicon:
    words: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> Lexicon:
        """Raises DocumentError that names the file and the line."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
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
        return Lexicon(dict(words))

    def merged(self, other: dict[str, str]) -> Lexicon:
        """These entries, with those of `other` before them."""
        return Lexicon({**self.words, **other})

    def apply(self, text: str) -> tuple[str, list[Change]]:
        if not self.words:
            return text, []
        changes: list[Change] = []
        folded = {word.casefold(): said for word, said in self.words.items()}

        def say(match: regex.Match[str]) -> str:
            after = folded[match[0].casefold()]
            changes.append(Change("lexicon", match[0], after))
            return after

        return self._pattern().sub(say, text), changes

    def _pattern(self) -> regex.Pattern[str]:
        words = sorted(self.words, key=len, reverse=True)
        return regex.compile("|".join(_whole(word) for word in words), regex.IGNORECASE)


def _whole(word: str) -> str:
    escaped = regex.escape(word)
    before = r"(?<![A-Za-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return f"{before}{escaped}{after}"
