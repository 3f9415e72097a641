"""Any sound file, by its content: libsndfile first, then FFmpeg's decoders through PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from langdu.engines.base import Audio
from langdu.errors import DocumentError


def read(path: Path | str) -> tuple[Audio, int]:
    """Mono samples and their rate in Hz. Channels are mixed by the louder one where they differ much.

    Raises DocumentError that names the file and why it cannot be heard.
    """
    path = Path(path)
    if not path.is_file():
        raise DocumentError(f"{path} is {'a folder' if path.is_dir() else 'not there'}.", hint="Name a sound file.")
    if path.stat().st_size == 0:
        raise DocumentError(f"{path} is empty (0 bytes).")
    channels, rate = _decode(path)
    if channels.size == 0:
        raise DocumentError(f"{path} holds no sound.")
    return downmix(channels), rate


def _decode(path: Path) -> tuple[Audio, int]:
    import soundfile

    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        return samples, int(rate)
    except (soundfile.LibsndfileError, ValueError, MemoryError):  # a streamed flac has no length in its header
        return _decode_av(path)


def _decode_av(path: Path) -> tuple[Audio, int]:
    import av

    try:
        with av.open(str(path)) as container:
            stream = container.streams.audio[0]
            rate = stream.rate
            resampler = av.AudioResampler("fltp", stream.layout, rate)
            blocks = [out.to_ndarray() for frame in container.decode(stream) for out in resampler.resample(frame)]
    except (av.FFmpegError, IndexError, ValueError) as error:
        raise DocumentError(
            f"{path} is not a sound file ({getattr(error, 'strerror', None) or error}).",
            hint="Give wav, flac, mp3, m4a, ogg or opus.",
        ) from None
    if not blocks:
        raise DocumentError(f"{path} holds no sound.")
    return np.concatenate(blocks, axis=1).T.astype(np.float32), int(rate)


def downmix(channels: Audio) -> Audio:
    """One channel from samples of shape (samples, channels), without cancelling or halving.

    A voice on one channel alone is taken from there; channels in opposite phase would cancel in a sum, so
    then the louder one is taken; otherwise the mean.
    """
    if channels.shape[1] == 1:
        return np.ascontiguousarray(channels[:, 0])
    power = np.mean(channels.astype(np.float64) ** 2, axis=0)
    loudest = int(np.argmax(power))
    mean = channels.mean(axis=1)
    if float(np.mean(mean.astype(np.float64) ** 2)) < 0.5 * float(power[loudest]):
        return np.ascontiguousarray(channels[:, loudest])
    return np.asarray(mean, np.float32)


def blocks_of(path: Path | str) -> Iterator[tuple[Audio, int]]:
    """A file of any length, decoded block by block: (mono samples, rate in Hz). Channels are averaged."""
    import av

    try:
        with av.open(str(path)) as container:
            stream = container.streams.audio[0]
            resampler = av.AudioResampler("flt", "mono", stream.rate)
            for frame in container.decode(stream):
                for out in resampler.resample(frame):
                    yield out.to_ndarray()[0], int(stream.rate)
    except (av.FFmpegError, IndexError) as error:
        raise DocumentError(f"{path} cannot be decoded ({error}).") from None
