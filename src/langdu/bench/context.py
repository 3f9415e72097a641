"""What a bench run has at hand: how often, who listens, where files go, whom to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langdu.bench.hearing import Listener
from langdu.synthesis.model import Chunk, Take


@dataclass(slots=True)
class Context:
    work: Path
    """A folder of this run, removed at its end."""
    listener: Listener
    repeats: int = 3
    processes: int | None = None
    """Most worker processes the scale suite starts; None: what the machine carries."""
    machine: dict[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = lambda step: None
    """Told what is being done."""
    notes: list[str] = field(default_factory=list)
    """Said below the table: why something stopped or was left out."""
    spoken: dict[str, tuple[tuple[Chunk, ...], tuple[Take, ...]]] = field(default_factory=dict)
    """The article as each target last said it, so that `quality` need not say it again."""

    def at(self, where: str) -> Callable[[str], None]:
        """Tells of steps inside `where`."""
        return lambda step: self.say(f"{where}, {step}")
