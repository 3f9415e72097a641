"""An engine without a model: a tone whose pitch and length follow the text. For tests of everything else.

It keeps the protocol to the letter, is deterministic, and can be told to misbehave, so that supervision,
cancellation and back-pressure are tested in seconds. Options: `delay_s` (wall time for each character),
`crash_on` (a text that kills the process), `fail_on` (a text that fails), `budget_on` (a text cut at the frame
budget), `hang_on`, `slots`, `speech_s`, `log_to` (a file that gets a line for each text that is begun).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from langdu.engines.base import Accepts, Audio, Ending, EngineInfo, Event, Failed, Piece, Request, Spoken, Voice

if TYPE_CHECKING:
    from langdu.synthesis.runner import EngineSpec
    from langdu.voices.persona import Persona

RATE_HZ = 24_000
ACCEPTS = Accepts(frozenset(), {"speed": (0.25, 4.0)}, pinyin=True)
SECONDS_PER_CHARACTER = 0.05


def tone(text: str, seed: int = 0, seconds_per_character: float = SECONDS_PER_CHARACTER) -> Audio:
    """The sound of `text`: at least 0.1 s of one sine between 200 and 800 Hz with 10 ms ramps."""
    pick = int.from_bytes(hashlib.sha256(f"{seed}:{text}".encode()).digest()[:4], "big")
    seconds = max(0.1, len(text) * seconds_per_character)
    t = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    ramp = np.minimum(1.0, np.minimum(t, t[::-1]) / 0.01)
    return (0.3 * ramp * np.sin(2 * np.pi * (200 + pick % 600) * t)).astype(np.float32)


class ToneEngine:
    def __init__(self, spec: EngineSpec) -> None:
        self._options = spec.options
        self.info = describe(spec)

    def prepare(self, persona: Persona) -> Voice:
        return Voice(key=persona.content_hash(), language=persona.language)

    def fits(self, text: str, language: str, voice: str) -> bool:
        return len(text) <= int(self._options.get("limit", 1000))

    def speak(
        self,
        requests: Iterable[Request | None],
        *,
        cancelled: Callable[[str], bool] = lambda _id: False,
    ) -> Iterator[Event]:
        for request in requests:
            if request is not None:
                yield from self._say(request, cancelled)

    def _say(self, request: Request, cancelled: Callable[[str], bool]) -> Iterator[Event]:
        started = time.perf_counter()
        if log := self._options.get("log_to"):
            with open(str(log), "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write(f"{request.text}\n")
        if request.text == self._options.get("fail_on"):
            yield Failed(request.id, "engine", f"cannot say {request.text!r}")
            return
        if request.text == self._options.get("crash_on"):
            marker = str(self._options.get("crash_once", ""))
            if not marker or not os.path.exists(marker):  # noqa: PTH110
                if marker:
                    os.close(os.open(marker, os.O_CREAT))
                os._exit(70)
        if request.text == self._options.get("hang_on"):
            time.sleep(3600)
        audio = tone(request.text, request.seed, float(self._options.get("speech_s", SECONDS_PER_CHARACTER)))
        audio = audio[: int(len(audio) / request.speed)]
        delay_s = float(self._options.get("delay_s", 0.0))
        steps = max(1, len(request.text))
        for step in range(steps):
            if cancelled(request.id):
                seconds = time.perf_counter() - started
                yield Spoken(request.id, audio[:0], RATE_HZ, request.seed, seconds, "cancelled")
                return
            if delay_s:
                time.sleep(delay_s)
            if request.stream:
                low, high = len(audio) * step // steps, len(audio) * (step + 1) // steps
                yield Piece(request.id, step, audio[low:high])
        ending: Ending = "budget" if request.text == self._options.get("budget_on") else "ended"
        yield Spoken(request.id, audio, RATE_HZ, request.seed, time.perf_counter() - started, ending)

    def close(self) -> None:
        pass


def load(spec: EngineSpec) -> ToneEngine:
    return ToneEngine(spec)


def describe(spec: EngineSpec) -> EngineInfo:
    slots = int(spec.options.get("slots", 1))
    return EngineInfo(
        engine="tone", model="tone", revision="1", precision="float32", device="cpu", sample_rate_hz=RATE_HZ,
        batched=slots > 1, slots=slots, languages=("zh", "en", "ja"), can_speed=True,
    )  # fmt: skip
