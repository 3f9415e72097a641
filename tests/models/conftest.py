from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.models.server import Server, serving
from tests.tiny_checkpoint import build

Copy = Callable[[str], Path]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder; no hub, no folder of models, no registries unless a test names them."""
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LANGDU_SOURCES", '["hub"]')
    monkeypatch.delenv("LANGDU_MODELS_FOLDER", raising=False)
    return tmp_path / "data"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Whole tiny checkpoints, "base" and "custom". Not to be written to."""
    out = tmp_path_factory.mktemp("tiny")
    base = build(out / "base", "base")
    return {"base": base, "custom": build(out / "custom", "custom", codec_from=base)}


@pytest.fixture(scope="session")
def eight_bit(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Base checkpoint at 8 bit in groups of 32. Not to be written to."""
    from langdu.models.convert import convert

    return convert(tiny["base"], tmp_path_factory.mktemp("quantised") / "eight", 8, group_size=32).path


@pytest.fixture
def copy(tiny: dict[str, Path], eight_bit: Path, tmp_path: Path) -> Copy:
    """A copy of "base", "custom" or "eight" to damage: files are linked, so replace them, never write into them."""

    def make(name: str) -> Path:
        source = eight_bit if name == "eight" else tiny[name]
        return Path(shutil.copytree(source, tmp_path / name, copy_function=os.link))

    return make


def replace(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(data)
