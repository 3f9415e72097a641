"""Is what was timed also right? Fast and wrong is not fast, so the takes of a timed run are judged afterwards."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langdu.bench.figures import Figure
from langdu.bench.target import Target
from langdu.errors import ModelError
from langdu.quality.transcript import Checker
from langdu.quality.verdict import Reference, Verdict, judge
from langdu.synthesis.model import Chunk, Take

ENDINGS = {"budget": "ran into its frame budget", "cancelled": "was cancelled"}


@dataclass(frozen=True, slots=True)
class Listener:
    """Judges takes. Without a `checker` no words are judged, and `reason` says why there is none."""

    checker: Checker | None
    reason: str = ""

    @staticmethod
    def make(*, transcript: bool = True) -> Listener:
        """The settings' checker, when it is installed; else a listener that says what is missing."""
        from langdu.models.store import model_dir
        from langdu.settings import settings

        name = settings().checker
        if not transcript:
            return Listener(None, "transcript not measured: --no-transcript")
        if importlib.util.find_spec("faster_whisper") is None:
            return Listener(None, 'transcript not measured: pip install "langdu[verify]"')
        try:
            model_dir(name)
        except ModelError:
            return Listener(None, f"transcript not measured: langdu models get {name}")
        return Listener(Checker(name))

    def judge(self, target: Target, chunks: Sequence[Chunk], takes: Sequence[Take]) -> Judged:
        """Every chunk's verdict. Takes of a fixed length and tones are not judged: there is nothing to hear."""
        if target.fixed_length:
            return Judged((), "not judged: the lengths were fixed")
        if target.spec.engine == "tone":
            return Judged((), "not judged: a tone has no words")
        reference = self._reference(target)
        verdicts = tuple(
            judge(chunk, take, checker=self.checker, reference=reference)
            for chunk, take in zip(chunks, takes, strict=True)
        )
        return Judged(verdicts, self.reason)

    def _reference(self, target: Target) -> Reference | None:
        """The voice of a clone's clip, where the speaker encoder is installed."""
        from langdu.audio.read import read
        from langdu.models.store import model_dir
        from langdu.quality import speaker

        if target.persona.kind != "clone" or self.checker is None:
            return None
        try:
            model_dir(speaker.MODEL)
        except ModelError:
            return None
        return Reference(speaker.embed(*read(target.persona.clip)))


@dataclass(frozen=True, slots=True)
class Judged:
    verdicts: tuple[Verdict, ...]
    reason: str = ""
    """Why something was not judged; "" when all was."""

    @property
    def heard(self) -> bool:
        return bool(self.verdicts) and any(verdict.comparison is not None for verdict in self.verdicts)

    @property
    def passed(self) -> bool | None:
        """False for any fault; True only when the words were heard too."""
        if any(verdict.faults for verdict in self.verdicts):
            return False
        return True if self.heard and not self.reason else None

    @property
    def why(self) -> str:
        faults = sorted(set(itertools.chain.from_iterable(verdict.faults for verdict in self.verdicts)))
        return ", ".join(faults) or self.reason

    def figures(self) -> dict[str, Figure]:
        """CER and sound error over the whole text, weighted by length; {} when nothing was heard."""
        found = [verdict.comparison for verdict in self.verdicts if verdict.comparison is not None]
        sizes = [max(1, len(one.written.replace(" ", ""))) for one in found]
        if not found:
            return {}
        return {
            name: Figure.of([float(np.average([getattr(one, name) for one in found], weights=sizes))])
            for name in ("cer", "sound_error")
        }

    def facts(self) -> dict[str, Any]:
        """What was heard, with the differing characters marked, and every chunk's findings."""
        return {
            "heard": "".join(verdict.heard.text for verdict in self.verdicts if verdict.heard is not None),
            "marked": [verdict.comparison.marked() for verdict in self.verdicts if verdict.comparison is not None],
            "faults": [
                {"chunk": number, "name": finding.name, "message": finding.message}
                for number, verdict in enumerate(self.verdicts, 1)
                for finding in verdict.findings
                if finding.level == "fault"
            ],
        }


def endings(target: Target, takes: Sequence[Take]) -> tuple[bool | None, str]:
    """Whether all takes ended by themselves with sound in them: what can be said without listening."""
    if target.fixed_length:
        return None, "not judged: the lengths were fixed"
    for take in takes:
        if take.ending != "ended":
            return False, f"a take {ENDINGS[take.ending]}"
        if not take.audio.any():
            return False, "a take without sound"
    return True, ""
