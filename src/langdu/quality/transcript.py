"""What a listener would write down: voice activity first, then Whisper.

Whisper says its own prompt back on silence and noise, and may answer Mandarin in traditional characters; so
nothing is asked of it where no voice was found, an echo of the prompt counts as nothing heard, and what it
hears is folded to simplified characters when compared.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langdu.engines.base import Audio
from langdu.errors import DependencyError

RATE_HZ = 16_000
PROMPTS = {"zh": "以下是普通话的句子，带标点。"}
"""A Mandarin prompt keeps the answer in simplified characters, with marks."""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Heard:
    text: str
    language: str
    speech_s: float
    """Seconds of voice, by the activity detector."""
    probability: float
    """Mean probability of the words: below 0.4 the checker itself is unsure."""
    words: tuple[Word, ...] = ()


class Checker:
    """A Whisper model by catalogue name, loaded when it is first needed. Not for several threads at once."""

    MODEL = "whisper-base"

    def __init__(self, model: str = MODEL, *, threads: int = 2, folder: Path | None = None) -> None:
        self.model = model
        self._threads, self._folder = threads, folder
        self._last: tuple[Any, Any] | None = None

    @functools.cached_property
    def _whisper(self) -> Any:
        try:
            from faster_whisper import WhisperModel
        except ImportError:
            hint = 'Run: pip install "langdu[verify]"'
            raise DependencyError("faster-whisper is not installed; it checks what was said.", hint=hint) from None
        from langdu.models.store import model_dir

        folder = self._folder or model_dir(self.model)
        model = WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=self._threads, local_files_only=True
        )
        encode = model.encode

        def encoded(features: Any) -> Any:
            # The encoder is most of the work, and `align` mostly asks for what `hear` has just encoded.
            if self._last is None or not np.array_equal(self._last[0], features):
                self._last = (features, encode(features))
            return self._last[1]

        model.encode = encoded
        return model

    def hear(self, audio: Audio, sample_rate_hz: int, language: str | None = None, *, words: bool = False) -> Heard:
        """Transcribe mono samples. `language` of None lets the model decide; `words` adds word times."""
        sound = resample(audio, sample_rate_hz, RATE_HZ)
        spans = speech_spans(sound, RATE_HZ)
        speech_s = sum(end - start for start, end in spans)
        if not spans:
            return Heard("", language or "", 0.0, 0.0)
        prompt = PROMPTS.get(language or "")
        segments, info = self._whisper.transcribe(
            sound, language=language, beam_size=1, temperature=0.0, initial_prompt=prompt, word_timestamps=words,
            condition_on_previous_text=False, vad_filter=len(sound) > 25 * RATE_HZ,
        )  # fmt: skip
        found = list(segments)
        text = "".join(segment.text for segment in found).strip()
        if prompt and is_echo(text, prompt):
            text = ""
        probability = float(np.exp(np.mean([segment.avg_logprob for segment in found]))) if found else 0.0
        times = tuple(Word(w.word, w.start, w.end) for s in found for w in (s.words or ())) if words else ()
        return Heard(text, info.language, speech_s, probability, times)

    def align(self, audio: Audio, sample_rate_hz: int, text: str, language: str) -> tuple[Word, ...]:
        """When each word of `text` is said, by the attention of the model on the sound; () over 30 s.

        Word times of `transcribe` are not used: with them Whisper starts over after the last word, and where
        only silence is left it makes words up.
        """
        from faster_whisper.audio import pad_or_trim
        from faster_whisper.tokenizer import Tokenizer

        sound = resample(audio, sample_rate_hz, RATE_HZ)
        if not len(sound) or len(sound) > 30 * RATE_HZ:
            return ()
        model = self._whisper
        tokenizer = Tokenizer(model.hf_tokenizer, True, task="transcribe", language=language)
        tokens = tokenizer.encode(text)
        if not tokens or len(tokens) > MOST_TOKENS:
            return ()
        features = model.feature_extractor(sound)
        frames = features.shape[-1] - 1
        encoded = model.encode(pad_or_trim(features[:, :frames]))
        (found,) = model.find_alignment(tokenizer, [tokens], encoded, frames)
        return tuple(Word(w["word"], float(w["start"]), float(w["end"])) for w in found if w["word"].strip())

    def hear_pieces(self, audio: Audio, sample_rate_hz: int, language: str | None = None) -> Heard:
        """Transcribe pause by pause, each piece alone: a sentence said twice is then written twice.

        Costs one pass of the encoder a piece, so it is for takes that are longer than their text should be.
        """
        sound = resample(audio, sample_rate_hz, RATE_HZ)
        pieces = [self.hear(sound[a:b], RATE_HZ, language) for a, b in _pieces(speech_spans(sound, RATE_HZ))]
        found = [piece for piece in pieces if piece.text]
        text = "，".join(p.text for p in found) if language in ("zh", "ja") else " ".join(p.text for p in found)
        probability = float(np.mean([p.probability for p in found])) if found else 0.0
        return Heard(text, language or "", sum(p.speech_s for p in pieces), probability)


MOST_TOKENS = 400
"""Whisper's decoder holds 448."""
PIECE_S = 1.0
"""Pieces under a second are heard badly and go with the next one."""


def _pieces(spans: list[tuple[float, float]]) -> list[tuple[int, int]]:
    """Spans of voice as sample ranges with 0.1 s around, short ones put together."""
    merged: list[list[float]] = []
    for start, end in spans:
        if merged and merged[-1][1] - merged[-1][0] < PIECE_S:
            merged[-1][1] = end
        else:
            merged.append([start, end])
    if len(merged) > 1 and merged[-1][1] - merged[-1][0] < PIECE_S:
        merged[-2][1] = merged.pop()[1]
    return [(max(0, int((a - 0.1) * RATE_HZ)), int((b + 0.1) * RATE_HZ)) for a, b in merged]


def speech_spans(sound: Audio, sample_rate_hz: int) -> list[tuple[float, float]]:
    """Stretches of voice as (start, end) in seconds, by the Silero detector inside faster-whisper."""
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    sound = resample(sound, sample_rate_hz, RATE_HZ)
    options = VadOptions(threshold=0.5, min_speech_duration_ms=90, min_silence_duration_ms=150, speech_pad_ms=30)
    found = get_speech_timestamps(sound, options)
    return [(span["start"] / RATE_HZ, span["end"] / RATE_HZ) for span in found]


def resample(audio: Audio, from_hz: int, to_hz: int) -> Audio:
    """Samples at another rate, by soxr."""
    if from_hz == to_hz:
        return audio
    import soxr

    return np.asarray(soxr.resample(audio, from_hz, to_hz), np.float32)


def is_echo(text: str, prompt: str) -> bool:
    """Whether Whisper said its prompt back: its beginning, or half of it. A word that is in it too is no echo."""
    said, given = _bare(text), _bare(prompt)
    half = len(given) // 2
    return said.startswith(given[:half]) or (len(said) >= half and said in given)


def _bare(text: str) -> str:
    return "".join(character for character in text if character.isalnum())
