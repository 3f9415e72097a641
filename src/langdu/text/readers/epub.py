"""EPUB: the spine in order, one section a file, titles from the contents or the first heading."""

from __future__ import annotations

import posixpath
import tempfile
from pathlib import Path
from typing import Any

from langdu.text.model import Document, Paragraph, Section
from langdu.text.readers.html import _language, blocks
from langdu.text.readers.sections import numbered


def read(data: bytes, name: str) -> Document:
    import warnings

    from ebooklib import epub
    from lxml import html

    with warnings.catch_warnings(), tempfile.NamedTemporaryFile(suffix=".epub") as file:
        warnings.simplefilter("ignore")  # ebooklib announces its own future defaults
        file.write(data)
        file.flush()
        book = epub.read_epub(file.name, {"ignore_ncx": False})
    titles = dict(_titles(book.toc))
    sections: list[Section] = []
    for reference, linear in book.spine:
        item = book.get_item_with_id(reference)
        if item is None or linear == "no" or isinstance(item, epub.EpubNav):
            continue
        content = item.get_content()
        if not content.strip():
            continue
        root = html.document_fromstring(content, parser=html.HTMLParser(encoding="utf-8"))
        body = root.find("body")
        found = list(blocks(root if body is None else body))
        title = titles.get(item.file_name) or titles.get(posixpath.basename(item.file_name)) or ""
        if not title:
            title = next((text for text, kind, _ in found if kind == "heading"), "")
        if found and found[0][0] == title:
            found = found[1:]
        paragraphs = [Paragraph(text, kind=kind) for text, kind, _ in found]
        if title or paragraphs:
            sections.extend(numbered([(title, paragraphs)], f"{name}#{item.file_name}", first=len(sections)))
    return Document(
        _meta(book, "title"), _meta(book, "creator"), _language(_meta(book, "language")), tuple(sections),
        cover=_cover(book),
    )  # fmt: skip


def _titles(entries: Any) -> Any:
    """File name and title of every entry of the contents; the first entry of a file counts."""
    stack, seen = [entries], set()
    while stack:
        entry = stack.pop()
        if isinstance(entry, (list, tuple)):
            stack.extend(reversed(entry))
            continue
        file = (getattr(entry, "href", "") or "").split("#")[0]
        if file and file not in seen:
            seen.add(file)
            yield file, entry.title or ""


def _meta(book: Any, key: str) -> str:
    found = book.get_metadata("DC", key)
    return str(found[0][0] or "") if found else ""


def _cover(book: Any) -> bytes | None:
    import ebooklib

    for kind in (ebooklib.ITEM_COVER, ebooklib.ITEM_IMAGE):
        for item in book.get_items_of_type(kind):
            content = bytes(item.get_content())
            named = kind == ebooklib.ITEM_COVER or "cover" in Path(item.file_name).stem.lower()
            if named and content[:4] in (b"\x89PNG", b"\xff\xd8\xff\xe0", b"\xff\xd8\xff\xe1", b"\xff\xd8\xff\xdb"):
                return content
    return None
