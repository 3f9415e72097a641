"""One request from text to joined sound, for every door: HTTP, jobs, Wyoming and MCP."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

from langdu.audio.join import Joiner
from langdu.engines import accepts
from langdu.engines.base import Audio, EngineInfo, Piece
from langdu.errors import LangduError, SettingError
from langdu.service.admission import Delivery, Ticket
from langdu.service.hub import Hub
from langdu.settings import settings
from langdu.synthesis.model import Chunk, Plan, Take
from langdu.synthesis.plan import engine_cap, make_plan
from langdu.synthesis.runner import EngineSpec
from langdu.synthesis.say import FIRST_CAP, SayRequest, find_persona, persona_for, spec_for
from langdu.text.model import Document, Language, Script
from langdu.text.script import ScriptOptions, make_script
from langdu.voices.persona import Persona


@dataclass(frozen=True, slots=True)
class Order:
    """What a client asks for."""

    text: str | Document
    voice: str | None = None
    speed: float = 1.0
    instructions: str = ""
    lenient: bool = False
    """Say it without instructions or speed that this voice cannot follow; `Prepared.warnings` then says so."""
    language: Language | None = None
    seed: int = 0
    live: bool = True
    """Somebody listens: a short first chunk."""
    options: ScriptOptions | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """An order that can be said: text read, voice found, chunks planned. No model was touched."""

    script: Script
    persona: Persona
    spec: EngineSpec
    plan: Plan
    warnings: tuple[str, ...] = ()


def prepare(order: Order) -> Prepared:
    """Raises TextError, VoiceError or SettingError before anything is loaded."""
    script = make_script(order.text, language=order.language, options=order.options)
    spoken = [utterance.language for utterance in script.utterances]
    # English or Japanese only for a text that is so throughout: anything with Chinese in it is Chinese.
    whole = spoken[0] if len(set(spoken)) == 1 else "zh"
    persona = persona_for(order.voice, whole)
    spec = spec_for(persona, SayRequest("", language=whole), "")
    spec = replace(spec, options={k: v for k, v in spec.options.items() if k != "warm"})
    persona, warnings = _instruct(persona, order)
    speed = order.speed
    if speed != 1.0 and not accepts(spec.engine).speed:
        if not order.lenient:
            raise SettingError(f'The voice "{persona.name}" ({spec.engine}) cannot change its speed.', hint="Use 1.0.")
        speed, warnings = 1.0, (*warnings, "speed was not used")
    language = max(
        (u.language for u in script.utterances), key=lambda x: sum(u.language == x for u in script.utterances)
    )
    cap = engine_cap(spec.engine, language, settings().chunk_chars)
    plan = make_plan(
        script, lambda name: find_persona(name) if name else persona, None, cap=cap,
        first_cap=FIRST_CAP if order.live else None, pause_chunk_s=settings().pause_chunk_s, speed=speed,
        takes_pinyin=lambda _: accepts(spec.engine).pinyin,
    )  # fmt: skip
    return Prepared(script, persona, spec, plan, (*warnings, *plan.warnings))


def _instruct(persona: Persona, order: Order) -> tuple[Persona, tuple[str, ...]]:
    if not order.instructions.strip():
        return persona, ()
    if persona.kind == "speaker":
        return persona.model_copy(update={"instruct": order.instructions}), ()
    if order.lenient:
        return persona, ("instructions were not used",)
    raise SettingError(
        f'The voice "{persona.name}" ({persona.kind}) cannot follow instructions.',
        hint="Leave them out, or use a named speaker of Qwen3-TTS.",
    )


class Speech:
    """The sound of chunks, in order, as they are made. Leaving it early frees its place and its row."""

    def __init__(
        self, hub: Hub, spec: EngineSpec, chunks: tuple[Chunk, ...], *, client: str, seeds: tuple[int, ...] = (),
        stream: bool = False, background: bool = False, deadline_s: float | None = None,
    ) -> None:  # fmt: skip
        self._hub = hub
        loop = asyncio.get_running_loop()
        self._inbox: asyncio.Queue[Delivery] = asyncio.Queue()
        inbox = self._inbox

        def deliver(delivery: Delivery) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(inbox.put_nowait, delivery)

        deadline = None if deadline_s is None else time.monotonic() + deadline_s
        self.ticket = Ticket(
            uuid.uuid4().hex, client, spec, chunks, deliver, seeds, stream=stream, background=background,
            deadline=deadline,
        )  # fmt: skip
        self.info: EngineInfo | None = None
        self.takes: list[Take] = []
        """Facts of the chunks given out so far; their sound is not kept."""
        self.samples = 0

    async def parts(self) -> AsyncGenerator[tuple[int, Take | Piece], None]:
        """Takes by rising chunk index; pieces of the chunk whose turn it is come before its take."""
        self._hub.submit(self.ticket)
        waiting: dict[int, list[Take | Piece]] = {}
        current = 0
        try:
            while current < len(self.ticket.chunks):
                while not waiting.get(current):
                    delivery = await self._inbox.get()
                    if isinstance(delivery.what, LangduError):
                        raise delivery.what
                    assert isinstance(delivery.what, Take | Piece)
                    waiting.setdefault(delivery.index, []).append(delivery.what)
                part = waiting[current].pop(0)
                if isinstance(part, Take):
                    self.info = part.engine
                    self.takes.append(replace(part, audio=part.audio[:0]))
                    yield current, part
                    del waiting[current]
                    current += 1
                    self._hub.taken(self.ticket)
                else:
                    yield current, part
        finally:
            self._hub.cancel(self.ticket)

    async def blocks(self) -> AsyncGenerator[tuple[Audio, int], None]:
        """Joined sound as (samples, rate in Hz); the pauses of the plan between chunks."""
        joiner: Joiner | None = None
        pieced = False
        async for index, part in self.parts():
            chunk = self.ticket.chunks[index]
            if isinstance(part, Piece):
                rate = self._rate()
                joiner = joiner or Joiner(rate)
                for block in joiner.pass_on(part.audio, first=not pieced):
                    yield block, rate
                pieced = True
                continue
            joiner = joiner or Joiner(part.sample_rate_hz)
            if pieced:
                joiner.owe(chunk.pause_after_s)
            else:
                for block in joiner.add(part.audio, chunk.pause_after_s):
                    yield block, part.sample_rate_hz
            pieced = False
            self.samples = joiner.samples

    def _rate(self) -> int:
        info = self._hub.info_of(self.ticket.spec)
        assert info is not None, "a worker that speaks has been ready"
        return info.sample_rate_hz
