"""Pronunciations inside a text: `[[重庆|chong2 qing4]]`, the characters and how they are read.

They come from a lexicon or are written by hand. An engine that takes pinyin gets the mark; for every other one,
and for whoever compares what was said with what was written, there is `plain`: the characters alone.
"""

from __future__ import annotations

import regex

SYLLABLES = r"[a-zü:]+[1-5](?: [a-zü:]+[1-5])*"
"""Pinyin with tone numbers, 5 for the neutral tone, parted by spaces."""
MARK = regex.compile(rf"\[\[(?P<written>[^\[\]|\n]{{1,40}})\|(?P<pinyin>{SYLLABLES})\]\]")
VALUE = regex.compile(rf"\[\[(?P<pinyin>{SYLLABLES})\]\]")
"""As a lexicon writes it, where the characters are the entry's own."""
ANY = regex.compile(r"\[\[[^\[\]\n]{0,100}\]\]")
"""What looks like a pronunciation, right or wrong."""


def mark(written: str, pinyin: str) -> str:
    return f"[[{written}|{pinyin}]]"


def plain(text: str) -> str:
    """The text with the characters of each pronunciation in its place."""
    return MARK.sub(lambda match: match["written"], text) if "[[" in text else text
