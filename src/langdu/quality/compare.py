"""Is what was heard what was written? Both sides brought to one form, then aligned.

CER and WER are edit distance over the length of the written side (characters, words); 0 is the same, and more
than 1 is possible.
"""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass

import regex

# Spellings that sound the same and that a recogniser picks freely between.
SAME_ZH = str.maketrans("恩哦噢喔呐哪她它妳祂牠做那裏里嘛象", "嗯喔喔喔呢那他他你他他作那里里吗像")
SAME_EN = {
    "okay": "ok", "alright": "all right", "'cause": "because", "gonna": "going to", "wanna": "want to", "mr": "mister",
    "dr": "doctor", "mrs": "missus", "st": "saint", "e-mail": "email", "colour": "color", "grey": "gray",
}  # fmt: skip
FILLER = regex.compile(r"[^\p{L}\p{N}']+")
SYMBOL = regex.compile(r"[A-Za-z0-9']+|[\p{L}\p{N}]")


@dataclass(frozen=True, slots=True)
class Step:
    """One stretch of the alignment: `op` is equal, replace, insert (heard only) or delete (written only)."""

    op: str
    written: str
    heard: str


@dataclass(frozen=True, slots=True)
class Comparison:
    cer: float
    wer: float | None
    """Word error rate, for English; None for languages written without spaces."""
    written: str
    heard: str
    alignment: tuple[Step, ...]

    def marked(self) -> str:
        """The alignment in one line: [written→heard] where they differ."""
        return "".join(
            s.written if s.op == "equal" else f"[{s.written or '∅'}→{s.heard or '∅'}]" for s in self.alignment
        )


def compare(written: str, heard: str, language: str) -> Comparison:
    """Compare two texts in one language ("zh", "en", "ja"), after `normal_form` of both."""
    left, right = normal_form(written, language), normal_form(heard, language)
    from rapidfuzz.distance import Levenshtein

    wer = None
    if language == "en":
        words, said = left.split(), right.split()
        wer = Levenshtein.distance(words, said) / max(1, len(words))
    plain_left, plain_right = left.replace(" ", ""), right.replace(" ", "")
    steps = tuple(
        Step(op.tag, plain_left[op.src_start : op.src_end], plain_right[op.dest_start : op.dest_end])
        for op in Levenshtein.opcodes(plain_left, plain_right)
    )
    distance = Levenshtein.distance(plain_left, plain_right)
    return Comparison(distance / max(1, len(plain_left)), wer, left, right, steps)


def normal_form(text: str, language: str) -> str:
    """Words as they sound: numbers in words, simplified characters, one case and width, no marks.

    English words are kept apart by single spaces, also inside Chinese; Han characters stand alone.
    """
    from langdu.text.normalize import spoken

    text = unicodedata.normalize("NFKC", text)
    if language == "zh":
        text = _simplified(text)
    if language in ("zh", "en"):
        text = _numbers(spoken(text, "en" if language == "en" else "zh")[0], language)
    text = FILLER.sub(" ", text.casefold().replace("’", "'")).strip()
    if language == "zh":
        text = text.translate(SAME_ZH).replace("二", "两") if text else text
    words = [SAME_EN.get(word, word) for word in text.split()]
    joined = " ".join(word.strip("'") for word in words)
    if language in ("zh", "ja"):
        joined = " ".join(SYMBOL.findall(joined))
        return _glued(joined)
    return joined


def _glued(text: str) -> str:
    """No space between Han characters, one around Latin words."""
    return regex.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", text)


def _numbers(text: str, language: str) -> str:
    """What the grammar leaves: digits one by one; and 幺 as 一, 〇 as 零."""
    if language == "zh":
        text = text.translate(str.maketrans("0123456789〇幺", "零一二三四五六七八九零一"))
    return text


@functools.cache
def _converter() -> object:
    from opencc import OpenCC

    return OpenCC("t2s")


def _simplified(text: str) -> str:
    return str(_converter().convert(text))  # type: ignore[attr-defined]
