"""Routing: each script of a chunk goes to its own grapheme-to-phoneme step.

A Mandarin G2P mangles Latin words ("Python" becomes noise), an English one drops Han characters; so a chunk
is cut into spans by script, each span is spoken by its own rules, and the same voice says them all.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langdu.engines.phonemes.english import English
    from langdu.engines.phonemes.mandarin import Mandarin

LATIN = re.compile(r"[A-Za-zÀ-ɏ]+(?:[ \t'’\-&]*[A-Za-zÀ-ɏ]+)*(?:['’]s)?")
DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
KANA = re.compile(r"[\u3040-\u30ff]")


class Phonemizer:
    """Phonemes by language; each part loads when it is first needed.

    `warm(language)` loads it ahead, so that it can happen beside the model's own loading.
    """

    def warm(self, language: str, *, british: bool = False) -> None:
        _ = self._japanese if language == "ja" else self._mandarin if language == "zh" else None
        if language != "ja":
            self._english(british).word("langdu")

    def __call__(self, text: str, language: str, *, british: bool = False) -> str:
        """Kokoro phonemes of spoken text. `language`: "zh", "en" or "ja", the sentence's own."""
        if language == "ja":
            return _tidy(self._japanese(text))
        if language == "en" and not _has_han(text):
            return _tidy(self._english(british)(_ascii(text)))
        return _tidy(self._mixed(text, british))

    def _mixed(self, text: str, british: bool) -> str:
        parts: list[str] = []
        at = 0
        for match in LATIN.finditer(text):
            if _inside_pinyin(text, match.start()):
                continue
            parts.append(self._mandarin(_digits(text[at : match.start()])))
            parts.append(_set_off(text, match, self._english(british)(_ascii(match[0]))))
            at = match.end()
        parts.append(self._mandarin(_digits(text[at:])))
        return "".join(parts)

    @functools.cached_property
    def _mandarin(self) -> Mandarin:
        from langdu.engines.phonemes.mandarin import Mandarin

        return Mandarin()

    @functools.cached_property
    def _japanese(self) -> Japanese:
        return Japanese()

    @functools.lru_cache(maxsize=2)  # noqa: B019 - one phonemizer for each process
    def _english(self, british: bool) -> English:
        from langdu.engines.phonemes.english import English

        return English(british=british)


class Japanese:
    """misaki's cutlet over fugashi with the dictionary of unidic-lite."""

    def __init__(self) -> None:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # how it opens its word list
            from misaki.cutlet import Cutlet

            self._cutlet = Cutlet()

    def __call__(self, text: str) -> str:
        return str(self._cutlet(text)[0])


def _set_off(text: str, match: re.Match[str], spoken: str) -> str:
    """A foreign word with a breath on each side that touches Han characters.

    Without it the listener hears Chinese syllables: of ten words three were heard with a breath, one without.
    """
    before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
    head = ", " if _has_han(before) else " "
    tail = ", " if _has_han(after) else " "
    return f"{head}{spoken}{tail}"


def _digits(text: str) -> str:
    """Digits the text front end left (there should be none) read as Mandarin numbers."""

    def read(match: re.Match[str]) -> str:
        import cn2an

        try:
            return str(cn2an.an2cn(match[0]))
        except ValueError:  # more digits than it has words for
            return match[0]

    return DIGITS.sub(read, text) if DIGITS.search(text) and "[[" not in text else text


def _inside_pinyin(text: str, at: int) -> bool:
    return text.rfind("[[", 0, at) > text.rfind("]]", 0, at)


def _has_han(text: str) -> bool:
    return bool(re.search(r"[\u3400-\u9fff]", text))


def _ascii(text: str) -> str:
    """Latin letters without their accents: the dictionaries list "cafe" and "naive"."""
    import unicodedata

    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def _tidy(phonemes: str) -> str:
    phonemes = re.sub(r"\s+", " ", phonemes)
    return re.sub(r"\s+([,.!?;:…”)])", r"\1", phonemes).strip()
