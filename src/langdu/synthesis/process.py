"""Starting the child. Imports nothing heavy, so that a command can have its first worker's interpreter and
imports under way before it has finished its own: `spare()` at the very start, `take()` when the worker is wanted.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

_spares: list[subprocess.Popen[bytes]] = []


def start() -> subprocess.Popen[bytes]:
    """A child in a session of its own (Ctrl-C is for the parent to act on), waiting for its first frame."""
    # One thread for native libraries: workers, not threads, are how cores are used; the engine sets its own.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "langdu.synthesis.child"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True,
    )  # fmt: skip


def spare() -> None:
    """Start a child ahead of need. One that is not taken ends with this process, or by `drop_spares`."""
    _spares.append(start())


def take() -> subprocess.Popen[bytes]:
    """A child: the spare one if it is still alive, else a new one."""
    while _spares:
        process = _spares.pop()
        if process.poll() is None:
            return process
    return start()


def drop_spares() -> None:
    while _spares:
        process = _spares.pop()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
