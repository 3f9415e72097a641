"""Reading a hand-edited personas.json that may be damaged, without losing the good entries.

The file is JSON with `//` and `/* */` comments and trailing commas allowed:

    {"version": 1, "personas": {"name": {"kind": "clone", …}, …}}

Every entry is found with its place in the text, so a change touches that entry's characters alone: comments,
damaged entries and the user's layout stay as they are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

VERSION = 1
_BEGIN = re.compile(r'"personas"\s*:\s*\{')
_NEXT = re.compile(r'^[ \t]*"(?:[^"\\\n]|\\.)+"\s*:\s*\{', re.MULTILINE)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING = re.compile(r'"(?:[^"\\\n]|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
_COMMA = re.compile(r"\s*,")
_SPACE = re.compile(r"[\s,]*")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the file. `name` is "" where no entry could be made out; `line` counts from 1."""

    line: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}{f', {self.name}' if self.name else ''}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    value: dict[str, Any]
    line: int
    start: int
    """Where its key begins in the text."""
    end: int
    """Just after its closing brace."""


@dataclass(slots=True)
class Scan:
    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    version: int = VERSION
    close: int | None = None
    """Where the brace that closes the personas stands; None when it is missing (half a file)."""


class _TwiceError(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(f'the key "{key}" stands twice')
        found[key] = value
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number JSON knows")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


def plain(text: str) -> str:
    """The text as strict JSON of the same length: comments and trailing commas become spaces."""
    return _TRAILING.sub(lambda found: " " if found[0] == "," else found[0], uncommented(text))


def uncommented(text: str) -> str:
    """The text with comments as spaces; newlines stay, so that lines and places are the same."""
    return _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else _blank(found[0]), text)


def insert(text: str, found: Scan, entry: str) -> str:
    """The text with one more entry, on a line of its own, after the last."""
    assert found.close is not None
    bare = uncommented(text)[: found.close].rstrip()
    comma = "" if bare[-1] in "{," else ","
    between = text[len(bare) : found.close].rstrip()
    return text[: len(bare)] + comma + between + f"\n  {entry}\n " + text[found.close :]


def cut(text: str, entry: Entry) -> str:
    """The text without that entry, and without the comma that would be left over."""
    bare = uncommented(text)
    after = _COMMA.match(bare, entry.end)
    if after:
        rest = text[after.end() :]
        return text[: entry.start].rstrip(" \t") + re.sub(r"\A[ \t]*\n", "", rest)
    before = bare[: entry.start].rstrip()
    if before.endswith(","):
        return text[: len(before) - 1] + text[len(before) : entry.start].rstrip(" \t") + text[entry.end :]
    return text[: entry.start].rstrip(" \t") + text[entry.end :]


def _blank(comment: str) -> str:
    return "".join(letter if letter == "\n" else " " for letter in comment)


def scan(text: str) -> Scan:
    """Entries, problems and version. A BOM is for the caller to strip. Never raises for damage."""
    found, body = Scan(), plain(text)
    if not body.strip():
        found.problems.append(Problem(1, "", "the file is empty"))
        return found
    begin = _BEGIN.search(body)
    if begin is None:
        found.version, at = 0, body.find("{") + 1
        if at == 0:
            found.problems.append(Problem(1, "", "there is no JSON object here"))
            return found
    else:
        at = begin.end()
        version = re.search(r'"version"\s*:\s*(\d+)', body[: begin.start()])
        found.version = int(version[1]) if version else VERSION
    _members(body, at, found)
    return found


def _members(body: str, at: int, found: Scan) -> None:
    while True:
        space = _SPACE.match(body, at)
        at = space.end() if space else at
        if at >= len(body):
            found.problems.append(Problem(_line(body, at), "", "the file ends in the middle"))
            return
        if body[at] == "}":
            found.close = at
            return
        start, name = at, ""
        try:
            name, at = _DECODER.raw_decode(body, at)
            if not isinstance(name, str):
                name = ""
                raise ValueError("a name in quotes was expected")
            colon = re.compile(r"\s*:\s*").match(body, at)
            if colon is None:
                raise ValueError("a colon was expected after the name")
            value, at = _DECODER.raw_decode(body, colon.end())
            if isinstance(value, dict):
                found.entries.append(Entry(name, value, _line(body, start), start, at))
            elif found.version != 0 or name != "version":
                found.problems.append(Problem(_line(body, start), name, "is no object in braces"))
        except ValueError as error:
            place = error.pos if isinstance(error, json.JSONDecodeError) else start
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            line = _line(body, min(place, len(body) - 1))
            found.problems.append(Problem(line, name if isinstance(name, str) else "", reason))
            following = _NEXT.search(body, start + 1 + len(name))
            if following is None:
                return
            at = following.start()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
