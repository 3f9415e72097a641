"""Comparing voices: personas, built-in voices, sound files."""

from pathlib import Path

import numpy as np
import pytest

from langdu.errors import ClipError, ModelError, VoiceError
from langdu.voices.library import Library
from langdu.voices.similar import compare
from tests.voices.clips import pcm16, wav


@pytest.fixture(scope="module", autouse=True)
def _models() -> None:
    from langdu.models.store import model_dir

    try:
        model_dir("kokoro")
        model_dir("speaker-encoder")
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another sentence by zm_yunxi."""
    from langdu.synthesis.say import Saying, SayRequest

    with Saying(SayRequest("请在下一个路口左转，然后一直往前走。", "zm_yunxi", workers=1)) as saying:
        sound = np.concatenate(list(saying.blocks()))
    return wav(tmp_path_factory.mktemp("s") / "a.wav", pcm16(sound), 24_000)


@pytest.mark.real
def test_one_voice_is_known_again_in_another_sentence_and_told_from_others(tmp_path: Path, spoken: Path) -> None:
    library = Library(tmp_path / "personas.json")
    assert compare("zm_yunxi", str(spoken), library).verdict != "different"
    assert compare(str(spoken), str(spoken), library).cosine == pytest.approx(1)
    other = compare(str(spoken), "zf_xiaobei", library)
    assert other.verdict == "different"
    assert other.sources == (str(spoken), "the standard sentence, spoken now")


def test_too_little_voice_is_refused(tmp_path: Path) -> None:
    path = wav(tmp_path / "a.wav", pcm16(np.zeros(48_000)), 24_000)
    with pytest.raises(ClipError, match="too little"):
        compare(str(path), str(path), Library(tmp_path / "personas.json"))


def test_what_is_neither_a_voice_nor_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="nobody"):
        compare("nobody", "zf_xiaobei", Library(tmp_path / "personas.json"))
