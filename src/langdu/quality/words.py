"""The transcript side of a verdict: wrong words, a lost end, a sentence said twice."""

from __future__ import annotations

from langdu.quality.compare import Comparison, compare
from langdu.quality.limits import Limits
from langdu.quality.repeat import DOUBLED, doubled_tail
from langdu.quality.transcript import Checker, Heard
from langdu.quality.verdict import Finding
from langdu.synthesis.model import Chunk, Take


def listen(
    chunk: Chunk, take: Take, checker: Checker, ratio: float, limits: Limits
) -> tuple[Heard, Comparison, list[Finding]]:
    """Transcribe and compare; longer takes than their text also pause by pause. `ratio`: length over expected."""
    heard = checker.hear(take.audio, take.sample_rate_hz, chunk.language)
    compared = compare(chunk.text, heard.text, chunk.language)
    if not heard.text:
        silent = Finding("no speech", 0.0, 1.0, "transcript", "fault", "The checker heard no words.")
        return heard, compared, [silent]
    found = _lost_end(compared, limits) + _repeat(chunk, take, checker, compared, ratio, limits)
    limit = limits.error(checker.model, chunk.language)
    if not found and compared.sound_error > limit:
        found.append(_wrong(compared, heard, limit, limits))
    return heard, compared, found


def _wrong(compared: Comparison, heard: Heard, limit: float, limits: Limits) -> Finding:
    """A fault, unless the checker may be the one who is wrong: then a doubt."""
    figure = compared.sound_error
    if len(compared.written_sounds) < limits.short_syllables:
        message = f"Heard as “{heard.text}”, but so short a text is not judged by one word."
        return Finding("short text", figure, limit, "transcript", "doubt", message)
    if heard.probability < limits.probability and figure < 0.5:
        message = f"The checker is unsure of what it heard (probability {heard.probability:.2f})."
        return Finding("unsure", figure, limit, "transcript", "doubt", message)
    message = f"{figure:.0%} of the sounds are not as written: {compared.marked()}"
    return Finding("wrong words", figure, limit, "transcript", "fault", message)


def _lost_end(compared: Comparison, limits: Limits) -> list[Finding]:
    """Syllables missing after the last one that was heard in place."""
    from rapidfuzz.distance import Levenshtein

    written, heard = compared.written_sounds, compared.heard_sounds
    matched = [op.src_end for op in Levenshtein.opcodes(written, heard) if op.tag == "equal"]
    lost = len(written) - (matched[-1] if matched else 0)
    missing = len(written) - len(heard)
    share = lost / max(1, len(written))
    if not matched or lost < limits.lost_syllables or missing < lost / 2 or share < limits.lost_tail:
        return []
    message = f"The last {lost} of {len(written)} syllables are not there: {compared.marked()}"
    return [Finding("end missing", share, limits.lost_tail, "transcript", "fault", message)]


def _repeat(
    chunk: Chunk, take: Take, checker: Checker, compared: Comparison, ratio: float, limits: Limits
) -> list[Finding]:
    extra = _repeated_syllables(compared)
    if extra < DOUBLED and ratio >= limits.suspicious:
        pieces = checker.hear_pieces(take.audio, take.sample_rate_hz, chunk.language)
        compared = compare(chunk.text, pieces.text, chunk.language)
        extra = _repeated_syllables(compared)
    if extra < DOUBLED:
        return []
    message = f"{extra} syllables were said again: {compared.marked()}"
    return [Finding("said twice", float(extra), float(DOUBLED), "transcript", "fault", message)]


def _repeated_syllables(compared: Comparison) -> int:
    """Longest run at the end of what was heard that was heard just before already, beyond what is written so."""
    return max(0, doubled_tail(compared.heard_sounds) - doubled_tail(compared.written_sounds))
