"""What a worker and its parent say to each other: frames over a pipe.

A frame is an 8-byte prefix (two little-endian uint32: header length, payload length), a JSON header and a
payload of float32 samples or nothing. A pipe blocks its writer when the reader lags: that is the
back-pressure, and why sound does not go through `multiprocessing.Queue`, which hangs on large arrays.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

import numpy as np

from langdu.engines.base import Audio, EngineInfo, Event, Failed, Piece, Request, Spoken

PREFIX = struct.Struct("<II")
MAX_HEADER = 4 << 20
MAX_PAYLOAD = 1 << 30


def write(stream: IO[bytes], header: dict[str, Any], payload: bytes = b"") -> None:
    text = json.dumps(header, ensure_ascii=False).encode()
    stream.write(PREFIX.pack(len(text), len(payload)) + text + payload)
    stream.flush()


def read(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """The next frame; None at the end of the stream, cleanly or in mid-frame (the peer died)."""
    prefix = _exactly(stream, PREFIX.size)
    if prefix is None:
        return None
    header_size, payload_size = PREFIX.unpack(prefix)
    if header_size > MAX_HEADER or payload_size > MAX_PAYLOAD:
        raise ValueError(f"not a frame: header {header_size} bytes, payload {payload_size} bytes")
    text, payload = _exactly(stream, header_size), _exactly(stream, payload_size)
    if text is None or payload is None:
        return None
    return json.loads(text), payload


def _exactly(stream: IO[bytes], size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = stream.read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def request_header(request: Request) -> dict[str, Any]:
    names = ("id", "text", "language", "voice", "seed", "speed", "settings", "max_s", "stream")
    return {name: getattr(request, name) for name in names}


def event_frame(event: Event) -> tuple[dict[str, Any], bytes]:
    if isinstance(event, Piece):
        return {"kind": "piece", "id": event.id, "index": event.index}, event.audio.tobytes()
    if isinstance(event, Failed):
        names = ("id", "code", "message", "hint")
        return {"kind": "failed", **{name: getattr(event, name) for name in names}}, b""
    fields = ("id", "sample_rate_hz", "seed", "seconds", "ending", "frames", "facts")
    return {"kind": "spoken", **{name: getattr(event, name) for name in fields}}, event.audio.tobytes()


def event_of(header: dict[str, Any], payload: bytes) -> Event:
    facts = {name: value for name, value in header.items() if name != "kind"}
    if header["kind"] == "piece":
        return Piece(audio=_samples(payload), **facts)
    if header["kind"] == "failed":
        return Failed(**facts)
    return Spoken(audio=_samples(payload), **facts)


def info_of(header: dict[str, Any]) -> EngineInfo:
    return EngineInfo(**{**header, "languages": tuple(header["languages"])})


def _samples(payload: bytes) -> Audio:
    return np.frombuffer(payload, dtype="<f4").astype(np.float32)
