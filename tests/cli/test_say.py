"""langdu say, with the tone voice: files, pipes, facts, and one clear line for every mistake."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import soundfile

Run = Callable[..., subprocess.CompletedProcess[str]]
TONE = ("-v", "tone")


def test_a_file_is_written_with_true_sizes(langdu: Run, tmp_path: Path) -> None:
    target = tmp_path / "hi.wav"
    done = langdu("say", "今天的会议改到下午三点。", "-o", str(target), *TONE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    info = soundfile.info(target)
    assert (info.samplerate, info.channels) == (24000, 1)
    assert target.stat().st_size == 44 + 2 * info.frames


@pytest.mark.parametrize("suffix", ["wav", "mp3", "flac", "opus", "ogg", "m4a"])
def test_formats_follow_the_suffix(langdu: Run, tmp_path: Path, suffix: str) -> None:
    from langdu.audio.read import read

    target = tmp_path / f"hi.{suffix}"
    assert langdu("say", "今天下午三点开会，请不要迟到。", "-o", str(target), *TONE).returncode == 0
    audio, rate = read(target)
    assert 0.3 < len(audio) / rate < 3


def test_facts_are_one_json_object(langdu: Run, tmp_path: Path) -> None:
    done = langdu("say", "你好。" * 30, "-o", str(tmp_path / "a.wav"), *TONE, "--workers", "2", "--json")
    facts = json.loads(done.stdout)
    wanted = [
        "engine",
        "model",
        "precision",
        "device",
        "voice",
        "workers",
        "chunks",
        "seconds",
        "audio_seconds",
        "rtf",
        "load_seconds",
    ]
    assert set(wanted) | {"peak_memory_mb", "faults", "output"} <= set(facts)
    assert facts["engine"] == "tone"
    assert facts["rtf"] == pytest.approx(facts["seconds"] / facts["audio_seconds"])


def test_stdin_to_stdout_is_a_wav_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "langdu", "say", "-f", "-", "-o", "-", "--format", "wav", *TONE]
    done = subprocess.run(command, input=b"Good morning", capture_output=True, check=True)
    audio, rate = soundfile.read(io.BytesIO(done.stdout))
    assert rate == 24000
    assert len(audio) > 2000
    assert done.stdout.count(b"RIFF") == 1


def test_a_gbk_file_is_read_and_said_so(langdu: Run, tmp_path: Path) -> None:
    source = tmp_path / "gbk.txt"
    source.write_bytes("今天的天气非常好，我们决定去公园散步。".encode("gb18030") * 3)
    done = langdu("say", "-f", str(source), "-o", str(tmp_path / "a.wav"), *TONE)
    assert done.returncode == 0
    assert "gb" in done.stderr.lower()


def test_a_finished_file_keeps_the_permissions_of_a_new_one(langdu: Run, tmp_path: Path) -> None:
    target = tmp_path / "a.wav"
    langdu("say", "你好", "-o", str(target), *TONE)
    (tmp_path / "b").touch()
    assert target.stat().st_mode == (tmp_path / "b").stat().st_mode


BAD = {
    "empty": ([""], 2, "nothing to say"),
    "blank": (["  \n "], 2, "nothing to say"),
    "marks only": (["……！！！？？？"], 2, "nothing to say"),
    "a dash": (["——"], 2, "nothing to say"),
    "a byte order mark": (["\ufeff"], 2, "nothing to say"),
    "zero width": (["\u200b"], 2, "nothing to say"),
    "a missing file": (["-f", "missing.txt"], 2, "not there"),
    "a folder": (["-f", "."], 2, "folder"),
    "no workers": (["你好", "--workers", "0"], 2, "at least one"),
    "words for workers": (["你好", "--workers", "many"], 2, "neither a number"),
    "eighteen workers": (["你好" * 900, "--workers", "900"], 3, "cores"),
    "no text": ([], 2, "Give a text"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_no_file(langdu: Run, tmp_path: Path, case: str) -> None:
    arguments, code, words = BAD[case]
    done = langdu("say", *arguments, "-o", "a.wav", *TONE, cwd=tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_voice_lists_near_names(langdu: Run) -> None:
    done = langdu("say", "你好", "-v", "zf_xiaobai", "-o", "a.wav")
    assert done.returncode == 2
    assert "zf_xiaobei" in done.stderr


def test_unreadable_files_say_why(langdu: Run, tmp_path: Path) -> None:
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "empty.txt").touch()
    for name, words in (("binary.txt", "binary"), ("empty.txt", "0 bytes")):
        done = langdu("say", "-f", name, "-o", "a.wav", *TONE, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr


@pytest.mark.parametrize(
    ("target", "words"), [("a.xyz", "Known: wav"), ("no/such/a.wav", "does not exist"), (".", "suffix")]
)
def test_targets_that_cannot_be_written(langdu: Run, tmp_path: Path, target: str, words: str) -> None:
    done = langdu("say", "你好", "-o", target, *TONE, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_and_nothing_is_left(langdu: Run, tmp_path: Path) -> None:
    """/dev/full is the system's own full disk: every write to it fails with ENOSPC."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    command = f"{sys.executable} -m langdu say 你好 -v tone -o - > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_playing_without_a_device_names_the_way_out(langdu: Run) -> None:
    import importlib.util

    try:
        import sounddevice

        if any(device["max_output_channels"] for device in sounddevice.query_devices()):
            pytest.skip("this machine can play")
    except OSError:
        assert importlib.util.find_spec("sounddevice")
    done = langdu("say", "你好", *TONE)
    assert done.returncode == 3
    assert "-o" in done.stderr


def test_ctrl_c_leaves_neither_process_nor_file(tmp_path: Path) -> None:
    target = tmp_path / "long.wav"
    command = [sys.executable, "-m", "langdu", "say", "你好，世界。" * 2000, "-o", str(target), "-v", "tone"]
    process = subprocess.Popen(
        [*command, "--workers", "2"], stderr=subprocess.PIPE, start_new_session=True, env={**os.environ}
    )
    me = psutil.Process(process.pid)
    deadline = time.monotonic() + 60
    while len(me.children()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    children = me.children()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    _, alive = psutil.wait_procs(children, timeout=5)
    assert alive == []
    assert list(tmp_path.iterdir()) == []
    assert b"Traceback" not in stderr


def test_voices_are_listed_with_language_engine_and_licence(langdu: Run) -> None:
    rows = json.loads(langdu("say", "-v", "?", "--json").stdout)["voices"]
    by_name = {row["name"]: row for row in rows}
    assert len([row for row in rows if row["kind"] == "builtin"]) == 41
    assert by_name["zf_xiaobei"]["language"] == "Mandarin"
    assert by_name["af_heart"]["licence"] == "Apache-2.0"
