"""Verdicts: is this take what the text says, and sound?

    judge(chunk, take, checker=...) -> Verdict      pass | fault | inconclusive, with named findings
    ending_verdict(take) -> Verdict                 what can be said without listening
    better(a, b)                                    which of two verdicts' takes is kept
    seed_for(attempt, base)                         the seed of the next saying

The cheap figures come first; what they already refuse is not transcribed. A fault is certain enough to say the
chunk again; inconclusive means that the check itself could not tell, and a person may want to listen.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

from langdu.quality.compare import Comparison, sounds
from langdu.quality.limits import SYLLABLE_S, Limits
from langdu.quality.repeat import doubled_tail, repeated_tail
from langdu.quality.signal import SignalFacts, measure
from langdu.quality.speaker import Vector
from langdu.quality.syllables import count_syllables
from langdu.quality.transcript import Checker, Heard
from langdu.synthesis.model import Chunk, Take

Outcome = Literal["pass", "fault", "inconclusive"]
Level = Literal["fault", "doubt", "note"]
OUTCOMES: tuple[Outcome, ...] = ("pass", "inconclusive", "fault")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was noticed. `figure` went past `threshold`; `source` says what measured it."""

    name: str
    figure: float
    threshold: float
    source: Literal["signal", "duration", "transcript", "speaker", "engine"]
    level: Level
    message: str


@dataclass(frozen=True, slots=True)
class Reference:
    """What is known of the persona: its voice, and how fast it speaks (None: the average voice)."""

    vector: Vector | None = None
    syllable_s: float | None = None
    certain: bool = True
    """Whether the voice was given (a recording); one learned from a take is no ground for a fault."""


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    findings: tuple[Finding, ...]
    signal: SignalFacts
    heard: Heard | None = None
    """None: no checker, or refused before it was asked."""
    comparison: Comparison | None = None
    duration_ratio: float = 1.0
    """Seconds of sound over those expected."""
    similarity: float | None = None
    attempt: int = 1

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(finding.name for finding in self.findings if finding.level == "fault")

    def as_dict(self) -> dict[str, Any]:
        """For reports, as JSON."""
        compared = self.comparison
        return {
            "outcome": self.outcome,
            "findings": [asdict(finding) for finding in self.findings],
            "signal": asdict(self.signal),
            "heard": self.heard.text if self.heard else None,
            "cer": round(compared.cer, 4) if compared else None,
            "wer": round(compared.wer, 4) if compared and compared.wer is not None else None,
            "sound_error": round(compared.sound_error, 4) if compared else None,
            "marked": compared.marked() if compared else None,
            "duration_ratio": round(self.duration_ratio, 3),
            "similarity": None if self.similarity is None else round(self.similarity, 3),
            "attempt": self.attempt,
        }


def judge(
    chunk: Chunk,
    take: Take,
    *,
    checker: Checker | None = None,
    reference: Reference | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """Judge one take. Without a checker, words are not judged; without a reference, nor is the voice."""
    limits = limits or Limits()
    facts = measure(take.audio, take.sample_rate_hz)
    expected = expected_seconds(chunk, reference)
    ratio = facts.active_s / expected if expected else 1.0
    findings = [
        *_engine(take),
        *signal_findings(facts, limits),
        *_duration(ratio, limits),
        *_repeat(chunk, take, limits),
    ]
    if any(finding.level == "fault" and finding.source in ("signal", "duration") for finding in findings):
        return _verdict(findings, facts, ratio, take)
    heard = compared = None
    if checker is not None:
        from langdu.quality.words import listen

        heard, compared, found = listen(chunk, take, checker, ratio, limits)
        findings += found
    similarity = None
    if reference is not None and reference.vector is not None:
        similarity, found = _voice(take, reference.vector, limits, certain=reference.certain)
        findings += found
    return _verdict(findings, facts, ratio, take, heard, compared, similarity)


def ending_verdict(take: Take) -> Verdict:
    """A verdict by how the engine ended alone."""
    return _verdict(_engine(take), measure(take.audio, take.sample_rate_hz), 1.0, take)


def expected_seconds(chunk: Chunk, reference: Reference | None = None) -> float:
    """Seconds of sound (pauses not counted) the chunk's syllables take at its speed; 0 for an unknown language."""
    each = (reference.syllable_s if reference else None) or SYLLABLE_S.get(chunk.language, 0.0)
    return count_syllables(chunk.text, chunk.language) * each / chunk.speed


def _engine(take: Take) -> list[Finding]:
    if take.ending == "budget":
        message = "The engine hit its frame budget: the end is missing, or it did not stop by itself."
        return [Finding("budget", take.audio_seconds, take.audio_seconds, "engine", "fault", message)]
    if take.ending == "cancelled":
        message = "The take was cancelled before its end."
        return [Finding("cancelled", take.audio_seconds, take.audio_seconds, "engine", "fault", message)]
    return []


def signal_findings(facts: SignalFacts, limits: Limits) -> list[Finding]:
    """Everything the figures alone refuse."""
    if facts.active_s == 0.0:
        dead = Finding("silent", facts.level_db, limits.quiet_lufs, "signal", "fault", "There is no sound at all.")
        return [dead, *_over("dc offset", abs(facts.dc), limits.dc, "The samples lie off the middle by")]
    last = sum(facts.zcr_segments[-2:]) / 2
    found = [
        *_over("quiet", -facts.loudness_lufs, -limits.quiet_lufs, "Nearly silent: LUFS below full scale"),
        *_over("dc offset", abs(facts.dc), limits.dc, "The samples lie off the middle by"),
        *_over("clipped", facts.clipped_share, limits.clipped_share, "Share of samples cut flat"),
        *_over("over full scale", facts.true_peak_db, limits.true_peak_db, "True peak in dBTP"),
        *_over("hole", facts.longest_pause_s, limits.pause_s, "Seconds of silence inside the speech"),
        *_over("late start", facts.leading_silence_s, limits.edge_silence_s, "Seconds of silence before the speech"),
        *_over("late end", facts.trailing_silence_s, limits.edge_silence_s, "Seconds of silence after the speech"),
        *_over("noise", facts.flatness, limits.flatness, "Spectral flatness, as of noise"),
        *_over("crackle", facts.zcr, limits.zcr, "Zero crossings per sample"),
        *_over("hissing tail", last, limits.zcr_last, "Zero crossings per sample in the last quarter"),
    ]
    if 0 < facts.true_peak_db <= limits.true_peak_db:
        message = f"True peak {facts.true_peak_db:.1f} dBTP: the loudness pass turns it down."
        found.append(Finding("peak", facts.true_peak_db, 0.0, "signal", "note", message))
    return found


def _over(name: str, figure: float, threshold: float, what: str) -> list[Finding]:
    if figure <= threshold:
        return []
    return [Finding(name, figure, threshold, "signal", "fault", f"{what}: {figure:.3g}, at most {threshold:.3g}.")]


def _duration(ratio: float, limits: Limits) -> list[Finding]:
    if limits.too_short <= ratio <= limits.too_long:
        return []
    name, threshold = ("too short", limits.too_short) if ratio < limits.too_short else ("too long", limits.too_long)
    message = f"{ratio:.2f} times as long as its text should take."
    return [Finding(name, ratio, threshold, "duration", "fault", message)]


def _repeat(chunk: Chunk, take: Take, limits: Limits) -> list[Finding]:
    """A text that says something twice is asked to."""
    if doubled_tail(sounds(chunk.text, chunk.language)):
        return []
    repeat = repeated_tail(take.audio, take.sample_rate_hz)
    if repeat.similarity < limits.repeat:
        return []
    message = f"The last {repeat.lag_s:.1f} s sound like what was said just before them."
    return [Finding("said twice", repeat.similarity, limits.repeat, "signal", "fault", message)]


def _voice(take: Take, voice: Vector, limits: Limits, *, certain: bool) -> tuple[float | None, list[Finding]]:
    from langdu.quality.speaker import embed, similarity

    vector = embed(take.audio, take.sample_rate_hz)
    if not vector.any():
        return None, []
    figure = similarity(vector, voice)
    if figure >= limits.doubtful_similarity:
        return figure, []
    level: Level = "fault" if certain and figure < limits.similarity else "doubt"
    message = f"Similarity to the persona's voice is {figure:.2f}."
    return figure, [Finding("other voice", figure, limits.similarity, "speaker", level, message)]


def _verdict(
    findings: list[Finding],
    facts: SignalFacts,
    ratio: float,
    take: Take,
    heard: Heard | None = None,
    compared: Comparison | None = None,
    similarity: float | None = None,
) -> Verdict:
    levels = {finding.level for finding in findings}
    outcome: Outcome = "fault" if "fault" in levels else "inconclusive" if "doubt" in levels else "pass"
    return Verdict(outcome, tuple(findings), facts, heard, compared, ratio, similarity, take.attempt)


def better(a: Verdict, b: Verdict) -> Verdict:
    """The one whose take is kept. Order: outcome (pass, inconclusive, fault), fewer faults, fewer wrong sounds
    (not transcribed counts as all wrong), likeness to the persona, length nearer to the expected, earlier."""
    return min(a, b, key=rank)


def rank(verdict: Verdict) -> tuple[float, ...]:
    """Lower is better; see `better`."""
    compared = verdict.comparison
    return (
        OUTCOMES.index(verdict.outcome),
        len(verdict.faults),
        round(compared.sound_error, 3) if compared else 1.0,
        -round(verdict.similarity or 0.0, 2),
        abs(verdict.duration_ratio - 1),
        verdict.attempt,
    )


def seed_for(attempt: int, base: int) -> int:
    """The seed of a saying: `base` for the first, then others that are the same on every machine (31 bits)."""
    if attempt <= 1:
        return base
    return int.from_bytes(hashlib.sha256(f"{base}:{attempt}".encode()).digest()[:4], "big") >> 1


__all__ = [
    "Finding",
    "Limits",
    "Reference",
    "Verdict",
    "better",
    "ending_verdict",
    "expected_seconds",
    "judge",
    "rank",
    "seed_for",
    "signal_findings",
]
