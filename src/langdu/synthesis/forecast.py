"""How far a book is, how fast it goes, and how long it will still take."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

from langdu.synthesis.model import Chunk


class Progress:
    """Time left goes by characters, of the chunks that have to be said alone: kept ones take no time."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._chapters = list(dict.fromkeys(chunk.chapter for chunk in chunks))
        self._audio_s = 0.0
        self._characters = 0
        self._whole: int | None = None
        self._began = time.monotonic()

    def after(self, chunk: Chunk, audio_s: float, missing: Collection[str]) -> dict[str, Any]:
        """chapter (as a count from 1, of `chapters`), rtf (seconds of work per second of sound, lower is better) and
        left_s, once `chunk` is ready; `missing` holds the keys that this run has to say. None where not known yet.
        """
        passed = time.monotonic() - self._began
        if chunk.key in missing:
            self._audio_s += audio_s
            self._characters += len(chunk.text)
        if self._whole is None:
            self._whole = sum(len(chunk.text) for chunk in self._chunks if chunk.key in missing)
        left = passed * (self._whole - self._characters) / self._characters if self._characters else None
        return {
            "chapter": self._chapters.index(chunk.chapter) + 1, "chapters": len(self._chapters),
            "rtf": round(passed / self._audio_s, 3) if self._audio_s else None,
            "left_s": None if left is None else round(left),
        }  # fmt: skip
