"""What a persona may be called."""

from __future__ import annotations

import unicodedata

MAX_CHARS = 64


def fold(name: str) -> str:
    """Names that look the same are the same: compatibility forms and case folded."""
    return unicodedata.normalize("NFKC", name).casefold()


def fault(name: str) -> str:
    """Why a name cannot be used, or "". Names are never paths, but may be printed and sent anywhere."""
    if not name.strip():
        return "the name is blank"
    if len(name) > MAX_CHARS:
        return f"the name has {len(name)} characters, more than {MAX_CHARS}"
    if name != name.strip():
        return "the name begins or ends with a space"
    if any(mark in name for mark in "/\\") or name.startswith(".") or name[1:2] == ":":
        return "the name is a path"
    if any(unicodedata.category(letter)[0] == "C" for letter in name):
        return "the name holds an invisible character"
    return ""
