"""The door for Home Assistant: the Wyoming protocol over TCP, whole texts and texts that arrive piece by piece."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.ping import Ping, Pong
from wyoming.server import AsyncEventHandler, AsyncTcpServer
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from langdu import __version__
from langdu.audio.encode import to_pcm16
from langdu.errors import LangduError, TextError
from langdu.service.guard import is_loopback
from langdu.service.hub import Hub
from langdu.service.speech import Order, Speech, prepare

__all__ = ["Handler", "info", "is_loopback", "wyoming_server"]
log = logging.getLogger("langdu.wyoming")
FRAME_S = 0.1
"""Sound in one audio-chunk: small enough for a satellite's buffer."""
ENDS = "。！？!?…\n"
TEXT_CHARS = 20_000


class Handler(AsyncEventHandler):
    """One connection."""

    def __init__(self, hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(reader, writer)
        self._hub = hub
        peer = writer.get_extra_info("peername")
        self._client = f"wyoming:{peer[0] if peer else ''}"
        self._voice: SynthesizeVoice | None = None
        self._streaming = False
        self._text = ""
        self._rate_hz = 0

    async def handle_event(self, event: Event) -> bool:
        try:
            await self._handle(event)
        except LangduError as error:
            await self.write_event(Error(text=str(error), code=error.code).event())
            self._streaming, self._text = False, ""
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            await self.write_event(Error(text=f"Not an event we know: {error}.", code="invalid-event").event())
        return True

    async def _handle(self, event: Event) -> None:
        if Describe.is_type(event.type):
            await self.write_event((await asyncio.to_thread(info)).event())
        elif Ping.is_type(event.type):
            await self.write_event(Pong(text=Ping.from_event(event).text).event())
        elif SynthesizeStart.is_type(event.type):
            self._streaming, self._text, self._rate_hz = True, "", 0
            self._voice = SynthesizeStart.from_event(event).voice
        elif SynthesizeChunk.is_type(event.type):
            await self._more(SynthesizeChunk.from_event(event).text)
        elif SynthesizeStop.is_type(event.type):
            await self._end()
        elif Synthesize.is_type(event.type) and not self._streaming:
            # A client that streams sends the whole text as well, for servers that cannot stream.
            whole = Synthesize.from_event(event)
            self._rate_hz = 0
            await self._say(whole.text, whole.voice)
            if self._rate_hz:
                await self.write_event(AudioStop().event())

    async def _more(self, text: str) -> None:
        if not self._streaming:
            raise TextError("synthesize-chunk came before synthesize-start.")
        self._text += text
        if len(self._text) > TEXT_CHARS:
            raise TextError(f"More than {TEXT_CHARS} characters came without the end of a sentence.")
        cut = max(self._text.rfind(mark) for mark in ENDS) + 1
        dot = self._text.rfind(". ") + 1
        cut = max(cut, dot)
        if cut:
            sentence, self._text = self._text[:cut], self._text[cut:]
            await self._say(sentence, self._voice, partial=True)

    async def _end(self) -> None:
        if not self._streaming:
            return
        rest, self._text, self._streaming = self._text, "", False
        await self._say(rest, self._voice, partial=bool(self._rate_hz) or not rest.strip())
        if self._rate_hz:
            await self.write_event(AudioStop().event())
        await self.write_event(SynthesizeStopped().event())

    async def _say(self, text: str, voice: SynthesizeVoice | None, *, partial: bool = False) -> None:
        """Say a text. A part of a longer one may hold nothing to say, such as a lone quotation mark."""
        if len(text) > TEXT_CHARS:
            raise TextError(f"The text has {len(text)} characters; the limit is {TEXT_CHARS}.")
        name = (voice.speaker or voice.name) if voice is not None else None
        language: Any = voice.language[:2] if voice is not None and voice.language else None
        try:
            ready = await asyncio.to_thread(prepare, Order(text, name, language=language))
        except TextError:
            if partial:
                return
            raise
        speech = Speech(self._hub, ready.spec, ready.plan.chunks, client=self._client)
        async with contextlib.aclosing(speech.blocks()) as blocks:
            async for block, rate_hz in blocks:
                if not self._rate_hz:
                    self._rate_hz = rate_hz
                    await self.write_event(AudioStart(rate=rate_hz, width=2, channels=1).event())
                step = int(FRAME_S * rate_hz)
                for at in range(0, len(block), step):
                    sound = to_pcm16(block[at : at + step])
                    await self.write_event(AudioChunk(rate=rate_hz, width=2, channels=1, audio=sound).event())


def info() -> Info:
    """What this program offers: every voice by name, with its language."""
    from langdu.voices.listing import rows

    home = Attribution(name="Langdu", url="")
    voices = [
        TtsVoice(
            name=row["name"], attribution=home, installed=True, description=row["note"] or row["name"],
            version=__version__, languages=[row["language"] or "zh"],
        )
        for row in rows()
    ]  # fmt: skip
    program = TtsProgram(
        name="langdu", attribution=home, installed=True, description="Local speech, checked",
        version=__version__, voices=voices, supports_synthesize_streaming=True,
    )  # fmt: skip
    return Info(tts=[program])


@contextlib.asynccontextmanager
async def wyoming_server(hub: Hub, host: str, port: int) -> AsyncIterator[AsyncTcpServer]:
    """A server that is listening while the context is open. Port 0 takes any."""
    server = AsyncTcpServer(host, port)
    await server.start(lambda reader, writer: Handler(hub, reader, writer))
    try:
        yield server
    finally:
        await server.stop()
