"""Faults of mlx-audio 0.6.2, one test each: what it does with the same weights, and that we do not.

The first half of every test shows the fault in mlx-audio itself, so a version that mends it says so here.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import shutil
import warnings
from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest
from pydantic import ValidationError
from tests import tiny_checkpoint
from tests.engines.qwen3.conftest import GREEDY, TRANSCRIPT

from langdu.engines.base import Request, Spoken
from langdu.engines.qwen3 import checkpoint, prompt, talker
from langdu.engines.qwen3.engine import Qwen3Engine
from langdu.engines.qwen3.prompt import Conditions
from langdu.engines.qwen3.sampling import Sampling, penalize
from langdu.errors import ModelError, VoiceError
from langdu.voices.persona import ClonePersona, SpeakerPersona

TEXT = "Hello, how are you today? The quick brown fox jumps over the lazy dog."


def rms(wave, reference):
    return float(np.sqrt(np.mean((wave - reference) ** 2) / np.mean(reference**2)))


def test_fault_1_the_codec_decoder_applies_its_sliding_window(official, base, codec):
    codes, wave = official["decode.210.codes"][:90], official.wave("decode.210")[: 90 * 1920]
    theirs = np.array(base.model.speech_tokenizer.decoder(mx.array(codes.T[None])))[0, 0]
    assert rms(theirs[: 72 * 1920], wave[: 72 * 1920]) < 1e-3
    assert rms(theirs[72 * 1920 :], wave[72 * 1920 :]) > 0.01
    assert rms(codec.decode(codes)[72 * 1920 :], wave[72 * 1920 :]) < 1e-3


def test_fault_2_code_zero_is_not_padding(official, base, codec):
    codes = official["decode.zeros.codes"]
    _, lengths = base.model.speech_tokenizer.decode(mx.array(codes)[None])
    assert int(lengths[0]) == (16 - 4) * 1920, "each zero frame cuts 80 ms off the end"
    assert len(codec.decode(codes)) == 16 * 1920


def test_fault_3_decoding_is_not_cut_into_pieces_of_15(official, base, codec):
    codes, wave = official["decode.210.codes"][:40], official.wave("decode.210")[: 40 * 1920]
    theirs = base.model._decode_generated_codes([mx.array(row)[None] for row in codes])
    assert rms(np.array(theirs), wave) > 0.05
    assert rms(codec.decode(codes), wave) < 1e-3


def test_fault_4_the_repetition_penalty_covers_all_codes_and_is_the_one_asked_for(base, monkeypatch):
    asked = {}
    monkeypatch.setattr(base.model, "_generate_icl", lambda **kwargs: iter([asked.update(kwargs)]))
    list(base.model.generate(TEXT, ref_audio=mx.zeros(24_000), ref_text=TRANSCRIPT, repetition_penalty=1.05))
    assert asked["repetition_penalty"] == 1.5

    logits, old = mx.zeros((1, 1, 3072)) + 1.0, 7
    logits[0, 0, old] = 1.04
    forgetful = base.model._sample_token(
        logits, temperature=0, repetition_penalty=1.05, generated_tokens=[old] + [9] * 64
    )
    assert int(forgetful.item()) == old, "it looks at the last 64 only"
    seen = np.zeros((1, 3072), bool)
    seen[0, [old, 9]] = True
    assert int(mx.argmax(penalize(logits[0], mx.array(seen), 1.05)).item()) != old
    assert base.defaults.repetition_penalty == 1.05


def test_fault_5_text_can_be_fed_step_by_step(official, base):
    clip = mx.array(tiny_checkpoint.clip(3.27))
    _, trailing, _, _ = base.model._prepare_icl_generation_inputs(TEXT, clip, TRANSCRIPT, "english")
    assert trailing.shape[1] == 1, "nothing but the pad: all text is in the prefill"
    ours = prompt.build(base, TEXT, "en", official.clone("ref3", "streaming"))
    assert ours.trailing.shape[1] > 10
    assert ours.length < prompt.build(base, TEXT, "en", official.clone("ref3", "whole")).length


@pytest.mark.parametrize("language", ["klingon", "zh"])
def test_fault_6_a_language_is_never_quietly_auto(base, language):
    quiet, _, _ = base.model._prepare_generation_inputs(TEXT, language=language)
    auto, _, _ = base.model._prepare_generation_inputs(TEXT, language="auto")
    assert mx.array_equal(quiet, auto)
    if language == "zh":
        ours, named = (prompt.build(base, TEXT, name, Conditions()).embeds for name in ("zh", "Chinese"))
        assert mx.array_equal(ours, named)
        assert ours.shape[1] == auto.shape[1] + 1  # the language has its place in the prefix
    else:
        with pytest.raises(VoiceError, match='does not speak "klingon"') as failure:
            prompt.build(base, TEXT, language, Conditions())
        assert "sichuan_dialect" in failure.value.hint


class _EndsAtOnce:
    """Logits that always prefer the end of speech."""

    def __init__(self, talker, end):
        self._talker, self._end = talker, end

    def __getattr__(self, name):
        return getattr(self._talker, name)

    def __call__(self, x, cache=None, **_):
        logits, hidden = self._talker(x, cache=cache)
        logits[..., self._end] = 1e4
        return logits, hidden


def test_fault_7_min_new_tokens_keeps_a_take_from_ending_before_it_began(base):
    eager = _EndsAtOnce(base.talker, tiny_checkpoint.CODEC_EOS)

    class Model:
        talker = eager

    start = prompt.build(base, "hello", "en", Conditions())
    logits, _ = eager(start.embeds, cache=base.talker.make_cache())
    assert int(base.model._sample_token(logits, temperature=0).item()) == tiny_checkpoint.CODEC_EOS
    assert "min_new_tokens" not in inspect.signature(base.model._sample_token).parameters
    assert len(list(talker.frames(replace(base, model=Model), start, GREEDY, 0))) == 2


def test_fault_7_the_sub_talker_has_its_own_sampling_settings(base):
    assert "subtalker_temperature" not in inspect.signature(type(base.model).generate).parameters
    start = prompt.build(base, "hello", "en", Conditions())
    mixed = Sampling(temperature=0, subtalker_temperature=0.9)
    first, second = (next(talker.frames(base, start, mixed, seed)) for seed in (1, 2))
    assert first[0] == second[0]
    assert (first[1:] != second[1:]).any()


def test_fault_7_an_instruction_to_a_base_checkpoint_is_refused(engine, base, monkeypatch):
    heard = {}
    monkeypatch.setattr(base.model, "_prepare_generation_inputs", lambda *a, **k: heard.update(k) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(base.model.generate("hello", instruct="Very happy."))
    assert "instruct" not in heard, "it is dropped on the way"
    with pytest.raises(VoiceError, match="needs a custom_voice checkpoint"):
        engine.prepare(SpeakerPersona(name="V", speaker="vivian", instruct="Very happy."))


def test_fault_7_a_take_cut_at_its_budget_says_so(engine, persona):
    source = inspect.getsource(type(engine.checkpoint.model).batch_generate)
    assert "max(75," in source, "mlx-audio cuts batched clones there, and its results have no word for it"
    voice = engine.prepare(persona)
    (spoken,) = engine.speak([Request("1", "hello", "en", voice.key, max_s=0.4)])
    assert spoken.ending == "budget"
    assert spoken.frames == 5
    assert len(spoken.audio) == 5 * 1920


def test_fault_7_a_streamed_clone_is_decoded_after_its_reference(official, base, codec):
    codes, wave = official["clone.streaming.ref12.codes"][:4], official.wave("clone.streaming.ref12")[: 4 * 1920]
    decoder = base.model.speech_tokenizer.decoder
    decoder.reset_streaming_state()
    theirs = np.array(decoder.streaming_step(mx.array(codes.T[None])))[0, 0]
    decoder.reset_streaming_state()
    assert rms(theirs, wave) > 0.05
    assert rms(codec.push(codec.prime(official["ref12.codes"]), codes), wave) < 1e-3


@pytest.mark.parametrize("words", ["", "  "])
def test_fault_7_a_clone_without_the_words_of_its_clip_is_refused(base, official, clip, words, monkeypatch):
    taken = []
    monkeypatch.setattr(base.model, "_generate_icl", lambda **kwargs: iter([taken.append(kwargs["ref_text"])]))
    list(base.model.generate("hello", ref_audio=mx.zeros(24_000), ref_text=words, repetition_penalty=1.05))
    assert taken == [words], "mlx-audio clones with it all the same"
    with pytest.raises(ValidationError):
        ClonePersona(name="Ann", clip=clip, transcript=words)
    with pytest.raises(VoiceError, match="needs the words of its clip"):
        prompt.build(base, "hello", "en", replace(official.clone("ref3"), transcript=words))


@pytest.mark.parametrize(("gone", "attribute"), [("speech_tokenizer", "speech_tokenizer"), ("vocab.json", "tokenizer")])
def test_fault_8_a_missing_codec_or_tokenizer_stops_the_loading(tiny_base, tmp_path, gone, attribute):
    folder = tmp_path / "tiny_base"
    shutil.copytree(tiny_base, folder)
    shutil.rmtree(folder / gone) if (folder / gone).is_dir() else (folder / gone).unlink()
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        from mlx_audio.tts.utils import load

        theirs = load(folder)
    assert getattr(theirs, attribute) is None, "it goes on without"
    with pytest.raises(ModelError, match=gone):
        checkpoint.load(folder, device="cpu")


def test_fault_9_a_batch_takes_clones_of_different_references(base, persona, clip, tmp_path):
    with pytest.raises((ValueError, NotImplementedError)):
        list(base.model.batch_generate(
            ["hello", "hello"], ref_audios=[mx.zeros(24_000), mx.ones(24_000)], ref_texts=["a", "b"], max_tokens=2))  # fmt: skip
    other = persona.model_copy(update={"x_vector_only": True, "name": "Bob"})
    alone = {}
    for voice in (persona, other):
        one = Qwen3Engine(base, slots=1, cache=tmp_path)
        key = one.prepare(voice).key
        alone[voice.name] = one_take(one, Request(voice.name, "hello", "en", key, seed=5, max_s=0.6))
    both = Qwen3Engine(base, slots=2, cache=tmp_path)
    requests = [
        Request(voice.name, "hello", "en", both.prepare(voice).key, seed=5, max_s=0.6) for voice in (persona, other)
    ]
    together = {event.id: event for event in both.speak(requests) if isinstance(event, Spoken)}
    for name, event in together.items():
        np.testing.assert_array_equal(event.audio, alone[name].audio)
    assert len(together) == 2


def one_take(engine, request):
    return next(itertools.chain(event for event in engine.speak([request]) if isinstance(event, Spoken)))
