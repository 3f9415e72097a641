from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from tests import tiny_checkpoint

from langdu.engines.qwen3 import checkpoint
from langdu.engines.qwen3.checkpoint import Checkpoint
from langdu.engines.qwen3.codec import Codec
from langdu.engines.qwen3.engine import Qwen3Engine
from langdu.engines.qwen3.prompt import Conditions
from langdu.engines.qwen3.sampling import Sampling
from langdu.voices.persona import ClonePersona

GREEDY = Sampling(temperature=0, subtalker_temperature=0)
TRANSCRIPT = "The quick brown fox."


class Official:
    """What tools/record_reference.py wrote: codes, embeddings and waveforms of the official package."""

    def __init__(self) -> None:
        self._file = np.load(Path(__file__).with_name("official.npz"), allow_pickle=False)

    def __getitem__(self, name: str) -> np.ndarray:
        found = self._file[name]
        return found.astype(np.int32) if found.dtype == np.int16 else found

    def wave(self, name: str) -> np.ndarray:
        low, high = self._file[f"{name}.wave"].astype(np.uint16)
        return (low | high << 8).view(np.int16).astype(np.float32) / 25_000

    def reference(self, name: str) -> dict[str, object]:
        return {"speaker": self[f"{name}.speaker"], "codes": self[f"{name}.codes"], "transcript": TRANSCRIPT}

    def clone(self, name: str, layout: str = "streaming") -> Conditions:
        return Conditions(layout=layout, **self.reference(name))


@pytest.fixture(scope="session")
def official() -> Official:
    return Official()


@pytest.fixture(scope="session")
def base(tiny_base: Path) -> Checkpoint:
    return checkpoint.load(tiny_base, device="cpu")


@pytest.fixture(scope="session")
def design(tiny_design: Path) -> Checkpoint:
    return checkpoint.load(tiny_design, device="cpu")


@pytest.fixture(scope="session")
def custom(tiny_custom: Path) -> Checkpoint:
    return checkpoint.load(tiny_custom, device="cpu")


@pytest.fixture(scope="session")
def codec(base: Checkpoint) -> Codec:
    return Codec(base.model.speech_tokenizer.decoder)


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "ref3.wav"
    sf.write(path, tiny_checkpoint.clip(3.27), 24_000, subtype="FLOAT")
    return path


@pytest.fixture(scope="session")
def persona(clip: Path) -> ClonePersona:
    return ClonePersona(name="Ann", clip=clip, transcript=TRANSCRIPT)


@pytest.fixture(scope="session")
def engine(base: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Qwen3Engine:
    return Qwen3Engine(base, slots=2, cache=tmp_path_factory.mktemp("references"))
