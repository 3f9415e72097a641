"""Blocks of sound as an HTTP body: encoded once, cut where a decoder can go on, as bytes or as events."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any, TypeVar

from fastapi import Request

from langdu.audio.encode import StreamEncoder
from langdu.engines.base import Audio

T = TypeVar("T")
MEDIA = {
    "mp3": "audio/mpeg", "opus": "audio/ogg", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav",
    "pcm": "audio/pcm",
}  # fmt: skip


async def encoded(blocks: AsyncIterator[tuple[Audio, int]], format: str) -> AsyncGenerator[bytes, None]:
    """One container header, then pieces as the blocks come. Codecs keep a few frames back until the end."""
    encoder: StreamEncoder | None = None
    async for block, rate_hz in blocks:
        encoder = encoder or StreamEncoder(format, rate_hz)
        if piece := await asyncio.to_thread(encoder.encode, block):
            yield piece
    if encoder is not None and (rest := await asyncio.to_thread(encoder.finish)):
        yield rest


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of `work`, or None when the client hung up meanwhile: the work is then cancelled.

    The framework itself notices a client that is gone only once an answer is being sent.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        for ours in (task, gone):
            ours.cancel()
        await asyncio.wait({task, gone})


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def with_true_size(sound: bytes, format: str, samples: int) -> bytes:
    """A whole sound in place of a streamed one: the sizes its header left open are filled in.

    In FLAC the number of samples is the lower 36 bits of STREAMINFO's bytes 10 to 17 (RFC 9639, 8.2), and STREAMINFO
    begins at byte 8. The other formats have no such field.
    """
    if format == "flac":
        [packed] = struct.unpack(">Q", sound[18:26])
        return sound[:18] + struct.pack(">Q", packed >> 36 << 36 | samples) + sound[26:]
    return _wav_with_true_size(sound) if format == "wav" else sound


def _wav_with_true_size(wav: bytes) -> bytes:
    return wav[:4] + struct.pack("<I", len(wav) - 8) + wav[8:40] + struct.pack("<I", len(wav) - 44) + wav[44:]


def event(kind: str, **facts: Any) -> bytes:
    """One server-sent event, in the form of OpenAI's (the type is inside the data as well)."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **facts}, ensure_ascii=False)}\n\n".encode()


def audio_delta(piece: bytes) -> bytes:
    return event("speech.audio.delta", audio=base64.b64encode(piece).decode())
