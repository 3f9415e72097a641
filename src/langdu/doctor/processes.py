"""Workers of earlier runs that are still there although nobody listens to them any more."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from langdu.doctor.finding import Finding

WORKER = "langdu.synthesis.child"
GRACE_S = 6.0
"""A worker ends itself within 5 s of its parent's end."""


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    command: tuple[str, ...]
    memory_bytes: int = 0
    age_s: float = 0.0

    @property
    def is_worker(self) -> bool:
        return WORKER in self.command


def look() -> list[Process]:
    """Every process whose command line this user may read."""
    import psutil

    found = []
    for process in psutil.process_iter(["pid", "ppid", "cmdline", "memory_info", "create_time"]):
        facts = process.info
        memory = facts["memory_info"].rss if facts["memory_info"] else 0
        age = time.time() - (facts["create_time"] or time.time())
        found.append(Process(facts["pid"], facts["ppid"] or 0, tuple(facts["cmdline"] or ()), memory, age))
    return found


def orphans(processes: Iterable[Process]) -> list[Process]:
    """Workers whose parent is gone: it is no process, or one that starts no workers (init, a session manager).

    A worker's parent is always a Python; where the command line of a parent cannot be read, it counts as one.
    """
    processes = list(processes)
    by_pid = {process.pid: process for process in processes}
    return [one for one in processes if one.is_worker and not _is_parent(by_pid.get(one.parent))]


def _is_parent(process: Process | None) -> bool:
    if process is None:
        return False
    return not process.command or any("python" in word or "langdu" in word for word in process.command[:3])


def look_orphans() -> list[Process]:
    """Orphans that are still there after the time in which they should end by themselves."""
    first = orphans(look())
    deadline = time.monotonic() + GRACE_S
    while first and time.monotonic() < deadline:
        time.sleep(0.5)
        left = {one.pid for one in orphans(look())}
        first = [one for one in first if one.pid in left]
    return first


def judge(found: Iterable[Process]) -> list[Finding]:
    found = list(found)
    if not found:
        return [Finding("ok", "workers", "no worker of an earlier run is left")]
    pids = " ".join(str(one.pid) for one in found)
    memory = sum(one.memory_bytes for one in found) / 1e6
    oldest = max(one.age_s for one in found) / 60
    age = f"up to {oldest:.0f} minutes old" if oldest >= 1 else "under a minute old"
    what = f"{len(found)} worker{'s' if len(found) > 1 else ''} of an earlier run still there (pid {pids})"
    reason = f"nobody listens to {'them' if len(found) > 1 else 'it'}; {memory:.0f} MB, {age}"
    return [Finding("warning", "workers", what, reason, f"kill {pids}")]
