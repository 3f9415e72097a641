"""Sound to a file or to stdout, in the format its name asks for.

libsndfile writes wav, flac, mp3, ogg (Vorbis) and opus; PyAV (FFmpeg's libraries, no program) the AAC family.
A file is written under a temporary name beside the target and renamed when it is whole.
"""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from langdu.audio.av_encode import AvEncoder, Mark, Tags
from langdu.engines.base import Audio
from langdu.errors import OutputError

FORMATS = {
    "wav": ("WAV", "PCM_16"), "flac": ("FLAC", "PCM_16"), "mp3": ("MP3", "MPEG_LAYER_III"), "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"), "pcm": ("RAW", "PCM_16"),
}  # fmt: skip
AAC_FORMATS = ("m4a", "m4b", "aac")
TAGGED = ("mp3", "flac", "opus")
"""Written by PyAV where tags, a cover or a bit rate are asked for; libsndfile has no way to."""
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
        tags: Tags | None = None,
    ) -> None:
        self.target = str(target)
        self.format = format_of(self.target, format)
        self.sample_rate_hz = sample_rate_hz
        self.samples = 0
        self.chapters: Sequence[Mark] = ()
        """Set before the end; m4a and m4b keep them."""
        self._overwrite, self._bit_rate, self._tags = overwrite, bit_rate, tags
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
            self._sink.chapters = self.chapters
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
        if self.format in AAC_FORMATS or (self.format in TAGGED and (self._tags or self._bit_rate)):
            return _Av(self._temporary, self.format, self.sample_rate_hz, self._bit_rate, self._tags)
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
    chapters: Sequence[Mark] = ()

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
        self._encoder: AvEncoder | None = None
        if name not in ("wav", "pcm"):
            self._encoder = AvEncoder(name, sample_rate_hz)

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


class _Av(_Sink):
    def __init__(self, target: Path, name: str, sample_rate_hz: int, bit_rate: int | None, tags: Tags | None) -> None:
        self._encoder = AvEncoder(name, sample_rate_hz, str(target), bit_rate, tags)

    def write(self, block: Audio) -> None:
        self._encoder.encode(block)

    def close(self) -> None:
        self._encoder.finish(self.chapters)
