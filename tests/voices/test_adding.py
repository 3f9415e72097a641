"""Adding a clone: at a terminal it is asked for, in a script it is told."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from langdu.errors import ModelError
from langdu.settings import settings
from langdu.voices import voxflow
from langdu.voices.audit import audit
from langdu.voices.library import Library
from langdu.voices.persona import ClonePersona
from tests.voices.clips import pcm16, wav

TEXT = "今天天气很好，我们一起去公园散步。"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from langdu.models.store import model_dir
    from langdu.synthesis.say import Saying, SayRequest

    try:
        model_dir("whisper-base")
        with Saying(SayRequest(TEXT, "zm_yunxi", workers=1)) as saying:
            sound = np.concatenate([*saying.blocks(), np.zeros(6_000, np.float32)])
    except ModelError as error:
        pytest.skip(str(error))
    return wav(tmp_path_factory.mktemp("c") / "c.wav", pcm16(sound), 24_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models").symlink_to(settings().models_dir)
    return tmp_path


def at_a_terminal(home: Path, args: list[str], answers: str) -> tuple[int, str]:
    """Exit code and all that was shown."""
    theirs, ours = pty.openpty()
    env = {**os.environ, "LANGDU_DATA_DIR": str(home)}
    child = subprocess.Popen([sys.executable, "-m", "langdu", *args], stdin=ours, stdout=ours, stderr=ours, env=env)
    os.close(ours)
    os.write(theirs, answers.encode())
    shown = b""
    while True:
        try:
            block = os.read(theirs, 65536)
        except OSError:  # Linux: the other side has closed
            break
        if not block:
            break
        shown += block
    os.close(theirs)
    return child.wait(), shown.decode()


@pytest.mark.real
def test_a_person_confirms_the_transcript_and_the_consent(folder: Path, clip: Path) -> None:
    code, shown = at_a_terminal(folder, ["voices", "add", "x", "--clone", str(clip)], "\ny\n")
    assert code == 0, shown
    assert "has agreed" in shown and "今天天气" in shown
    persona = Library(folder / "voices" / "personas.json").get("x")
    assert isinstance(persona, ClonePersona)
    assert persona.transcript_by == "person" and "agreed" in persona.consent


@pytest.mark.real
def test_without_consent_nothing_is_added(folder: Path, clip: Path) -> None:
    code, shown = at_a_terminal(folder, ["voices", "add", "x", "--clone", str(clip)], "\nn\n")
    assert code == 130, shown
    assert not (folder / "voices").exists()


@pytest.mark.real
def test_voxflow_clones_are_transcribed_where_their_transcript_is_blank(tmp_path: Path, clip: Path) -> None:
    from langdu.quality.transcript import Checker

    root = tmp_path / "vox"
    (root / "configs").mkdir(parents=True)
    (root / "a.wav").write_bytes(clip.read_bytes())
    wrong = {"ref": "a.wav", "ref_text": "完全不同的另外一句话，和录音毫无关系。"}
    entries = {"a": {"name": "甲", "ref": "a.wav", "ref_text": " ", "instruction": "开心"}, "b": wrong}
    (root / "configs" / "personas.json").write_text(json.dumps(entries), "utf-8")
    library = Library(tmp_path / "l" / "personas.json")
    checker = Checker()
    first, second = voxflow.load(root / "configs" / "personas.json", library, consent="yes", checker=checker)
    assert first.kind == "clone" and "no effect" in first.note
    persona = library.get("a")
    assert isinstance(persona, ClonePersona) and persona.transcript_by == "asr" and "天气" in persona.transcript
    assert second.kind == "" and "does not match" in second.note
    assert library.names() == ["a"]
    library.update(persona.model_copy(update={"transcript": "今天"}))
    assert any("does not match" in wrong for wrong in audit(library, checker)[0].wrong)
    assert not any("does not match" in wrong for wrong in audit(library)[0].wrong)
