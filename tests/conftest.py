"""Shared by all tests: settings and data of the user running them stay out of the way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def _fresh_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from langdu.settings import settings

    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def langdu() -> Run:
    """Run the command line as a user does; `cwd`, `env` and `input` as for subprocess.run."""

    def run(
        *arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None, input: str | None = None,
        timeout: float = 240,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        return subprocess.run(
            [sys.executable, "-m", "langdu", *arguments], capture_output=True, text=True, input=input, cwd=cwd,
            env={**os.environ, **(env or {})}, timeout=timeout, check=False,
        )  # fmt: skip

    return run


@pytest.fixture(scope="session")
def tiny_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Random Qwen3-TTS checkpoints in the hub's layout, by kind. Read only: copy one before changing it."""
    from tests import tiny_checkpoint

    return tiny_checkpoint.build_all(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="session")
def tiny_base(tiny_checkpoints: dict[str, Path]) -> Path:
    return tiny_checkpoints["base"]


@pytest.fixture(scope="session")
def tiny_design(tiny_checkpoints: dict[str, Path]) -> Path:
    return tiny_checkpoints["design"]


@pytest.fixture(scope="session")
def tiny_custom(tiny_checkpoints: dict[str, Path]) -> Path:
    return tiny_checkpoints["custom"]
