"""Where a reader breathes: sentences, then chunks under a cap.

`sentences` cuts a paragraph; `pieces` cuts a sentence that is too long, at the strongest mark near the middle;
`pack` puts neighbours together into chunks of even length. All work in time linear in the text.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import regex

from langdu.text.dialogue import SPEECH_TAG, at_quotations, together
from langdu.text.marks import CLAUSE, CLAUSE_STRONG, CLOSERS, ELLIPSIS, ENDERS, LEADING, OPENERS, QUOTES
from langdu.text.model import Language, Utterance

# Dots that do not end a sentence.
ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof sr jr st vs etc e.g i.e fig figs no vol ch pp p eq approx inc ltd co corp dept est min max
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun a.m p.m u.s u.k al cf viz ca
    """.split()  # noqa: SIM905
)
SENTENCE_ABBREVIATIONS = frozenset({"etc", "a.m", "p.m", "inc", "ltd", "co", "corp", "jr", "sr", "u.s", "u.k"})
"""Of these, the ones that may well be the last word of a sentence (when a capital follows)."""

# What is never cut inside: URLs, addresses, versions, numbers, file names, words.
TOKEN = regex.compile(
    r"(?:https?://|www\.)[^\s，。！？；、）》”]+"
    r"|(?<![A-Za-z0-9.+_-])[A-Za-z0-9.+_-]{1,64}+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
    r"|[A-Za-z0-9]+(?:[.,:/_'’@&%#+-]+[A-Za-z0-9]+)*[%+#]*"
    r"|[\d]+(?:[.,:/-]\d+)*"
    r"|\[\[?[^\]\n]{1,40}\]?\]"
)
GRAPHEME = regex.compile(r"\X")
SAYABLE = regex.compile(r"[\p{L}\p{N}]")


def sayable(text: str) -> bool:
    """Whether there is a letter or a digit in it; marks alone never reach a model."""
    return bool(SAYABLE.search(text))


def sentences(text: str) -> list[str]:
    """Sentences of one paragraph; together, they are the paragraph. None consists of marks alone, but for a
    paragraph that does."""
    ends = list(_ends(text))
    parts = [text[a:b] for a, b in itertools.pairwise([0, *ends, len(text)]) if a < b]
    joined: list[str] = []
    for part in parts:
        if joined and (not sayable(part) or part.lstrip()[0] in LEADING or not sayable(joined[-1])):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


ADDRESS = regex.compile(
    r"(?:https?://|www\.)[^\s\p{Han}，。！？；、（）《》“”]*[^\s\p{Han}，。！？；、（）《》“”.,;:!?)]"
)
MARK = regex.compile(rf"[{regex.escape(ENDERS + ELLIPSIS)}]+|\.")


def _ends(text: str) -> Iterator[int]:
    """Places where a sentence ends, closing marks included."""
    at = 0
    addresses = [span for match in ADDRESS.finditer(text) for span in range(match.start(), match.end())]
    protected = frozenset(addresses)
    for match in MARK.finditer(text):
        if match.start() < at or match.start() in protected:
            continue
        run = match[0]
        end = match.end()
        while end < len(text) and text[end] in ENDERS + ELLIPSIS + ".":
            end += 1
        if set(text[match.start() : end]) <= set(ELLIPSIS):
            at = end
            continue  # an ellipsis is a pause inside a sentence
        if run == "." and end == match.end() and not _dot_ends(text, match.start()):
            continue
        closed = end
        while closed < len(text) and text[closed] in CLOSERS:
            closed += 1
        while closed < len(text) and text[closed] in ELLIPSIS:
            closed += 1
        quoted = closed > end and text[closed - 1] in QUOTES and text[closed : closed + 1] not in OPENERS
        if quoted and SPEECH_TAG.match(text, closed):
            at = closed
            continue  # “…？”他又问。 stays together
        at = closed
        while closed < len(text) and text[closed] == " ":
            closed += 1
        if closed > at and run[-1].isascii() and text[closed : closed + 1].islower() and text[closed].isascii():
            continue  # "Go!" and went
        yield closed


def _dot_ends(text: str, at: int) -> bool:
    after = text[at + 1 : at + 2]
    if after and not (after.isspace() or after in CLOSERS or _wide(after)):
        return False
    start = at
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "."):
        start -= 1
    word = text[start:at].lower()
    if start == 0 and word.isdigit():
        return False  # the number of a list
    following = text[at + 1 :].lstrip(" " + CLOSERS)[:1]
    if word in ABBREVIATIONS:
        return word in SENTENCE_ABBREVIATIONS and (not following or following.isupper() or _wide(following))
    if len(word) == 1 and word.isalpha() and text[start].isupper():
        return False  # an initial: J. Smith
    return not (following and following.islower())


def _wide(character: str) -> bool:
    return "\u2e80" <= character <= "\uffef"


def pieces(text: str, cap: int) -> list[str]:
    """A text cut to at most `cap` characters, at the strongest place near the even length.

    Inside a token only when the token alone is longer than the cap, never inside a grapheme cluster unless
    that alone is longer.
    """
    if len(text) <= cap:
        return [text]
    found: list[str] = []
    rest = text
    while len(rest) > cap:
        window = rest[: 3 * cap]
        count = -(-len(window) // cap)
        cut = _cut(window, cap, max(1, len(window) // count) if len(rest) == len(window) else cap)
        found.append(rest[:cut])
        rest = rest[cut:]
    return [*found, rest] if rest else found


SHORTEST_TAIL = 3
"""A tail of so few characters sounds cut off; a more even cut is looked for."""


def _cut(text: str, cap: int, target: int) -> int:
    """The best place to cut in text[1:cap+1]: rank first, then nearness to `target`."""
    inside = [False] * (cap + 2)
    for match in TOKEN.finditer(text):
        if match.start() > cap:
            break
        if len(match[0]) <= cap:
            for at in range(match.start() + 1, min(match.end(), cap + 1)):
                inside[at] = True
    boundaries = _graphemes(text, cap)
    low = max(1, min(target // 2, cap - 1))
    best, best_score = 0, (-1.0, 0.0)
    words = None
    found_speech = False
    spare = 0
    for at in boundaries:
        if at > cap or inside[at] or (at < len(text) and text[at] in LEADING):
            continue
        rank = _rank(text, at)
        if rank == 0 and words is None:
            words = _word_ends(text[: cap + 8])
        if rank == 0 and words is not None and at in words:
            rank = 1
        if not found_speech and not (found_speech := sayable(text[:at])):
            spare = at
            continue  # marks alone are no chunk
        stump = at < low or 0 < len(text) - at <= SHORTEST_TAIL
        score = (rank - 5.0 if stump else rank, -abs(at - target))
        if score > best_score or best == 0:
            best, best_score = at, score
    if best or spare:
        return best or spare
    return next((at for at in reversed(boundaries) if at <= cap), cap)


def _graphemes(text: str, cap: int) -> list[int]:
    found = []
    for match in GRAPHEME.finditer(text):
        if match.end() > cap:
            break
        found.append(match.end())
    return found or [min(cap, len(text))]


def _rank(text: str, at: int) -> int:
    before = text[at - 1]
    mark = text[:at].rstrip(" " + CLOSERS)[-1:]
    if mark in ENDERS or mark in ELLIPSIS:
        return 4
    if mark in CLAUSE_STRONG:
        return 3
    if mark in CLAUSE:
        return 2
    return 1 if before == " " else 0


def _word_ends(text: str) -> frozenset[int]:
    """Ends of Chinese words, by jieba; nothing where it is not installed."""
    if not regex.search(r"\p{Han}", text):
        return frozenset()
    try:
        cut = _jieba()
    except ImportError:
        return frozenset()
    return frozenset(itertools.accumulate(len(word) for word in cut(text)))


@functools.cache
def _jieba() -> Callable[[str], list[str]]:
    import rjieba

    cut: Callable[[str], list[str]] = rjieba.Jieba().cut
    return cut


@dataclass(frozen=True, slots=True)
class Segment:
    """A chunk of text: what one request will say."""

    spoken: str
    language: Language
    voice: str | None
    chapter: int
    paragraph: int
    pause_after_s: float
    utterances: tuple[int, ...]


@dataclass(slots=True)
class _Part:
    text: str
    utterance: int
    last: bool
    """Whether it ends its utterance."""


def chunk(
    utterances: Sequence[Utterance],
    cap: int,
    *,
    first_cap: int | None = None,
    pause_chunk_s: float = 0.15,
    fits: Callable[[str, str], bool] | None = None,
) -> list[Segment]:
    """Chunks of at most `cap` characters, none across a change of paragraph, voice or language.

    `first_cap` keeps the very first one short, for a quick first sound. `fits(text, language)` is the
    engine's own limit; what does not fit is cut in half until it does.
    """
    found: list[Segment] = []
    indexed = enumerate(utterances)
    for _, group in itertools.groupby(indexed, key=lambda pair: _block(pair[1])):
        members = list(group)
        runs = _runs(members)
        for run in runs:
            parts = [
                _Part(text, index, last)
                for index, utterance in run
                for text, last in _with_last([p for s in pieces(utterance.spoken, cap) for p in at_quotations(s)])
            ]
            limit = min(first_cap, cap) if first_cap and not found else cap
            if limit < cap:
                parts = _shorten_first(parts, limit)
            for packed in _pack(parts, cap, first=limit):
                for segment in _segments(packed, utterances, pause_chunk_s, fits):
                    if sayable(segment.spoken):
                        found.append(segment)
                    elif found:  # a long run of marks is a pause
                        found[-1] = replace(
                            found[-1], pause_after_s=max(found[-1].pause_after_s, segment.pause_after_s)
                        )
    return found


def _block(utterance: Utterance) -> tuple[int, int, str | None, str]:
    return utterance.chapter, utterance.paragraph, utterance.voice, utterance.language


def _runs(members: list[tuple[int, Utterance]]) -> list[list[tuple[int, Utterance]]]:
    """Cut where the text asks for a pause of its own: an explicit pause is between chunks, not inside one."""
    runs: list[list[tuple[int, Utterance]]] = [[]]
    for member in members:
        runs[-1].append(member)
        if member[1].pause_after_s >= EXPLICIT_S:
            runs.append([])
    return [run for run in runs if run]


EXPLICIT_S = 0.3
"""Pauses from here on are kept as silence; shorter ones are the engine's to make inside a chunk."""


def _with_last(texts: list[str]) -> list[tuple[str, bool]]:
    return [(text, at == len(texts) - 1) for at, text in enumerate(texts)]


def _shorten_first(parts: list[_Part], limit: int) -> list[_Part]:
    head = parts[0]
    if len(head.text) <= limit:
        return parts
    texts = _first_piece(head.text, limit)
    fresh = [_Part(text, head.utterance, head.last and last) for text, last in _with_last(texts)]
    return [*fresh, *parts[1:]]


def _first_piece(text: str, limit: int) -> list[str]:
    """A short head cut at a mark, and the rest; the whole where there is no mark to cut at."""
    places = [at for at in range(4, min(limit, len(text) - 4)) if _rank(text, at) >= 2 and text[at] not in LEADING]
    return [text[: places[-1]], text[places[-1] :]] if places else [text]


def _pack(parts: list[_Part], cap: int, first: int) -> list[list[_Part]]:
    """Neighbours together under the cap, as even as the fewest chunks allow; dialogue stays whole where it fits."""
    packed: list[list[_Part]] = []
    if first < cap and parts:
        packed.append([parts[0]])
        parts = parts[1:]
    blocks = together([part.text for part in parts], cap)
    units = [parts[start:end] for start, end in blocks]
    remaining = sum(len(part.text) for part in parts)
    row: list[list[_Part]] = []
    rows: list[list[list[_Part]]] = []
    size = 0
    target = _target(remaining, cap)
    for unit in units:
        length = _length(unit)
        if row and (size + length > cap or size + length / 2 > target):
            rows.append(row)
            remaining -= size
            row, size, target = [], 0, _target(remaining, cap)
        row.append(unit)
        size += length
    if row:
        rows.append(row)
    if len(rows) > 1 and len(rows[-2]) > 1 and sum(map(_length, rows[-1])) <= SHORTEST_TAIL:
        lender = rows[-2]
        if _length(lender[-1]) + SHORTEST_TAIL <= cap:
            rows[-1].insert(0, lender.pop())
    return packed + [list(itertools.chain.from_iterable(row)) for row in rows]


def _length(unit: list[_Part]) -> int:
    return sum(len(part.text) for part in unit)


def _target(length: int, cap: int) -> float:
    return length / max(1, -(-length // cap))


def _segments(
    parts: list[_Part],
    utterances: Sequence[Utterance],
    pause_chunk_s: float,
    fits: Callable[[str, str], bool] | None,
) -> Iterator[Segment]:
    first, last = utterances[parts[0].utterance], parts[-1]
    text = "".join(part.text for part in parts)
    pause = utterances[last.utterance].pause_after_s if last.last else 0.0
    texts = [text] if fits is None else list(_fitting(text, first.language, fits))
    indices = tuple(dict.fromkeys(part.utterance for part in parts))
    for at, spoken in enumerate(texts):
        after = max(pause, pause_chunk_s) if at == len(texts) - 1 else pause_chunk_s
        yield Segment(spoken, first.language, first.voice, first.chapter, first.paragraph, after, indices)


def _fitting(text: str, language: str, fits: Callable[[str, str], bool]) -> Iterator[str]:
    if len(text) < 2 or fits(text, language):
        yield text
        return
    for part in pieces(text, -(-len(text) // 2)):
        yield from _fitting(part, language, fits) if len(part) < len(text) else [part]
