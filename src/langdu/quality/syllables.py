"""How many syllables a text has, roughly: what its length in seconds is judged by."""

from __future__ import annotations

import regex

from langdu.quality.compare import normal_form, tokens

VOWELS = regex.compile(r"[aeiouy]+")
HAN = regex.compile(r"\p{Han}")
SMALL_KANA = "ゃゅょぁぃぅぇぉャュョァィゥェォ"
SILENT_E = regex.compile(r"(?<=[^aeiouyl])e$|(?<=[^aeiouyszxcgh])es$|(?<=[^aeiouytd])ed$")


def count_syllables(text: str, language: str) -> int:
    """Han and kana characters count one (in Japanese: morae, two for a kanji, none for a small kana); a Latin word
    its groups of vowels; letters without a vowel one each. Numbers are counted as they are said.
    """
    found = tokens(normal_form(text, language))
    han = 2 if language == "ja" else 1
    return sum(_word(token) if token.isascii() else _character(token, han) for token in found)


def _character(character: str, han: int) -> int:
    if character in SMALL_KANA:
        return 0
    return han if HAN.fullmatch(character) else 1


def _word(word: str) -> int:
    groups = len(VOWELS.findall(SILENT_E.sub("", word))) or len(VOWELS.findall(word))
    return groups or (len(word) if len(word) <= 4 else 1)
