"""langdu completion: the scripts, and what a tab offers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "voices").mkdir()
    persona = {"kind": "builtin", "voice": "zf_xiaoni"}
    (tmp_path / "voices" / "personas.json").write_text(json.dumps({"version": 1, "personas": {"zhang": persona}}))
    return tmp_path


def offered(words: str, data: Path) -> list[str]:
    """What bash is offered after `words` (the last of them is the one being typed)."""
    count = len(words.split(" ")) - 1
    environment = {
        **os.environ, "LANGDU_DATA_DIR": str(data), "_LANGDU_COMPLETE": "bash_complete", "COMP_WORDS": words,
        "COMP_CWORD": str(count),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "langdu"], capture_output=True, text=True, env=environment, check=False
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(langdu: Run, shell: str) -> None:
    done = langdu("completion", shell)
    assert done.returncode == 0
    assert "_LANGDU_COMPLETE" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_takes_the_script(langdu: Run) -> None:
    script = langdu("completion", "bash").stdout
    asked = subprocess.run(["bash", "-c", script + "\ncomplete -p langdu"], capture_output=True, text=True, check=True)
    assert asked.stdout.split()[-1] == "langdu"


def test_an_unknown_shell_is_exit_2(langdu: Run) -> None:
    assert langdu("completion", "csh").returncode == 2


def test_voices_complete_by_name_with_the_users_own_first(data: Path) -> None:
    assert offered("langdu say --voice z", data)[:2] == ["zhang", "zf_xiaobei"]
    assert offered("langdu voices rename z", data) == ["zhang"]


def test_commands_models_and_settings_complete(data: Path) -> None:
    assert offered("langdu ver", data) == ["verify"]
    assert "kokoro" in offered("langdu models get k", data)
    assert offered("langdu config set voice_e", data) == ["voice_en"]
    assert offered("langdu config set checker whisper-b", data) == ["whisper-base"]


def test_files_are_left_to_the_shell(data: Path) -> None:
    assert offered("langdu say -o out", data) == ["out"]
    assert offered("langdu say -f ", data) == [""]


def test_a_damaged_library_offers_the_built_in_voices_all_the_same(data: Path) -> None:
    (data / "voices" / "personas.json").write_text("{")
    assert offered("langdu say --voice jf_al", data) == ["jf_alpha"]
