"""The PyTorch peers on one NVIDIA GPU, random 1.7B weights: qwen-tts and faster-qwen3-tts. See qwen3_gpu.py."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import qwen3_random as random_model

REPEATS = 3
TEXT = "Hello, how are you today? The quick brown fox jumps over the lazy dog. " * 2
TRANSCRIPT = "The quick brown fox jumps over the lazy dog. " * 3
HEADS = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128}


def measure(size: str) -> Iterator[dict[str, Any]]:
    import torch

    _mend_rope()
    folder = _write(size)
    clip = ((np.random.default_rng(1).normal(size=int(24_000 * random_model.CLIP_S)) * 0.1).astype("float32"), 24_000)
    common = {"language": "English", "ref_text": TRANSCRIPT, "non_streaming_mode": True}

    from qwen_tts import Qwen3TTSModel

    official = Qwen3TTSModel.from_pretrained(
        str(folder), device_map="cuda", dtype=torch.bfloat16, attn_implementation="sdpa"
    )

    def one(rows: int, model: Any = official) -> Callable[[int], Any]:
        text = [TEXT] * rows if rows > 1 else TEXT
        return lambda frames: model.generate_voice_clone(
            text, ref_audio=clip, max_new_tokens=frames, min_new_tokens=frames, repetition_penalty=1.05, **common
        )

    for rows in (1, 8, 32):
        ms = [_marginal(one(rows), 10, 26) for _ in range(REPEATS)]
        made = _version("qwen-tts-hf", "qwen-tts")
        yield {"engine": "qwen-tts", "version": made, "precision": "bfloat16", "rows": rows,
               "ms": ms, "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2)}  # fmt: skip
    del official, one
    torch.cuda.empty_cache()

    from faster_qwen3_tts import FasterQwen3TTS

    fast = FasterQwen3TTS.from_pretrained(str(folder))
    voice = fast.model.create_voice_clone_prompt(clip, TRANSCRIPT)

    def say(frames: int) -> Any:
        return fast.generate_voice_clone(
            TEXT, voice_clone_prompt=voice, max_new_tokens=frames, min_new_tokens=frames, **common
        )

    say(6)
    say(6)
    made = version("faster-qwen3-tts")
    ms = [_marginal(say, 20, 80) for _ in range(REPEATS)]
    yield {"engine": "faster-qwen3-tts", "version": made, "precision": "bfloat16", "rows": 1, "ms": ms}
    waits = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        stream = fast.generate_voice_clone_streaming(
            TEXT, voice_clone_prompt=voice, max_new_tokens=40, min_new_tokens=40, **common
        )
        next(iter(stream))
        waits.append((time.perf_counter() - began) * 1000)
    yield {
        "engine": "faster-qwen3-tts",
        "version": made,
        "rows": 1,
        "first_audio_ms": round(statistics.median(waits), 1),
    }


def _marginal(run: Callable[[int], Any], short: int, long: int) -> float:
    """ms a frame between runs of two lengths, so that the prompt and the codec do not count."""
    import torch

    walls = []
    for frames in (short, long):
        torch.cuda.synchronize()
        began = time.perf_counter()
        run(frames)
        torch.cuda.synchronize()
        walls.append(time.perf_counter() - began)
    return (walls[1] - walls[0]) / (long - short) * 1000


def _version(*names: str) -> str:
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def _mend_rope() -> None:
    """transformers 5 has no rotary embedding named "default", which qwen-tts asks for."""
    import torch
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    def default(config: Any, device: Any = None, seq_len: Any = None, layer_type: Any = None) -> tuple[Any, float]:
        theta = getattr(config, "rope_theta", None) or (getattr(config, "rope_parameters", None) or {}).get(
            "rope_theta", 10_000.0
        )
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        steps = torch.arange(0, size, 2, dtype=torch.int64).to(device=device, dtype=torch.float)
        return 1.0 / (theta ** (steps / size)), 1.0

    ROPE_INIT_FUNCTIONS.setdefault("default", default)


def _write(size: str) -> Path:
    """A checkpoint of real size by the official classes, in the hub's layout."""
    import torch
    from qwen_tts.core import Qwen3TTSTokenizerV2Config, Qwen3TTSTokenizerV2Model
    from qwen_tts.core.models.configuration_qwen3_tts import Qwen3TTSConfig
    from qwen_tts.core.models.modeling_qwen3_tts import Qwen3TTSForConditionalGeneration
    from safetensors.torch import save_file
    from tests import tiny_checkpoint as tiny

    folder = Path(tempfile.mkdtemp(prefix="qwen3-torch-"))
    codec = folder / "speech_tokenizer"
    codec.mkdir()
    config = tiny.model_config("base", tiny.write_tokenizer(folder), "1b7")
    talker = config["talker_config"]
    hidden, inner = (2048, 6144) if size == "1.7b" else (1024, 3072)
    talker.update(hidden_size=hidden, intermediate_size=inner, num_hidden_layers=28, text_hidden_size=2048,
                  text_vocab_size=151_936, **HEADS)  # fmt: skip
    talker["rope_scaling"]["mrope_section"] = [24, 20, 20]
    talker["code_predictor_config"].update(hidden_size=1024, intermediate_size=3072, num_hidden_layers=5, **HEADS)
    config["speaker_encoder_config"] = {"enc_dim": hidden, "sample_rate": 24_000}
    _json(folder / "config.json", config)
    _json(folder / "generation_config.json", tiny.GENERATION)
    _json(folder / "preprocessor_config.json", {"processor_class": "Qwen3TTSProcessor"})
    _json(codec / "preprocessor_config.json", {
        "feature_extractor_type": "EncodecFeatureExtractor", "feature_size": 1, "padding_side": "right",
        "padding_value": 0.0, "return_attention_mask": True, "sampling_rate": 24_000, "chunk_length_s": None,
        "overlap": None})  # fmt: skip
    sound = {"architectures": ["Qwen3TTSTokenizerV2Model"], "model_type": "qwen3_tts_tokenizer_12hz",
             "encoder_config": ENCODER, "decoder_config": DECODER, "encoder_valid_num_quantizers": 16,
             "input_sample_rate": 24_000, "output_sample_rate": 24_000, "decode_upsample_rate": 1920,
             "encode_downsample_rate": 1920}  # fmt: skip
    _json(codec / "config.json", sound)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    torch.set_default_device("cuda")
    model = Qwen3TTSForConditionalGeneration._from_config(Qwen3TTSConfig(**_own(config)))
    save_file({k: v.contiguous().cpu().clone() for k, v in model.state_dict().items()}, folder / "model.safetensors",
              metadata={"format": "pt"})  # fmt: skip
    del model
    torch.set_default_dtype(torch.float32)
    model = Qwen3TTSTokenizerV2Model._from_config(Qwen3TTSTokenizerV2Config(**_own(sound)))
    save_file({k: v.contiguous().cpu().clone() for k, v in model.state_dict().items()}, codec / "model.safetensors",
              metadata={"format": "pt"})  # fmt: skip
    torch.set_default_device("cpu")
    torch.cuda.empty_cache()
    return folder


def _own(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in ("architectures", "model_type")}


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


# The published codec's own numbers, as mlx-audio's configuration classes hold them.
ENCODER = {
    "frame_rate": 12.5, "audio_channels": 1, "codebook_dim": 256, "codebook_size": 2048, "compress": 2,
    "dilation_growth_rate": 2, "head_dim": 64, "hidden_act": "gelu", "hidden_size": 512, "intermediate_size": 2048,
    "kernel_size": 7, "last_kernel_size": 3, "layer_scale_initial_scale": 0.01, "max_position_embeddings": 8000,
    "norm_eps": 1e-5, "num_attention_heads": 8, "num_key_value_heads": 8, "num_filters": 64, "num_hidden_layers": 8,
    "num_quantizers": 32, "num_residual_layers": 1, "num_semantic_quantizers": 1, "residual_kernel_size": 3,
    "rope_theta": 10000.0, "sampling_rate": 24000, "sliding_window": 250, "upsampling_ratios": [8, 6, 5, 4],
    "use_causal_conv": True, "use_conv_shortcut": False, "vector_quantization_hidden_dimension": 256,
    "upsample_groups": 512,
}  # fmt: skip
DECODER = {
    "attention_bias": False, "latent_dim": 1024, "codebook_dim": 512, "codebook_size": 2048, "decoder_dim": 1536,
    "hidden_act": "silu", "hidden_size": 512, "intermediate_size": 1024, "layer_scale_initial_scale": 0.01,
    "max_position_embeddings": 8000, "head_dim": 64, "num_attention_heads": 16, "num_hidden_layers": 8,
    "num_key_value_heads": 16, "num_quantizers": 16, "num_semantic_quantizers": 1, "rms_norm_eps": 1e-5,
    "rope_theta": 10000, "semantic_codebook_size": 4096, "sliding_window": 72, "upsample_rates": [8, 5, 4, 3],
    "upsampling_ratios": [2, 2], "vector_quantization_hidden_dimension": 512,
}  # fmt: skip
