"""The one protocol every engine speaks.

    load(spec) -> Engine            model files are read, the device is checked; nothing falls back
    engine.prepare(persona)         once per voice: codes, embeddings, vectors; cheap when repeated
    engine.speak(requests)          many requests at a time; results come as they finish

A batched engine (`info.batched`) works on up to `info.slots` requests at once inside one process; a serial
one takes them in turn and gets a pool of processes. Runners ask `info`; they know no engine by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from langdu.voices.persona import Persona

Audio = npt.NDArray[np.float32]
"""Mono samples in [-1, 1], shape (samples,)."""

Ending = Literal["ended", "budget", "cancelled"]
"""How a take ended: by itself, at its frame budget (a fault), or because it was told to stop."""


@dataclass(frozen=True, slots=True)
class Accepts:
    """What an engine takes of a persona and of a text; it refuses the rest. Known without loading anything."""

    kinds: frozenset[str]
    """Kinds of persona; empty: any."""
    settings: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Each setting a persona may have, with its least and greatest value."""
    pinyin: bool = False
    """Pronunciations such as `[[重庆|chong2 qing4]]`."""

    @property
    def speed(self) -> bool:
        return "speed" in self.settings


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What made the sound; part of every result, every take and every report."""

    engine: str
    """"kokoro" or "qwen3"."""
    model: str
    """Catalogue name, or the folder's name for a local model."""
    revision: str
    """Hash over the model's files; decides `take_key`."""
    precision: str
    device: str
    sample_rate_hz: int
    batched: bool = False
    slots: int = 1
    languages: tuple[str, ...] = ("zh", "en")
    can_speed: bool = False
    can_instruct: bool = False
    deterministic: bool = False
    """True when the seed has no effect (a retry gives the same sound)."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Request:
    """One chunk to be said. `text` is spoken text; `max_s` of None lets the engine set its own budget."""

    id: str
    text: str
    language: str
    voice: str
    """Key of a prepared voice, as `Voice.key` gave it."""
    seed: int = 0
    speed: float = 1.0
    settings: dict[str, float] = field(default_factory=dict)
    """Sampling settings the engine knows (temperature, top_k, …); unknown ones are refused."""
    max_s: float | None = None
    stream: bool = False
    """Send pieces as they are made, before the `Spoken`."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A persona made ready in one engine. `key` hashes the persona's content, not its name."""

    key: str
    language: str | None
    """The voice's own language, where it has one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of streamed sound; pieces of one request come in order."""

    id: str
    index: int
    audio: Audio


@dataclass(frozen=True, slots=True)
class Spoken:
    """A finished request: all of its sound and the facts."""

    id: str
    audio: Audio
    sample_rate_hz: int
    seed: int
    seconds: float
    """Wall time spent on it (shared with its neighbours in a batch)."""
    ending: Ending = "ended"
    frames: int = 0
    """Codec frames of 80 ms; 0 for engines without a codec."""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """A request the engine could not say; the others go on. `code` names a class of langdu.errors."""

    id: str
    code: str
    message: str
    hint: str = ""


Event = Piece | Spoken | Failed


@runtime_checkable
class Engine(Protocol):
    info: EngineInfo

    def prepare(self, persona: Persona) -> Voice:
        """Make a persona ready. Raises VoiceError when this engine or checkpoint cannot be that voice."""

    def fits(self, text: str, language: str, voice: str) -> bool:
        """Whether `text` fits one request (phoneme or token limit); planners split until it does."""

    def speak(
        self,
        requests: Iterable[Request | None],
        *,
        cancelled: Callable[[str], bool] = lambda _id: False,
    ) -> Iterator[Event]:
        """Say the requests; draw from the iterable only when there is room (that is the back-pressure).

        A None means "nothing right now": an engine with rows under way goes on and asks again after its
        next step, so requests that arrive later join the batch. It ends when the iterable has ended and
        all is said. Pieces of a `stream` request come before its `Spoken`. `cancelled(id)` is asked at
        every step; a cancelled request ends with `ending="cancelled"`.
        """

    def close(self) -> None:
        """Give memory back. The engine is not used afterwards."""
