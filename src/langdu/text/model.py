"""What the text front end gives out: `Document` (what was read) and `Script` (what will be said).

    file or string --documents.py--> Document --script.py--> Script --synthesis/plan.py--> Plan

Everything here is plain, frozen and pickle-free: it crosses processes and rests on disk as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Language = Literal["zh", "en", "ja"]
"""Languages an utterance can have. Mixed text keeps the language of the sentence; engines route its spans."""

SectionKind = Literal["body", "front", "contents", "index", "copyright", "notes"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a span came from. Offsets count code points in the paragraph's source text."""

    file: str = ""
    section: int = 0
    paragraph: int = 0
    start: int = 0
    end: int = 0
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph as it was read: unwrapped, but not yet cleaned or normalised."""

    text: str
    origin: Origin = field(default_factory=Origin)
    kind: Literal["text", "heading", "code", "table", "list", "quote"] = "text"
    cue: tuple[float, float] | None = None
    """Start and end in seconds, for paragraphs that come from SRT or VTT."""


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter, or a part that is not read unless asked for (`kind` other than "body")."""

    title: str
    paragraphs: tuple[Paragraph, ...]
    kind: SectionKind = "body"


@dataclass(frozen=True, slots=True)
class Document:
    title: str = ""
    author: str = ""
    language: Language | None = None
    """As the file declares it; None: decided per utterance."""
    sections: tuple[Section, ...] = ()
    source: str = ""
    encoding: str = "utf-8"
    cover: bytes | None = None
    """JPEG or PNG bytes."""
    text: str = ""
    """The decoded file, for kinds that are text: lines and columns of warnings count in it."""
    notes: tuple[str, ...] = ()
    """What a user should know about the reading: encoding guessed, sections left out, …"""


@dataclass(frozen=True, slots=True)
class Change:
    """One rewrite by a reading rule: `rule` turned `before` into `after`."""

    rule: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TextWarning:
    """Something in the text that was not understood. `line` and `column` count from 1; 0 where unknown."""

    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}" if self.line else self.message


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence (or shorter) as it will be said, by one voice, in one language."""

    source: str
    spoken: str
    language: Language
    chapter: int
    """Index into `Script.chapters`."""
    paragraph: int
    """Counts from 0 within its chapter; utterances of one paragraph are joined with the shorter pause."""
    voice: str | None = None
    """A persona's name where the text names one; None is the default voice."""
    pause_after_s: float = 0.0
    """Silence after it as the text asks for (sentence, paragraph, explicit mark); the join adds nothing."""
    origin: Origin = field(default_factory=Origin)
    emphasis: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """Everything that will be said, in order."""

    utterances: tuple[Utterance, ...]
    chapters: tuple[str, ...] = ("",)
    """Chapter titles, by `Utterance.chapter`."""
    title: str = ""
    author: str = ""
    changes: tuple[Change, ...] = ()
    warnings: tuple[TextWarning, ...] = ()
    cover: bytes | None = None
