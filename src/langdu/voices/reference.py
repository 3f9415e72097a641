"""A reference clip: read, judged, trimmed, levelled, and paired with the words it says.

A clone copies what its clip does. A clip that ends in mid-word leaks its last sound into the output, a long one
costs memory at every step, and a transcript that does not match it makes garble; so all three are settled here,
once, before a persona is made.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from langdu.audio.header import wav_header
from langdu.audio.read import read
from langdu.engines.base import Audio
from langdu.errors import ClipError, DocumentError
from langdu.quality.transcript import Checker, resample, speech_spans
from langdu.voices.clip import Measures, level, measure, window
from langdu.voices.words import cut_to

RATE_HZ = 24_000
REFUSE_UNDER_S, WARN_UNDER_S, LONGEST_S = 1.0, 3.0, 20.0
TAIL_S = 0.5
CER_LIMIT = 0.3


@dataclass(frozen=True, slots=True)
class Report:
    """Figures of the original clip, and where it was cut."""

    path: str
    seconds: float
    rate_hz: int
    bits: int | None
    measures: Measures
    start_s: float
    end_s: float
    """The part that was kept, before the silence at its end."""
    kept_seconds: float
    """Length of the processed clip, its closing silence included."""
    cer: float | None
    """Of the given transcript against what was heard; None where nothing was compared."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Intake:
    report: Report
    audio: Audio
    """Processed: 24 kHz mono, shape (samples,)."""
    transcript: str
    transcript_by: Literal["person", "asr"]
    language: str
    warnings: tuple[str, ...]
    heard: str = ""


def intake(
    path: Path | str, *, text: str | None = None, language: str | None = None, checker: Checker | None = None
) -> Intake:
    """Make a clip ready. The file itself is only read.

    Without `text` the checker transcribes; with both, they are compared. Raises ClipError, in one line: which
    file and why.
    """
    path = Path(path)
    text = text.strip() if text is not None else None
    if text == "":
        raise ClipError(f"The transcript given for {path.name} is blank.", hint="Leave it out to have it transcribed.")
    try:
        sound, rate_hz = read(path)
    except DocumentError as error:
        raise ClipError(error.message, hint=error.hint) from None
    sound = np.nan_to_num(sound, nan=0.0, posinf=1.0, neginf=-1.0)
    seconds = len(sound) / rate_hz
    if seconds < REFUSE_UNDER_S:
        raise ClipError(f"{path} is {seconds:.2f} s long; a clone needs {REFUSE_UNDER_S:.0f} s at least.")
    spans = speech_spans(sound, rate_hz)
    if not spans:
        raise ClipError(f"{path} holds no speech ({seconds:.1f} s were searched).", hint="Give a clip of one speaker.")
    header = wav_header(path)
    found = measure(sound, rate_hz, spans)
    warnings = _warnings(seconds, rate_hz, found)
    if header is not None and header.bits <= 8:
        warnings.append(f"the samples have {header.bits} bits; 16 or more sound cleaner")
    if header is not None and header.truncated:
        warnings.append(f"the file is cut short: {header.missing_share:.0%} of the sound it announces is missing")
    start_s, end_s, in_word = window(spans, seconds, LONGEST_S, faded=_faded(sound, rate_hz, found.speech_db))
    if in_word:
        warnings.append("it ends in the middle of a word and has no pause to cut at; the last sound may leak")
    if end_s - start_s < seconds - 1.0:
        warnings.append(f"only {start_s:.1f} to {end_s:.1f} s are used")
    cut = sound[round(start_s * rate_hz) : round(end_s * rate_hz)]
    processed = level(resample(cut, rate_hz, RATE_HZ))
    processed = np.concatenate([processed, np.zeros(round(TAIL_S * RATE_HZ), np.float32)])
    trimmed = start_s > spans[0][0] or end_s < spans[-1][1]
    words = _transcript(path, processed, text, language, checker, trimmed=trimmed)
    report = Report(
        str(path), seconds, rate_hz, header.bits if header else None, found, start_s, end_s,
        len(processed) / RATE_HZ, words.cer,
    )  # fmt: skip
    return Intake(report, processed, words.text, words.by, words.language, (*warnings, *words.warnings), words.heard)


@dataclass(frozen=True, slots=True)
class _Words:
    text: str
    by: Literal["person", "asr"]
    language: str
    heard: str = ""
    cer: float | None = None
    warnings: tuple[str, ...] = ()


def _transcript(
    path: Path, clip: Audio, text: str | None, language: str | None, checker: Checker | None, *, trimmed: bool
) -> _Words:
    from langdu.text.language import language_of

    if checker is None:
        if text is None:
            hint = "Give the words with --text, or run: langdu models get whisper-base"
            raise ClipError(f"{path} needs its transcript, and there is nothing to transcribe it with.", hint=hint)
        if trimmed:
            hint = "Run: langdu models get whisper-base, or cut the clip to 3 to 20 s yourself."
            raise ClipError(f"{path} has to be trimmed, and its transcript can't be cut to match unheard.", hint=hint)
        warning = "the transcript was not compared with the sound"
        return _Words(text, "person", language or language_of(text), warnings=(warning,))
    # A given text fixes the language; otherwise the checker listens for it, then once more with its prompt.
    wanted = language or (language_of(text) if text else None)
    heard = checker.hear(clip, RATE_HZ, wanted)
    if wanted is None and heard.language == "zh":
        heard = checker.hear(clip, RATE_HZ, "zh")
    spoken = wanted or heard.language
    if not heard.text.strip():
        raise ClipError(f"No words could be heard in {path}.", hint="Give a clip of clear speech.")
    if text is None:
        unsure = (f"the transcript is uncertain ({heard.probability:.0%}); read it well",) * (heard.probability < 0.5)
        return _Words(heard.text.strip(), "asr", spoken, heard.text, warnings=unsure)
    part = cut_to(text, heard.text) if trimmed else text
    cer = match(part, heard.text, spoken, path)
    return _Words(part, "person", spoken, heard.text, cer)


def match(given: str, heard: str, language: str, path: Path) -> float:
    """CER of a transcript against what was heard. ClipError over `CER_LIMIT`, with both side by side."""
    from langdu.quality.compare import compare

    cer = compare(given, heard, language).cer
    if cer > CER_LIMIT:
        raise ClipError(
            f"The transcript does not match {path} (CER {cer:.2f}, limit {CER_LIMIT}).\n"
            f"  given: {given}\n  heard: {heard}\n",
            hint="Correct it, or leave --text out to take what was heard.",
        )
    return cer


def _faded(sound: Audio, rate_hz: int, speech_db: float) -> bool:
    """Whether the last 20 ms lie 25 dB under the voice: a vowel or a consonant broken off does not."""
    tail = sound[-max(1, rate_hz // 50) :].astype(np.float64)
    return float(10 * np.log10(np.mean(tail**2) + 1e-12)) < speech_db - 25


def _warnings(seconds: float, rate_hz: int, found: Measures) -> list[str]:
    said = []
    if seconds < WARN_UNDER_S:
        said.append(f"it is {seconds:.1f} s long; {WARN_UNDER_S:.0f} to 20 s make a better clone")
    if rate_hz < 16_000:
        said.append(f"the rate is {rate_hz} Hz: nothing above {rate_hz // 2000} kHz is there to copy")
    if found.clipped_share > 0.0005:
        said.append(f"{found.clipped_share:.1%} of the samples are clipped")
    if found.snr_db is not None and found.snr_db < 20:
        said.append(f"the noise is only {found.snr_db:.0f} dB below the voice, and is cloned with it")
    if found.speech_db < -40:
        said.append(f"the voice is faint ({found.speech_db:.0f} dBFS)")
    if found.speech_share < 0.5:
        said.append(f"only {found.speech_share:.0%} of it is speech")
    return said
