"""Two targets on the same text, run in turns: the ratio of their speeds with its spread, and both transcripts.

"Equal" means that both transcripts are the same to the character (after numbers, width and script are brought to
one form). "Sounds the same" is not measured here, and not claimed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langdu.bench.figures import FEWEST, Figure, ratio
from langdu.bench.hearing import Judged, Listener
from langdu.bench.machine import gpu_facts
from langdu.bench.measure import Run, Session, warm
from langdu.bench.target import Target, of_model, targets, tone
from langdu.engines.base import EngineInfo
from langdu.errors import SettingError
from langdu.quality.compare import compare
from langdu.settings import settings
from langdu.synthesis.capacity import RESERVE_MB, Machine, choose_workers, worker_mb
from langdu.synthesis.model import Chunk
from langdu.synthesis.plan import engine_cap, make_plan
from langdu.text.script import make_script
from langdu.voices.library import sha256_of
from langdu.voices.persona import ClonePersona

Claim = Literal["a", "b", "neither"]


@dataclass(frozen=True, slots=True)
class Side:
    target: Target
    load_s: float
    workers: int
    slots: int
    seconds: Figure
    audio_s: Figure
    rtf: Figure
    peak_memory_mb: float
    device_peak_mb: float
    precision: str
    device: str
    judged: Judged

    @property
    def heard(self) -> str:
        """Everything that was heard, in one form."""
        return "".join(v.comparison.heard for v in self.judged.verdicts if v.comparison is not None)

    def as_dict(self) -> dict[str, Any]:
        figures = {name: getattr(self, name).as_dict() for name in ("seconds", "audio_s", "rtf")}
        figures |= {name: figure.as_dict() for name, figure in self.judged.figures().items()}
        return {
            "target": self.target.facts(), "workers": self.workers, "slots": self.slots, "precision": self.precision,
            "device": self.device, "load_s": round(self.load_s, 3), "figures": figures,
            "peak_memory_mb": round(self.peak_memory_mb, 1), "device_peak_mb": round(self.device_peak_mb, 1),
            "passed": self.judged.passed, "why": self.judged.why, **self.judged.facts(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    a: Side
    b: Side
    ratio: Figure
    """RTF of A over RTF of B, round by round: under 1, A is faster."""
    text: str
    both_loaded: bool
    """False: there was no room for both, so each was loaded anew for its turn."""
    same_clip: bool | None
    """Whether both clone the same clip; None where they are no clones."""
    differ: str
    """B's transcript against A's, differing characters marked; "" when they are the same or were not heard."""

    @property
    def faster(self) -> Claim:
        """Claimed only when every round said so, and there was more than one."""
        if len(self.ratio.values) < FEWEST:
            return "neither"
        return "a" if self.ratio.high < 1 else "b" if self.ratio.low > 1 else "neither"

    @property
    def equal(self) -> bool | None:
        """Both transcripts the same to the character; None when they were not both heard whole."""
        if not (_whole(self.a.judged) and _whole(self.b.judged)):
            return None
        return self.a.heard == self.b.heard

    def as_dict(self) -> dict[str, Any]:
        return {
            "a": self.a.as_dict(), "b": self.b.as_dict(), "rtf_ratio_a_over_b": self.ratio.as_dict(),
            "faster": self.faster, "equal": self.equal, "differ": self.differ, "text": self.text,
            "both_loaded": self.both_loaded, "same_clip": self.same_clip,
        }  # fmt: skip


def _whole(judged: Judged) -> bool:
    return bool(judged.verdicts) and all(verdict.comparison is not None for verdict in judged.verdicts)


def parse(spec: str, work: Path, *, fixed_length: bool = False) -> Target:
    """ENGINE_OR_MODEL:VOICE; the voice may be left out. SettingError when it cannot be read.

    The engine or model is "kokoro", "tone", a catalogue name, or a folder (which may hold colons itself).
    """
    name, colon, voice = spec.rpartition(":")
    if not colon:
        name, voice = voice, ""
    if Path(spec).expanduser().is_dir():
        name, voice = spec, ""
    if not name:
        raise SettingError(f'"{spec}" names no engine or model.', hint="Write ENGINE_OR_MODEL:VOICE.")
    if name == "tone":
        return tone()
    if name == "qwen3":
        found = targets(work, voice=voice or None, engine="qwen3", fixed_length=fixed_length)
        if len(found) > 1:
            raise SettingError(f'"{spec}" means {len(found)} models.', hint="Name one: langdu models list")
        return found[0]
    return of_model(name, work, voice=voice or None, fixed_length=fixed_length)


def run(
    a: Target, b: Target, text: str, *, repeats: int, listener: Listener, say: Callable[[str], None] = lambda step: None
) -> Outcome:
    """Say `text` by both in turns, `repeats` times each after one that is not counted, and judge the last of each."""
    cap = min(engine_cap(one.spec.engine, one.language, settings().chunk_chars) for one in (a, b))
    sides = [_Turns(one, _chunks(one, text, cap)) for one in (a, b)]
    together = _fit(sides)
    try:
        for number in range(repeats):
            for name, side in list(zip("AB", sides, strict=True))[:: 1 if number % 2 == 0 else -1]:
                say(f"{name}, run {number + 1} of {repeats}")  # who goes first changes: heat favours nobody
                side.say()
                if not together:
                    side.close()
    finally:
        for side in sides:
            side.close()
    say("listening")
    first, second = (side.judged(listener) for side in sides)
    differ = ""
    if _whole(first.judged) and _whole(second.judged) and first.heard != second.heard:
        differ = compare(first.heard, second.heard, a.language).marked()
    return Outcome(first, second, ratio(first.rtf.values, second.rtf.values), text, together, _same_clip(a, b), differ)


@dataclass(slots=True)
class _Turns:
    """One side while it is measured."""

    target: Target
    chunks: Sequence[Chunk]
    runs: list[Run] = field(default_factory=list)
    session: Session | None = None
    loads: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    device_mb: float = 0.0
    info: EngineInfo | None = None

    @property
    def workers(self) -> int:
        return 1 if self.target.batched else choose_workers(
            None, engine=self.target.spec.engine, chunks=len(self.chunks))  # fmt: skip

    def say(self) -> None:
        if self.session is None:
            self.session = Session(self.target, workers=self.workers)
            self.loads.append(self.session.load_s)
            self.info = self.session.info
            warm(self.session, self.chunks)
        self.runs.append(self.session.say(self.chunks))
        self.peak_mb = max(self.peak_mb, self.session.peak_memory_mb)
        self.device_mb = max(self.device_mb, self.session.device_peak_mb)

    def close(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None

    def judged(self, listener: Listener) -> Side:
        assert self.info is not None
        judged = listener.judge(self.target, self.chunks, self.runs[-1].takes)
        seconds, audio_s, rtf = (
            Figure.of(getattr(run, name) for run in self.runs) for name in ("seconds", "audio_s", "rtf")
        )
        return Side(
            self.target, statistics.median(self.loads), self.workers, self.info.slots, seconds, audio_s, rtf,
            self.peak_mb, self.device_mb, self.info.precision, self.info.device, judged,
        )  # fmt: skip


def _chunks(target: Target, text: str, cap: int) -> Sequence[Chunk]:
    """The same cuts for both sides, whatever each engine could hold."""
    return make_plan(
        make_script(text), lambda name: target.persona, None, cap=cap, pause_chunk_s=settings().pause_chunk_s
    ).chunks


def _fit(sides: Sequence[_Turns]) -> bool:
    """Whether both can stay loaded side by side."""
    need = 0.0
    for side in sides:
        model_mb = 2 * side.target.size_bytes / 1e6  # weights, and as much again for context and codec
        need += side.workers * (model_mb if side.target.batched else worker_mb(side.target.spec.engine))
    free = gpu_facts().get("free", 0) / (1 << 20) if any(side.target.batched for side in sides) else 0
    return need < (free or Machine.here().free_mb) - RESERVE_MB


def _same_clip(a: Target, b: Target) -> bool | None:
    if not (isinstance(a.persona, ClonePersona) and isinstance(b.persona, ClonePersona)):
        return None
    return sha256_of(a.persona.clip) == sha256_of(b.persona.clip)
