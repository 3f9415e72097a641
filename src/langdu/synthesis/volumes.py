"""The files of a book: one, or one for each chapter; with their subtitles, measured after encoding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import regex

from langdu.audio.av_encode import Tags
from langdu.audio.loudness import Levels, Profile
from langdu.audio.render import Placed, Renderer, Tuning, levels_of, tuned
from langdu.audio.subtitles import Cue, HeardWord, cues, srt, vtt
from langdu.engines.base import Audio
from langdu.synthesis.model import Chunk
from langdu.synthesis.takes import Kept
from langdu.voices.library import write_atomic

MOST_CORRECTIONS = 2
UNSAFE = regex.compile(r"[\p{C}/\\:*?\"<>|]+")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A chunk with its sound, ready for the file."""

    chunk: Chunk
    kept: Kept
    audio: Audio
    shown: str = ""
    """The text as written, where the chunk is whole sentences; for subtitles."""


@dataclass(frozen=True, slots=True)
class Line:
    """One chunk in a file."""

    chunk: Chunk
    kept: Kept
    placed: Placed
    file: str


@dataclass(frozen=True, slots=True)
class Volume:
    path: Path
    seconds: float
    levels: Levels
    problems: tuple[str, ...]
    """What the finished file is not, against its profile."""


class Volumes:
    """Writes all files of a book from chunks in order. `write` may be called again with corrections."""

    def __init__(
        self, output: Path, titles: Sequence[str], profile: Profile, *, tags: Tags, split: bool, subtitles: bool,
        bit_rate: int | None = None,
    ) -> None:  # fmt: skip
        self._output, self._titles, self._profile, self._tags = output, titles, profile, tags
        self._split, self._subtitles, self._bit_rate = split, subtitles, bit_rate
        self.lines: list[Line] = []

    def path_of(self, chapter: int) -> Path:
        """The output itself, or `output - 03 Title.ext` for the third chapter."""
        if not self._split:
            return self._output
        title = " ".join(UNSAFE.sub(" ", self._titles[chapter]).split())[:60].rstrip(". ")
        name = f"{self._output.stem} - {chapter + 1:02d} {title}".rstrip()
        return self._output.with_name(name + self._output.suffix)

    def write(self, spoken: Iterable[Spoken], rate_hz: int, tuning: Tuning | None = None) -> list[Path]:
        """One pass over the whole book. Returns the files written."""
        self.lines = []
        paths = []
        stream = _Ahead(iter(spoken))
        while (first := stream.peek()) is not None:
            chapter = first.chunk.chapter
            path = self.path_of(chapter)
            paths.append(path)
            mine = stream.during(lambda s, c=chapter: not self._split or s.chunk.chapter == c)
            self._file(path, chapter, mine, rate_hz, tuning)
        return paths

    def _file(self, path: Path, chapter: int, spoken: Iterator[Spoken], rate_hz: int, tuning: Tuning | None) -> None:
        shown: list[Cue] = []
        tags = self._tags
        if self._split:
            track = f"{chapter + 1}/{len(self._titles)}"
            tags = replace(tags, title=self._titles[chapter] or tags.title, album=tags.title, track=track)
        at = -1
        with Renderer(path, rate_hz, self._profile, tags=tags, tuning=tuning, bit_rate=self._bit_rate) as renderer:
            for one in spoken:
                if one.chunk.chapter != at:
                    at = one.chunk.chapter
                    renderer.chapter(self._titles[at] or f"{at + 1}")
                placed = renderer.add(one.audio, one.kept.rate_hz, one.chunk.pause_after_s)
                self.lines.append(Line(one.chunk, one.kept, placed, path.name))
                if self._subtitles:
                    shown.extend(_cues(one, placed))
        if self._subtitles:
            write_atomic(path.with_suffix(".srt"), srt(shown).encode())
            write_atomic(path.with_suffix(".vtt"), vtt(shown).encode())

    def measured(self, paths: Sequence[Path]) -> list[Volume]:
        """Decode what was written and hold it against the profile."""
        found = []
        for path in paths:
            levels = levels_of(path)
            found.append(Volume(path, levels.seconds, levels, tuple(self._profile.problems(levels))))
        return found

    def corrected(self, volumes: Sequence[Volume], tuning: Tuning) -> Tuning | None:
        """What the next pass must change, judged by the file furthest off; None when all fit."""
        off = [volume for volume in volumes if volume.problems]
        if not off:
            return None
        worst = max(off, key=lambda v: (v.levels.true_peak_db, v.levels.lufs))
        return tuned(self._profile, worst.levels, tuning)


def _cues(one: Spoken, placed: Placed) -> list[Cue]:
    words: list[list[Any]] = (one.kept.verdict or {}).get("words", [])
    shift = placed.start_s - placed.trimmed_s
    heard = [HeardWord(text, start + shift, end + shift) for text, start, end in words]
    return cues(one.chunk.text, one.chunk.language, placed.start_s, placed.end_s, heard, one.shown)


class _Ahead:
    """An iterator with one item of foresight."""

    def __init__(self, items: Iterator[Spoken]) -> None:
        self._items, self._next = items, next(items, None)

    def peek(self) -> Spoken | None:
        return self._next

    def during(self, holds: Any) -> Iterator[Spoken]:
        while self._next is not None and holds(self._next):
            found = self._next
            yield found
            self._next = next(self._items, None)
