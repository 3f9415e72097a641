"""langdu bench, with the tone engine: results on stdout, files, history, and one clear line for every mistake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.conftest import Run

TONE = ("bench", "--engine", "tone", "--repeats", "2")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"LANGDU_DATA_DIR": str(tmp_path / "data")}


def test_a_bench_is_printed_written_and_kept(langdu: Run, home, tmp_path):
    done = langdu(*TONE, "--suite", "short", "--suite", "burst", "-o", "a.json", "-o", "a.html", env=home, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "RTF" in done.stdout
    assert "lower is better" in done.stdout
    facts = json.loads((tmp_path / "a.json").read_text())
    assert [row["setup"] for row in facts["rows"]] == ["1 worker", "3 at once", "8 at once"]
    assert facts["machine"]["cores"] >= 1
    assert facts["versions"]["langdu"]
    assert facts["command"].startswith("langdu bench --engine tone")
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert len(list((tmp_path / "data" / "bench").glob("*.json"))) == 1

    again = langdu(*TONE, "--suite", "short", "--json", env=home)
    assert json.loads(again.stdout)["rows"][0]["suite"] == "short"
    trend = json.loads(langdu("bench", "history", "--json", env=home).stdout)["trend"]
    assert [len(line["points"]) for line in trend if line["suite"] == "short"] == [2]
    assert "short" in langdu("bench", "history", env=home).stdout

    same = langdu("bench", "compare", "a.json", "a.json", "--strict", cwd=tmp_path)
    assert same.returncode == 0
    assert "within the spread" in same.stdout


def test_ab_says_what_may_be_claimed(langdu: Run, home):
    done = langdu("bench", "ab", "--a", "tone", "--b", "tone:tone", "--repeats", "2", "--json", env=home)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["equal"] is None
    assert len(facts["rtf_ratio_a_over_b"]["values"]) == 2


BAD = {
    "an unknown suite": ((*TONE, "--suite", "fast"), 2, "fast"),
    "an unknown suffix": ((*TONE, "-o", "a.txt"), 2, "suffixes"),
    "a folder that is not there": ((*TONE, "-o", "no/a.json"), 2, "does not exist"),
    "no repeats": (("bench", "--engine", "tone", "--repeats", "0"), 2, "0"),
    "no model": (("bench",), 3, "langdu models get kokoro"),
    "a missing folder": (("bench", "--model", "./none"), 3, "no model folder"),
    "a missing result": (("bench", "compare", "a.json", "b.json"), 2, "not there"),
    "an unknown figure": (("bench", "history", "--figure", "speed"), 2, "Known:"),
    "a spec without a model": (("bench", "ab", "--a", ":x", "--b", "tone"), 2, "ENGINE_OR_MODEL:VOICE"),
    "a text that is not there": (("bench", "ab", "--a", "tone", "--b", "tone", "--text", "no.txt"), 2, "not there"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_one_line_and_leave_no_file(langdu: Run, home, tmp_path, case):
    arguments, code, words = BAD[case]
    folder = tmp_path / "here"
    folder.mkdir()
    done = langdu(*arguments, env=home, cwd=folder)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(folder.iterdir()) == []


def test_ctrl_c_leaves_neither_process_nor_file(tmp_path, home):
    environment = {**os.environ, **home, "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "langdu", *TONE, "--suite", "scale", "--repeats", "100"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, env=environment)
    me, deadline = psutil.Process(process.pid), time.monotonic() + 60
    while not any("synthesis.child" in " ".join(c.cmdline()) for c in me.children()) and time.monotonic() < deadline:
        time.sleep(0.05)
    children = me.children()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert psutil.wait_procs(children, timeout=5)[1] == []
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not (tmp_path / "data" / "bench").exists()
    assert b"Traceback" not in stderr
