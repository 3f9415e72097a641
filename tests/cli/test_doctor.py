"""langdu doctor as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Run

NOBODY = {"HF_ENDPOINT": "http://127.0.0.1:9"}
CHECKS = {
    "system", "memory", "python", "default-voice", "mlx", "qwen3", "packages", "packages-kokoro", "models", "output",
    "codecs", "ports", "disk", "workers", "network", "settings",
}  # fmt: skip


def of(found: dict[str, Any], check: str) -> list[dict[str, str]]:
    return [one for one in found["findings"] if one["check"] == check]


def test_without_the_built_in_model_it_ends_with_3_and_the_command(langdu: Run, tmp_path: Path) -> None:
    done = langdu("doctor", "--quick", "--json", env=NOBODY | {"LANGDU_DATA_DIR": str(tmp_path)})
    found = json.loads(done.stdout)
    assert (done.returncode, found["exit_code"], found["default_voice"]["speaks"]) == (3, 3, False)
    (voice,) = of(found, "default-voice")
    assert (voice["level"], voice["command"]) == ("error", "langdu models get kokoro")
    (network,) = of(found, "network")
    assert (network["level"], "kokoro" in network["reason"]) == ("warning", True)
    assert {one["check"] for one in found["findings"]} >= CHECKS
    assert all(one["command"] and one["reason"] for one in found["findings"] if one["level"] in ("warning", "error"))


def test_piped_it_is_one_line_a_finding(langdu: Run, tmp_path: Path) -> None:
    """And a default voice that does not exist is the same exit code 3."""
    env = NOBODY | {"LANGDU_DATA_DIR": str(tmp_path), "LANGDU_VOICE": "nobody"}
    done = langdu("doctor", "--quick", env=env)
    assert done.returncode == 3
    assert 'There is no voice "nobody"' in done.stdout and "langdu config set voice zf_xiaobei" in done.stdout
    lines, (last,) = done.stdout.splitlines()[:-2], done.stdout.splitlines()[-1:]
    assert all(line.split("\t")[0] in ("ok", "note", "warning", "error") and line.count("\t") == 3 for line in lines)
    assert last.startswith("The default voice nobody cannot speak.")
    assert "Traceback" not in done.stderr


def test_settings_that_cannot_be_read_are_exit_2(langdu: Run) -> None:
    done = langdu("doctor", env={"LANGDU_PORT": "x"})
    assert (done.returncode, "LANGDU_PORT" in done.stderr) == (2, True)


@pytest.mark.real
def test_with_the_built_in_model_the_default_voice_is_made_to_speak(langdu: Run) -> None:
    done = langdu("doctor", "--json", env=NOBODY)
    found = json.loads(done.stdout)
    assert done.returncode in (0, 1), done.stderr
    assert found["default_voice"]["speaks"] and found["default_voice"]["tried"]
    assert found["default_voice"]["audio_seconds"] > 1.5
    assert any(one["what"].startswith("kokoro is whole") for one in of(found, "models"))
    assert {one["module"] for one in found["packages"] if one["version"]} >= {"onnxruntime", "misaki", "numpy"}
