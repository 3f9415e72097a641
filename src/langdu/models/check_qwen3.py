"""What a Qwen3-TTS folder in the hub's layout must hold, and what is wrong with this one.

config.json               the model; a `quantization` block when the weights are quantised
generation_config.json    sampling
model*.safetensors        talker, code predictor, and (Base) speaker encoder
vocab.json merges.txt tokenizer_config.json, or tokenizer.json
speech_tokenizer/         config.json and model.safetensors of the codec, encoder and decoder
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from langdu.errors import ModelError
from langdu.models.check import Finding, Mend
from langdu.models.quantization import Quantization, infer
from langdu.models.safetensors import Tensor, read_header

KINDS = ("base", "custom_voice", "voice_design")
CODEC = "speech_tokenizer"
INDEX = "model.safetensors.index.json"
TOKENIZER = ("vocab.json", "merges.txt", "tokenizer_config.json")
TOKEN_IDS = {"im_start_token_id": "<|im_start|>", "im_end_token_id": "<|im_end|>"}

Found = Iterator[Finding]


def looks_like(folder: Path) -> bool:
    """Whether the folder is, or was meant to be, a Qwen3-TTS model (config.json itself may be what is missing)."""
    try:
        kind = read_json(folder / "config.json").get("model_type")
    except ModelError:
        return (folder / CODEC).is_dir() or any(folder.glob("*.safetensors"))
    return kind == "qwen3_tts" or (folder / CODEC).is_dir() or any(folder.glob("*.safetensors"))


def check(folder: Path) -> list[Finding]:
    findings = list(_config(folder))
    tensors, faults = weights(folder)
    findings += faults
    if not findings:
        findings += against_weights(read_json(folder / "config.json"), tensors)
    if not faults:
        findings += _quantization(folder, tensors)
    findings += _json(folder, "generation_config.json", "generation-config")
    findings += _tokenizer(folder)
    findings += _codec(folder)
    return findings


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. ModelError says in a few words what is wrong with the file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ModelError("is missing") from None
    except OSError as error:
        raise ModelError(f"cannot be read ({error.strerror})") from None
    if not raw.strip():
        raise ModelError("is empty")
    if raw.lstrip()[:1] == b"<":
        raise ModelError("holds a web page (HTML), not JSON")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"is not JSON ({str(error)[:80]})") from None
    if not isinstance(found, dict):
        raise ModelError("is not a JSON object")
    return found


def weights(folder: Path) -> tuple[dict[str, Tensor], list[Finding]]:
    """Every tensor of the folder's own safetensors files (not of folders in it), and what is wrong with them."""
    at = f"{folder.name}/" if folder.name == CODEC else ""
    mend: Mend = "original" if at else "fetch"
    findings: list[Finding] = []
    tensors: dict[str, Tensor] = {}
    files = sorted(folder.glob("*.safetensors"))
    named: set[str] = set()
    if (folder / INDEX).is_file():
        try:
            named = set(map(str, read_json(folder / INDEX).get("weight_map", {}).values()))
        except (ModelError, AttributeError):
            findings.append(Finding("index-damaged", at + INDEX, "cannot be read", mend))
    for name in sorted(named - {file.name for file in files}):
        findings.append(Finding("weights-missing", at + name, f"is missing, {INDEX} names it", mend))
    if not files and not findings:
        findings.append(Finding("weights-missing", at + "model.safetensors", "is missing", mend))
    for file in files:
        try:
            tensors |= read_header(file)
        except ModelError as error:
            findings.append(Finding("weights-damaged", at + file.name, error.message, mend))
    return tensors, findings


def against_weights(config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Found:
    """Whether the weights are those the configuration describes: layers, widths, the parts its kind needs."""
    kind = config.get("tts_model_type")
    speaks = any(name.startswith("speaker_encoder.") for name in tensors)
    if kind == "base" and not speaks:
        yield Finding("other-variant", "config.json", "says Base, but the weights have no speaker encoder", "original")
    if kind in KINDS[1:] and speaks:
        yield Finding("other-variant", "config.json", f"says {kind}, but the weights are of a Base model", "original")
    if kind == "custom_voice" and not config["talker_config"].get("spk_id"):
        yield Finding("other-variant", "config.json", "says custom_voice, but names no speakers", "original")
    missing, wrong = [], []
    for name, shape in _expected(config["talker_config"]):
        tensor = tensors.get(f"{name}.weight")
        if tensor is None:
            missing.append(name)
        elif tensor.shape[0] != shape[0] or (f"{name}.scales" not in tensors and tensor.shape != shape):
            wrong.append(f"{name} is {_by(tensor.shape)}, the configuration says {_by(shape)}")
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield Finding("tensors-missing", "model.safetensors", f"lacks {missing[0]}{more}", "fetch")
    if wrong:
        more = f" ({len(wrong) - 1} more differ)" if len(wrong) > 1 else ""
        yield Finding("other-variant", "config.json", f"is of another model: {wrong[0]}{more}", "original")


def quantization(config: Mapping[str, Any]) -> dict[str, Any] | None:
    found = config.get("quantization") or config.get("quantization_config")
    return found if isinstance(found, dict) else None


def agrees(block: Mapping[str, Any], found: Quantization) -> bool:
    """Whether a `quantization` block says what the shapes say; notes on modules without scales do not matter."""
    wanted = found.block()
    return all(block.get(key, "affine" if key == "mode" else None) == wanted[key] for key in wanted)


def _config(folder: Path) -> Found:
    try:
        config = read_json(folder / "config.json")
    except ModelError as error:
        code = "config-missing" if error.message == "is missing" else "config-damaged"
        yield Finding(code, "config.json", error.message, "original")
        return
    if config.get("model_type") != "qwen3_tts":
        yield Finding("other-model", "config.json", f"is of {config.get('model_type')!r}, not of qwen3_tts", "original")
        return
    if not isinstance(config.get("talker_config"), dict):
        yield Finding("config-incomplete", "config.json", "lacks talker_config", "original")
        return
    for numbers in _numbers(config["talker_config"]):
        for key, value in numbers.items():
            if not isinstance(value, int) or not 0 < value < 10_000_000:
                yield Finding("config-damaged", "config.json", f"has {key} = {value!r}", "original")
                return
    if config.get("tts_model_type") not in KINDS:
        kind = config.get("tts_model_type")
        yield Finding("config-incomplete", "config.json", f"tts_model_type {kind!r} is unknown", "original")


def _quantization(folder: Path, tensors: Mapping[str, Tensor]) -> Found:
    try:
        found = infer(tensors)
    except ModelError as error:
        yield Finding("scales-damaged", "model.safetensors", error.message, "fetch")
        return
    try:
        block = quantization(read_json(folder / "config.json"))
    except ModelError:
        return  # named already
    if found is not None and block is None:
        message = f"has no quantization block; the weights are {found.bits} bit in groups of {found.group_size}"
        yield Finding("quantization-missing", "config.json", message, "repair")
    elif found is not None and block is not None and not agrees(block, found):
        message = (
            f"says {block.get('bits')} bit in groups of {block.get('group_size')}; "
            f"the weights are {found.bits} bit in groups of {found.group_size}"
        )
        yield Finding("quantization-wrong", "config.json", message, "repair")
    elif found is None and block is not None:
        yield Finding(
            "quantization-unfounded", "config.json", "has a quantization block; the weights are whole", "repair"
        )


def _json(folder: Path, name: str, code: str) -> Found:
    try:
        read_json(folder / name)
    except ModelError as error:
        state = "missing" if error.message == "is missing" else "damaged"
        yield Finding(f"{code}-{state}", name, error.message, "original")


def _tokenizer(folder: Path) -> Found:
    if (folder / "tokenizer.json").is_file():
        yield from _json(folder, "tokenizer.json", "tokenizer")
        return
    bad: list[Finding] = []
    for name in TOKENIZER:
        if name.endswith(".json"):
            bad += _json(folder, name, "tokenizer")
        elif not (folder / name).is_file():
            bad.append(Finding("tokenizer-missing", name, "is missing", "original"))
        elif (folder / name).read_bytes().lstrip()[:1] in (b"", b"<"):
            bad.append(Finding("tokenizer-damaged", name, "is not a list of merges", "original"))
    yield from bad
    if bad:
        return
    added = read_json(folder / "tokenizer_config.json").get("added_tokens_decoder", {})
    try:
        config = read_json(folder / "config.json")
    except ModelError:
        return
    for key, token in TOKEN_IDS.items():
        own = added.get(str(config.get(key)), {}) if isinstance(added, dict) else {}
        if key in config and own.get("content") != token:
            message = f"has no {token} at {config[key]}, where config.json expects it"
            yield Finding("tokenizer-of-another-model", "tokenizer_config.json", message, "original")
            return


def _codec(folder: Path) -> Found:
    codec = folder / CODEC
    if not codec.is_dir():
        yield Finding("codec-missing", f"{CODEC}/", "is missing: no sound can be made", "original")
        return
    bad = list(_json(codec, "config.json", "codec-config"))
    yield from (Finding(one.code, f"{CODEC}/{one.file}", one.message, one.mend) for one in bad)
    if not bad:
        config = read_json(codec / "config.json")
        for part in ("encoder_config", "decoder_config"):
            if not isinstance(config.get(part), dict):
                yield Finding("codec-config-incomplete", f"{CODEC}/config.json", f"lacks {part}", "original")
    tensors, faults = weights(codec)
    yield from faults
    if faults:
        return
    for part, use in (("decoder", "no sound can be made"), ("encoder", "no voice can be cloned")):
        if not any(name.startswith((f"{part}.", f"{part}_model.")) for name in tensors):
            file = f"{CODEC}/model.safetensors"
            yield Finding(f"codec-{part}-missing", file, f"lacks the codec's {part}: {use}", "original")


_SHARED = {
    "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 8,
    "head_dim": 128, "num_code_groups": 16,
}  # fmt: skip
_TALKER = {**_SHARED, "vocab_size": 3072, "num_hidden_layers": 28, "text_vocab_size": 151936, "text_hidden_size": 2048}
_PREDICTOR = {**_SHARED, "vocab_size": 2048, "num_hidden_layers": 5}


def _numbers(talker: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sizes of talker and code predictor; what a configuration leaves out has the architecture's default."""
    predictor = talker.get("code_predictor_config")
    own = predictor if isinstance(predictor, dict) else {}
    return {k: talker.get(k, v) for k, v in _TALKER.items()}, {k: own.get(k, v) for k, v in _PREDICTOR.items()}


def _expected(talker: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    """The matrices of talker and code predictor: name and (rows, columns) before quantising."""
    talker, predictor = _numbers(talker)
    hidden, sub = talker["hidden_size"], predictor["hidden_size"]
    yield "talker.model.text_embedding", (talker["text_vocab_size"], talker["text_hidden_size"])
    yield "talker.model.codec_embedding", (talker["vocab_size"], hidden)
    yield "talker.codec_head", (talker["vocab_size"], hidden)
    yield from _layers("talker.model.layers", talker)
    yield from _layers("talker.code_predictor.model.layers", predictor)
    for group in range(talker["num_code_groups"] - 1):
        yield f"talker.code_predictor.model.codec_embedding.{group}", (predictor["vocab_size"], hidden)
        yield f"talker.code_predictor.lm_head.{group}", (predictor["vocab_size"], sub)


def _layers(at: str, config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, kv = (config[key] * config["head_dim"] for key in ("num_attention_heads", "num_key_value_heads"))
    for i in range(config["num_hidden_layers"]):
        for name, rows in (("q", heads), ("k", kv), ("v", kv)):
            yield f"{at}.{i}.self_attn.{name}_proj", (rows, hidden)
        yield f"{at}.{i}.self_attn.o_proj", (hidden, heads)
        yield f"{at}.{i}.mlp.gate_proj", (inner, hidden)
        yield f"{at}.{i}.mlp.up_proj", (inner, hidden)
        yield f"{at}.{i}.mlp.down_proj", (hidden, inner)


def _by(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
