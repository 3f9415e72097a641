"""Probes that load native libraries, each in a process of its own.

A damaged MLX, a PortAudio without a sound card or a wrong CUDA driver may print, hang or crash; here that is a
finding and not the end of the doctor. Run as `python -m langdu.doctor.child PROBE`: the same way the workers
are started, so that Python finds the same packages.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

PROBES = {
    "imports": ("packages", "look"),
    "compute": ("compute", "look"),
    "codecs": ("sound", "look_codecs"),
    "output": ("sound", "look_output"),
}
"""Name to module of this package and function; each returns facts that JSON can hold."""
LAST_WORDS = 300
"""Characters of what a probe said before it died."""


@dataclass(frozen=True, slots=True)
class Died:
    """A probe that gave no answer, and why."""

    reason: str


def ask(probe: str, *, timeout_s: float) -> dict[str, Any] | Died:
    """The facts a probe found, or how it ended without any."""
    command = [sys.executable, "-m", "langdu.doctor.child", probe]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return Died(f"no answer within {timeout_s:.0f} s")
    said = done.stderr.decode(errors="replace").strip().splitlines() or [""]
    if done.returncode < 0:
        return Died(f"it crashed ({signal.Signals(-done.returncode).name}) {said[-1][:LAST_WORDS]}".strip())
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return Died(said[-1][:LAST_WORDS] or f"it ended with {done.returncode} and said nothing")
    return found if isinstance(found, dict) else Died("its answer cannot be read")


def main(probe: str) -> None:
    """Answer on the real stdout; what libraries print goes to stderr."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    module, function = PROBES[probe]
    found = getattr(importlib.import_module(f"langdu.doctor.{module}"), function)()
    json.dump(found, answer)
    answer.flush()
    os._exit(0)  # some libraries crash or hang while Python takes them down; the answer is out


if __name__ == "__main__":
    main(sys.argv[1])
