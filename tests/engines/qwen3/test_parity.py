"""The same tiny checkpoints through the official PyTorch package (recorded) and through us, greedily."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from tests import tiny_checkpoint
from tests.engines.qwen3.conftest import GREEDY

from langdu.engines.qwen3 import prompt, reference, talker
from langdu.engines.qwen3.codec import STEPS, Codec, Stream, step_length
from langdu.engines.qwen3.prompt import Conditions

TEXT = "Hello, how are you today? The quick brown fox jumps over the lazy dog."
MIXED = "你好，世界！今天 GPU 很忙。"
TOKENIZED = [TEXT, MIXED, "it's 2024年3月15日,\n\n  naïve café ☕ e\u0301 assistant's", " leading\tand trailing  "]
DESCRIPTION = Conditions(instruct="A cheerful young female voice")
ATOL = 1e-4


@pytest.mark.parametrize("kind", ["base", "design", "custom"])
def test_the_recorded_reference_belongs_to_these_checkpoints(official, tiny_checkpoints, kind):
    made_by = json.loads(official["versions"].tobytes())
    found = tiny_checkpoint.digest(tiny_checkpoints[kind])
    assert found == official[f"digest.{kind}"].tobytes().hex(), f"rebuild or record again; recorded with {made_by}"


@pytest.mark.parametrize("index", range(len(TOKENIZED)))
def test_text_becomes_the_same_tokens(official, base, index):
    text = f"<|im_start|>assistant\n{TOKENIZED[index]}<|im_end|>\n<|im_start|>assistant\n"
    assert base.tokenizer.encode(text) == official[f"tokens.{index}"].tolist()


@pytest.mark.parametrize(("name", "seconds"), [("ref3", 3.27), ("ref12", 12.4)])
def test_a_clip_gives_the_same_codes_and_speaker(official, base, name, seconds):
    found = reference.encode(base, tiny_checkpoint.clip(seconds))
    np.testing.assert_array_equal(found.codes, official[f"{name}.codes"])
    np.testing.assert_allclose(found.speaker, official[f"{name}.speaker"], atol=2e-5)


def greedy(checkpoint, text, language, conditions, frames=24):
    start = prompt.build(checkpoint, text, language, conditions)
    return np.stack(list(itertools.islice(talker.frames(checkpoint, start, GREEDY, seed=0), frames)))


@pytest.mark.parametrize("layout", ["streaming", "whole"])
@pytest.mark.parametrize("name", ["ref3", "ref12"])
def test_clone_with_transcript(official, base, layout, name):
    found = greedy(base, TEXT, "en", official.clone(name, layout))
    np.testing.assert_array_equal(found, official[f"clone.{layout}.{name}.codes"])


@pytest.mark.parametrize(
    ("case", "text", "language", "layout"),
    [("streaming", MIXED, "zh", "streaming"), ("whole", MIXED, "zh", "whole"), ("auto", TEXT, "auto", "streaming")],
)
def test_clone_from_the_speaker_embedding(official, base, case, text, language, layout):
    conditions = Conditions(layout=layout, speaker=official["ref3.speaker"])
    np.testing.assert_array_equal(greedy(base, text, language, conditions), official[f"xvector.{case}.codes"])


@pytest.mark.parametrize(("case", "language"), [("english", "en"), ("auto", "auto")])
def test_voice_from_a_description(official, design, case, language):
    np.testing.assert_array_equal(greedy(design, TEXT, language, DESCRIPTION), official[f"design.{case}.codes"])


@pytest.mark.parametrize(
    ("case", "text", "language", "conditions"),
    [
        ("instruct", TEXT, "en", Conditions(name="vivian", instruct="Very happy.")),
        ("dialect", MIXED, "zh", Conditions(name="eric")),
        ("dialect.auto", MIXED, "auto", Conditions(name="eric")),
        ("named-dialect", MIXED, "beijing_dialect", Conditions(name="vivian")),
    ],
)
def test_named_speaker(official, custom, case, text, language, conditions):
    np.testing.assert_array_equal(greedy(custom, text, language, conditions), official[f"custom.{case}.codes"])


def test_a_take_that_ends_by_itself_ends_at_the_same_frame_with_the_same_sound(official, custom, codec):
    found = greedy(custom, MIXED, "zh", Conditions(name="vivian"), frames=100)
    np.testing.assert_array_equal(found, official["custom.plain.codes"])
    np.testing.assert_allclose(codec.decode(found), official.wave("custom.plain"), atol=ATOL)


def test_210_frames_decode_to_the_same_wave_past_the_window_of_72(official, codec):
    wave = codec.decode(official["decode.210.codes"])
    assert len(wave) == official["decode.210.samples"] == 210 * 1920
    np.testing.assert_allclose(wave, official.wave("decode.210"), atol=ATOL)


def test_streamed_decoding_equals_the_official_whole_past_a_piece_of_300(official, codec):
    codes, stream = official["decode.330.codes"], Stream()
    steps = [4, 8, 12, 1, 60, 140, 71, 4, 30]  # crosses the window, and 300 in the middle of the last step
    pieces = [codec.push(stream, codes[end - n : end]) for n, end in zip(steps, np.cumsum(steps), strict=True)]
    wave = np.concatenate(pieces)
    assert [len(piece) for piece in pieces] == [n * 1920 for n in steps]
    np.testing.assert_allclose(wave[-12 * 1920 :], official.wave("decode.330"), atol=ATOL)


def test_streamed_decoding_equals_whole_decoding(official, codec):
    codes, stream = official["decode.210.codes"][:40], Stream()
    pieces = [codec.push(stream, codes[at : at + 3]) for at in range(0, 40, 3)]
    np.testing.assert_allclose(np.concatenate(pieces), codec.decode(codes), atol=1e-5)


def test_steps_of_few_lengths_give_the_same_wave(official, codec):
    few = Codec(codec._decoder, STEPS)
    codes, stream = official["decode.330.codes"], few.prime(official["decode.330.codes"][:130])
    whole = codec.decode(codes[130:], codec.prime(codes[:130]))  # crosses 300: a filled step, then the context anew
    np.testing.assert_allclose(few.decode(codes[130:], stream), whole, atol=1e-5)
    pieces = [few.push(stream, codes[at : at + 9], last=at + 9 >= 330) for at in range(130, 330, 9)]
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-5)


@pytest.mark.parametrize(
    ("left", "filled", "length"),
    [
        (3, False, 1),
        (3, True, 4),
        (13, False, 12),
        (13, True, 50),
        (150, True, 150),
        (151, True, 150),
        (600, True, 150),
    ],
)
def test_a_step_takes_an_allowed_length(left, filled, length):
    assert step_length(left, STEPS, filled=filled) == length


def test_frames_of_code_zero_keep_their_sound(official, codec):
    wave = codec.decode(official["decode.zeros.codes"])
    assert len(wave) == 16 * 1920
    np.testing.assert_allclose(wave, official.wave("decode.zeros"), atol=ATOL)


def test_a_clone_is_decoded_after_its_reference_and_without_it_in_the_sound(official, codec):
    past = codec.prime(official["ref12.codes"])  # 155 frames: the window reaches back into them
    wave = codec.decode(official["clone.streaming.ref12.codes"], past)
    np.testing.assert_allclose(wave, official.wave("clone.streaming.ref12"), atol=ATOL)
    again = codec.decode(official["clone.streaming.ref12.codes"], past)
    np.testing.assert_array_equal(wave, again)
