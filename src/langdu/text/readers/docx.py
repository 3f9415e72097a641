"""DOCX: paragraphs, headings by style, tables by rows."""

from __future__ import annotations

import io

import regex

from langdu.text.clean import WIDE
from langdu.text.model import Document
from langdu.text.readers.sections import Block, gather


def read(data: bytes, name: str) -> Document:
    from docx import Document as Open
    from docx.table import Table

    file = Open(io.BytesIO(data))
    found: list[Block] = []
    for part in file.iter_inner_content():
        if isinstance(part, Table):
            for row in part.rows:
                cells = [text for cell in row.cells if (text := " ".join(cell.text.split()))]
                if cells:
                    comma, stop = ("，", "。") if WIDE.search("".join(cells)) else (", ", ".")
                    found.append((comma.join(cells) + stop, "table", 0))
            continue
        style = part.style.name if part.style is not None else ""
        level = regex.match(r"(?i)(?:heading|标题) ?(\d)", style or "")
        if level or style == "Title":
            found.append((part.text.strip(), "heading", int(level[1]) if level else 1))
        else:
            found.append((part.text.strip(), "list" if "List" in (style or "") else "text", 0))
    meta = file.core_properties
    return Document(meta.title or "", meta.author or "", sections=tuple(gather(found, name)))
