"""A home of one's own for tests that go through the settings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from langdu.settings import settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty data folder."""
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()
