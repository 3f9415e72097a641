"""Sound to a file or to stdout, in the format its name asks for.

libsndfile writes wav, flac, mp3, ogg (Vorbis) and opus; PyAV (FFmpeg's libraries, no program) the AAC family.
A file is written under a temporary name beside the target and renamed when it is whole.
"""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from langdu.engines.base import Audio
from langdu.errors import DependencyError, OutputError

FORMATS = {
    "wav": ("WAV", "PCM_16"), "flac": ("FLAC", "PCM_16"), "mp3": ("MP3", "MPEG_LAYER_III"), "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"), "pcm": ("RAW", "PCM_16"),
}  # fmt: skip
AAC_FORMATS = {"m4a": "ipod", "m4b": "ipod", "aac": "adts"}
OPUS_RATES_HZ = (8000, 12000, 16000, 24000, 48000)


def format_of(target: str, asked: str | None = None) -> str:
    """The format of a target: as asked, or by its suffix; "-" is wav. OutputError lists the known ones."""
    known = (*FORMATS, *AAC_FORMATS)
    found = (asked or ("wav" if target == "-" else Path(target).suffix.lstrip("."))).lower()
    if found not in known:
        what = f"format {asked!r}" if asked else f"{target!r} has no known suffix"
        raise OutputError(f"Unknown output: {what}.", hint=f"Known: {', '.join(known)}.")
    return found


class Writer:
    """Writes blocks as they come. Use as a context: leaving it on an error leaves no file behind."""

    def __init__(
        self,
        target: str | Path,
        sample_rate_hz: int,
        *,
        format: str | None = None,
        overwrite: bool = True,
        bit_rate: int | None = None,
    ) -> None:
        self.target = str(target)
        self.format = format_of(self.target, format)
        self.sample_rate_hz = sample_rate_hz
        self.samples = 0
        self._overwrite, self._bit_rate = overwrite, bit_rate
        self._temporary: Path | None = None
        self._sink: _Sink | None = None

    def __enter__(self) -> Writer:
        try:
            self._sink = self._open()
        except OSError as error:
            raise OutputError(f"{self.target} cannot be written ({error.strerror or error}).") from None
        except RuntimeError as error:  # libsndfile's errors
            self._discard()
            raise OutputError(f"{self.target} cannot be written ({error}).") from None
        return self

    def write(self, block: Audio) -> None:
        """Append samples in [-1, 1]; what is beyond is clipped, never wrapped. OutputError for a full disk."""
        assert self._sink is not None
        try:
            self._sink.write(np.clip(block, -1.0, 1.0))
        except (OSError, RuntimeError) as error:
            self._abort()
            raise OutputError(f"{self.target} cannot be written ({error}).", hint="Is the disk full?") from None
        self.samples += len(block)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._sink is None:
            return
        if kind is not None:
            self._abort()
            return
        try:
            self._sink.close()
            if self._temporary is not None:
                self._temporary.replace(self.target)
        except (OSError, RuntimeError) as error:
            self._discard()
            raise OutputError(f"{self.target} cannot be written ({error}).", hint="Is the disk full?") from None

    def _open(self) -> _Sink:
        if self.target == "-":
            return _Stream(sys.stdout.buffer, self.format, self.sample_rate_hz)
        path = Path(self.target)
        if path.is_dir():
            raise OutputError(f"{path} is a folder.", hint="Name a file in it.")
        if not path.parent.is_dir():
            raise OutputError(f"The folder {path.parent} does not exist.", hint="Create it first.")
        if path.exists() and not self._overwrite:
            raise OutputError(f"{path} exists.", hint="Use --overwrite, or another name.")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        self._temporary = Path(name)
        mask = os.umask(0)
        os.umask(mask)
        self._temporary.chmod(0o666 & ~mask)
        if self.format in AAC_FORMATS:
            return _Aac(self._temporary, self.format, self.sample_rate_hz, self._bit_rate)
        return _SoundFile(self._temporary, self.format, self.sample_rate_hz)

    def _abort(self) -> None:
        if self._sink is not None:
            sink, self._sink = self._sink, None
            sink.abort()
        self._discard()

    def _discard(self) -> None:
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)


def write(target: str | Path, blocks: Iterable[Audio], sample_rate_hz: int, *, format: str | None = None) -> int:
    """Write all blocks; return the number of samples."""
    with Writer(target, sample_rate_hz, format=format) as writer:
        for block in blocks:
            writer.write(block)
    return writer.samples


class _Sink:
    def write(self, block: Audio) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None:
        self.close()


class _SoundFile(_Sink):
    def __init__(self, target: Path | IO[bytes], name: str, sample_rate_hz: int) -> None:
        import soundfile

        container, subtype = FORMATS[name]
        # Opus knows five rates; 24 kHz, that of both engines, is one of them.
        self._file = soundfile.SoundFile(
            target, "w", samplerate=sample_rate_hz, channels=1, format=container, subtype=subtype
        )

    def write(self, block: Audio) -> None:
        self._file.write(block)

    def close(self) -> None:
        self._file.close()


class _Stream(_Sink):
    """Stdout. A wav header goes out once, with the sizes a stream cannot know set to 0xFFFFFFFF."""

    def __init__(self, stream: IO[bytes], name: str, sample_rate_hz: int) -> None:
        self._stream = stream
        self._encoder: StreamEncoder = StreamEncoder(name, sample_rate_hz)

    def write(self, block: Audio) -> None:
        self._stream.write(self._encoder.encode(block))
        self._stream.flush()

    def close(self) -> None:
        self._stream.write(self._encoder.finish())
        self._stream.flush()

    def abort(self) -> None:
        pass


class StreamEncoder:
    """One container header, then pieces that can be decoded as they come; for pipes and HTTP."""

    def __init__(self, name: str, sample_rate_hz: int) -> None:
        self._name, self._rate = name, sample_rate_hz
        self._started = False
        self._encoder: _AvEncoder | None = None
        if name not in ("wav", "pcm"):
            self._encoder = _AvEncoder(name, sample_rate_hz)

    def encode(self, block: Audio) -> bytes:
        if self._encoder is not None:
            return self._encoder.encode(block)
        head = streamed_wav_header(self._rate) if self._name == "wav" and not self._started else b""
        self._started = True
        return head + to_pcm16(block)

    def finish(self) -> bytes:
        if self._encoder is not None:
            return self._encoder.finish()
        return b"" if self._started else self.encode(np.zeros(0, np.float32))


def to_pcm16(block: Audio) -> bytes:
    """Signed 16-bit little-endian samples."""
    return bytes((np.clip(block, -1.0, 1.0) * 32767.0).round().astype("<i2").tobytes())


def streamed_wav_header(sample_rate_hz: int) -> bytes:
    unknown = 0xFFFFFFFF
    fmt = struct.pack("<HHIIHH", 1, 1, sample_rate_hz, sample_rate_hz * 2, 2, 16)
    return (
        b"RIFF"
        + struct.pack("<I", unknown)
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + fmt
        + b"data"
        + struct.pack("<I", unknown)
    )


AV_STREAMS = {
    "mp3": ("mp3", "libmp3lame", "s16p"), "opus": ("ogg", "libopus", "flt"), "ogg": ("ogg", "libopus", "flt"),
    "aac": ("adts", "aac", "fltp"), "flac": ("flac", "flac", "s16"), "m4a": ("ipod", "aac", "fltp"),
    "m4b": ("ipod", "aac", "fltp"),
}  # fmt: skip


def _av() -> Any:
    try:
        import av
    except ImportError:
        hint = 'Run: pip install "langdu[book]"'
        raise DependencyError("PyAV is not installed; it writes AAC and streams mp3.", hint=hint) from None
    return av


class _Growing:
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


class _AvEncoder:
    def __init__(self, name: str, sample_rate_hz: int, target: Any = None, bit_rate: int | None = None) -> None:
        av = _av()
        container, codec, self._layout_format = AV_STREAMS[name]
        self._bytes = _Growing()
        self._container = av.open(target or self._bytes, "w", format=container)
        self._stream = self._container.add_stream(codec, rate=sample_rate_hz, layout="mono")
        self._stream.bit_rate = bit_rate or (64_000 if name == "opus" else 96_000)
        self._rate = sample_rate_hz
        self._resampler = av.AudioResampler(self._layout_format, "mono", sample_rate_hz)
        self._at = 0

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

    def finish(self) -> bytes:
        self._mux(None)
        self._container.close()
        return self._bytes.take()


class _Aac(_Sink):
    def __init__(self, target: Path, name: str, sample_rate_hz: int, bit_rate: int | None) -> None:
        self._encoder = _AvEncoder(name, sample_rate_hz, str(target), bit_rate)

    def write(self, block: Audio) -> None:
        self._encoder.encode(block)

    def close(self) -> None:
        self._encoder.finish()
