"""The part of a transcript that a part of its clip says."""

from __future__ import annotations

MARKS = "。！？，、；：…—.!?,;:\"'”’）)》」 "


def cut_to(text: str, heard: str) -> str:
    """The stretch of `text` that lies nearest to `heard`, with the marks that close it.

    Aligned on letters and digits alone; returns `text` when either has none.
    """
    from rapidfuzz import fuzz

    places = [at for at, letter in enumerate(text) if letter.isalnum()]
    bare = "".join(text[at].casefold() for at in places)
    said = "".join(letter.casefold() for letter in heard if letter.isalnum())
    if not said or len(said) >= len(bare) or len(bare) != len(places):
        return text
    found = fuzz.partial_ratio_alignment(said, bare)
    if found is None:
        return text
    start, end = places[found.dest_start], places[found.dest_end - 1] + 1
    while start > 0 and text[start].isascii() and text[start - 1].isascii() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isascii() and text[end - 1].isascii() and text[end].isalnum():
        end += 1
    while end < len(text) and text[end] in MARKS:
        end += 1
    return text[start:end].strip()
