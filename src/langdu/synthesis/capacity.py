"""How many workers this machine carries: by cores and by memory, with the numbers in every refusal."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from langdu.errors import CapacityError, SettingError

# Resident peak of one worker, measured on the 822-character article at 120 characters a chunk, with a margin.
WORKER_MB = {"kokoro": 1100, "tone": 120}
QWEN3_WORKER_MB = 8000
RESERVE_MB = 1024
"""Left to the rest of the machine."""


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int
    free_mb: int

    @staticmethod
    def here() -> Machine:
        import psutil

        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
        return Machine(cores, int(min(psutil.virtual_memory().available, _cgroup_free()) / (1 << 20)))


def _cgroup_free() -> float:
    """Bytes a container's limit leaves; infinite without one."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return float("inf") if limit == "max" else int(limit) - used
    except (OSError, ValueError):
        return float("inf")


def worker_mb(engine: str) -> int:
    return WORKER_MB.get(engine, QWEN3_WORKER_MB)


def most_workers(engine: str, machine: Machine) -> int:
    by_memory = max(1, (machine.free_mb - RESERVE_MB) // worker_mb(engine))
    return max(1, min(machine.cores, by_memory))


def choose_workers(
    asked: int | None, *, engine: str, chunks: int, batched: bool = False, force: bool = False,
    machine: Machine | None = None,
) -> int:  # fmt: skip
    """How many workers to start. None asks for as many as help: one for a batched engine.

    Raises SettingError for less than one, CapacityError (with the numbers) for more than the machine
    carries, unless `force`.
    """
    machine = machine or Machine.here()
    most = most_workers(engine, machine)
    if asked is None:
        return 1 if batched else max(1, min(most, chunks))
    if asked < 1:
        raise SettingError(f"--workers {asked}: at least one worker is needed.")
    if asked > most and not force:
        raise CapacityError(
            f"{asked} workers are more than this machine carries: {machine.cores} cores, "
            f"{machine.free_mb} MB free, {worker_mb(engine)} MB for each worker.",
            hint=f"Use --workers {most} or auto; --force starts them all the same.",
        )
    return min(asked, max(1, chunks))
