"""What somebody says in a text stays in one breath: a quotation, and the words that tell who says it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import regex

from langdu.text.marks import LEADING

SPEECH_TAG = regex.compile(r"[^。！？!?]{0,12}?[说问问道喊叫答笑想嘟哝吼嚷][^。！？!?]{0,12}[。！？!?，,：:]")
"""Right after a quotation it belongs to the same sentence: “……？”他又问。"""
NARRATION = regex.compile(
    r"\s*(?:[^。！？!?“‘「『\"]{0,20}?(?:说|问|道|喊|叫|答|笑|想|嚷|吼|叹|骂|劝|催|嘟哝|开口|回应|补充)"
    r"|[^.!?“‘\"]{0,30}?\b(?:said|says|asked|asks|replied|answered|cried|shouted|whispered|added|thought|muttered"
    r"|called|told|exclaimed|continued|went on)\b)"
)
"""A sentence that tells who said what was quoted before it."""
QUOTED_END = regex.compile(r"[\p{L}\p{N}][。！？!?….]+[”’」』\"]+(?= ?\p{L})")
PAIRS = {"“": "”", "‘": "’", "「": "」", "『": "』", "«": "»"}
CLOSING = frozenset(PAIRS.values())
LONGEST_QUOTE = 2_000
"""A quotation not closed within so many characters is a slip of the writer, and holds nothing together."""
QUOTED, TOLD = 2, 1
"""How strongly two neighbours belong together: inside one quotation; a quotation and its narration."""


def together(texts: Sequence[str], cap: int) -> list[tuple[int, int]]:
    """Ranges of neighbouring texts that are to be said in one chunk, each at most `cap` characters long.

    A quotation with its narration stays whole where it fits; where it does not, the quotation alone; where that
    does not, its last sentence and the narration.
    """
    bonds = [_bond(before, after, inside) for (before, after), inside in zip(
        itertools.pairwise(texts), _inside(texts), strict=False
    )]  # fmt: skip
    return list(_ranges([len(text) for text in texts], bonds, 0, len(texts), cap, TOLD))


def _ranges(
    lengths: list[int], bonds: list[int], start: int, end: int, cap: int, strength: int
) -> Iterator[tuple[int, int]]:
    """Runs whose bonds are all at least `strength`; one that is too long is looked at again by its stronger bonds."""
    at = start
    while at < end:
        stop = at + 1
        while stop < end and bonds[stop - 1] >= strength:
            stop += 1
        if stop - at == 1 or sum(lengths[at:stop]) <= cap:
            yield at, stop
        elif strength == TOLD:
            yield from _ranges(lengths, bonds, at, stop, cap, QUOTED)
        else:
            yield from ((one, one + 1) for one in range(at, stop - 1))
            if stop < end and lengths[stop - 1] + lengths[stop] <= cap:
                yield stop - 1, stop + 1
                stop += 1
            else:
                yield stop - 1, stop
        at = stop


def at_quotations(text: str) -> list[str]:
    """A sentence cut between a quotation in it and its narration, where a long one may be parted."""
    cuts = [
        match.end()
        for match in QUOTED_END.finditer(text)
        if NARRATION.match(text, match.end()) and text[match.end()] not in LEADING
    ]
    return [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]


def _bond(before: str, after: str, inside: bool) -> int:
    if inside:
        return QUOTED
    closed = before.rstrip()[-1:]
    told = (closed in CLOSING or closed == '"') and NARRATION.match(after)
    return TOLD if told else 0


def _inside(texts: Sequence[str]) -> list[bool]:
    """For each text, whether a quotation that began in it or before goes on after it."""
    joined = "".join(texts)
    quotations = list(_quotations(joined))
    found: list[bool] = []
    at = current = 0
    for text in texts:
        at += len(text)
        while current < len(quotations) and quotations[current][1] <= at:
            current += 1
        found.append(current < len(quotations) and quotations[current][0] < at)
    return found


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Where each quotation begins and ends, outermost ones only. Plain double quotes open and close by turns."""
    start, closing, depth = 0, "", 0
    for match in regex.finditer(r"[“”‘’「」『』«»\"]", text):
        mark = match[0]
        if closing and match.start() - start > LONGEST_QUOTE:
            closing = ""
        if not closing:
            if mark in PAIRS or mark == '"':
                start, closing, depth = match.start(), PAIRS.get(mark, mark), 1
        elif mark == closing:
            depth -= 1
            if not depth:
                yield start, match.end()
                closing = ""
        elif PAIRS.get(mark) == closing:
            depth += 1
