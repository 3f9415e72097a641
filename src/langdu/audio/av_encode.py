"""FFmpeg's encoders through PyAV: AAC, streamed mp3, and files with tags, a cover and chapters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from langdu.engines.base import Audio
from langdu.errors import DependencyError

AV_STREAMS = {
    "mp3": ("mp3", "libmp3lame", "s16p"), "opus": ("ogg", "libopus", "flt"), "ogg": ("ogg", "libopus", "flt"),
    "aac": ("adts", "aac", "fltp"), "flac": ("flac", "flac", "s16"), "m4a": ("mp4", "aac", "fltp"),
    "m4b": ("mp4", "aac", "fltp"),
}  # fmt: skip
BRANDS = {"m4a": "M4A ", "m4b": "M4B "}
COVERS = {b"\xff\xd8\xff": "mjpeg", b"\x89PNG": "png"}
WITH_COVER = ("m4a", "m4b", "mp3", "flac")
WITH_CHAPTERS = ("m4a", "m4b")


@dataclass(frozen=True, slots=True)
class Tags:
    """What players show. Empty fields are left out."""

    title: str = ""
    author: str = ""
    album: str = ""
    track: str = ""
    """"3/12" for the third of twelve files."""
    cover: bytes | None = None
    """JPEG or PNG; other bytes are not embedded."""

    def metadata(self) -> dict[str, str]:
        fields = {"title": self.title, "artist": self.author, "album": self.album, "track": self.track}
        return {key: _flat(value) for key, value in fields.items() if value.strip()}

    def cover_codec(self) -> str | None:
        start = self.cover or b""
        return next((codec for magic, codec in COVERS.items() if start.startswith(magic)), None)


@dataclass(frozen=True, slots=True)
class Mark:
    """A chapter: where it starts and ends in the file, in seconds."""

    title: str
    start_s: float
    end_s: float


def _flat(text: str) -> str:
    """A tag is one line; players cut it at a line break."""
    return " ".join(text.split())


def _av() -> Any:
    try:
        import av
    except ImportError:
        hint = 'Run: pip install "langdu[book]"'
        raise DependencyError("PyAV is not installed; it writes AAC and streams mp3.", hint=hint) from None
    return av


class Growing:
    """A write-only stream for PyAV that gives its bytes away; without seek, so headers are final."""

    def __init__(self) -> None:
        self.waiting = bytearray()

    def write(self, data: bytes) -> int:
        self.waiting += data
        return len(data)

    def take(self) -> bytes:
        data = bytes(self.waiting)
        self.waiting.clear()
        return data


class AvEncoder:
    """One mono stream. With `target` it writes a file, without it `encode` returns the bytes."""

    def __init__(
        self, name: str, sample_rate_hz: int, target: str | None = None, bit_rate: int | None = None,
        tags: Tags | None = None,
    ) -> None:  # fmt: skip
        av = _av()
        container, codec, sample_format = AV_STREAMS[name]
        self._bytes = Growing()
        options = {"brand": BRANDS[name]} if name in BRANDS else {}
        self._container = av.open(target or self._bytes, "w", format=container, container_options=options)
        self._stream = self._container.add_stream(codec, rate=sample_rate_hz, layout="mono")
        self._stream.bit_rate = bit_rate or (64_000 if name == "opus" else 96_000)
        if codec == "aac":
            # The default search (twoloop) takes four times as long; 96 kbit/s for one voice need no search.
            self._stream.options = {"aac_coder": "fast"}
        self._name, self._rate = name, sample_rate_hz
        self._resampler = av.AudioResampler(sample_format, "mono", sample_rate_hz)
        self._at = 0
        if tags is not None:
            self._tag(tags)

    def _tag(self, tags: Tags) -> None:
        # Ogg keeps its comments in the stream, the others in the file.
        owner = self._stream if self._name in ("opus", "ogg") else self._container
        owner.metadata.update(tags.metadata())
        codec = tags.cover_codec()
        if codec is None or self._name not in WITH_COVER:
            return
        from av.stream import Disposition

        assert tags.cover is not None
        picture = self._container.add_stream(codec)
        picture.width, picture.height = _size(tags.cover)
        picture.pix_fmt = "rgb24" if codec == "png" else "yuvj420p"
        picture.disposition = Disposition.attached_pic
        self._container.start_encoding()
        packet = _av().Packet(tags.cover)
        packet.stream, packet.pts, packet.dts = picture, 0, 0
        packet.time_base, packet.is_keyframe = Fraction(1, 90_000), True
        self._container.mux(packet)

    def encode(self, block: Audio) -> bytes:
        if len(block):
            frame = _av().AudioFrame.from_ndarray(np.ascontiguousarray(block, np.float32)[None], "flt", "mono")
            frame.sample_rate, frame.pts = self._rate, self._at
            self._at += len(block)
            for ready in self._resampler.resample(frame):
                self._mux(ready)
        return self._bytes.take()

    def _mux(self, frame: Any) -> None:
        for packet in self._stream.encode(frame):
            self._container.mux(packet)

    def finish(self, chapters: Sequence[Mark] = ()) -> bytes:
        """Chapters go into the trailer of m4a and m4b, so their times need not be known before."""
        self._mux(None)
        if chapters and self._name in WITH_CHAPTERS:
            self._container.set_chapters([
                {
                    "id": number, "start": round(mark.start_s * 1000), "end": round(mark.end_s * 1000),
                    "time_base": Fraction(1, 1000), "metadata": {"title": mark.title},
                }
                for number, mark in enumerate(mark for mark in chapters if mark.end_s - mark.start_s >= 0.001)
            ])  # fmt: skip
        self._container.close()
        return self._bytes.take()


def _size(cover: bytes) -> tuple[int, int]:
    import io

    with _av().open(io.BytesIO(cover)) as picture:
        stream = picture.streams.video[0]
        return int(stream.width), int(stream.height)
