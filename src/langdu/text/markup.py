"""Marks a writer puts into a text: `[pause:0.5s]`, `[voice:小明]`, `[spell:NASA]`, `[em:really]`.

A known mark acts, an unknown one that looks like a mark is reported and not spoken, any other bracket is text.
`[[重庆|chong2 qing4]]` is a pronunciation and passes through; one without its characters is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import regex

from langdu.text import pronunciation

MARK = regex.compile(r"(?<!\[)\[(?P<name>[a-z]+)(?::(?P<value>[^\[\]]*))?\](?!\])")
MARKS = regex.compile(f"{MARK.pattern}|{pronunciation.ANY.pattern}")
PAUSE = regex.compile(r"(\d+(?:\.\d+)?)\s*(ms|s)?")
SPEAKER = regex.compile(r"^(?P<name>[\p{L}\p{N}_]{1,16})[：:]\s*(?=\S)")
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch said by one voice, then a pause. `warning` reports a mark that was not understood."""

    text: str = ""
    voice: str | None = None
    pause_s: float = 0.0
    spell: bool = False
    emphasis: bool = False
    warning: str = ""
    mark: str = ""
    """The mark that `warning` is about, as written."""
    once: bool = False
    """Whether the same warning need not be given for every place."""


def parse(
    text: str, *, voice: str | None = None, dialogue: bool = False, speakers: Collection[str] | None = None
) -> Iterator[Span]:
    """Spans in order. A `[voice:…]` span comes with no text: it holds until the next one, `[voice:]` ends it.

    With `dialogue`, `NAME:` before a text names who says it. Where the `speakers` are known, any other name is text
    (notes begin with "Note:", a novel's sentence with "he said:"), and that is reported.
    """
    if dialogue and (match := SPEAKER.match(text)):
        if speakers is None or match["name"] in speakers:
            voice = match["name"]
            text = text[match.end() :]
        else:
            yield Span(warning=f"no one is called {match['name']}; it is read as text", mark=match[0], once=True)
    at = 0
    for match in MARKS.finditer(text):
        span = _act(match, voice)
        if span is None:
            continue
        if before := text[at : match.start()]:
            yield Span(before, voice)
        at = match.end()
        if match["name"] == "voice" and not span.warning:
            voice = span.voice
        yield span
    if rest := text[at:]:
        yield Span(rest, voice)


def _act(match: regex.Match[str], voice: str | None) -> Span | None:
    if match["name"] is None:
        return _pronunciation(match[0])
    name, value = match["name"], (match["value"] or "").strip()
    if name == "pause":
        return _pause(match, value)
    if name == "voice":
        return Span(voice=value or None)
    if name == "spell" and value:
        return Span(value, voice, spell=True)
    if name == "em" and value:
        return Span(value, voice, emphasis=True)
    return Span(warning=f"unknown mark {match[0]}", mark=match[0])


def _pronunciation(written: str) -> Span | None:
    if pronunciation.MARK.fullmatch(written):
        return None
    return Span(warning=f"a pronunciation is written [[重庆|chong2 qing4]], not {written}", mark=written)


def _pause(match: regex.Match[str], value: str) -> Span:
    number = PAUSE.fullmatch(value) if value else None
    if value and number is None:
        return Span(warning=f"a pause needs a time such as 0.5s: {match[0]}", mark=match[0])
    seconds = float(number[1]) / (1000 if number[2] == "ms" else 1) if number else 0.5
    return Span(pause_s=min(seconds, LONGEST_PAUSE_S))
