"""Subtitles: cues with exact chunk times, and inside a chunk the times at which its words were heard."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex

from langdu.text.segment import pieces, sentences

LONGEST_CUE = {"zh": 40, "ja": 40, "en": 84}
"""Characters of one cue: two lines of 20 Han characters or 42 Latin ones, as broadcasters set them."""
SHORTEST_CUE_S = 0.3
WORD = regex.compile(r"[\p{Latin}\p{N}'’]+|\S")


@dataclass(frozen=True, slots=True)
class Cue:
    text: str
    start_s: float
    end_s: float
    words: tuple[tuple[str, float], ...] = ()
    """Words with the time each begins, where the checker heard them."""


@dataclass(frozen=True, slots=True)
class HeardWord:
    text: str
    start_s: float
    end_s: float


def cues(
    text: str, language: str, start_s: float, end_s: float, heard: Sequence[HeardWord] = (),
    shown: Sequence[tuple[str, str]] = (),
) -> list[Cue]:  # fmt: skip
    """Cues for one chunk that sounds from `start_s` to `end_s`; `heard` has times in the same clock.

    `text` is what was said; `shown` has its sentences, each as said and as written, and what was written is what the
    cue shows. Without heard words, times inside the chunk follow the share of characters. The first cue starts and
    the last ends with the chunk, exactly.
    """
    pairs = shown or [(sentence, sentence) for sentence in sentences(text)]
    parts = [part for said, written in pairs for part in _parts(said, written, LONGEST_CUE.get(language, 84))]
    spots = word_starts(text, start_s, end_s, heard)
    found: list[Cue] = []
    at = 0
    for number, part in enumerate(parts):
        mine, at = spots[at : at + part.words], at + part.words
        begin = start_s if number == 0 or not mine else mine[0][1]
        end = spots[at][1] if at < len(spots) and number < len(parts) - 1 else end_s
        found.append(Cue(part.text, begin, max(end, begin), tuple(mine) if heard and part.as_said else ()))
    return _tidy(found, end_s)


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    words: int
    """How many of the words that were said it stands for."""
    as_said: bool


def _parts(said: str, written: str, limit: int) -> list[_Part]:
    """A sentence as cues. Where it is written otherwise than said, each has its share of the words by length."""
    bits = [piece.strip() for piece in pieces(written.strip(), limit) if piece.strip()]
    if written.strip() == said.strip():
        return [_Part(bit, len(WORD.findall(bit)), True) for bit in bits]
    words, whole = len(WORD.findall(said)), sum(map(len, bits))
    ends = [round(words * done / whole) for done in itertools.accumulate(map(len, bits))]
    return [_Part(bit, end - begin, False) for bit, begin, end in zip(bits, [0, *ends], ends, strict=False)]


def word_starts(text: str, start_s: float, end_s: float, heard: Sequence[HeardWord]) -> list[tuple[str, float]]:
    """When each word (or Han character) of `text` begins; rising, inside the chunk.

    Heard words are laid along the written ones by edit distance; what was not heard lies evenly between its
    neighbours.
    """
    from rapidfuzz.distance import Levenshtein

    words = WORD.findall(text)
    if not words:
        return []
    said: list[str] = []
    times: list[float] = []
    for word in heard:
        units = WORD.findall(word.text)
        for number, unit in enumerate(units):
            said.append(unit.casefold())
            times.append(word.start_s + (word.end_s - word.start_s) * number / len(units))
    known: dict[int, float] = {0: start_s}
    for op in Levenshtein.opcodes([word.casefold() for word in words], said):
        if op.tag in ("equal", "replace") and op.src_end - op.src_start == op.dest_end - op.dest_start:
            for offset in range(op.src_end - op.src_start):
                known.setdefault(op.src_start + offset, min(max(times[op.dest_start + offset], start_s), end_s))
    places = [*sorted(known), len(words)]
    starts: list[float] = []
    for left, right in itertools.pairwise(places):
        low, high = known[left], known.get(right, end_s)
        starts.extend(low + max(0.0, high - low) * step / (right - left) for step in range(right - left))
    for index in range(1, len(starts)):
        starts[index] = max(starts[index], starts[index - 1])
    return list(zip(words, starts, strict=True))


def _tidy(found: list[Cue], end_s: float) -> list[Cue]:
    """A cue too short to be read goes with the one before it."""
    kept: list[Cue] = []
    for cue in found:
        if kept and cue.end_s - cue.start_s < SHORTEST_CUE_S:
            last = kept.pop()
            space = " " if last.text[-1:].isascii() and cue.text[:1].isascii() else ""
            cue = Cue(last.text + space + cue.text, last.start_s, cue.end_s, last.words + cue.words)
        kept.append(cue)
    if kept:
        kept[-1] = Cue(kept[-1].text, kept[-1].start_s, end_s, kept[-1].words)
    return kept


def srt(found: Iterable[Cue]) -> str:
    blocks = (
        f"{number}\n{_time(cue.start_s, ',')} --> {_time(cue.end_s, ',')}\n{_lines(cue.text)}\n"
        for number, cue in enumerate(found, 1)
    )
    return "\n".join(blocks)


def vtt(found: Iterable[Cue]) -> str:
    """WebVTT with a timestamp before each word that was heard."""
    blocks = (f"{_time(cue.start_s, '.')} --> {_time(cue.end_s, '.')}\n{_timed(cue)}\n" for cue in found)
    return "WEBVTT\n\n" + "\n".join(blocks)


def _timed(cue: Cue) -> str:
    if not cue.words:
        return _escape(_lines(cue.text))
    text, rest = "", cue.text
    last = -1.0
    for word, start_s in cue.words:
        at = rest.find(word)
        if at < 0:
            continue
        # Only rising times strictly inside the cue are allowed there.
        stamp = f"<{_time(start_s, '.')}>" if cue.start_s < start_s < cue.end_s and start_s >= last + 0.001 else ""
        last = start_s if stamp else last
        text += _escape(rest[:at]) + stamp + _escape(word)
        rest = rest[at + len(word) :]
    return text + _escape(rest)


def _lines(text: str) -> str:
    """One line without an arrow in it: a blank line or an arrow would end the cue."""
    return " ".join(text.split()).replace("-->", "→")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _time(seconds: float, point: str) -> str:
    millis = max(0, round(seconds * 1000))
    return f"{millis // 3_600_000:02d}:{millis // 60_000 % 60:02d}:{millis // 1000 % 60:02d}{point}{millis % 1000:03d}"
