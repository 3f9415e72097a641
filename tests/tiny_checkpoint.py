"""Tiny random Qwen3-TTS checkpoints in the hub's file layout, from a seed, with numpy alone.

The official package and MLX load the same files, so that both can be compared without the real weights.
The codec's last layers are narrow: MLX convolves slowly on the CPU. Scales keep activations near one, so that greedy codes
vary and no arg max hangs on the last bit.

    python tests/tiny_checkpoint.py OUT        writes OUT/tiny_base, OUT/tiny_design, OUT/tiny_custom
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

KINDS = {"base": "base", "design": "voice_design", "custom": "custom_voice"}
LANGUAGES = {"chinese": 2055, "english": 2050, "german": 2053, "japanese": 2058, "beijing_dialect": 2074, "sichuan_dialect": 2062}  # fmt: skip
SPEAKERS = {"vivian": 3065, "eric": 2875}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"]
CODEC_EOS = 2150
WORDS = ["user", "assistant", "hello", "the", "quick", "brown", "fox", "Ġthe", "Ġquick", "Ġfox"]
"""Words the tokenizer joins; everything else is spelled in bytes."""

HIDDEN, INNER, HEADS, KV_HEADS, HEAD, LAYERS = 96, 192, 4, 2, 32, 4
TEXT_HIDDEN = 128
SUB_HIDDEN, SUB_INNER, SUB_LAYERS = 64, 128, 3
GROUPS, VOCABULARY, CODEBOOK = 16, 3072, 2048
ENC_CHANNELS = [96, 96, 96, 96, 288]
RATES, RATIOS = [8, 6, 10], [2, 2]
LATENT, CODE_DIM, DECODER_DIM, CODEC_HIDDEN, CODEC_INNER, CODEC_LAYERS = 48, 160, 48, 64, 96, 4
FILTERS, ENC_RATIOS, ENC_HIDDEN, ENC_INNER, ENC_LAYERS, ENC_CODE, ENC_QUANTIZERS = 8, [8, 6, 5, 4], 64, 128, 3, 32, 32

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def build(out: Path, kind: str, *, size: str = "1b7", seed: int = 1, codec_from: Path | None = None) -> Path:
    """Write the checkpoint of `kind` ("base", "design" or "custom") to `out` and return its path.

    `codec_from`: another checkpoint of the same seed whose codec files are linked instead of written again.
    """
    out.mkdir(parents=True, exist_ok=True)
    ids = write_tokenizer(out)
    _write_json(out / "config.json", model_config(kind, ids, size))
    _write_json(out / "generation_config.json", GENERATION)
    _write_json(out / "preprocessor_config.json", {"processor_class": "Qwen3TTSProcessor"})
    weights = dict(_fill(talker_shapes(len(ids)), seed))
    if kind == "base":
        weights |= dict(_fill(speaker_shapes(), seed + 1))
    else:  # so that a greedy take ends by itself within the frames the tests look at
        weights["talker.codec_head.weight"][CODEC_EOS] *= 2.4
    _write_weights(out / "model.safetensors", weights)
    codec = out / "speech_tokenizer"
    codec.mkdir(exist_ok=True)
    if codec_from is not None:
        _link_all(codec_from / "speech_tokenizer", codec)
        return out
    _write_json(codec / "config.json", CODEC_CONFIG)
    _write_json(codec / "preprocessor_config.json", FEATURES)
    weights = dict(_fill(codec_shapes(), seed + 2))
    weights["decoder.decoder.5.conv.weight"] *= 0.012  # keeps the wave inside [-1, 1], so that nothing is clipped
    _write_weights(codec / "model.safetensors", weights)
    return out


def build_all(out: Path) -> dict[str, Path]:
    """All three kinds below `out`; they share one codec, as the published ones do."""
    base = build(out / "tiny_base", "base")
    others = {kind: build(out / f"tiny_{kind}", kind, codec_from=base) for kind in ("design", "custom")}
    return {"base": base} | others


def digest(folder: Path) -> str:
    """SHA-256 (hex) over all files of a checkpoint: the recorded reference belongs to exactly these bytes."""
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(str(file.relative_to(folder)).encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def clip(seconds: float) -> np.ndarray:
    """A voice-like test signal, 24 kHz mono float32: gliding tones and noise under a slow envelope."""
    n = int(24_000 * seconds)
    t = np.arange(n) / 24_000
    noise = np.random.default_rng(0).standard_normal(n)
    wave = 0.3 * np.sin(2 * np.pi * (120 + 40 * np.sin(2 * np.pi * 0.7 * t)) * t)
    wave += 0.2 * np.sin(2 * np.pi * 900 * t * (1 + 0.1 * np.sin(3 * t))) + 0.05 * noise
    return (wave * (0.5 + 0.5 * np.abs(np.sin(2 * np.pi * 1.3 * t)))).astype(np.float32)


# ---------------------------------------------------------------- configuration

GENERATION = {
    "do_sample": True, "repetition_penalty": 1.05, "temperature": 0.9, "top_p": 1.0, "top_k": 50,
    "subtalker_dosample": True, "subtalker_temperature": 0.9, "subtalker_top_p": 1.0, "subtalker_top_k": 50,
    "max_new_tokens": 8192,
}  # fmt: skip
FEATURES = {
    "feature_extractor_type": "EncodecFeatureExtractor", "feature_size": 1, "padding_side": "right",
    "padding_value": 0.0, "return_attention_mask": True, "sampling_rate": 24000, "chunk_length_s": None,
    "overlap": None,
}  # fmt: skip
CODEC_CONFIG = {
    "architectures": ["Qwen3TTSTokenizerV2Model"], "model_type": "qwen3_tts_tokenizer_12hz",
    "encoder_config": {
        "frame_rate": 12.5, "audio_channels": 1, "codebook_dim": ENC_CODE, "codebook_size": CODEBOOK, "compress": 2,
        "dilation_growth_rate": 2, "head_dim": 16, "hidden_act": "gelu", "hidden_size": ENC_HIDDEN,
        "intermediate_size": ENC_INNER, "kernel_size": 7, "last_kernel_size": 3, "layer_scale_initial_scale": 0.01,
        "max_position_embeddings": 8000, "norm_eps": 1e-5, "num_attention_heads": 4, "num_key_value_heads": 4,
        "num_filters": FILTERS, "num_hidden_layers": ENC_LAYERS, "num_quantizers": ENC_QUANTIZERS,
        "num_residual_layers": 1, "num_semantic_quantizers": 1, "residual_kernel_size": 3, "rope_theta": 10000.0,
        "sampling_rate": 24000, "sliding_window": 250, "upsampling_ratios": ENC_RATIOS, "use_causal_conv": True,
        "use_conv_shortcut": False, "vector_quantization_hidden_dimension": ENC_CODE, "upsample_groups": ENC_HIDDEN,
    },
    "decoder_config": {
        "attention_bias": False, "latent_dim": LATENT, "codebook_dim": CODE_DIM, "codebook_size": CODEBOOK,
        "decoder_dim": DECODER_DIM, "hidden_act": "silu", "hidden_size": CODEC_HIDDEN,
        "intermediate_size": CODEC_INNER, "layer_scale_initial_scale": 0.01, "max_position_embeddings": 8000,
        "head_dim": 16, "num_attention_heads": 4, "num_hidden_layers": CODEC_LAYERS, "num_key_value_heads": 4,
        "num_quantizers": GROUPS, "num_semantic_quantizers": 1, "rms_norm_eps": 1e-5, "rope_theta": 10000,
        "semantic_codebook_size": 4096, "sliding_window": 72, "upsample_rates": RATES, "upsampling_ratios": RATIOS,
        "vector_quantization_hidden_dimension": 64,
    },
    "encoder_valid_num_quantizers": GROUPS, "input_sample_rate": 24000, "output_sample_rate": 24000,
    "decode_upsample_rate": 1920, "encode_downsample_rate": 1920,
}  # fmt: skip


def model_config(kind: str, ids: dict[str, int], size: str) -> dict[str, Any]:
    custom = kind == "custom"
    predictor = {
        "vocab_size": CODEBOOK, "hidden_size": SUB_HIDDEN, "intermediate_size": SUB_INNER,
        "num_hidden_layers": SUB_LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD, "hidden_act": "silu", "max_position_embeddings": 65536, "rms_norm_eps": 1e-6,
        "rope_theta": 1000000, "num_code_groups": GROUPS,
    }  # fmt: skip
    talker = {
        "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "hidden_act": "silu",
        "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000,
        "rope_scaling": {"interleaved": True, "mrope_section": [6, 5, 5], "rope_type": "default", "type": "default"},
        "attention_bias": False, "num_code_groups": GROUPS, "text_hidden_size": TEXT_HIDDEN,
        "text_vocab_size": len(ids), "codec_eos_token_id": CODEC_EOS, "codec_think_id": 2154,
        "codec_nothink_id": 2155, "codec_think_bos_id": 2156, "codec_think_eos_id": 2157, "codec_pad_id": 2148,
        "codec_bos_id": 2149, "codec_language_id": LANGUAGES, "spk_id": SPEAKERS if custom else {},
        "spk_is_dialect": {"vivian": False, "eric": "sichuan_dialect"} if custom else {},
        "code_predictor_config": predictor,
    }  # fmt: skip
    return {
        "architectures": ["Qwen3TTSForConditionalGeneration"], "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz", "tts_model_size": size, "tts_model_type": KINDS[kind],
        "im_start_token_id": ids["<|im_start|>"], "im_end_token_id": ids["<|im_end|>"],
        "tts_pad_token_id": ids["<tts_pad>"], "tts_bos_token_id": ids["<tts_text_bos>"],
        "tts_eos_token_id": ids["<tts_text_eod>"],
        "speaker_encoder_config": {
            "enc_dim": HIDDEN, "enc_channels": ENC_CHANNELS, "enc_attention_channels": 80, "enc_res2net_scale": 4,
            "enc_se_channels": 80, "sample_rate": 24000,
        },
        "talker_config": talker,
    }  # fmt: skip


def write_tokenizer(out: Path) -> dict[str, int]:
    """vocab.json, merges.txt and tokenizer_config.json of a byte-level tokenizer; all ids by token."""
    vocabulary: dict[str, int] = {letter: index for index, letter in enumerate(_byte_letters())}
    merges = []
    for word in WORDS:
        for end in range(2, len(word) + 1):
            if word[:end] not in vocabulary:
                vocabulary[word[:end]] = len(vocabulary)
                merges.append(f"{word[: end - 1]} {word[end - 1]}")
    _write_json(out / "vocab.json", vocabulary)
    (out / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    first = len(vocabulary)
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    _write_json(out / "tokenizer_config.json", {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(first + i): {"content": token, **flags} for i, token in enumerate(SPECIAL)},
        "additional_special_tokens": SPECIAL[1:], "bos_token": None, "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>", "unk_token": None, "errors": "replace", "model_max_length": 131072,
        "tokenizer_class": "Qwen2Tokenizer", "split_special_tokens": False, "clean_up_tokenization_spaces": False,
    })  # fmt: skip
    return vocabulary | {token: first + i for i, token in enumerate(SPECIAL)}


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in byte-level vocabularies: itself where printable."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


# ---------------------------------------------------------------- names and shapes of the weights


def talker_shapes(vocabulary: int) -> Shapes:
    yield "talker.model.codec_embedding.weight", (VOCABULARY, HIDDEN)
    yield "talker.model.text_embedding.weight", (vocabulary, TEXT_HIDDEN)
    yield from _decoder_layers("talker.model.layers", LAYERS, HIDDEN, INNER)
    yield "talker.model.norm.weight", (HIDDEN,)
    yield from _linear("talker.text_projection.linear_fc1", TEXT_HIDDEN, TEXT_HIDDEN)
    yield from _linear("talker.text_projection.linear_fc2", HIDDEN, TEXT_HIDDEN)
    yield "talker.codec_head.weight", (VOCABULARY, HIDDEN)
    sub = "talker.code_predictor"
    for group in range(GROUPS - 1):
        yield f"{sub}.model.codec_embedding.{group}.weight", (CODEBOOK, HIDDEN)
        yield f"{sub}.lm_head.{group}.weight", (CODEBOOK, SUB_HIDDEN)
    yield from _decoder_layers(f"{sub}.model.layers", SUB_LAYERS, SUB_HIDDEN, SUB_INNER)
    yield f"{sub}.model.norm.weight", (SUB_HIDDEN,)
    yield from _linear(f"{sub}.small_to_mtp_projection", SUB_HIDDEN, HIDDEN)


def _decoder_layers(name: str, layers: int, hidden: int, inner: int) -> Shapes:
    for i in range(layers):
        at = f"{name}.{i}"
        yield f"{at}.self_attn.q_proj.weight", (HEADS * HEAD, hidden)
        yield f"{at}.self_attn.k_proj.weight", (KV_HEADS * HEAD, hidden)
        yield f"{at}.self_attn.v_proj.weight", (KV_HEADS * HEAD, hidden)
        yield f"{at}.self_attn.o_proj.weight", (hidden, HEADS * HEAD)
        yield f"{at}.self_attn.q_norm.weight", (HEAD,)
        yield f"{at}.self_attn.k_norm.weight", (HEAD,)
        yield f"{at}.mlp.gate_proj.weight", (inner, hidden)
        yield f"{at}.mlp.up_proj.weight", (inner, hidden)
        yield f"{at}.mlp.down_proj.weight", (hidden, inner)
        yield f"{at}.input_layernorm.weight", (hidden,)
        yield f"{at}.post_attention_layernorm.weight", (hidden,)


def speaker_shapes() -> Shapes:
    at, wide, part = "speaker_encoder", ENC_CHANNELS[0], ENC_CHANNELS[0] // 4
    yield from _conv(f"{at}.blocks.0.conv", wide, 128, 5)
    for block in (1, 2, 3):
        yield from _conv(f"{at}.blocks.{block}.tdnn1.conv", wide, wide, 1)
        for inner in range(3):
            yield from _conv(f"{at}.blocks.{block}.res2net_block.blocks.{inner}.conv", part, part, 3)
        yield from _conv(f"{at}.blocks.{block}.tdnn2.conv", wide, wide, 1)
        yield from _conv(f"{at}.blocks.{block}.se_block.conv1", 80, wide, 1)
        yield from _conv(f"{at}.blocks.{block}.se_block.conv2", wide, 80, 1)
    last = ENC_CHANNELS[-1]
    yield from _conv(f"{at}.mfa.conv", last, 3 * wide, 1)
    yield from _conv(f"{at}.asp.tdnn.conv", 80, 3 * last, 1)
    yield from _conv(f"{at}.asp.conv", last, 80, 1)
    yield from _conv(f"{at}.fc", HIDDEN, 2 * last, 1)


def codec_shapes() -> Shapes:
    yield from _decoder_shapes()
    yield from _encoder_shapes()


def _decoder_shapes() -> Shapes:
    half = CODE_DIM // 2
    for name, layers in (("rvq_first", 1), ("rvq_rest", GROUPS - 1)):
        at = f"decoder.quantizer.{name}"
        yield f"{at}.input_proj.weight", (half, CODE_DIM, 1)
        yield f"{at}.output_proj.weight", (CODE_DIM, half, 1)
        for i in range(layers):
            yield f"{at}.vq.layers.{i}._codebook.cluster_usage", (CODEBOOK,)
            yield f"{at}.vq.layers.{i}._codebook.embedding_sum", (CODEBOOK, half)
    yield from _conv("decoder.pre_conv.conv", LATENT, CODE_DIM, 3)
    at = "decoder.pre_transformer"
    yield from _linear(f"{at}.input_proj", CODEC_HIDDEN, LATENT)
    yield from _linear(f"{at}.output_proj", LATENT, CODEC_HIDDEN)
    yield f"{at}.norm.weight", (CODEC_HIDDEN,)
    for i in range(CODEC_LAYERS):
        layer = f"{at}.layers.{i}"
        for name in "qkvo":
            yield f"{layer}.self_attn.{name}_proj.weight", (CODEC_HIDDEN, CODEC_HIDDEN)
        yield f"{layer}.mlp.gate_proj.weight", (CODEC_INNER, CODEC_HIDDEN)
        yield f"{layer}.mlp.up_proj.weight", (CODEC_INNER, CODEC_HIDDEN)
        yield f"{layer}.mlp.down_proj.weight", (CODEC_HIDDEN, CODEC_INNER)
        for name in ("input_layernorm.weight", "post_attention_layernorm.weight", "self_attn_layer_scale.scale", "mlp_layer_scale.scale"):  # fmt: skip
            yield f"{layer}.{name}", (CODEC_HIDDEN,)
    for i, factor in enumerate(RATIOS):
        yield from _conv(f"decoder.upsample.{i}.0.conv", LATENT, LATENT, factor)
        at = f"decoder.upsample.{i}.1"
        yield from _conv(f"{at}.dwconv.conv", LATENT, 1, 7)
        yield from ((f"{at}.{name}", (LATENT,)) for name in ("norm.weight", "norm.bias", "gamma"))
        yield from _linear(f"{at}.pwconv1", 4 * LATENT, LATENT)
        yield from _linear(f"{at}.pwconv2", LATENT, 4 * LATENT)
    yield from _conv("decoder.decoder.0.conv", DECODER_DIM, LATENT, 7)
    for i, rate in enumerate(RATES, 1):
        wide, narrow = DECODER_DIM >> (i - 1), DECODER_DIM >> i
        at = f"decoder.decoder.{i}.block"
        yield from _snake(f"{at}.0", wide)
        yield f"{at}.1.conv.weight", (wide, narrow, 2 * rate)
        yield f"{at}.1.conv.bias", (narrow,)
        for unit in (2, 3, 4):
            yield from _snake(f"{at}.{unit}.act1", narrow)
            yield from _conv(f"{at}.{unit}.conv1.conv", narrow, narrow, 7)
            yield from _snake(f"{at}.{unit}.act2", narrow)
            yield from _conv(f"{at}.{unit}.conv2.conv", narrow, narrow, 1)
    last = DECODER_DIM >> len(RATES)
    yield from _snake(f"decoder.decoder.{len(RATES) + 1}", last)
    yield from _conv(f"decoder.decoder.{len(RATES) + 2}.conv", 1, last, 7)


def _encoder_shapes() -> Shapes:
    at = "encoder.encoder.layers"
    yield from _conv(f"{at}.0.conv", FILTERS, 1, 7)
    wide = FILTERS
    for i, ratio in enumerate(reversed(ENC_RATIOS)):
        yield from _conv(f"{at}.{3 * i + 1}.block.1.conv", wide // 2, wide, 3)
        yield from _conv(f"{at}.{3 * i + 1}.block.3.conv", wide, wide // 2, 1)
        yield from _conv(f"{at}.{3 * i + 3}.conv", 2 * wide, wide, 2 * ratio)
        wide *= 2
    yield from _conv(f"{at}.14.conv", ENC_HIDDEN, wide, 3)
    for i in range(ENC_LAYERS):
        layer = f"encoder.encoder_transformer.layers.{i}"
        for name in "qkvo":
            yield f"{layer}.self_attn.{name}_proj.weight", (ENC_HIDDEN, ENC_HIDDEN)
        yield f"{layer}.mlp.fc1.weight", (ENC_INNER, ENC_HIDDEN)
        yield f"{layer}.mlp.fc2.weight", (ENC_HIDDEN, ENC_INNER)
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"{layer}.{name}.weight", (ENC_HIDDEN,)
            yield f"{layer}.{name}.bias", (ENC_HIDDEN,)
        yield f"{layer}.self_attn_layer_scale.scale", (ENC_HIDDEN,)
        yield f"{layer}.mlp_layer_scale.scale", (ENC_HIDDEN,)
    yield "encoder.downsample.conv.weight", (ENC_HIDDEN, ENC_HIDDEN, 4)
    for name, layers in (("semantic", 1), ("acoustic", ENC_QUANTIZERS - 1)):
        at = f"encoder.quantizer.{name}_residual_vector_quantizer"
        yield f"{at}.input_proj.weight", (ENC_CODE, ENC_HIDDEN, 1)
        yield f"{at}.output_proj.weight", (ENC_HIDDEN, ENC_CODE, 1)
        for i in range(layers):
            yield f"{at}.layers.{i}.codebook.cluster_usage", (CODEBOOK,)
            yield f"{at}.layers.{i}.codebook.embed_sum", (CODEBOOK, ENC_CODE)
            yield f"{at}.layers.{i}.codebook.initialized", (1,)


def _linear(name: str, rows: int, columns: int) -> Shapes:
    yield f"{name}.weight", (rows, columns)
    yield f"{name}.bias", (rows,)


def _conv(name: str, rows: int, columns: int, kernel: int) -> Shapes:
    yield f"{name}.weight", (rows, columns, kernel)
    yield f"{name}.bias", (rows,)


def _snake(name: str, channels: int) -> Shapes:
    yield f"{name}.alpha", (channels,)
    yield f"{name}.beta", (channels,)


# ---------------------------------------------------------------- values


def _fill(shapes: Shapes, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Each weight has a stream of its own (seed and name), so that adding one leaves the others alone."""
    for name, shape in shapes:
        stream = np.random.default_rng([seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")])
        yield name, _values(name, shape, stream)


def _values(name: str, shape: tuple[int, ...], stream: np.random.Generator) -> np.ndarray:
    if name.endswith("initialized"):
        return np.ones(shape, np.float32)
    if name.endswith("cluster_usage"):
        return 1 + stream.random(shape, np.float32)
    normal = stream.standard_normal(shape, np.float32)
    if name.endswith(("embed_sum", "embedding_sum")):
        return normal * np.float32(1.2)
    if name.endswith((".alpha", ".beta")):
        return normal * np.float32(0.2)
    if name.endswith((".scale", ".gamma")):
        return np.float32(0.3) + np.float32(0.1) * normal
    if len(shape) == 1:
        return 1 + np.float32(0.1) * normal if name.endswith("weight") else np.float32(0.05) * normal
    if "embedding" in name:
        return normal * np.float32(0.7)
    gain = 1.2 if len(shape) == 2 else 1.0
    return normal * np.float32(gain / math.sqrt(math.prod(shape[1:])))


def _link_all(source: Path, target: Path) -> None:
    for file in source.iterdir():
        (target / file.name).unlink(missing_ok=True)
        try:
            os.link(file, target / file.name)
        except OSError:
            shutil.copyfile(file, target / file.name)


def _write_weights(path: Path, weights: dict[str, np.ndarray]) -> None:
    from safetensors.numpy import save_file

    save_file(weights, path, metadata={"format": "pt"})


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for built in build_all(Path(sys.argv[1])).values():
        print(built, digest(built)[:16])
