"""`langdu` alone: the greeting on a terminal, the help when piped."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
from tests.conftest import Run

from langdu.cli.greeting import State, following, works

MAC = State("zf_xiaobei", "", True, (), "", "Apple M3 Pro", "qwen3-1.7b-base-8bit", qwen3_here=True, player=True)
SERVER = replace(MAC, qwen3="there is no Apple or NVIDIA GPU: slow", gpu="", qwen3_here=False, player=False)


def on_a_terminal(data: Path) -> str:
    """What a user sees: the command runs on a pseudo-terminal of its own."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "LANGDU_DATA_DIR": str(data), "TERM": "dumb"}
    with subprocess.Popen([sys.executable, "-m", "langdu"], stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 4096):
                seen += block
        except OSError:
            pass  # Linux says so when the other end is closed
        os.close(ours)
    assert process.returncode == 0, seen
    return click.unstyle(seen.decode())


def test_on_a_terminal_it_greets_with_three_commands(tmp_path: Path) -> None:
    seen = on_a_terminal(tmp_path)
    assert "built-in voices" in seen and "langdu models get kokoro" in seen
    assert seen.partition("Next:")[2].count("  langdu ") >= 2


def test_piped_it_prints_the_help(langdu: Run) -> None:
    done = langdu()
    assert (done.returncode, done.stdout.startswith("Usage: langdu")) == (0, True)


def test_the_greeting_loads_nothing_heavy() -> None:
    code = "from langdu.cli.greeting import greet; greet(); import sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "pydantic", "onnxruntime", "mlx", "faster_whisper", "rich", "httpx", "soundfile", "av"}
    assert not heavy & set(done.stdout.splitlines()[-1].split())


def commands(state: State) -> list[str]:
    return [command for command, _ in following(state)]


def test_without_the_built_in_model_it_comes_first() -> None:
    assert commands(replace(SERVER, kokoro="The model kokoro is not on this machine."))[0] == "langdu models get kokoro"
    assert commands(replace(SERVER, kokoro='pip install "langdu[kokoro]"'))[0] == 'pip install "langdu[kokoro]"'


def test_where_nothing_can_be_played_the_first_sentence_goes_to_a_file() -> None:
    assert commands(SERVER)[0] == 'langdu say "你好，世界。" -o hello.wav'
    assert commands(MAC)[0] == 'langdu say "你好，世界。"'


def test_a_mac_is_led_to_its_own_voice_step_by_step() -> None:
    assert "langdu models get qwen3-1.7b-base-8bit" in commands(replace(MAC, qwen3_here=False))
    assert "langdu voices add me --clone me.wav" in commands(MAC)
    assert commands(replace(MAC, personas=("jxx",)))[0] == 'langdu say -v jxx "你好，世界。"'


def test_every_state_has_three_commands_and_four_rows() -> None:
    states = [MAC, SERVER, replace(MAC, checker=False), replace(MAC, personas=("a", "b")), replace(SERVER, kokoro="no")]
    assert {(len(following(state)), len(works(state))) for state in states} == {(3, 4)}


def test_a_machine_that_should_not_run_qwen3_is_told_so_not_told_to_fetch_it() -> None:
    (row,) = [row for row in works(SERVER) if row[0] == "Qwen3-TTS"]
    assert row[1:] == ("no", "does not make sense here: there is no Apple or NVIDIA GPU")
    assert not any("qwen3" in command for command in commands(SERVER))
