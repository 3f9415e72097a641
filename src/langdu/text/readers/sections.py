"""What readers share: which parts are not read, paragraphs gathered into chapters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import regex

from langdu.text.model import Origin, Paragraph, Section, SectionKind

Block = tuple[str, Literal["text", "heading", "code", "table", "list", "quote"], int]
"""Text, kind, heading level (0 for what is no heading)."""

KINDS: tuple[tuple[SectionKind, regex.Pattern[str]], ...] = (
    ("contents", regex.compile(r"(?i)^\s*(?:目\s*[录錄次]|(?:table of )?contents|toc)\s*$")),
    ("index", regex.compile(r"(?i)^\s*(?:索\s*引|index)\s*$")),
    ("copyright", regex.compile(r"(?i)^\s*(?:版权(?:页|信息|所有|声明)?|copyright(?: page| notice)?|colophon)\s*$")),
    ("notes", regex.compile(r"(?i)^\s*(?:脚注|尾注|注释|foot ?notes|end ?notes|notes)\s*$")),
    ("front", regex.compile(r"(?i)^\s*(?:封面|扉页|献词|cover|title ?page|half ?title|dedication|epigraph)\s*$")),
)
COPYRIGHT = regex.compile(r"(?i)ISBN[\s:：]*[\d-]{10}|all rights reserved|版权所有|图书在版编目|©\s*\d{4}")


def kind_of(title: str, text: str = "") -> SectionKind:
    """What a section is, by its title; a short one with an ISBN or a copyright line is a copyright page."""
    for kind, pattern in KINDS:
        if pattern.search(title):
            return kind
    return "copyright" if len(text) < 3000 and len(COPYRIGHT.findall(text)) >= 2 else "body"


def gather(blocks: Iterable[Block], name: str, *, level: int = 2) -> list[Section]:
    """Sections that begin at headings down to `level`; each paragraph knows where it is from."""
    parts: list[tuple[str, list[Paragraph]]] = [("", [])]
    for text, kind, heading in blocks:
        if heading and heading <= level:
            parts.append((text, []))
        elif text.strip():
            parts[-1][1].append(Paragraph(text, kind=kind))
    return numbered([(title, found) for title, found in parts if title or found], name)


def numbered(parts: list[tuple[str, list[Paragraph]]], name: str, *, first: int = 0) -> list[Section]:
    found = []
    for at, (title, paragraphs) in enumerate(parts, first):
        placed = tuple(
            replace(p, origin=Origin(name, at, number, 0, len(p.text), p.origin.page))
            for number, p in enumerate(paragraphs)
        )
        found.append(Section(title, placed, kind_of(title, "\n".join(p.text for p in paragraphs))))
    return found
