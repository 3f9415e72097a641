"""Any document as a `Document`: txt, Markdown, HTML, EPUB, PDF, DOCX, SRT, VTT.

What kind it is, is decided by its first bytes, then by its name. Uploads come this way too: archives are
measured before they are read and never unpacked to disk, XML entities are never expanded.
"""

from __future__ import annotations

import codecs
from dataclasses import replace
from pathlib import Path
from typing import Literal

from langdu.errors import DocumentError, LangduError
from langdu.text.model import Document, Section

Kind = Literal["txt", "md", "html", "epub", "pdf", "docx", "srt", "vtt", "ssml"]

SUFFIXES: dict[str, Kind] = {
    ".txt": "txt", ".text": "txt", ".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".epub": "epub", ".pdf": "pdf", ".docx": "docx", ".srt": "srt", ".ssml": "ssml", ".vtt": "vtt",
}  # fmt: skip
LARGEST_BYTES = 200 * 2**20
LARGEST_UNPACKED_BYTES = 500 * 2**20
MOST_ENTRIES = 20_000
MOST_RATIO = 200
"""Text in archives packs 3 to 10 times smaller; hundreds of times is an attack."""


def read_document(source: str | Path | bytes, name: str = "") -> Document:
    """Read a file, or bytes that are called `name`. Raises DocumentError for what cannot be read."""
    if not isinstance(source, bytes):
        path = Path(source)
        name = name or str(path)
        source = _bytes_of(path)
    if not source:
        raise DocumentError(f"{name or 'The document'} is empty (0 bytes).")
    if len(source) > LARGEST_BYTES:
        raise DocumentError(f"{name} has {len(source) >> 20} MB; {LARGEST_BYTES >> 20} MB is the most that is read.")
    kind = sniff(source, name)
    try:
        document = _read(kind, source, name)
    except LangduError:
        raise
    except ImportError as error:
        from langdu.errors import DependencyError

        hint = 'Run: pip install "langdu[documents]"'
        raise DependencyError(f"Reading {kind} needs {error.name}, which is not installed.", hint=hint) from None
    except Exception as error:  # a parser may fail in any way on a damaged file; the cause is kept
        raise DocumentError(f"{name} is damaged: the {kind} reader says {error!r:.200}.") from error
    document = replace(document, source=name)
    left = [section.title or section.kind for section in document.sections if section.kind != "body"]
    if left:
        document = replace(document, notes=(*document.notes, f"{name}: not read: {', '.join(left)}"))
    return document


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DocumentError(f"{path} is not there.") from None
    except IsADirectoryError:
        raise DocumentError(f"{path} is a folder.", hint="Name a file in it.") from None
    except (OSError, ValueError) as error:
        raise DocumentError(f"{path} cannot be read ({error}).") from None


def sniff(data: bytes, name: str = "") -> Kind:
    """The kind of a document. Raises DocumentError for what is none of them."""
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _archive_kind(data, name)
    if data.startswith((codecs.BOM_UTF8 + b"WEBVTT", b"WEBVTT")):
        return "vtt"
    suffix = SUFFIXES.get(Path(name).suffix.lower())
    if suffix in ("pdf", "epub", "docx"):
        raise DocumentError(f"{name} is no {suffix} file (its first bytes are those of something else).")
    if suffix:
        return suffix
    head = data[:512].lstrip().lower()
    if head.startswith((b"<speak", b"<?xml")) and b"<speak" in head:
        return "ssml"
    return "html" if head.startswith((b"<!doctype html", b"<html")) else "txt"


def _archive_kind(data: bytes, name: str) -> Kind:
    import io
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DocumentError(f"{name} is a damaged archive.", hint="Fetch or export it again.") from None
    size = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries) or 1
    if size > LARGEST_UNPACKED_BYTES or len(entries) > MOST_ENTRIES or (size > 2**24 and size / packed > MOST_RATIO):
        raise DocumentError(f"{name} unpacks to {size >> 20} MB in {len(entries)} entries; that is not read.")
    names = {entry.filename for entry in entries}
    if "word/document.xml" in names:
        return "docx"
    if "META-INF/container.xml" in names:
        return "epub"
    raise DocumentError(f"{name} is an archive, but neither EPUB nor DOCX.", hint="Unpack it and name one document.")


def decode(data: bytes, name: str) -> tuple[str, str]:
    """Text and its encoding: by its byte order mark, UTF-8, then as detected."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    ):  # fmt: skip
        if data.startswith(mark):
            return data.decode(encoding, errors="replace"), encoding.removesuffix("-sig")
    if b"\0" in data[:4096]:
        raise DocumentError(f"{name} is not a text file (it holds binary data).")
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    try:  # the most common by far for Chinese; a detector takes short GBK texts for other things
        text = data.decode("gb18030")
        if sum("\u4e00" <= c <= "\u9fa5" for c in text) > sum(b > 127 for b in data) / 3 and _common(text):
            return text, "gb18030"
    except UnicodeDecodeError:
        pass
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise DocumentError(f"{name} is not a text in any known encoding.", hint="Save it as UTF-8.")
    return str(best), best.encoding


COMMON = frozenset("的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过")


def _common(text: str) -> bool:
    """Whether a text reads as Chinese: its most frequent characters are there."""
    han = [c for c in text if "\u4e00" <= c <= "\u9fff"]
    return sum(c in COMMON for c in han) >= len(han) / 50


def _read(kind: Kind, data: bytes, name: str) -> Document:
    from langdu.text.readers import docx, epub, html, pdf, plain, subtitles

    if kind == "pdf":
        return pdf.read(data, name)
    if kind == "epub":
        return epub.read(data, name)
    if kind == "docx":
        return docx.read(data, name)
    text, encoding = decode(data, name)
    reader = {"txt": plain.read, "md": html.read_markdown, "html": html.read, "srt": subtitles.read,
              "vtt": subtitles.read, "ssml": plain.read_ssml}[kind]  # fmt: skip
    document = reader(text, name)
    notes = () if encoding in ("utf-8", "ascii") else (f"{name}: read as {encoding}",)
    return replace(document, encoding=encoding, text=text, notes=(*document.notes, *notes))


def chapters(document: Document) -> list[Section]:
    """The sections that are read."""
    return [section for section in document.sections if section.kind == "body"]
