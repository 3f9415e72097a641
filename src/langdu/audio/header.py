"""What a RIFF header says, against what the file holds."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

STREAMED = (0, 0x7FFFFFFF, 0x7FFFFFFF - 36, 0xFFFFFFFF, 0xFFFFFFFF - 36, 0x7FFFF000)
"""Sizes that programs write when they do not know how much will follow; they say nothing about the sound."""


@dataclass(frozen=True, slots=True)
class WavHeader:
    bits: int
    channels: int
    rate_hz: int
    declared_bytes: int
    """The data chunk's size as written; see `STREAMED`."""
    present_bytes: int

    @property
    def truncated(self) -> bool:
        return self.declared_bytes not in STREAMED and self.present_bytes < self.declared_bytes

    @property
    def missing_share(self) -> float:
        return 1 - self.present_bytes / self.declared_bytes if self.truncated else 0.0


def wav_header(path: Path) -> WavHeader | None:
    """The header of a RIFF wave file by content, or None for any other file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(12)
        if start[:4] != b"RIFF" or start[8:12] != b"WAVE":
            return None
        bits = channels = rate_hz = 0
        while len(head := file.read(8)) == 8:
            name, length = struct.unpack("<4sI", head)
            if name == b"fmt ":
                body = file.read(length + length % 2)
                if len(body) < 16:
                    return None
                channels, rate_hz, bits = struct.unpack_from("<2xHI6xH", body)
            elif name == b"data":
                return WavHeader(bits, channels, rate_hz, length, size - file.tell())
            else:
                file.seek(length + length % 2, 1)
    return None
