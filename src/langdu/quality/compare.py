"""Is what was heard what was written? Both sides brought to one form, then aligned.

CER and WER are edit distance over the length of the written side (characters, words); 0 is the same, and more
than 1 is possible.
"""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass

import regex

from langdu.errors import DependencyError

# Spellings that sound the same and that a recogniser picks freely between.
SAME_ZH = str.maketrans("恩哦噢喔呐哪她它妳祂牠做那裏里嘛象", "嗯喔喔喔呢那他他你他他作那里里吗像")
SAME_EN = {
    "okay": "ok", "alright": "all right", "cos": "because", "gonna": "going to", "wanna": "want to", "mr": "mister",
    "dr": "doctor", "mrs": "missus", "st": "saint", "e-mail": "email", "colour": "color", "grey": "gray",
}  # fmt: skip
HALF_PAST = regex.compile(r"点三十分?(?!\p{Han}?秒)")
APOSTROPHE = regex.compile(r"(?<=\p{L})['’](?=\p{L})")
FILLER = regex.compile(r"[^\p{L}\p{N}]+")
SYMBOL = regex.compile(r"[A-Za-z0-9]+|[\p{L}\p{N}]")


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
    """By word for English, by character otherwise; a Latin word inside Chinese is one token."""
    sound_error: float = 0.0
    """Edits over the letters of the pinyin without tones, for Chinese: one homophone for another counts as heard
    right, a near one (lin for ling) as a little wrong. For other languages the same as `cer`."""
    written_sounds: tuple[str, ...] = ()
    heard_sounds: tuple[str, ...] = ()

    def marked(self) -> str:
        """The alignment in one line: [written→heard] where they differ."""
        space = " " if self.wer is not None else ""
        return space.join(
            s.written if s.op == "equal" else f"[{s.written or '∅'}→{s.heard or '∅'}]" for s in self.alignment
        )


def compare(written: str, heard: str, language: str) -> Comparison:
    """Compare two texts in one language ("zh", "en", "ja"), after `normal_form` of both."""
    from rapidfuzz.distance import Levenshtein

    left, right = normal_form(written, language), normal_form(heard, language)
    plain_left, plain_right = left.replace(" ", ""), right.replace(" ", "")
    words, said = tokens(left), tokens(right)
    space = " " if language == "en" else ""
    steps = tuple(
        Step(op.tag, _text(words[op.src_start : op.src_end], space), _text(said[op.dest_start : op.dest_end], space))
        for op in Levenshtein.opcodes(words, said)
    )
    written_sounds, heard_sounds = _sounds(words, language), _sounds(said, language)
    return Comparison(
        cer=Levenshtein.distance(plain_left, plain_right) / max(1, len(plain_left)),
        wer=Levenshtein.distance(words, said) / max(1, len(words)) if language == "en" else None,
        written=left,
        heard=right,
        alignment=steps,
        sound_error=_spelled(written_sounds, heard_sounds),
        written_sounds=written_sounds,
        heard_sounds=heard_sounds,
    )


def tokens(normal: str) -> list[str]:
    """What is compared as one: a Latin word, or one character of a script without spaces."""
    return SYMBOL.findall(normal)


def sounds(text: str, language: str) -> tuple[str, ...]:
    """What a text sounds like: syllables without tone for Chinese, else its tokens."""
    return _sounds(tokens(normal_form(text, language)), language)


def _text(words: list[str], space: str) -> str:
    """English words keep their space; inside Chinese only neighbouring Latin words need one."""
    text = " ".join(words)
    return text if space else _glued(text)


def _spelled(written: tuple[str, ...], heard: tuple[str, ...]) -> float:
    from rapidfuzz.distance import Levenshtein

    letters = "".join(written)
    return Levenshtein.distance(letters, "".join(heard)) / max(1, len(letters))


def _sounds(words: list[str], language: str) -> tuple[str, ...]:
    if language != "zh":
        return tuple(words)
    try:
        from pypinyin import Style, lazy_pinyin
    except ImportError:
        hint = 'Run: pip install "langdu[verify]"'
        raise DependencyError("pypinyin is not installed; it tells homophones.", hint=hint) from None
    text = "".join(f" {word} " if word.isascii() else word for word in words)
    return tuple(" ".join(lazy_pinyin(text, style=Style.NORMAL)).split())


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
    text = FILLER.sub(" ", APOSTROPHE.sub("", text.casefold())).strip()
    if language == "zh":
        text = HALF_PAST.sub("点半", text.translate(SAME_ZH).replace("两", "二"))
    words = [SAME_EN.get(word, word) for word in text.split()]
    joined = " ".join(words)
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
