"""The whole product path with a tiny random checkpoint: its sound is noise; length, format and facts are tested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soundfile as sf
from tests.conftest import Run

from langdu.voices.library import Library
from langdu.voices.persona import DesignPersona, SpeakerPersona


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "voices").mkdir()
    library = Library(tmp_path / "voices" / "personas.json")
    greedy = {"temperature": 0.0, "subtalker_temperature": 0.0}
    library.add(SpeakerPersona(name="Vivian", model="unused", speaker="vivian", settings=greedy))
    library.add(DesignPersona(name="Kind", model="unused", description="old and kind"))
    return {"LANGDU_DATA_DIR": str(tmp_path)}


def test_say_writes_a_file_and_its_facts(langdu: Run, home, tmp_path, tiny_custom):
    made = []
    for name in ("one.wav", "two.wav"):
        done = langdu(
            "say", "你好，世界！", "-v", "Vivian", "--lang", "zh", "--model", str(tiny_custom), "-o", name, "--json",
            env=home, cwd=tmp_path,
        )  # fmt: skip
        facts = json.loads(done.stdout)
        made.append((tmp_path / name).read_bytes())
    assert done.returncode == (1 if facts["faults"] else 0), done.stderr
    assert (facts["engine"], facts["model"], facts["precision"]) == ("qwen3", "tiny_custom", "float32")
    assert facts["voice"] == "Vivian"
    found = sf.info(tmp_path / "one.wav")
    assert (found.samplerate, found.channels) == (24_000, 1)
    assert found.duration == pytest.approx(facts["audio_seconds"], abs=0.01)
    assert made[0] == made[1], "greedy takes are the same from run to run"


def test_workers_are_processes_of_one_row_and_say_the_same(langdu: Run, home, tmp_path, tiny_custom):
    text = "你好，世界！\n\nhello there\n\n再见。"
    for name, workers in (("slots.wav", ()), ("processes.wav", ("--workers", "2", "--force"))):
        done = langdu(
            "say", text, "-v", "Vivian", "--model", str(tiny_custom), "-o", name, "--json", *workers,
            env=home, cwd=tmp_path,
        )  # fmt: skip
        assert json.loads(done.stdout)["workers"] == (2 if workers else 1), done.stderr
    assert (tmp_path / "slots.wav").read_bytes() == (tmp_path / "processes.wav").read_bytes()


def test_a_checkpoint_of_another_kind_is_refused_in_one_line(langdu: Run, home, tmp_path, tiny_custom):
    done = langdu("say", "你好。", "-v", "Kind", "--model", str(tiny_custom), "-o", "no.wav", env=home, cwd=tmp_path)
    assert done.returncode == 2
    assert "needs a voice_design checkpoint" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "no.wav").exists()


def test_a_checkpoint_without_its_codec_is_refused(langdu: Run, home, tmp_path, tiny_custom):
    folder = tmp_path / "half"
    folder.mkdir()
    for file in tiny_custom.iterdir():
        if file.is_file():
            (folder / file.name).symlink_to(file)
    done = langdu("say", "你好。", "-v", "Vivian", "--model", str(folder), "-o", "no.wav", env=home, cwd=tmp_path)
    assert done.returncode == 3
    assert "The codec is missing" in done.stderr
    assert "Traceback" not in done.stderr
