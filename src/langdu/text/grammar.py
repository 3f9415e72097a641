"""wetext, a grammar of numbers, dates, money and units, asked about the neighbourhood of each number only.

It takes about 0.1 ms a character, so a novel is not sent through it whole; equal neighbourhoods are read once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import regex

from langdu.errors import DependencyError
from langdu.text.model import Change
from langdu.text.numbers import EN_DIGITS, en_number, zh_digits, zh_number

NUMERIC = r"[0-9$€£¥￥%℃°²³×÷±＝=+]"
_ZH = rf"{NUMERIC}(?:[0-9A-Za-z$€£¥￥%℃°²³×÷±＝=+.,:/~-]{{0,60}}{NUMERIC})?[A-Za-z%℃°²³/]*"
# Bounded, so that a long run without a digit does not cost its square.
_EN = rf"[^\s\p{{Han}}]{{0,40}}{NUMERIC}[^\s\p{{Han}}]{{0,40}}"
WINDOWS = {
    # A number with the words that may belong to it ("下午", "个", "年代"), and others close behind; no mark between.
    "zh": regex.compile(
        rf"(?:\p{{Han}}{{1,2}}|[A-Za-z]+[ -])?{_ZH}(?: ?\p{{Han}}{{0,3}} ?{_ZH}){{0,5}}(?: ?\p{{Han}}{{1,2}})?"
    ),
    "en": regex.compile(
        rf"(?:[A-Za-z]+\.? )?{_EN}(?:(?: [A-Za-z.]+)? {_EN}){{0,3}}(?: [A-Za-z./]+)?|\b(?:Dr|Mr|Mrs|St|Prof)\. \p{{L}}+"
    ),
}
LONGEST_WINDOW = 80


def read(text: str, language: str, changes: list[Change]) -> str:
    """The text with numbers as they are said in `language` ("zh" or "en")."""

    def say(match: regex.Match[str]) -> str:
        after, differences = _window(match[0], language)
        changes.extend(Change("number", before, said) for before, said in differences)
        return after

    return WINDOWS[language].sub(say, text)


PLAIN = regex.compile(r"(\p{Han}*)([1-9]\d{0,6})(\p{Han}+)")
"""By far the most frequent case: a whole number among Han characters. Read here, as the grammar would; a test
compares the two."""
YEAR = regex.compile(r"(\p{Han}*)((?:1[89]|20)\d\d)(年[^代后]?.?)")


def _plain(text: str) -> str | None:
    if year := YEAR.fullmatch(text):
        return f"{year[1]}{zh_digits(year[2])}{year[3]}"
    match = PLAIN.fullmatch(text)
    if match is None or match[3][0] in "年后点时分秒比度" or match[1].endswith(tuple("零分比负正")):
        return None
    digits, day = match[2], match[3][0] in "月日号" and len(match[2]) < 3
    if digits == "2" and not day:
        return None  # 二 or 两: the grammar knows the measure words
    said = regex.sub("^二(?=[百千万])", "两", zh_number(digits))
    return match[1] + (said[1:] if said.startswith("一十") else said) + match[3]


@functools.lru_cache(maxsize=1 << 16)
def _window(text: str, language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    after = _plain(text) if language == "zh" else None
    after = _grammar(language).normalize(text) if after is None else after
    return after, tuple(_differences(text, after)) if after != text else ()


def _differences(before: str, after: str) -> Iterator[tuple[str, str]]:
    """What changed: all between the first and the last character that did, but no part of a number."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    yield before[start : len(before) - end], after[start : len(after) - end]


class _Grammar:
    def __init__(self, language: str) -> None:
        try:
            from wetext import Normalizer
        except ImportError:
            hint = 'Run: pip install "langdu[text]"'
            raise DependencyError("wetext is not installed; it reads numbers and dates.", hint=hint) from None
        self._language = language
        self._normalizer = Normalizer(lang=language, operator="tn")

    def normalize(self, text: str) -> str:
        if len(text) <= LONGEST_WINDOW:
            try:
                return str(self._normalizer.normalize(text))
            except (AssertionError, IndexError, KeyError, ValueError):
                pass  # some inputs break its parser ("+ 7 +" in English)
        return NUMBER.sub(self._number, text)

    def _number(self, match: regex.Match[str]) -> str:
        if self._language == "zh":
            return zh_number(match[0])
        whole, _, fraction = match[0].partition(".")
        said = en_number(int(whole)) if len(whole) < 15 else " ".join(EN_DIGITS[d] for d in whole)
        return said + (" point " + " ".join(EN_DIGITS[d] for d in fraction) if fraction else "")


NUMBER = regex.compile(r"[0-9]+(?:\.[0-9]+)?")


@functools.cache
def _grammar(language: str) -> _Grammar:
    return _Grammar(language)
