"""What the routes share: the hub, the checker, the figures, and the limits."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Request, UploadFile

from langdu.engines.base import Audio
from langdu.service.hub import Hub
from langdu.service.metrics import Metrics
from langdu.settings import settings

if TYPE_CHECKING:
    from langdu.quality.transcript import Checker, Heard, Word
    from langdu.quality.verdict import Verdict
    from langdu.synthesis.making import Ear
    from langdu.synthesis.model import Chunk, Take

INPUT_CHARS = 50_000
DEADLINE_S = 300.0


class Core:
    """One for each running service."""

    def __init__(self, hub: Hub, *, input_chars: int = INPUT_CHARS, deadline_s: float = DEADLINE_S) -> None:
        self.hub = hub
        self.input_chars = input_chars
        self.deadline_s = deadline_s
        self.metrics = Metrics(hub)
        self.checker_model = settings().checker
        self._checker: Checker | None = None
        self._judge: Ear | None = None
        self._ear = asyncio.Lock()

    @staticmethod
    def of(request: Request) -> Core:
        found = request.app.state.core
        assert isinstance(found, Core)
        return found

    @staticmethod
    def client_of(request: Request) -> str:
        """Whom fairness counts: `X-Langdu-Client`, as behind one proxy all have one address, else the address."""
        named = request.headers.get("x-langdu-client", "")[:64]
        return named or (request.client.host if request.client else "")

    @contextlib.asynccontextmanager
    async def ear(self) -> AsyncIterator[Checker]:
        """The checker, for one listener at a time; what is done with it belongs in a thread."""
        from langdu.quality.transcript import Checker

        async with self._ear:
            if self._checker is None:
                self._checker = Checker(self.checker_model)
            yield self._checker

    @property
    def judge_name(self) -> str:
        """Under which verdicts are kept; see synthesis.making.Judge."""
        from langdu.synthesis.making import judge_name

        return judge_name(self.checker_model)

    async def judge(self, chunk: Chunk, take: Take) -> tuple[Verdict, tuple[Word, ...]]:
        from langdu.synthesis.making import Ear

        async with self.ear() as checker:
            if self._judge is None:
                self._judge = Ear(self.checker_model, checker=checker)
            return await asyncio.to_thread(self._judge, chunk, take)

    async def hear(self, audio: Audio, sample_rate_hz: int, language: str | None) -> Heard:
        async with self.ear() as checker:
            return await asyncio.to_thread(checker.hear, audio, sample_rate_hz, language)

    async def hear_upload(self, file: UploadFile, language: str | None) -> tuple[Heard, float]:
        from langdu.audio.read import read

        with saved(await file.read()) as path:
            audio, rate_hz = await asyncio.to_thread(read, path)
        return await self.hear(audio, rate_hz, language), len(audio) / rate_hz


@contextlib.contextmanager
def saved(data: bytes, suffix: str = "") -> Iterator[Path]:
    """Uploaded bytes as a file under a name of ours; the client's name never reaches the file system."""
    with tempfile.TemporaryDirectory(prefix="langdu-") as folder:
        path = Path(folder) / f"upload{suffix}"
        path.write_bytes(data)
        yield path
