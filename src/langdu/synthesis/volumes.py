"""The files of a book: one, or one for each chapter; with their subtitles, measured after encoding.

volumes.write(spoken, rate)          one pass over the whole book
volumes.measured()                   decode what was written and hold it against the profile
volumes.again(load, rate, measured)  write those anew that missed it, each with its own correction
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
LONGEST_NAME = 240
"""Bytes of a file's name; most systems hold 255, and the name grows while it is written."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A chunk with its sound, ready for the file."""

    chunk: Chunk
    kept: Kept
    audio: Audio
    shown: tuple[tuple[str, str], ...] = ()
    """Its sentences, each as said and as written, where the chunk is whole sentences; for subtitles."""


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
    """Writes all files of a book from chunks in order."""

    def __init__(
        self, output: Path, titles: Sequence[str], profile: Profile, *, tags: Tags, split: bool, subtitles: bool,
        bit_rate: int | None = None,
    ) -> None:  # fmt: skip
        self._output, self._titles, self._profile, self._tags = output, titles, profile, tags
        self._split, self._subtitles, self._bit_rate = split, subtitles, bit_rate
        self.lines: list[Line] = []
        """Every chunk in order; its take without the times of its words, of which a long book has too many."""
        self._written: dict[Path, Tuning] = {}

    def path_of(self, chapter: int) -> Path:
        """The output itself, or `output - 03 Title.ext` for the third chapter."""
        if not self._split:
            return self._output
        stem, suffix = f"{self._output.stem} - {chapter + 1:02d}", self._output.suffix
        title = " ".join(UNSAFE.sub(" ", self._titles[chapter]).split())[:60].rstrip(". ")
        while title and len(f"{stem} {title}{suffix}".encode()) > LONGEST_NAME:
            title = title[:-1].rstrip(". ")
        return self._output.with_name(f"{stem} {title}".rstrip() + suffix)

    def targets(self, chapters: Iterable[int]) -> list[Path]:
        """Every file that `write` will write for these chapters."""
        paths = dict.fromkeys(self.path_of(chapter) for chapter in chapters)
        beside = (".srt", ".vtt") if self._subtitles else ()
        return [path.with_suffix(suffix) for path in paths for suffix in (path.suffix, *beside)]

    def write(self, spoken: Iterable[Spoken], rate_hz: int) -> None:
        self.lines, self._written = [], {}
        stream = _Ahead(iter(spoken))
        while (first := stream.peek()) is not None:
            chapter = first.chunk.chapter
            mine = stream.during(lambda s, c=chapter: not self._split or s.chunk.chapter == c)
            path, tuning = self.path_of(chapter), Tuning()
            self.lines.extend(self._file(path, mine, rate_hz, tuning))
            self._written[path] = tuning

    def again(self, load: Callable[[Line], Spoken], rate_hz: int, volumes: Sequence[Volume]) -> bool:
        """Whether any file missed the profile and was written again, with what it missed corrected."""
        off = [volume for volume in volumes if volume.problems]
        for volume in off:
            tuning = tuned(self._profile, volume.levels, self._written[volume.path])
            at = [number for number, line in enumerate(self.lines) if line.file == volume.path.name]
            part = self.lines[at[0] : at[-1] + 1]
            self.lines[at[0] : at[-1] + 1] = self._file(volume.path, map(load, part), rate_hz, tuning)
            self._written[volume.path] = tuning
        return bool(off)

    def _file(self, path: Path, spoken: Iterable[Spoken], rate_hz: int, tuning: Tuning) -> list[Line]:
        shown: list[Cue] = []
        lines: list[Line] = []
        ahead = _Ahead(iter(spoken))
        first = ahead.peek()
        assert first is not None
        with Renderer(
            path,
            rate_hz,
            self._profile,
            tags=self._tags_of(first.chunk.chapter),
            tuning=tuning,
            bit_rate=self._bit_rate,
        ) as renderer:
            at = -1
            for one in ahead.during(lambda _: True):
                if one.chunk.chapter != at:
                    at = one.chunk.chapter
                    renderer.chapter(self._titles[at] or f"{at + 1}")
                placed = renderer.add(one.audio, one.kept.rate_hz, one.chunk.pause_after_s)
                lines.append(Line(one.chunk, _slim(one.kept), placed, path.name))
                if self._subtitles:
                    shown.extend(_cues(one, placed))
        if self._subtitles:
            write_atomic(path.with_suffix(".srt"), srt(shown).encode(), shared=True)
            write_atomic(path.with_suffix(".vtt"), vtt(shown).encode(), shared=True)
        return lines

    def _tags_of(self, chapter: int) -> Tags:
        if not self._split:
            return self._tags
        track = f"{chapter + 1}/{len(self._titles)}"
        title = self._titles[chapter] or self._tags.title
        return replace(self._tags, title=title, album=self._tags.title, track=track)

    def measured(self) -> list[Volume]:
        """Decode what was written and hold it against the profile."""
        found = []
        for path in self._written:
            levels = levels_of(path)
            found.append(Volume(path, levels.seconds, levels, tuple(self._profile.problems(levels))))
        return found


def _slim(kept: Kept) -> Kept:
    return kept if kept.verdict is None else replace(kept, verdict={**kept.verdict, "words": []})


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
