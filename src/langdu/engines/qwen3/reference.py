"""What a reference clip gives to a clone: its codes, the sum of their embeddings and the speaker embedding, worked
out once and kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Audio
from langdu.engines.qwen3.checkpoint import Checkpoint
from langdu.engines.qwen3.kept import kept_path, write
from langdu.engines.qwen3.kept import read as read_kept
from langdu.errors import ClipError

RATE_HZ = 24_000
SAMPLES_PER_FRAME = 1920
SHORTEST_S, LONGEST_S = 0.5, 60.0
"""Below, the embedding has too few frames to pool; above, the prompt crowds the context out."""
FORMAT = "2"
"""Part of every cache name: raise it when encoding changes."""


@dataclass(frozen=True, slots=True)
class Reference:
    codes: npt.NDArray[np.int32]
    """(frames, 16)"""
    speaker: npt.NDArray[np.float32]
    """(hidden size of the talker,)"""
    summed: Any
    """MLX array [1, frames, hidden]: each frame's sum of its 16 codes' embeddings."""


def encode(checkpoint: Checkpoint, clip: Audio) -> Reference:
    """Codes and speaker embedding of `clip`, 24 kHz mono. Raises ClipError for a clip of unusable length."""
    seconds = len(clip) / RATE_HZ
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise ClipError(f"The reference clip lasts {seconds:.1f} s; {SHORTEST_S:g} to {LONGEST_S:g} s are usable.")
    if not np.all(np.isfinite(clip)):
        raise ClipError("The reference clip holds samples that are no numbers.")
    codes = _codes(checkpoint, clip)
    return Reference(codes, speaker_embedding(checkpoint, clip), summed(checkpoint, codes))


def cached(checkpoint: Checkpoint, path: Path, folder: Path) -> Reference:
    """As `encode` for the clip in `path`, kept in `folder` under the hash of the clip and the checkpoint."""
    import mlx.core as mx

    from langdu.audio.read import read

    if not path.is_file():
        raise ClipError(f"The reference clip {path} is not there.", hint="Add the persona again: langdu voices add.")
    kept = kept_path(folder, path.read_bytes(), checkpoint.revision, checkpoint.precision, FORMAT)
    arrays = read_kept(kept, ("codes", "speaker", "summed"))
    if arrays is not None:
        return Reference(np.array(arrays["codes"]), np.array(arrays["speaker"]), arrays["summed"])
    clip, rate_hz = read(path)
    if rate_hz != RATE_HZ:
        import soxr

        clip = soxr.resample(clip, rate_hz, RATE_HZ, quality="VHQ").astype(np.float32)
    found = encode(checkpoint, clip)
    write(kept, {"codes": mx.array(found.codes), "speaker": mx.array(found.speaker), "summed": found.summed})
    return found


def summed(checkpoint: Checkpoint, codes: npt.NDArray[np.int32]) -> Any:
    """The sum of the 16 codebooks' embeddings of each frame, [1, frames, H]."""
    import mlx.core as mx

    talker, columns = checkpoint.talker, mx.array(codes)
    total = talker.get_input_embeddings()(columns[:, 0])
    for group, embedding in enumerate(talker.code_predictor.codec_embedding, 1):
        total = total + embedding(columns[:, group])
    return total[None]


def speaker_embedding(checkpoint: Checkpoint, clip: Audio) -> npt.NDArray[np.float32]:
    import mlx.core as mx

    mel = mx.array(mel_spectrogram(clip)[None])
    embedding = checkpoint.model.speaker_encoder(mel)
    return np.array(embedding.astype(mx.float32)).reshape(-1)


def mel_spectrogram(clip: Audio) -> npt.NDArray[np.float32]:
    """Log mel spectrogram (frames, 128) as the speaker encoder was trained on: FFT 1024, hop 256, periodic Hann.

    mlx-audio's has a symmetric window and a filter bank rounded to float32, 6e-4 away in the embedding.
    """
    padding = (1024 - 256) // 2
    padded = np.pad(clip.astype(np.float32), padding, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, 1024)[::256]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(1024) / 1024)
    power = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    magnitude = np.sqrt(power + 1e-9)
    return np.log(np.maximum(magnitude @ _mel_filters().T, 1e-5)).astype(np.float32)


@lru_cache(maxsize=1)
def _mel_filters() -> npt.NDArray[np.float64]:
    """Slaney's triangular filters, area-normalised: (128, 513) over 0 to 12 kHz (Auditory Toolbox, 1998)."""
    edges = _to_hz(np.linspace(_to_mel(0.0), _to_mel(12_000.0), 130))
    bins = np.linspace(0, RATE_HZ / 2, 513)
    slopes = edges[:, None] - bins[None]
    widths = np.diff(edges)
    rising = -slopes[:-2] / widths[:-1, None]
    falling = slopes[2:] / widths[1:, None]
    area = 2.0 / (edges[2:] - edges[:-2])
    filters: npt.NDArray[np.float64] = np.maximum(0, np.minimum(rising, falling)) * area[:, None]
    return filters.astype(np.float32).astype(np.float64)


def _to_mel(hz: float) -> float:
    """Slaney's scale: linear to 1 kHz (15 mel), then 27 steps for each factor of 6.4."""
    return 15 + 27 * float(np.log(hz / 1000)) / float(np.log(6.4)) if hz >= 1000 else hz * 3 / 200


def _to_hz(mel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))
    return found


def _codes(checkpoint: Checkpoint, clip: Audio) -> npt.NDArray[np.int32]:
    import mlx.core as mx

    codes = checkpoint.model.speech_tokenizer.encode(mx.array(clip.astype(np.float32))[None, None])
    frames = -(-len(clip) // SAMPLES_PER_FRAME)
    return np.array(codes[0].T.astype(mx.int32))[:frames]
