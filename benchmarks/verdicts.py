"""How often verdicts are wrong: false alarms on real speech, and faults planted in it that are not found.

    python benchmarks/verdicts.py [--corpus held-out|fitted] [--limit N] [--minutes M]

The limits were looked for over the fitted corpus; the held-out one has other texts, longer ones and mixed ones
among them, and no limit was changed after it was heard. Speech and transcripts stay on disk, so a run that was
stopped goes on. A figure needs all of it: about ten minutes of synthesis and twelve of listening on two quiet
cores; afterwards a run takes some minutes. Shares of chunks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import soxr
from speech import CORPORA, Sample, samples, speak

from langdu.audio.join import sound_span
from langdu.engines.base import Audio, EngineInfo
from langdu.quality.signal import measure
from langdu.quality.speaker import Vector, embed
from langdu.quality.syllables import count_syllables
from langdu.quality.transcript import Checker, Heard
from langdu.quality.verdict import Reference, Verdict, judge
from langdu.synthesis.model import Take

RESULTS = Path(__file__).parent / "results"
MARKS = "。.？?！!"
CLOSING = MARKS + '”’"』」'
MOST_AGAIN = 20
INFO = EngineInfo("kokoro", "kokoro", "", "int8", "cpu", 24_000)


class Remembering(Checker):
    """A checker that listens to the same samples only once, ever."""

    def __init__(self, folder: Path) -> None:
        super().__init__(threads=2)
        self._memory = folder
        folder.mkdir(parents=True, exist_ok=True)

    def hear(self, audio: Audio, sample_rate_hz: int, language: str | None = None, *, words: bool = False) -> Heard:
        name = hashlib.sha256(f"{language}|{sample_rate_hz}|".encode() + audio.tobytes()).hexdigest()[:20]
        path = self._memory / f"{name}.json"
        if path.exists():
            return Heard(**json.loads(path.read_text("utf-8")))
        heard = super().hear(audio, sample_rate_hz, language)
        path.write_text(json.dumps(asdict(replace(heard, words=())), ensure_ascii=False), "utf-8")
        return heard


@dataclass(frozen=True)
class Fault:
    """A way to damage a take; `make` is None where the take does not lend itself. `names`: what finds it."""

    kind: str
    names: tuple[str, ...]
    make: Callable[[Sample, Audio, int], Audio | None]
    at_most: int = 1000


def _noise(_: Sample, audio: Audio, rate_hz: int) -> Audio:
    return np.random.default_rng(len(audio)).normal(0, 0.1, 30 * rate_hz).astype(np.float32)


def _hole(_: Sample, audio: Audio, rate_hz: int) -> Audio:
    middle = len(audio) // 2
    return np.concatenate([audio[:middle], np.zeros(int(2.5 * rate_hz), np.float32), audio[middle:]])


def _clip(_: Sample, audio: Audio, __: int) -> Audio:
    span = sound_span(audio, 24_000) or (0, len(audio))
    ceiling = float(np.quantile(np.abs(audio[span[0] : span[1]]), 0.8))
    return np.clip(audio, -ceiling, ceiling)


def _slow(_: Sample, audio: Audio, rate_hz: int) -> Audio:
    return np.asarray(soxr.resample(audio, rate_hz, 4 * rate_hz), np.float32)


def _four_times(_: Sample, audio: Audio, __: int) -> Audio:
    return np.tile(audio, 4)


def _cut(_: Sample, audio: Audio, rate_hz: int) -> Audio:
    start, end = sound_span(audio, rate_hz) or (0, len(audio))
    return audio[: start + (end - start) * 2 // 3]


def _twice(sample: Sample, audio: Audio, rate_hz: int) -> Audio | None:
    """The last sentence, from the pause before it, once more."""
    text = sample.chunk.text.rstrip(CLOSING)
    at = max(text.rfind(mark) for mark in MARKS)
    if at < 0:
        return None
    start, end = sound_span(audio, rate_hz) or (0, len(audio))
    window = int(0.01 * rate_hz)
    guess = start + int((end - start) * at / len(text))
    near = range(guess - int(0.6 * rate_hz), guess + int(0.6 * rate_hz), window)
    cut = min(near, key=lambda i: float(np.abs(audio[max(0, i - 8 * window) : i + 8 * window]).sum()))
    pause = np.zeros(int(0.3 * rate_hz), np.float32)
    return np.concatenate([audio[:end], pause, audio[cut:]])


def _quiet(_: Sample, audio: Audio, __: int) -> Audio:
    return audio * np.float32(0.01)


def faults(all_samples: list[Sample]) -> list[Fault]:
    def other(sample: Sample, _: Audio, __: int) -> Audio | None:
        same = [s for s in all_samples if s.path.exists() and s.chunk.language == sample.chunk.language]
        place = [s.chunk.index for s in same].index(sample.chunk.index)
        return same[(place + len(same) // 3) % len(same)].audio()[0]

    return [
        Fault("30 s of white noise", ("noise", "too long"), _noise),
        Fault("all zeros", ("silent",), lambda _, audio, __: np.zeros_like(audio)),
        Fault("DC offset of 0.1", ("dc offset",), lambda _, audio, __: audio + np.float32(0.1)),
        Fault("a fifth of the samples clipped", ("clipped",), _clip),
        Fault("a hole of 2.5 s", ("hole",), _hole),
        Fault("40 dB too quiet", ("quiet",), _quiet),
        Fault("four times as slow", ("too long",), _slow),
        Fault("said four times", ("too long",), _four_times),
        Fault("last third missing", ("end missing",), _cut, 60),
        Fault("last sentence twice, copied", ("said twice",), _twice),
        Fault("wrong words", ("wrong words", "end missing", "too long", "too short"), other, 40),
    ]


def said_again(wanted: list[Sample], folder: Path) -> list[Sample]:
    """Chunks of several sentences spoken with the last sentence written twice: a repeat that is no copy."""
    found = []
    for sample in wanted:
        chunk = sample.chunk
        at = max(chunk.text.rstrip(CLOSING).rfind(mark) for mark in MARKS)
        if at >= 0:
            last = chunk.text[at + 1 :].lstrip(CLOSING + " ")
            text = chunk.text + ("" if chunk.language == "zh" else " ") + last
            twice = replace(chunk, index=10_000 + chunk.index, text=text)
            found.append(Sample(twice, folder / f"{sample.path.stem}-twice.flac"))
    return spread(found, MOST_AGAIN)


def spread(samples: list[Sample], at_most: int) -> list[Sample]:
    """So many of them, from all over the corpus."""
    return samples[:: -(-len(samples) // at_most)] if samples else []


def take_of(audio: Audio, rate_hz: int) -> Take:
    return Take("", np.ascontiguousarray(audio, np.float32), rate_hz, 0, 0.0, "ended", 0, INFO)


class Voices:
    """What a book's checker knows of each voice: one saying that is not the one judged, and its pace."""

    def __init__(self, all_samples: list[Sample]) -> None:
        self._by_voice: dict[str, list[Sample]] = {}
        for sample in all_samples:
            if sample.path.exists():
                self._by_voice.setdefault(sample.chunk.persona.name, []).append(sample)
        self._paces: dict[Path, float] = {}

    def pace(self, sample: Sample) -> float:
        """Seconds a syllable, median over the voice's other sayings."""
        if sample.path not in self._paces:
            chunk = sample.chunk
            syllables = count_syllables(chunk.text, chunk.language)
            self._paces[sample.path] = measure(*sample.audio()).active_s / syllables
        return self._paces[sample.path]

    def reference(self, sample: Sample) -> Reference:
        own = [s for s in self._by_voice[sample.chunk.persona.name] if s.path != sample.path]
        vector = self.vector(max(own, key=lambda s: len(s.chunk.text)))
        return Reference(vector, statistics.median(map(self.pace, own)))

    def vector(self, sample: Sample) -> Vector:
        path = sample.path.with_suffix(".npy")
        if not path.exists():
            np.save(path, embed(*sample.audio()))
        return np.asarray(np.load(path), np.float32)

    def other(self, sample: Sample) -> Vector:
        names = sorted(n for n, s in self._by_voice.items() if s[0].chunk.language == sample.chunk.language)
        name = names[(names.index(sample.chunk.persona.name) + 1) % len(names)]
        return self.vector(self._by_voice[name][0])


def run(
    wanted: list[Sample], everything: list[Sample], again: list[Sample], checker: Checker, until: float
) -> Iterator[dict[str, Any]]:
    """One row for every judged take."""
    ready = [sample for sample in wanted if sample.path.exists()]
    voices = Voices(everything)
    for sample in ready:
        audio, rate_hz = sample.audio()
        reference = voices.reference(sample)
        if time.monotonic() < until:
            started = time.perf_counter()
            verdict = judge(sample.chunk, take_of(audio, rate_hz), checker=checker, reference=reference)
            yield _row("healthy", sample, verdict, ()) | {"seconds": time.perf_counter() - started}
    for fault in faults(ready):
        for sample in spread(ready, fault.at_most):
            audio, rate_hz = sample.audio()
            damaged = fault.make(sample, audio, rate_hz)
            if damaged is None or time.monotonic() > until:
                continue
            pace = replace(voices.reference(sample), vector=None)  # the voice is the same, and costs time
            verdict = judge(sample.chunk, take_of(damaged, rate_hz), checker=checker, reference=pace)
            yield _row(fault.kind, sample, verdict, fault.names)
    for sample in ready:
        verdict = judge(sample.chunk, take_of(*sample.audio()), reference=Reference(voices.other(sample)))
        yield _row("another voice", sample, verdict, ("other voice",))
    plain = {sample.path.stem: sample for sample in ready}
    for twice in again:
        stem = twice.path.stem.removesuffix("-twice")
        if twice.path.exists() and stem in plain and time.monotonic() < until:
            pace = replace(voices.reference(plain[stem]), vector=None)
            verdict = judge(plain[stem].chunk, take_of(*twice.audio()), checker=checker, reference=pace)
            yield _row("last sentence twice, said again", plain[stem], verdict, ("said twice",))


def _row(kind: str, sample: Sample, verdict: Verdict, names: tuple[str, ...]) -> dict[str, Any]:
    compared = verdict.comparison
    return {
        "kind": kind, "voice": sample.chunk.persona.name, "language": sample.chunk.language, "text": sample.chunk.text,
        "outcome": verdict.outcome, "faults": list(verdict.faults),
        "found": verdict.outcome == "fault", "named": any(name in verdict.faults for name in names),
        "cer": compared.cer if compared else None, "sound_error": compared.sound_error if compared else None,
        "ratio": verdict.duration_ratio, "similarity": verdict.similarity,
        "marked": compared.marked() if compared else None,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    healthy = [row for row in rows if row["kind"] == "healthy"]
    planted = [row for row in rows if row["kind"] != "healthy"]
    kinds = list(dict.fromkeys(row["kind"] for row in planted))

    def share(part: list[dict[str, Any]], key: str) -> float:
        return sum(bool(row[key]) for row in part) / max(1, len(part))

    by_kind = {}
    for kind in kinds:
        part = [row for row in planted if row["kind"] == kind]
        by_kind[kind] = {"takes": len(part), "found": share(part, "found"), "named": share(part, "named")}
    heard = [row["sound_error"] for row in healthy if row["sound_error"] is not None]
    spelled = [row["cer"] for row in healthy if row["cer"] is not None]
    return {
        "chunks": len(healthy),
        "false_alarms": share(healthy, "found"),
        "inconclusive": sum(row["outcome"] == "inconclusive" for row in healthy) / max(1, len(healthy)),
        "planted": len(planted),
        "found": share(planted, "found"),
        "named": share(planted, "named"),
        "mean_cer": float(np.mean(spelled)) if spelled else None,
        "mean_sound_error": float(np.mean(heard)) if heard else None,
        "kinds": by_kind,
    }


def _wrong(row: dict[str, Any]) -> bool:
    return bool(row["outcome"] != "pass" if row["kind"] == "healthy" else not row["named"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(platformdirs.user_cache_path("langdu-bench")) / "verdicts")
    parser.add_argument("--corpus", choices=list(CORPORA), default="held-out")
    parser.add_argument("--limit", type=int, help="Only so many chunks.")
    parser.add_argument("--minutes", type=float, default=1e6, help="Stop after so long (the figure is then partial).")
    parser.add_argument("--no-speak", action="store_true", help="Judge what is on disk.")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    everything = samples(options.cache, options.corpus)
    wanted = everything[: options.limit]
    again = said_again(wanted, options.cache)
    if not options.no_speak:
        for done, _ in enumerate(speak([*wanted, *again], workers=2, until=until), 1):
            print(f"\rspoken {done}", end="", flush=True)
    rows = []
    for row in run(wanted, everything, again, Remembering(options.cache / "heard"), until):
        rows.append(row)
        if _wrong(row):
            print(
                f"{row['kind']}: {row['voice']} “{row['text']}” {row['outcome']} {row['faults']} {row['marked'] or ''}"
            )
    found = summary(rows)
    print(f"\n{found['chunks']} chunks of real speech, {found['planted']} damaged takes")
    print(f"  false alarms        {found['false_alarms']:7.2%}   (inconclusive {found['inconclusive']:.2%})")
    print(f"  planted faults found{found['found']:8.2%}   (by the right name {found['named']:.2%})")
    for kind, part in found["kinds"].items():
        print(f"    {kind:34} {part['takes']:4} takes  found {part['found']:8.2%}  named {part['named']:8.2%}")
    if time.monotonic() > until:
        print("stopped early: this is a part, run it again for the rest")
        return
    target = RESULTS / f"verdicts-{options.corpus}.json"
    wrong = [row for row in rows if _wrong(row)]
    target.write_text(json.dumps(found | {"rows": wrong}, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"written: {target}")


if __name__ == "__main__":
    main()
