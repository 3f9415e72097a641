"""Workers whose parent is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from langdu.doctor.processes import WORKER, Process, judge, look, orphans

PYTHON = ("/usr/bin/python3", "-m", "langdu", "serve")
CHILD = ("/usr/bin/python3", "-m", WORKER)


def test_a_worker_with_its_parent_is_no_orphan() -> None:
    assert orphans([Process(10, 1, PYTHON), Process(11, 10, CHILD)]) == []


def test_a_worker_whose_parent_is_gone_or_is_init_is_one() -> None:
    gone, adopted = Process(11, 10, CHILD), Process(12, 1, CHILD)
    assert orphans([Process(1, 0, ("/sbin/init",)), gone, adopted]) == [gone, adopted]


def test_langdu_as_the_first_process_of_a_container_keeps_its_workers() -> None:
    assert orphans([Process(1, 0, ("/venv/bin/langdu", "serve")), Process(11, 1, CHILD)]) == []


def test_a_parent_of_another_user_gets_the_benefit_of_the_doubt() -> None:
    assert orphans([Process(10, 1, ()), Process(11, 10, CHILD)]) == []


def test_orphans_are_listed_with_memory_age_and_the_command_that_ends_them() -> None:
    (found,) = judge([Process(11, 1, CHILD, 700_000_000, 600), Process(12, 1, CHILD, 700_000_000, 60)])
    assert (found.level, found.command) == ("warning", "kill 11 12")
    assert "1400 MB, up to 10 minutes old" in found.reason
    assert judge([])[0].level == "ok"


def test_a_real_orphan_is_seen() -> None:
    """A stand-in named like a worker, started by a shell that ends at once."""
    sleeper = f"{sys.executable} -c 'import time; time.sleep(60)' {WORKER}"
    done = subprocess.run(
        ["sh", "-c", f"{sleeper} >/dev/null 2>&1 & echo $!"], capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    try:
        until = time.monotonic() + 10
        while time.monotonic() < until and not any(one.pid == pid and one.is_worker for one in look()):
            time.sleep(0.05)
        (found,) = [one for one in look() if one.pid == pid]
        adopter = [one for one in look() if one.pid == found.parent]
        python_adopts = any("python" in word for one in adopter for word in one.command[:3])
        assert found.is_worker
        assert (found.pid in {one.pid for one in orphans(look())}) or python_adopts
    finally:
        os.kill(pid, signal.SIGKILL)
