"""Codes to sound, over the weights of mlx-audio's decoder, computed as the official decoder does.

Three things differ from mlx-audio's own decoding, each of them audible there: the transformer attends to a
window of 72 frames, code 0 is a code (not padding that is cut off), and long takes are decoded in pieces of
300 frames with 25 before them for context (not 15 with 5).

One decoder serves many streams: what a stream remembers lies in its `Stream`, not in the modules. Decoding in
steps of any size gives the same samples as decoding at once, to rounding, so everything goes through streams.

On CUDA a step of a length that was not seen before costs about 0.4 s: the convolutions are planned anew. So there
the steps have a few fixed lengths (`STEPS`), and a last one is filled up with codes whose sound is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Audio
from langdu.errors import EngineError

Array = Any
Codes = npt.NDArray[np.int32]
"""Shape (frames, codebooks)."""

PIECE_FRAMES = 300
CONTEXT_FRAMES = 25
STEPS = (1, 4, 12, 50, 150)
"""Frames of a step where lengths must be few: from the first streamed piece to half of PIECE_FRAMES."""


@dataclass(slots=True)
class Stream:
    """Where one take's decoding stands. Arrays are never changed in place, so `fork` costs nothing."""

    state: dict[str, Array] = field(default_factory=dict)
    """What each layer keeps of the past, by layer name; empty at the start of a piece."""
    position: int = 0
    """Frames of the current piece, its context among them."""
    room: int = PIECE_FRAMES
    """Frames the current piece still takes."""
    recent: list[npt.NDArray[np.int32]] = field(default_factory=list)
    """The last frames' codes, at most CONTEXT_FRAMES: the context of the next piece."""

    def fork(self) -> Stream:
        """A second stream that goes on from the same past: a reference is decoded once for all its takes."""
        return Stream(dict(self.state), self.position, self.room, list(self.recent))


class Codec:
    """Decodes codes of `codebooks` codebooks; `samples_per_frame` samples a frame at 24 kHz."""

    def __init__(self, decoder: Any, steps: tuple[int, ...] = ()) -> None:
        """`steps`: the lengths a step may have, 1 among them; empty for any."""
        self._decoder, self._steps = decoder, steps
        self.codebooks = int(decoder.config.num_quantizers)
        self.samples_per_frame = int(decoder.total_upsample)
        self._size = int(decoder.config.codebook_size)
        self._window = int(decoder.config.sliding_window)

    def decode(self, codes: Codes, context: Stream | None = None) -> Audio:
        """Sound of `codes`, (frames * samples_per_frame,); `context` is what came before (it is left as it is)."""
        return self.push(context.fork() if context is not None else Stream(), codes, last=True)

    def prime(self, codes: Codes) -> Stream:
        """A stream whose past is `codes`; their sound is dropped."""
        stream = Stream()
        self.push(stream, codes)
        return stream

    def push(self, stream: Stream, codes: Codes, *, last: bool = False) -> Audio:
        """Sound of the next `codes` of a stream, which ends with them when they are the `last`.

        Raises EngineError for codes that no codebook has.
        """
        return self.read(self.queue(stream, codes, last=last))

    def queue(self, stream: Stream, codes: Codes, *, last: bool = False) -> list[Array]:
        """As `push`, but the device goes on by itself: the sound is fetched with `read`, and the host need not wait."""
        if codes.ndim != 2 or codes.shape[1] != self.codebooks:
            raise EngineError(f"Codes have the shape {codes.shape}, not (frames, {self.codebooks}).")
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < self._size:
            raise EngineError(f"Codes from {codes.min()} to {codes.max()} are outside 0 to {self._size - 1}.")
        parts: list[Array] = []
        while len(codes):
            if stream.room == 0:
                self._next_piece(stream)
            taken, codes = codes[: stream.room], codes[stream.room :]
            stream.room -= len(taken)
            stream.recent = [*stream.recent, *taken][-CONTEXT_FRAMES:]
            # What a layer would remember after the end of a take or of a piece is never asked for.
            parts += self._walk(stream, taken, forgotten=stream.room == 0 or (last and not len(codes)))
        return parts

    def read(self, queued: list[Array]) -> Audio:
        return np.concatenate([np.array(part) for part in queued]) if queued else np.zeros(0, np.float32)

    def warm(self) -> None:
        """Plan every length of step now: about 0.4 s each on CUDA, once in a process."""
        for length in self._steps:
            self.push(Stream(), np.zeros((length, self.codebooks), np.int32))

    def _next_piece(self, stream: Stream) -> None:
        """Forget all but the context, as the official decoder does every 300 frames."""
        stream.state, stream.position, stream.room = {}, 0, PIECE_FRAMES
        self._walk(stream, np.stack(stream.recent), forgotten=False)

    def _walk(self, stream: Stream, codes: Codes, *, forgotten: bool) -> list[Array]:
        """`codes` in steps of allowed lengths; the state after them is right unless it is to be `forgotten`."""
        parts = []
        while (left := len(codes)) > 0:
            length = step_length(left, self._steps, filled=forgotten)
            step = codes[:length]
            filled = np.pad(step, [(0, length - len(step)), (0, 0)])
            parts.append(self._run(stream, filled)[: len(step) * self.samples_per_frame])
            codes = codes[length:]
        return parts

    def _run(self, stream: Stream, codes: Codes) -> Array:
        import mlx.core as mx

        decoder, state = self._decoder, stream.state
        hidden = decoder.quantizer.decode(mx.array(codes.T[None].astype(np.int32))).transpose(0, 2, 1)
        hidden = _convolve(decoder.pre_conv.conv, hidden, state, "pre")
        hidden = self._transform(hidden, stream)
        for i, (upsample, block) in enumerate(decoder.upsample):
            hidden = _next_block(block, upsample(hidden), state, f"up{i}")
        wave = _convolve(decoder.decoder[0].conv, hidden, state, "first")
        for i, block in enumerate(decoder.decoder[1:-2]):
            wave = _decoder_block(block, wave, state, f"block{i}")
        wave = _convolve(decoder.decoder[-1].conv, decoder.decoder[-2](wave), state, "last")
        wave = mx.clip(wave[0, :, 0], -1.0, 1.0).astype(mx.float32)
        mx.async_eval(wave, *state.values())  # type: ignore[no-untyped-call]
        stream.position += len(codes)
        return wave

    def _transform(self, x: Array, stream: Stream) -> Array:
        """The transformer over [1, L, latent], attending to this and the `window - 1` frames before."""
        import mlx.core as mx
        from mlx_audio.tts.models.qwen3_tts.speech_tokenizer import apply_rotary_pos_emb

        module, state = self._decoder.pre_transformer, stream.state
        x = module.input_proj(x)
        length, start = x.shape[1], stream.position
        kept = min(start, self._window - 1)
        cos, sin = module.rotary_emb(x, mx.arange(start, start + length)[None])
        ahead = mx.arange(length)[:, None] + kept - mx.arange(kept + length)[None]  # query minus key, in frames
        mask = (ahead >= 0) & (ahead < self._window)
        for i, layer in enumerate(module.layers):
            attention = layer.self_attn
            y = layer.input_layernorm(x)
            q, k, v = (
                project(y).reshape(1, length, -1, attention.head_dim).transpose(0, 2, 1, 3)
                for project in (attention.q_proj, attention.k_proj, attention.v_proj)
            )
            q, k = apply_rotary_pos_emb(q, k, cos, sin)
            if kept:
                k = mx.concatenate([state[f"k{i}"], k], axis=2)
                v = mx.concatenate([state[f"v{i}"], v], axis=2)
            # Contiguous copies: a slice would keep the whole piece's keys alive.
            state[f"k{i}"] = mx.contiguous(k[:, :, -(self._window - 1) :])
            state[f"v{i}"] = mx.contiguous(v[:, :, -(self._window - 1) :])
            y = mx.fast.scaled_dot_product_attention(q, k, v, scale=attention.scale, mask=mask)
            y = attention.o_proj(y.transpose(0, 2, 1, 3).reshape(1, length, -1))
            x = x + layer.self_attn_layer_scale(y)
            x = x + layer.mlp_layer_scale(layer.mlp(layer.post_attention_layernorm(x)))
        return module.output_proj(module.norm(x))


def step_length(left: int, steps: tuple[int, ...], *, filled: bool) -> int:
    """Frames of the next step when `left` are to be decoded: the shortest allowed one that holds them all if the
    rest of it may be `filled`, else the longest that they fill."""
    if not steps:
        return left
    if filled and (longer := [step for step in steps if step >= left]):
        return min(longer)
    return max(step for step in steps if step <= left)


def _convolve(conv: Any, x: Array, state: dict[str, Array], name: str) -> Array:
    """A causal convolution of stride 1 over [1, L, C] that remembers the samples its kernel reaches back to."""
    import mlx.core as mx

    reach = (conv.weight.shape[1] - 1) * conv.dilation
    if reach:
        past = state.get(name)
        if past is None:
            past = mx.zeros((1, reach, x.shape[2]), x.dtype)
        x = mx.concatenate([past, x], axis=1)
        state[name] = mx.contiguous(x[:, -reach:])
    return conv(x)


def _next_block(block: Any, x: Array, state: dict[str, Array], name: str) -> Array:
    from mlx.nn.layers.activations import gelu

    y = block.norm(_convolve(block.dwconv.conv, x, state, name))
    return x + block.gamma * block.pwconv2(gelu(block.pwconv1(y)))


def _decoder_block(block: Any, x: Array, state: dict[str, Array], name: str) -> Array:
    snake, upsample, *units = block.block
    x = _spread(upsample, snake(x), state, f"{name}.up")
    for i, unit in enumerate(units):
        y = _convolve(unit.conv1.conv, unit.act1(x), state, f"{name}.{i}.1")
        x = x + _convolve(unit.conv2.conv, unit.act2(y), state, f"{name}.{i}.2")
    return x


def _spread(module: Any, x: Array, state: dict[str, Array], name: str) -> Array:
    """A transposed convolution with kernel 2 × stride: each input frame also adds to the next one's samples."""
    import mlx.core as mx

    tail = module.trim_right
    y = module.conv(x)
    past = state.get(name)
    if past is not None:
        y = mx.concatenate([y[:, :tail] + past, y[:, tail:]], axis=1)
    left = y[:, -tail:]
    if "bias" in module.conv:
        left = left - module.conv.bias  # the next step's samples bring their own
    state[name] = mx.contiguous(left)
    return y[:, :-tail]
