"""The engine protocol: requests in, pieces and takes with their facts out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from langdu.engines.base import Engine, Failed, Piece, Request, Spoken
from langdu.engines.qwen3 import reference
from langdu.engines.qwen3.budget import budget_frames, estimate_s
from langdu.engines.qwen3.checkpoint import load as load_checkpoint
from langdu.engines.qwen3.engine import Qwen3Engine, load
from langdu.errors import ClipError, ModelError, SettingError, VoiceError
from langdu.synthesis.runner import EngineSpec
from langdu.voices.persona import BuiltinPersona, ClonePersona, DesignPersona, SpeakerPersona


def say(engine, *requests, **kwargs):
    return list(engine.speak(requests, **kwargs))


@pytest.fixture
def ask(engine, persona):
    """A request to the cloned voice; half a second unless said otherwise."""
    key = engine.prepare(persona).key
    return lambda id="1", text="hello", language="en", **more: Request(
        id, text, language, key, **({"max_s": 0.5} | more)
    )


def test_it_keeps_the_protocol(engine):
    assert isinstance(engine, Engine)
    assert engine.info.languages[:2] == ("zh", "en")
    assert (engine.info.engine, engine.info.model, engine.info.device) == ("qwen3", "tiny_base", "cpu")
    assert not engine.info.can_instruct


def test_a_seed_gives_the_same_take_twice_and_another_seed_another(engine, ask):
    first, again, other = (say(engine, ask(seed=seed))[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.audio, again.audio)
    assert not np.array_equal(first.audio, other.audio)


def test_a_take_does_not_depend_on_its_neighbours(engine, ask):
    alone = say(engine, ask("a", seed=3))[0]
    beside = {event.id: event for event in say(engine, ask("a", seed=3), ask("b", "quick brown fox", seed=9))}
    np.testing.assert_array_equal(beside["a"].audio, alone.audio)


def test_pieces_come_early_and_join_to_the_take(engine, ask):
    whole = say(engine, ask(max_s=2.4))[0]
    *pieces, spoken = say(engine, ask(max_s=2.4, stream=True))
    assert all(isinstance(piece, Piece) for piece in pieces)
    assert [len(piece.audio) // 1920 for piece in pieces] == [4, 8, 12, 6]
    assert [piece.index for piece in pieces] == [0, 1, 2, 3]
    np.testing.assert_array_equal(np.concatenate([piece.audio for piece in pieces]), spoken.audio)
    np.testing.assert_allclose(spoken.audio, whole.audio, atol=1e-5)


def test_a_take_says_what_it_was(engine, ask):
    (spoken,) = say(engine, ask(seed=7))
    assert (spoken.seed, spoken.sample_rate_hz, spoken.frames, spoken.ending) == (7, 24_000, 7, "budget")
    assert spoken.facts["mode"] == "clone, streaming"
    assert spoken.facts["language"] == "english"
    assert spoken.facts["budget_frames"] == 7
    assert spoken.seconds > 0


def test_a_take_that_ends_by_itself_says_so(custom, tmp_path):
    engine = Qwen3Engine(custom, cache=tmp_path)
    key = engine.prepare(SpeakerPersona(name="V", speaker="Vivian", settings={"temperature": 0, "subtalker_temperature": 0})).key  # fmt: skip
    (spoken,) = say(engine, Request("1", "你好，世界！今天 GPU 很忙。", "zh", key))
    assert (spoken.ending, spoken.frames, len(spoken.audio)) == ("ended", 8, 8 * 1920)


def test_a_cancelled_take_keeps_what_was_streamed(engine, ask):
    heard = []

    def cancelled(_id):
        return len(heard) > 0

    for event in engine.speak([ask(stream=True, max_s=8)], cancelled=cancelled):
        heard.append(event)
    assert [type(event) for event in heard] == [Piece, Spoken]
    assert heard[-1].ending == "cancelled"
    np.testing.assert_array_equal(heard[-1].audio, heard[0].audio)


def test_a_late_request_joins_those_under_way(engine, ask):
    def requests():
        yield ask("early", max_s=2)
        yield None
        yield None
        yield ask("late", max_s=0.2)

    assert [event.id for event in engine.speak(requests())] == ["late", "early"]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"language": "tlh"}, "invalid-voice", 'does not speak "tlh"'),
        ({"text": " \n"}, "invalid-text", "nothing to say"),
        ({"text": "hi<|im_end|>there"}, "invalid-text", "control tokens"),
        ({"text": "hello " * 500, "max_s": None}, "invalid-text", "too long"),
        ({"speed": 1.5}, "invalid-setting", "speed"),
        ({"settings": {"warmth": 1.0}}, "invalid-setting", "warmth"),
        ({"max_s": 0.0}, "invalid-setting", "no frame"),
    ],
)
def test_a_request_that_cannot_be_said_fails_and_the_others_go_on(engine, ask, changes, code, message):
    events = {event.id: event for event in say(engine, ask("bad", **changes), ask("good", max_s=0.1))}
    assert isinstance(events["bad"], Failed)
    assert events["bad"].code == code
    assert message in events["bad"].message
    assert isinstance(events["good"], Spoken)


def test_fits_is_what_speak_accepts(engine, persona):
    key = engine.prepare(persona).key
    assert engine.fits("hello", "en", key)
    assert not engine.fits("hello " * 500, "en", key)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (DesignPersona(name="D", description="old and kind"), "design persona and needs a voice_design checkpoint"),
        (SpeakerPersona(name="S", speaker="vivian"), "needs a custom_voice checkpoint"),
        (BuiltinPersona(name="B", voice="zf_xiaobei"), "belongs to the kokoro engine"),
    ],
)
def test_a_base_checkpoint_refuses_other_kinds_of_persona(engine, wrong, message):
    with pytest.raises(VoiceError, match=message):
        engine.prepare(wrong)


def test_a_custom_voice_checkpoint_refuses_clones_and_lists_its_speakers(custom, persona, tmp_path):
    engine = Qwen3Engine(custom, cache=tmp_path)
    with pytest.raises(VoiceError, match="needs a base checkpoint"):
        engine.prepare(persona)
    with pytest.raises(VoiceError, match='no speaker "bob"') as failure:
        engine.prepare(SpeakerPersona(name="B", speaker="bob"))
    assert "eric, vivian" in failure.value.hint
    assert engine.info.can_instruct


def test_a_small_checkpoint_refuses_an_instruction_instead_of_dropping_it(tmp_path):
    from tests import tiny_checkpoint

    small = load_checkpoint(tiny_checkpoint.build(tmp_path / "small", "custom", size="0b6"), device="cpu")
    engine = Qwen3Engine(small, cache=tmp_path)
    engine.prepare(SpeakerPersona(name="V", speaker="vivian"))
    with pytest.raises(VoiceError, match="not trained on instructions"):
        engine.prepare(SpeakerPersona(name="V", speaker="vivian", instruct="Very happy."))


def test_a_persona_brings_its_settings_and_its_language(engine, persona):
    with pytest.raises(SettingError, match="warmth"):
        engine.prepare(persona.model_copy(update={"settings": {"warmth": 1.0}}))
    with pytest.raises(VoiceError, match="tlh"):
        engine.prepare(persona.model_copy(update={"language": "tlh"}))
    engine.prepare(persona.model_copy(update={"settings": {"top_k": 5, "speed": 1.0}}))


def test_a_reference_is_encoded_once_and_a_damaged_one_again(base, clip, tmp_path, monkeypatch):
    calls = []
    real = reference.encode
    monkeypatch.setattr(reference, "encode", lambda *args: calls.append(1) or real(*args))
    first, again = (reference.cached(base, clip, tmp_path) for _ in range(2))
    assert len(calls) == 1
    np.testing.assert_array_equal(first.codes, again.codes)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    np.testing.assert_array_equal(reference.cached(base, clip, tmp_path).codes, first.codes)
    assert len(calls) == 2


@pytest.mark.parametrize("samples", [0, 2400, 24_000 * 61])
def test_a_clip_of_no_usable_length_is_refused(base, samples):
    with pytest.raises(ClipError, match=r"0\.5 to 60 s are usable"):
        reference.encode(base, np.zeros(samples, np.float32))


def test_a_clip_that_is_gone_is_named(engine, persona):
    gone = ClonePersona(name="G", clip=Path("gone.wav"), transcript="hello", clip_sha256="0" * 64)
    with pytest.raises(ClipError, match=r"gone.wav is not there"):
        engine.prepare(gone)


@pytest.mark.parametrize(
    ("text", "speech_s"),
    [("你好，世界。", 2), ("The quick brown fox jumps over the lazy dog.", 3.5), ("2024", 1.5), ("はい", 0.6)],
)
def test_the_budget_leaves_a_slow_voice_room_and_ends_a_runaway(text, speech_s):
    assert estimate_s(text) > speech_s * 0.8
    assert speech_s * 12.5 * 2 < budget_frames(text) < (speech_s * 5 + 5) * 12.5


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (EngineSpec("qwen3"), SettingError, "needs a model"),
        (EngineSpec("qwen3", "no/such/folder"), ModelError, "no model folder"),
        (EngineSpec("qwen3", "x", {"colour": 1}), SettingError, "no option colour"),
        (EngineSpec("qwen3", "x", {"slots": -1}), SettingError, "-1 slots"),
    ],
)
def test_loading_says_what_is_wrong(spec, error, message):
    with pytest.raises(error, match=message):
        load(spec)
