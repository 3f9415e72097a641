"""How many syllables a text has, roughly: what its length in seconds is judged by."""

from __future__ import annotations

import regex

from langdu.quality.compare import normal_form, tokens

VOWELS = regex.compile(r"[aeiouy]+")
SILENT_E = regex.compile(r"(?<=[^aeiouyl])e$|(?<=[^aeiouyszxcgh])es$|(?<=[^aeiouytd])ed$")


def count_syllables(text: str, language: str) -> int:
    """Han and kana characters count one; a Latin word its groups of vowels; letters without a vowel one each.

    Numbers are counted as they are said.
    """
    return sum(_word(token) if token.isascii() else 1 for token in tokens(normal_form(text, language)))


def _word(word: str) -> int:
    groups = len(VOWELS.findall(SILENT_E.sub("", word))) or len(VOWELS.findall(word))
    return groups or (len(word) if len(word) <= 4 else 1)
