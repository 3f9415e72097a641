"""Qwen3-TTS at its published sizes with random weights: for speed and memory, where the real ones are not to be had.

Its end of speech is never drawn within the frames that a benchmark asks for: requests set `min_new_tokens`.

    python benchmarks/qwen3_random.py FOLDER [--size 1.7b] [--bits 8]

writes a model folder in the hub's layout, which every command of the product loads as it loads a real one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SAMPLING = {"min_new_tokens": 1000}
TRANSCRIPT = "参考音频的转写文本必须填写，否则输出会截断而且内容乱码。" * 2
TEXT = "这是一次语音合成测试，我们要看看它到底有多快，长文本是否也能稳定地完成。" * 2
CLIP_S = 8.0


def checkpoint(size: str = "1.7b", bits: int = 0) -> Any:
    """A `Checkpoint` in memory; `bits` of 8, 6 or 4 quantise the talker as published conversions are."""
    import mlx.core as mx
    import mlx.nn as nn
    from mlx.utils import tree_map
    from mlx_audio.tts.models.qwen3_tts import config as configs
    from mlx_audio.tts.models.qwen3_tts.qwen3_tts import Model
    from mlx_audio.tts.models.qwen3_tts.speech_tokenizer import Qwen3TTSSpeechTokenizer
    from tests import tiny_checkpoint

    from langdu.engines.qwen3.checkpoint import Checkpoint
    from langdu.engines.qwen3.sampling import Sampling
    from langdu.engines.qwen3.tokenizer import Tokenizer

    mx.random.seed(0)
    folder = Path(tempfile.mkdtemp(prefix="qwen3-random-"))
    ids = tiny_checkpoint.write_tokenizer(folder)
    wide = {} if size == "0.6b" else {"hidden_size": 2048, "intermediate_size": 6144}
    talker = configs.Qwen3TTSTalkerConfig(codec_language_id={"chinese": 2055, "english": 2050}, **wide)
    speaker = configs.Qwen3TTSSpeakerEncoderConfig(enc_dim=talker.hidden_size)
    tokens = {k: ids[v] for k, v in {
        "im_start_token_id": "<|im_start|>", "im_end_token_id": "<|im_end|>", "tts_pad_token_id": "<tts_pad>",
        "tts_bos_token_id": "<tts_text_bos>", "tts_eos_token_id": "<tts_text_eod>"}.items()}  # fmt: skip
    config = configs.ModelConfig(talker_config=talker, speaker_encoder_config=speaker, tts_model_type="base", **tokens)
    model = Model(config)
    model.update(
        tree_map(lambda p: p.astype(mx.bfloat16) if mx.issubdtype(p.dtype, mx.floating) else p, model.parameters())
    )
    if bits:
        nn.quantize(
            model, group_size=64, bits=bits,
            class_predicate=lambda path, m: hasattr(m, "to_quantized") and model.model_quant_predicate(path, m)
            and m.weight.shape[-1] % 64 == 0,
        )  # fmt: skip
    halves = {"encoder_config": configs.Qwen3TTSTokenizerEncoderConfig(),
              "decoder_config": configs.Qwen3TTSTokenizerDecoderConfig()}  # fmt: skip
    codec = Qwen3TTSSpeechTokenizer(configs.Qwen3TTSTokenizerConfig(**halves))
    for layer in (
        *codec.encoder_model.quantizer.rvq_first.vq.layers,
        *codec.encoder_model.quantizer.rvq_rest.vq.layers,
    ):
        layer.codebook.update_in_place()
    mx.eval(model.parameters(), codec.parameters())
    model.load_speech_tokenizer(codec)
    model.eval()
    codec.eval()
    device = "cuda" if mx.cuda.is_available() else "metal" if mx.metal.is_available() else "cpu"
    precision = f"{bits}bit" if bits else "bfloat16"
    return Checkpoint(model, config, "base", "1b7", Tokenizer(folder), Sampling(), folder, "random", precision, device)


def persona() -> Any:
    """A clone of noise with a transcript; its prompt has about 300 positions."""
    import numpy as np
    import soundfile as sf

    from langdu.voices.persona import ClonePersona

    path = Path(tempfile.mkdtemp(prefix="qwen3-clip-")) / "clip.wav"
    sf.write(path, np.random.default_rng(1).normal(0, 0.1, int(CLIP_S * 24_000)).astype(np.float32), 24_000)
    return ClonePersona(name="noise", clip=path, transcript=TRANSCRIPT, settings=SAMPLING)


def engine(found: Any, slots: int, context: int = 2048) -> Any:
    from langdu.engines.qwen3.engine import Qwen3Engine

    os.environ.setdefault("MLX_CUDA_CONV_CACHE_SIZE", "1024")  # as the engine's own loading does
    return Qwen3Engine(found, slots=slots, context=context, cache=Path(tempfile.mkdtemp(prefix="qwen3-cache-")))


def save(out: Path, size: str = "1.7b", bits: int = 0) -> None:
    """The same model as a folder: configurations, tokenizer, weights and codec."""
    import shutil

    import mlx.core as mx
    from mlx.utils import tree_flatten

    found = checkpoint(size, bits)
    codec = found.model.speech_tokenizer
    out.mkdir(parents=True)
    shutil.copytree(found.path, out, dirs_exist_ok=True)  # the tokenizer
    named = {"tts_model_size": found.size, "speaker_encoder_config": asdict(found.config.speaker_encoder_config)}
    config = _plain(asdict(found.config)) | named
    if bits:
        config["quantization"] = {"group_size": 64, "bits": bits}
    _write(out / "config.json", config)
    _write(out / "generation_config.json", {"do_sample": True, "temperature": 0.9, "top_k": 50, "top_p": 1.0})
    weights = {name: value for name, value in tree_flatten(found.model.parameters()) if "speech_tokenizer" not in name}
    mx.save_safetensors(str(out / "model.safetensors"), weights, {"format": "mlx"})
    (out / "speech_tokenizer").mkdir()
    _write(out / "speech_tokenizer" / "config.json", _plain(asdict(codec.config)))
    codes = {name: _stored(name, value) for name, value in tree_flatten(codec.parameters())}
    mx.save_safetensors(str(out / "speech_tokenizer" / "model.safetensors"), codes, {"format": "mlx"})


def _stored(name: str, value: Any) -> Any:
    """A codec weight in the order of axes that loading brings back to the one it has in memory."""
    from mlx_audio.tts.models.qwen3_tts.speech_tokenizer import Qwen3TTSSpeechTokenizer

    from langdu.engines.qwen3.checkpoint import _oriented

    if value.ndim != 3:
        return value
    for axes in ((0, 1, 2), (0, 2, 1), (2, 0, 1)):
        found = Qwen3TTSSpeechTokenizer.sanitize({name: value.transpose(axes)})
        if list(found) == [name] and _oriented(name, found[name], value.shape).shape == value.shape:
            return value.transpose(axes)
    raise ValueError(f"{name} {value.shape} cannot be stored")


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", default="1.7b", choices=["0.6b", "1.7b"])
    parser.add_argument("--bits", type=int, default=0, choices=[0, 4, 6, 8])
    options = parser.parse_args()
    save(options.folder, options.size, options.bits)
