"""The fast frame step gives the codes of the plain loop, for rows that come and go."""

from __future__ import annotations

import itertools
from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from langdu.engines.qwen3 import frame_step, prefill, prompt, talker
from langdu.engines.qwen3.draw import Mode, draw
from langdu.engines.qwen3.frame_step import FrameStep
from langdu.engines.qwen3.prompt import Conditions
from langdu.engines.qwen3.sampling import Filters, Sampling, key, shape
from langdu.engines.qwen3.sampling import draw as draw_one
from langdu.errors import CapacityError

SAMPLINGS = [
    Sampling(temperature=0, subtalker_temperature=0),
    Sampling(),
    Sampling(temperature=0.7, top_k=10, top_p=0.8, repetition_penalty=1.5, subtalker_top_p=0.7),
    Sampling(temperature=0, subtalker_top_k=3),
]


def steps(step: FrameStep, count: int) -> np.ndarray:
    return np.stack([np.array(step.step()) for _ in range(count)])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("layout", ["streaming", "whole"])
def test_it_gives_the_codes_of_the_plain_loop(base, official, layout, sampling):
    start = prompt.build(base, "hello there", "en", official.clone("ref3", layout))
    plain = list(itertools.islice(talker.frames(base, start, sampling, seed=11), 6))
    step = FrameStep(base.talker, rows=1, capacity=128, compiled=False)
    step.admit(0, start, sampling, seed=11)
    np.testing.assert_array_equal(steps(step, 6)[:, 0], plain)


def test_a_row_goes_round_the_ring_and_grows_with_its_history(base, official):
    start = prompt.build(base, "hello there", "en", official.clone("ref3"))
    wide = FrameStep(base.talker, rows=2, capacity=256, compiled=False)
    narrow = FrameStep(base.talker, rows=2, capacity=start.length + 4, limit=256, compiled=False)
    for step in (wide, narrow):
        steps(step, 3)  # so that the row begins in the middle of the ring
        step.admit(1, start, SAMPLINGS[1], seed=5)
    first = [steps(step, 3)[:, 1] for step in (wide, narrow)]
    narrow.room(start.length, 40)
    assert narrow.capacity > start.length + 40
    np.testing.assert_array_equal(np.concatenate([first[0], steps(wide, 5)[:, 1]]),
                                  np.concatenate([first[1], steps(narrow, 5)[:, 1]]))  # fmt: skip


def test_a_request_longer_than_any_row_is_refused_with_the_numbers(base):
    step = FrameStep(base.talker, rows=1, capacity=64, limit=128, compiled=False)
    with pytest.raises(CapacityError, match=r"100 positions and 29 frames need 129 positions; a row holds 128"):
        step.room(100, 29)


def test_the_prompt_may_be_a_single_position(base, official):
    whole = prompt.build(base, "hello", "en", official.clone("ref3"))
    start = prompt.Prompt(whole.embeds[:, -1:], whole.trailing, whole.pad, 1)
    plain = list(itertools.islice(talker.frames(base, start, SAMPLINGS[0], seed=0), 3))
    step = FrameStep(base.talker, rows=1, capacity=64, compiled=False)
    step.admit(0, start, SAMPLINGS[0], seed=0)
    np.testing.assert_array_equal(steps(step, 3)[:, 0], plain)


@pytest.mark.slow
def test_compiled_it_gives_the_same_codes(base, official):
    start = prompt.build(base, "hello there", "en", official.clone("ref3"))
    found = []
    for compiled in (False, True):
        step = FrameStep(base.talker, rows=1, capacity=128, compiled=compiled)
        step.admit(0, start, SAMPLINGS[0], seed=0)
        found.append(steps(step, 4))
    np.testing.assert_array_equal(*found)


def test_each_row_is_drawn_with_its_own_settings():
    logits = mx.random.normal((4, 300), key=mx.random.key(1)) * 3
    filters = [Filters(0), Filters(0.9, 50, 1.0), Filters(0.5, 0, 0.6), Filters(1.3, 7, 0.9)]
    keys = mx.stack([key(seed, 40 + seed) for seed in range(4)])
    columns = [mx.array([getattr(f, name) for f in filters]) for name in ("temperature", "top_k", "top_p")]
    together = draw(logits, *columns, keys, Mode(sampled=True, nucleus=True))
    for i, own in enumerate(filters):
        alone = draw_one(shape(logits[i : i + 1], own), own, i, 40 + i)
        assert together[i].item() == alone.item()


def test_filters_no_row_needs_are_left_out():
    assert Mode.of([SAMPLINGS[0]]) == Mode(sampled=False, nucleus=False)
    assert Mode.of([SAMPLINGS[0], SAMPLINGS[1]]) == Mode(sampled=True, nucleus=False)
    assert Mode.of([SAMPLINGS[2]]) == Mode(sampled=True, nucleus=True)
    assert Mode.of([]) == Mode(sampled=False, nucleus=False)


def test_without_cuda_the_step_is_mlx_own(base):
    assert isinstance(frame_step.choose(base.talker, rows=1, context=128, device="cpu"), FrameStep)


def test_an_instruction_worked_out_before_changes_no_code(design, tmp_path):
    described = Conditions(instruct="A calm, low voice.")
    embeds = prompt.instruction(design, described.instruct)
    first = prefill.instruction(design, described.instruct, embeds, tmp_path)
    [kept] = tmp_path.iterdir()
    again = prefill.instruction(design, described.instruct, embeds, tmp_path)
    np.testing.assert_array_equal(np.array(first.keys), np.array(again.keys))
    kept.write_bytes(b"damaged")
    mended = prefill.instruction(design, described.instruct, embeds, tmp_path)
    for past in (again, mended):
        conditions = replace(described, past=past)
        assert past.length == embeds.shape[1]
        np.testing.assert_array_equal(said(design, conditions), said(design, described))


def said(checkpoint, conditions):
    step = FrameStep(checkpoint.talker, rows=1, capacity=128)
    step.admit(0, prompt.build(checkpoint, "hello there", "en", conditions), SAMPLINGS[0], 0)
    return np.concatenate([np.array(step.step()) for _ in range(12)])
