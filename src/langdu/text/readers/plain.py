"""Plain text: paragraphs, and chapters where lines look like chapter heads."""

from __future__ import annotations

import regex

from langdu.text import ssml
from langdu.text.clean import clean, paragraphs
from langdu.text.model import Document
from langdu.text.readers.sections import Block, gather

HEAD = regex.compile(
    r"(?i)^(?:第\s?[0-9零〇一二三四五六七八九十百千两IVXLC]{1,8}\s?[章回卷部篇](?:\s.{0,40}|[^，。！？,]{0,30})?"
    r"|(?:chapter|part|book)\s+(?:\d{1,3}|[ivxlc]{1,7}|one|two|three|four|five|six|seven|eight|nine|ten)\b.{0,60}"
    r"|序[言章幕]?|楔子|引子|尾声|后记|prologue|epilogue|目\s*录)$"
)


def read(text: str, name: str) -> Document:
    # Emoji and box drawing are a matter of the script's options; only the invisible goes here.
    lines = clean(text, emoji="keep")[0].split("\n")
    parted = "\n".join(f"\n\n{line.strip()}\n\n" if HEAD.match(line.strip()) else line for line in lines)
    blocks: list[Block] = [(p, "heading", 1) if HEAD.match(p) else (p, "text", 0) for p in paragraphs(parted)]
    return Document(sections=tuple(gather(blocks, name)))


def read_ssml(text: str, name: str) -> Document:
    """Raises TextError with line and column where the XML is broken."""
    return read(ssml.to_marks(text), name)
