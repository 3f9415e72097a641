"""The CUDA frame kernel: what can be checked anywhere, and the kernel itself where there is an NVIDIA GPU."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import mlx.core as mx
import numpy as np
import pytest

from langdu.engines.qwen3 import kernels, talker
from langdu.engines.qwen3.draw import Mode, draw
from langdu.engines.qwen3.prompt import Prompt
from langdu.engines.qwen3.sampling import Sampling
from langdu.errors import DeviceError

GREEDY = Sampling(temperature=0, subtalker_temperature=0, min_new_tokens=1000)
SAMPLED = Sampling(top_k=30, top_p=0.9, subtalker_top_p=0.8, min_new_tokens=1000)
cuda = pytest.mark.skipif(not mx.cuda.is_available(), reason="no NVIDIA GPU")


def test_without_an_nvidia_gpu_it_is_refused(base):
    if mx.cuda.is_available():
        mx.set_default_device(mx.cpu)
    with pytest.raises(DeviceError, match="needs an NVIDIA GPU"):
        kernels.KernelStep(base.talker, rows=1)


def test_a_lane_reads_eight_inputs_of_one_output_at_once():
    weight = np.random.default_rng(0).integers(-100, 100, (16, 64)).astype(np.float32)
    tiles = np.array(kernels.tile(mx.array(weight).astype(mx.bfloat16)).astype(mx.float32)).reshape(2, 2, 32, 8)
    for block, slice_, lane in itertools.product(range(2), range(2), range(32)):
        row, first = block * 8 + lane // 4, slice_ * 32 + lane % 4 * 8
        np.testing.assert_array_equal(tiles[block, slice_, lane], weight[row, first : first + 8])


def test_angles_are_those_of_mlx_rotary_embedding():
    x = mx.random.normal((1, 1, 40, kernels.HEAD_DIM), key=mx.random.key(0))
    rotated = np.array(mx.fast.rope(x, kernels.HEAD_DIM, traditional=False, base=1e6, scale=1.0, offset=0))[0, 0]
    cos, sin = np.moveaxis(np.array(kernels.angles(1e6, 40)), 2, 0)
    low, high = np.split(np.array(x)[0, 0], 2, axis=1)
    found = np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=1)
    np.testing.assert_allclose(found, rotated, atol=5e-6)  # 2.8e-6 apart on a GPU, whose cosine is its own


def small_talker():
    """The published heads with few narrow layers, random bf16 weights."""
    from mlx.utils import tree_map
    from mlx_audio.tts.models.qwen3_tts import config as configs
    from mlx_audio.tts.models.qwen3_tts.talker import Qwen3TTSTalkerForConditionalGeneration

    sub = configs.Qwen3TTSTalkerCodePredictorConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=2)
    config = configs.Qwen3TTSTalkerConfig(
        code_predictor_config=sub, hidden_size=1024, intermediate_size=1536, num_hidden_layers=3, text_vocab_size=64,
        codec_language_id={},
    )  # fmt: skip
    made = Qwen3TTSTalkerForConditionalGeneration(config)
    mx.random.seed(0)
    made.update(
        tree_map(
            lambda p: (mx.random.normal(p.shape) * (p.shape[-1] ** -0.5 if p.ndim > 1 else 0.1) + (p.ndim == 1)).astype(
                mx.bfloat16
            ),
            made.parameters(),
        )
    )
    return made


def start(seed: int, length: int) -> Prompt:
    keys = mx.random.split(mx.random.key(seed), 3)
    parts = [
        (mx.random.normal((1, n, 1024), key=k) * 0.5).astype(mx.bfloat16)
        for n, k in zip((length, 3, 1), keys, strict=True)
    ]
    return Prompt(*parts, 3)


def run(step: kernels.KernelStep, frames: int) -> np.ndarray:
    return np.stack([np.array(step.step()) for _ in range(frames)])


@cuda
def test_its_codes_are_those_of_the_plain_loop_but_for_close_draws():
    mx.set_default_device(mx.gpu)
    made = small_talker()
    plain = SimpleNamespace(talker=made, config=SimpleNamespace(talker_config=made.config))
    same = 0
    for seed, length in ((1, 40), (2, 300), (3, 129)):
        step = kernels.KernelStep(made, rows=1, capacity=512)
        step.admit(0, start(seed, length), GREEDY, 0)
        expected = next(talker.frames(plain, start(seed, length), GREEDY, 0))
        same += int((run(step, 1)[0, 0] == expected).sum())
    assert same >= 40  # of 48; bf16 rounds in another order


@cuda
@pytest.mark.parametrize("rows", [3, 8, 11, 32])
def test_a_row_gives_the_same_codes_alone_and_among_others(rows):
    mx.set_default_device(mx.gpu)
    made = small_talker()
    many = kernels.KernelStep(made, rows=rows, capacity=512)
    jobs = [(start(i, 20 + 13 * i), SAMPLED if i % 2 else GREEDY, i) for i in range(rows)]
    for i, (prompt, sampling, seed) in enumerate(jobs):
        many.admit(i, prompt, sampling, seed)
    together = run(many, 6)
    for i in (0, 1, rows - 1):
        alone = kernels.KernelStep(made, rows=1, capacity=512)
        alone.admit(0, *jobs[i])
        np.testing.assert_array_equal(run(alone, 6)[:, 0], together[:, i])


@cuda
def test_it_draws_as_mlx_does_from_its_own_logits():
    mx.set_default_device(mx.gpu)
    step = kernels.KernelStep(small_talker(), rows=4, capacity=256)
    for i in range(4):
        step.admit(i, start(i, 30), SAMPLED, seed=70 + i)
    codes = run(step, 3)[-1]
    width, padded = 4096, 8
    logits = np.array(step._scratch)[padded * width : padded * (width + 3072)].reshape(padded, 3072)[:4, :2048]
    keys = mx.array([[70 + i, 2 * 16 + 15] for i in range(4)], dtype=mx.uint32)
    settings = [mx.full((4,), value) for value in (0.9, 50, 0.8)]
    found = draw(mx.array(logits), *settings, keys, Mode(sampled=True, nucleus=True))
    np.testing.assert_array_equal(np.array(found)[:, 0], codes[:, 15])
