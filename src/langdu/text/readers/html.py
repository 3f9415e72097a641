"""HTML and Markdown: the main text in blocks; code is kept apart, menus are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import regex

from langdu.text.clean import WIDE
from langdu.text.model import Document, Language, Origin, Paragraph, Section
from langdu.text.readers.sections import Block, gather

LEFT_OUT = frozenset(
    "script style nav aside footer form button noscript template iframe svg head select".split()  # noqa: SIM905
)
HEADINGS = {f"h{n}": n for n in range(1, 7)}
BLOCKS = frozenset(
    "p li blockquote div section article td dt dd figcaption body main center".split()  # noqa: SIM905
)
NOTE_TYPES = ("footnote", "noteref", "pagebreak", "endnote", "rearnote", "toc", "index")
MENU = regex.compile(r"(?i)\b(?:nav(?:bar|igation)?|menu|sidebar|breadcrumbs?|footer|cookie|share|related|comments?)\b")
MAIN = "//main | //article | //*[@role='main'] | //*[@id='content']"


def read(text: str, name: str) -> Document:
    from lxml import html

    root = html.document_fromstring(regex.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    title = " ".join((root.findtext(".//title") or "").split())
    author = next(iter(root.xpath("//meta[@name='author']/@content")), "")
    main = root.xpath(MAIN)
    # A page that marks its main text is taken at its word, if there is enough of it.
    best = max(main, key=lambda node: len(node.text_content()), default=None)
    body = root.find("body")
    chosen = best if best is not None and len(best.text_content().strip()) > 20 else body if body is not None else root
    return Document(title, str(author), _language(root.get("lang") or ""), tuple(gather(blocks(chosen), name)))


def _language(code: str) -> Language | None:
    found: dict[str, Language] = {"zh": "zh", "en": "en", "ja": "ja"}
    return found.get(code.lower()[:2])


def read_markdown(text: str, name: str) -> Document:
    from lxml import html
    from markdown_it import MarkdownIt

    text = regex.sub(r"\A---\n.*?\n---\n", "", text, flags=regex.DOTALL)
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough").render(text)
    if not rendered.strip():
        return Document()
    return Document(sections=tuple(gather(blocks(html.document_fromstring(rendered)), name)))


def one_section(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Headings as paragraphs of one section: a message has headings, but no chapters."""
    found: list[Paragraph] = []
    for section in sections:
        if section.title:
            found.append(Paragraph(section.title, kind="heading"))
        found.extend(section.paragraphs)
    return (Section("", tuple(replace(p, origin=Origin("", 0, at, 0, len(p.text))) for at, p in enumerate(found))),)


def blocks(node: Any) -> Iterator[Block]:
    """Blocks of text in reading order. A table is read by rows, cells parted by commas."""
    yield from _walk(node)


def _walk(root: Any) -> Iterator[Block]:
    """Depth first without recursion: a hostile page may nest deeper than the stack."""
    inline: list[str] = []
    kind: Any = "text"

    def flush() -> Iterator[Block]:
        text = flat("".join(inline))
        inline.clear()
        if text:
            yield text, kind, 0

    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        tag = node.tag if isinstance(node.tag, str) else ""
        if leaving:
            if tag in BLOCKS:
                yield from flush()
                kind = "text"
            inline.append((node.tail or "") if node is not root else "")
            continue
        if node is not root and (not tag or _left_out(node, tag)):
            inline.append(node.tail or "")
            continue
        if tag in HEADINGS or tag in ("pre", "table"):
            yield from flush()
            yield from _whole(node, tag)
            inline.append(node.tail or "")
            continue
        if tag in BLOCKS:
            yield from flush()
            kind = {"li": "list", "blockquote": "quote"}.get(tag, "text")
        inline.append("\n" if tag == "br" else node.text or "")
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(node))
    yield from flush()


def _whole(node: Any, tag: str) -> Iterator[Block]:
    if tag in HEADINGS:
        if text := flat(node.text_content()):
            yield text, "heading", HEADINGS[tag]
    elif tag == "pre":
        yield node.text_content(), "code", 0
    else:
        for row in node.iter("tr"):
            cells = [text for cell in row.iter("td", "th") if (text := flat(cell.text_content()))]
            if cells:
                comma, stop = ("，", "。") if WIDE.search("".join(cells)) else (", ", ".")
                yield comma.join(cells) + stop, "table", 0


def _left_out(node: Any, tag: str) -> bool:
    if tag in LEFT_OUT or node.get("hidden") is not None:
        return True
    if tag == "sup" and node.find(".//a") is not None:
        return True  # the number of a footnote
    types = [node.get(name) or "" for name in ("epub:type", "{http://www.idpf.org/2007/ops}type", "role")]
    role = " ".join(types)
    if any(word in role for word in NOTE_TYPES):
        return True
    return tag in ("div", "ul", "section") and bool(MENU.search(f"{node.get('class') or ''} {node.get('id') or ''}"))


def flat(text: str) -> str:
    """White space as a browser shows it; no space between wide characters where a line was broken."""
    text = regex.sub(rf"(?<={WIDE.pattern})\s*\n\s*(?={WIDE.pattern})", "", text)
    return " ".join(text.split())
