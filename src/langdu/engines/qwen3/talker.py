"""The plain generation loop: one row, one frame at a time, readable against the official code.

It is what the fast path is measured against. A frame is the talker's step, one draw from the first codebook,
15 steps of the code predictor with a draw each, and the sum of the 16 embeddings (plus the text of that
frame) as the next input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.engines.qwen3.checkpoint import Checkpoint
from langdu.engines.qwen3.prompt import Prompt, suppressed
from langdu.engines.qwen3.sampling import Sampling, draw, forbid, penalize, shape

Array = Any


def frames(checkpoint: Checkpoint, prompt: Prompt, sampling: Sampling, seed: int) -> Iterator[npt.NDArray[np.int32]]:
    """Codes of one frame after another, (16,), until the model ends by itself. The caller stops a run-away."""
    import mlx.core as mx

    talker, config = checkpoint.talker, checkpoint.config.talker_config
    end, groups = config.codec_eos_token_id, config.num_code_groups
    never = mx.array(suppressed(checkpoint))
    too_early = never | (mx.arange(config.vocab_size) == end)
    seen = mx.zeros((1, config.vocab_size), dtype=mx.bool_)
    cache, sub_cache = talker.make_cache(), talker.code_predictor.make_cache()
    x, trailing = prompt.embeds, prompt.trailing.shape[1]
    frame = 0
    while True:
        logits, hidden = talker(x, cache=cache)
        scores = penalize(logits[:, -1].astype(mx.float32), seen, sampling.repetition_penalty)
        scores = forbid(scores, too_early if frame < sampling.min_new_tokens else never)
        first = draw(shape(scores, sampling.first), sampling.first, seed, frame * groups)
        if int(first.item()) == end:
            return
        seen = mx.put_along_axis(seen, first, mx.array(True), axis=1)
        codes, total = _others(talker, hidden[:, -1:], first, sub_cache, sampling, seed, frame * groups)
        x = total + (prompt.trailing[:, frame : frame + 1] if frame < trailing else prompt.pad)
        mx.eval(x, codes, seen)
        yield np.array(codes[0], dtype=np.int32)
        frame += 1


def _others(
    talker: Any, hidden: Array, first: Array, cache: list[Any], sampling: Sampling, seed: int, counter: int
) -> tuple[Array, Array]:
    """All codes of a frame, [1, 16], and the sum of their embeddings, [1, 1, H]."""
    import mlx.core as mx

    predictor = talker.code_predictor
    for layer in cache:  # every frame starts anew
        layer.keys, layer.values, layer.offset = None, None, 0
    embedding = talker.get_input_embeddings()(first)
    codes, total, x = [first], embedding, mx.concatenate([hidden, embedding], axis=1)
    for group in range(predictor.num_code_groups - 1):
        logits, _, _ = predictor(x, cache=cache, generation_step=group)
        scores = shape(logits[:, -1], sampling.others)
        codes.append(draw(scores, sampling.others, seed, counter + group + 1))
        x = predictor.codec_embedding[group](codes[-1])
        total = total + x
    return mx.concatenate(codes, axis=1), total
