"""SRT and VTT: one paragraph a cue, with its times."""

from __future__ import annotations

import html

import regex

from langdu.errors import DocumentError
from langdu.text.clean import unwrap
from langdu.text.model import Document, Paragraph
from langdu.text.readers.sections import numbered

TIME = r"(?:(\d+):)?(\d{1,2}):(\d{2})[,.](\d{1,3})"
TIMES = regex.compile(rf"{TIME}\s*-->\s*{TIME}")
TAG = regex.compile(r"</?[a-zA-Z][^>]*>|<\d[^>]*>|\{\\[^}]*\}")


def read(text: str, name: str) -> Document:
    found: list[Paragraph] = []
    for block in regex.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip().split("\n")
        at = next((at for at, line in enumerate(lines) if "-->" in line), None)
        if at is None:
            continue
        times = TIMES.search(lines[at])
        if times is None:
            raise DocumentError(
                f'{name}: "{lines[at][:60]}" are no cue times.', hint="Like 00:00:01,000 --> 00:00:02,000"
            )
        said = unwrap("\n".join(html.unescape(TAG.sub("", line)).strip() for line in lines[at + 1 :]))
        if said:
            groups = times.groups()
            found.append(Paragraph(said, cue=(_seconds(groups[:4]), _seconds(groups[4:]))))
    if not found:
        raise DocumentError(f"{name} holds no cue.")
    return Document(sections=tuple(numbered([("", found)], name)))


def _seconds(groups: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = groups
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction}")
