from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from tests import tiny_checkpoint

from langdu.engines.qwen3.sampling import Filters, Sampling, draw, forbid, from_generation_config, key, penalize, shape
from langdu.errors import SettingError


def given_logits():
    """The logits the official processors were given, with ties at ids 100 to 109."""
    logits = (np.random.default_rng(5).standard_normal((2, 3072)) * 3).astype(np.float32)
    logits[:, 100:110] = logits[:, 100:101]
    return logits


CHAINS = {
    "greedy": (Filters(0, 50, 1.0), 1.05),
    "default": (Filters(0.9, 50, 1.0), 1.05),
    "nucleus": (Filters(0.7, 0, 0.8), 1.3),
    "narrow": (Filters(1.3, 20, 0.5), 1.0),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_chain_equals_the_official_one_element_by_element(official, name):
    filters, penalty = CHAINS[name]
    tokens = official[f"filters.{name}.seen"]
    seen = np.zeros((2, 3072), bool)
    np.put_along_axis(seen, tokens, True, axis=1)
    never = np.arange(3072) >= 2048
    never[tiny_checkpoint.CODEC_EOS] = tokens.shape[1] < 2  # min_new_tokens
    scores = penalize(mx.array(given_logits()), mx.array(seen), penalty)
    scores = np.array(shape(forbid(scores, mx.array(never)), filters))
    expected = official[f"filters.{name}.scores"]
    np.testing.assert_array_equal(np.isinf(scores), np.isinf(expected))
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_greedy_takes_the_most_probable_one():
    assert draw(mx.array([[0.0, 3.0, 1.0]]), Filters(temperature=0), seed=9, counter=4).tolist() == [[1]]


def test_draws_follow_the_probabilities():
    scores = mx.log(mx.array([[0.2, 0.5, 0.3]]))
    drawn = [int(draw(scores, Filters(), 7, counter).item()) for counter in range(3000)]
    np.testing.assert_allclose(np.bincount(drawn) / 3000, [0.2, 0.5, 0.3], atol=0.03)


def test_a_draw_depends_on_seed_and_position_alone():
    scores = mx.array(np.random.default_rng(0).standard_normal((1, 500)).astype(np.float32))
    first = [int(draw(scores, Filters(), 3, counter).item()) for counter in range(20)]
    mx.random.seed(99)
    assert [int(draw(scores, Filters(), 3, counter).item()) for counter in range(20)] == first
    assert [int(draw(scores, Filters(), 4, counter).item()) for counter in range(20)] != first
    assert key(3, 5).tolist() == [3, 5]


def test_a_checkpoint_brings_its_defaults():
    found = from_generation_config({"temperature": 0.7, "top_k": 30, "subtalker_dosample": False, "max_new_tokens": 1})
    assert found == Sampling(temperature=0.7, top_k=30, subtalker_temperature=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperatur": 1.0}, "no such sampling setting: temperatur"),
        ({"temperature": -1.0}, "outside 0 to 5"),
        ({"top_p": 0.0}, "top_p of 0.0"),
        ({"top_k": 2.5}, "whole number"),
        ({"temperature": float("nan")}, "outside"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        Sampling().with_settings(settings)


def test_the_sub_talker_has_its_own_filters():
    found = Sampling().with_settings({"subtalker_temperature": 0.3, "subtalker_top_k": 7})
    assert found.first == Filters(0.9, 50, 1.0)
    assert found.others == Filters(0.3, 7, 1.0)
