"""Awkward reference clips, written on the spot."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

GUID = b"\x01\x00\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"


def pcm16(sound: np.ndarray) -> bytes:
    return (np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes()


def pcm24(sound: np.ndarray) -> bytes:
    return (np.clip(sound, -1, 1) * 8388607).astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()


def wav(
    path: Path, data: bytes, rate: int, *, fmt: int = 1, channels: int = 1, bits: int = 16, extra: bytes = b"",
    declared: int | None = None,
) -> Path:  # fmt: skip
    block = channels * bits // 8
    head = struct.pack("<HHIIHH", fmt, channels, rate, rate * block, block, bits) + extra
    size = len(data) if declared is None else declared
    body = b"WAVEfmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", size) + data
    path.write_bytes(b"RIFF" + struct.pack("<I", len(body) if declared is None else declared) + body)
    return path


def encoded(path: Path, sound: np.ndarray, rate: int, container: str, codec: str) -> Path:
    import av

    with av.open(str(path), "w", format=container) as out:
        stream = out.add_stream(codec, rate=rate, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.frombuffer(pcm16(sound), np.int16)[None], "s16", "mono")
        frame.sample_rate = rate
        fifo = av.AudioFifo()
        resampler = av.AudioResampler(stream.format, "mono", rate)
        for part in resampler.resample(frame):
            fifo.write(part)
        size = stream.codec_context.frame_size or 1024
        while (block := fifo.read(size, partial=True)) is not None:
            out.mux(stream.encode(block))
        out.mux(stream.encode(None))
    return path
