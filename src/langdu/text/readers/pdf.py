"""PDF with a text layer: lines that repeat on pages dropped, hyphenation and hard wraps undone."""

from __future__ import annotations

import io
from collections import Counter

import regex

from langdu.errors import DocumentError
from langdu.text.clean import WIDE, clean, unwrap
from langdu.text.model import Document, Origin, Paragraph
from langdu.text.readers.plain import HEAD
from langdu.text.readers.sections import numbered

PAGE_NUMBER = regex.compile(r"(?i)^\W*(?:page|第)?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*(?:页|/\s*\d+|of \d+)?\W*$")
ENDS = regex.compile(r"[。！？.!?…：:；;”’』」）)]\s*$")
EDGE_LINES = 2
"""Headers and footers are looked for in so many lines at the top and the bottom of a page."""


def read(data: bytes, name: str) -> Document:
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError(f"{name} is locked with a password.", hint="Save a copy without the password.")
    pages = [[line.strip() for line in clean(page.extract_text(), emoji="keep")[0].split("\n") if line.strip()]
             for page in reader.pages]  # fmt: skip
    if not any(pages):
        raise DocumentError(f"{name} holds no text, only pictures of it.", hint="Run a text recognition (OCR) first.")
    repeated = _repeated(pages)
    parts: list[tuple[str, list[Paragraph]]] = [("", [])]
    for number, lines in enumerate(pages, 1):
        kept = [line for at, line in enumerate(lines) if not _edge(at, len(lines), line, repeated)]
        for text in _paragraphs(kept):
            if HEAD.match(text):
                parts.append((text, []))
            else:
                _append(parts[-1][1], text, number)
    meta = reader.metadata
    return Document(
        str((meta and meta.title) or ""), str((meta and meta.author) or ""),
        sections=tuple(numbered([part for part in parts if part[0] or part[1]], name)),
    )  # fmt: skip


def _shape(line: str) -> str:
    return regex.sub(r"\d+", "0", line)


def _repeated(pages: list[list[str]]) -> frozenset[str]:
    """Lines at page edges, their numbers aside, that come on at least three pages and a third of all."""
    edges = Counter(s for lines in pages for s in {_shape(x) for x in lines[:EDGE_LINES] + lines[-EDGE_LINES:]})
    return frozenset(shape for shape, count in edges.items() if count >= max(3, len(pages) / 3))


def _edge(at: int, count: int, line: str, repeated: frozenset[str]) -> bool:
    if EDGE_LINES <= at < count - EDGE_LINES:
        return False
    return _shape(line) in repeated or (at in (0, count - 1) and bool(PAGE_NUMBER.match(line)))


def _paragraphs(lines: list[str]) -> list[str]:
    """Lines joined until one ends a sentence well short of the usual width."""
    usual = sorted(len(line) for line in lines)[len(lines) * 3 // 4] if lines else 0
    found: list[list[str]] = [[]]
    for line in lines:
        if HEAD.match(line):
            found.extend([[line], []])
            continue
        found[-1].append(line)
        if ENDS.search(line) and len(line) < usual * 0.85:
            found.append([])
    return [unwrap("\n".join(part)) for part in found if part]


def _append(paragraphs: list[Paragraph], text: str, page: int) -> None:
    """A paragraph that the page break cut is one with its beginning."""
    if paragraphs and not ENDS.search(paragraphs[-1].text):
        before = paragraphs.pop()
        gap = "" if WIDE.search(before.text[-1:]) else "\n"
        paragraphs.append(Paragraph(unwrap(before.text + gap + text), before.origin))
    else:
        paragraphs.append(Paragraph(text, Origin(page=page)))
