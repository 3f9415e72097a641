"""Real speech of the built-in voices for the verdict benchmark, kept on disk so that a run can go on later."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import soundfile

from langdu.engines.base import Audio
from langdu.synthesis.model import Chunk
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import EngineSpec, Job
from langdu.synthesis.say import find_persona

DATA = Path(__file__).parent / "data"
CORPORA = {"fitted": DATA / "verdict_texts.txt", "held-out": DATA / "verdict_heldout.txt"}
"""Limits were looked for over the first only; figures that are published come from the second."""
VOICES = {
    "zh": ("zf_xiaobei", "zm_yunxi", "zf_xiaoxiao", "zm_yunjian", "zf_xiaoni", "zm_yunyang", "zf_xiaoyi", "zm_yunxia"),
    "en": ("af_heart", "am_michael", "bf_emma", "af_bella"),
}
ROUNDS = {"zh": 2, "en": 2}
"""How many voices say each text."""


@dataclass(frozen=True)
class Sample:
    chunk: Chunk
    path: Path

    def audio(self) -> tuple[Audio, int]:
        audio, rate_hz = soundfile.read(self.path, dtype="float32")
        return audio, rate_hz


def samples(folder: Path, corpus: str) -> list[Sample]:
    """Every chunk of the corpus, spoken or not yet; the same order each time, languages mixed."""
    rows = [line.split("\t") for line in CORPORA[corpus].read_text("utf-8").splitlines()]
    found = []
    for turn in range(max(ROUNDS.values())):
        for number, (language, text) in enumerate(rows):
            if turn >= ROUNDS[language]:
                continue
            voices = VOICES[language]
            voice = voices[(number + turn * (len(voices) // 2)) % len(voices)]
            name = hashlib.sha256(f"{voice}|{text}".encode()).hexdigest()[:16]
            chunk = Chunk(len(found), 0, len(found) + 1, text, language, find_persona(voice), 0.15)
            found.append(Sample(chunk, folder / f"{name}.flac"))
    return found


def speak(wanted: list[Sample], *, workers: int = 1, until: float) -> Iterator[Sample]:
    """Say what is not on disk yet, until then (`time.monotonic`)."""
    missing = [sample for sample in wanted if not sample.path.exists()]
    for language in ("zh", "en"):
        part = {sample.chunk.index: sample for sample in missing if sample.chunk.language == language}
        if not part:
            continue
        personas = list({s.chunk.persona.name: s.chunk.persona for s in part.values()}.values())
        pool = Pool(EngineSpec("kokoro", options={"warm": language}), workers, personas=personas)
        try:
            wanted_now = (Job(s.chunk) for s in part.values() if time.monotonic() < until)
            for outcome in pool.run(wanted_now):
                if outcome.take is None:
                    raise RuntimeError(f"not said: {outcome.failed}")
                sample = part[outcome.job.chunk.index]
                sample.path.parent.mkdir(parents=True, exist_ok=True)
                part_file = sample.path.with_suffix(".part")
                soundfile.write(part_file, outcome.take.audio, outcome.take.sample_rate_hz, format="FLAC")
                part_file.rename(sample.path)
                yield sample
        finally:
            pool.close()
