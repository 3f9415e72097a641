"""Which language a sentence is in."""

from __future__ import annotations

import regex

from langdu.text.model import Language

HAN = regex.compile(r"\p{Han}")
KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
LATIN_WORD = regex.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")


def language_of(text: str, default: Language = "zh") -> Language:
    """Kana make a sentence Japanese, Han characters Chinese, Latin words alone English.

    A Chinese sentence stays Chinese however many English words it holds, unless they outnumber its Han
    characters three to one. Digits and marks alone have the language of their surroundings (`default`).
    """
    if KANA.search(text):
        return "ja"
    han, latin = len(HAN.findall(text)), len(LATIN_WORD.findall(text))
    if han and latin <= 3 * han:
        return "ja" if default == "ja" else "zh"
    return "en" if latin else default
