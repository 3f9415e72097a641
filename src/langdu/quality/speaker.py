"""Is it the same voice? A speaker embedding by three LSTM layers, run in numpy.

The network and its weights are Resemblyzer's (Apache-2.0; generalised end-to-end loss, Wan et al. 2018). Its
file is a PyTorch pickle; nothing is unpickled here: the catalogue pins the file's hash, so the places of the
plain float32 arrays in it are known, and only those bytes are read.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Audio
from langdu.quality.transcript import resample, speech_spans

MODEL = "speaker-encoder"
FILE = "pretrained.pt"
RATE_HZ = 16_000
MELS, HIDDEN, LAYERS = 40, 256, 3
WINDOW, HOP = 400, 160
"""25 ms and 10 ms at 16 kHz."""
PARTIAL = 160
"""Frames of one partial utterance: 1.6 s; an utterance's embedding is the mean over partials."""
STEP = 80
PARTIALS = 8
"""Spread over a longer sound: more do not change the mean."""
LEVEL_DB = -30.0
"""Quieter sound is raised to this level, as in training."""
MINIMUM_S = 1.0
"""Under a second of voice an embedding says little."""

# Byte offsets in the file whose SHA-256 the catalogue pins: one flat LSTM storage, then the output layer.
LSTM_AT, LSTM_FLOATS = 269_883, 1_357_824
OUTPUT_WEIGHT_AT, OUTPUT_BIAS_AT = 7_731, 6_699

Vector = npt.NDArray[np.float32]


def embed(audio: Audio, sample_rate_hz: int, *, folder: Path | None = None) -> Vector:
    """A unit vector of 256 for the voice in mono samples; zeros where less than a second of voice is found."""
    sound = resample(audio, sample_rate_hz, RATE_HZ)
    spans = speech_spans(sound, RATE_HZ)
    if sum(end - start for start, end in spans) < MINIMUM_S:
        return np.zeros(HIDDEN, np.float32)
    voice = np.concatenate([sound[int(a * RATE_HZ) : int(b * RATE_HZ)] for a, b in spans])
    level = float(np.sqrt(np.mean(voice.astype(np.float64) ** 2)))
    voice = voice * np.float32(max(1.0, 10 ** (LEVEL_DB / 20) / max(level, 1e-9)))
    frames = _mel(voice)
    if len(frames) < PARTIAL:
        frames = np.pad(frames, ((0, PARTIAL - len(frames)), (0, 0)))
    starts = list(range(0, len(frames) - PARTIAL + 1, STEP))
    if len(starts) > PARTIALS:
        starts = [starts[int(i)] for i in np.linspace(0, len(starts) - 1, PARTIALS)]
    vectors = _network(folder)(np.stack([frames[s : s + PARTIAL] for s in starts]))
    mean = vectors.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)


def similarity(a: Vector, b: Vector) -> float:
    """Cosine of two embeddings, 0 to 1 (they have no negative parts). 0 where either is empty."""
    return float(np.dot(a, b))


class _Network:
    """LSTM (batch, frames, 40) -> last hidden state -> linear, ReLU, unit length (batch, 256)."""

    def __init__(self, path: Path) -> None:
        flat = np.fromfile(path, "<f4", LSTM_FLOATS, offset=LSTM_AT)
        at = 0

        def take(*shape: int) -> Vector:
            nonlocal at
            size = int(np.prod(shape))
            at += size
            return np.asarray(flat[at - size : at].reshape(shape))

        wide = 4 * HIDDEN
        weights = [(take(wide, MELS if n == 0 else HIDDEN), take(wide, HIDDEN)) for n in range(LAYERS)]
        self._layers = [(w_in, w_back, take(wide) + take(wide)) for w_in, w_back in weights]
        self._weight = np.fromfile(path, "<f4", HIDDEN * HIDDEN, offset=OUTPUT_WEIGHT_AT).reshape(HIDDEN, HIDDEN)
        self._bias = np.fromfile(path, "<f4", HIDDEN, offset=OUTPUT_BIAS_AT)

    def __call__(self, frames: Vector) -> Vector:
        x = frames
        for w_in, w_back, bias in self._layers:
            driven = x @ w_in.T + bias
            hidden = cell = np.zeros((len(x), HIDDEN), np.float32)
            outputs = []
            for step in range(x.shape[1]):
                # Not a BLAS call: its threads would wait for each other 480 times where synthesis has the cores.
                gates = driven[:, step] + np.einsum("bh,gh->bg", hidden, w_back)
                let_in, keep, new, out = np.split(gates, 4, axis=1)
                cell = _sigmoid(keep) * cell + _sigmoid(let_in) * np.tanh(new)
                hidden = _sigmoid(out) * np.tanh(cell)
                outputs.append(hidden)
            x = np.stack(outputs, axis=1)
        raw = np.maximum(x[:, -1] @ self._weight.T + self._bias, 0)
        return np.asarray(raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-9), np.float32)


@functools.lru_cache(maxsize=1)
def _network(folder: Path | None) -> _Network:
    from langdu.models.store import model_dir

    return _Network((folder or model_dir(MODEL)) / FILE)


def _sigmoid(x: Any) -> Any:
    return 0.5 * (np.tanh(0.5 * x) + 1)


def _mel(sound: Audio) -> Vector:
    """Mel power spectrogram, (frames, 40), not in decibels: what the network was trained on."""
    padded = np.pad(sound, WINDOW // 2)
    window = np.hanning(WINDOW + 1)[:-1]
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    return np.asarray(power @ _filters().T, np.float32)


@functools.cache
def _filters() -> npt.NDArray[np.float64]:
    """Triangles on Slaney's mel scale (linear to 1 kHz, logarithmic above), each of unit area."""
    bins = np.linspace(0, RATE_HZ / 2, WINDOW // 2 + 1)
    top = 15 + 27 * np.log(RATE_HZ / 2 / 1000) / np.log(6.4)
    mels = np.linspace(0, top, MELS + 2)
    edges = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) * np.log(6.4) / 27))
    rise = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    area = 2 / (edges[2:] - edges[:-2])
    return np.asarray(np.maximum(0, np.minimum(rise, fall)) * area[:, None])
