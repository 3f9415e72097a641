"""From what a user names to what is measured; what does not fit is refused before anything loads."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from langdu.bench import ab, voice
from langdu.bench.suites.precision import siblings
from langdu.bench.target import of_model, targets, tone
from langdu.bench.texts import text
from langdu.errors import LangduError, ModelError, SettingError, VoiceError
from tests.conftest import Run  # noqa: F401


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path / "data"))


def test_the_texts_have_the_lengths_they_are_named_by():
    assert len(text("short", "zh")) == len(text("short", "en")) == 30
    assert len(text("long", "zh").replace("\n", "")) == 822


def test_a_language_without_texts_is_refused():
    with pytest.raises(SettingError, match="Mandarin and English"):
        text("short", "ja")


def test_an_empty_machine_says_what_to_fetch(tmp_path):
    with pytest.raises(ModelError, match="no model") as caught:
        targets(tmp_path)
    assert "langdu models get kokoro" in caught.value.hint


def test_a_folder_is_named_by_itself(tiny_custom, tmp_path):
    found = of_model(str(tiny_custom), tmp_path)
    assert (found.label, found.spec.engine, found.spec.model) == ("tiny_custom bench", "qwen3", str(tiny_custom))
    assert (found.persona.kind, found.voice) == ("speaker", "its speaker vivian")


def test_a_designed_voice_needs_no_clip(tiny_design, tmp_path):
    assert of_model(str(tiny_design), tmp_path).persona.kind == "design"


def test_a_clone_without_a_clip_is_refused_unless_only_speed_is_asked(tiny_base, tmp_path):
    with pytest.raises(VoiceError, match="clones a voice from a clip"):
        of_model(str(tiny_base), tmp_path)
    found = of_model(str(tiny_base), tmp_path, fixed_length=True)
    assert found.voice == "a clone of a test signal of 8 s"
    assert found.persona.settings["min_new_tokens"] == 1000


def test_the_test_signal_is_audible_and_within_full_scale():
    made = voice.signal()
    assert made.shape == (8 * 24_000,)
    assert 0.2 < np.abs(made).max() < 1


def test_the_files_of_a_target_are_hashed(tiny_custom, tmp_path):
    facts = of_model(str(tiny_custom), tmp_path).facts()
    assert set(facts["files"]) >= {"config.json", "model.safetensors", "speech_tokenizer/model.safetensors"}
    copy = tmp_path / "tiny_custom"
    shutil.copytree(tiny_custom, copy)
    assert of_model(str(copy), tmp_path).facts()["files_sha256"] == facts["files_sha256"]
    (copy / "config.json").write_text(json.dumps(json.loads((copy / "config.json").read_text())))
    assert of_model(str(copy), tmp_path).facts()["files_sha256"] != facts["files_sha256"]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("no/such/folder", {}, "no model folder"),
        ("qwen3-9b", {}, "no model"),
        ("FOLDER", {"voice": "zf_xiaobei"}, "belongs to kokoro"),
        ("FOLDER", {"voice": "nobody"}, "no voice"),
    ],
)
def test_what_does_not_fit_is_refused(tiny_custom, tmp_path, name, options, words):
    with pytest.raises(LangduError, match=words):
        of_model(name.replace("FOLDER", str(tiny_custom)), tmp_path, **options)


def test_a_spec_is_a_model_and_a_voice(tiny_custom, tmp_path):
    assert ab.parse("tone", tmp_path) == ab.parse("tone:tone", tmp_path) == tone()
    assert ab.parse(str(tiny_custom), tmp_path).label == "tiny_custom bench"


def test_a_folder_may_have_a_colon_in_its_name(tiny_custom, tmp_path):
    folder = tmp_path / "a:b"
    folder.symlink_to(tiny_custom)
    assert ab.parse(str(folder), tmp_path).folder == folder


@pytest.mark.parametrize("spec", [":zf_xiaobei", "", "nothing-known", "kokoro:nobody"])
def test_a_spec_that_cannot_be_read_is_refused(tmp_path, spec):
    with pytest.raises(LangduError):
        ab.parse(spec, tmp_path)


def test_precisions_are_found_beside_the_folder(tmp_path):
    for name in ("m-bf16", "m-4bit", "m-8bit", "other-8bit", "m-3bit"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "m-6bit").mkdir()
    assert [name for name, _ in siblings(tmp_path / "m-8bit")] == ["bf16", "8bit", "4bit"]
