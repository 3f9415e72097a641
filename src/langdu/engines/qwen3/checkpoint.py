"""Load a checkpoint whole or not at all.

mlx-audio's classes hold the weights; its loader is not used, because it prints a warning and goes on when the
tokenizer or the codec is missing or does not fit, and then writes silence or noise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langdu.engines.qwen3 import device as devices
from langdu.engines.qwen3.sampling import Sampling, from_generation_config
from langdu.engines.qwen3.tokenizer import Tokenizer
from langdu.errors import DependencyError, ModelError, SettingError

Kind = Literal["base", "voice_design", "custom_voice"]
KINDS: tuple[Kind, ...] = ("base", "voice_design", "custom_voice")
PRECISIONS = ("", "float32", "bfloat16", "float16")
SOURCE = "Fetch the model again, or check the folder: langdu models check."


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model ready to speak. `model` is mlx_audio's Model: `.talker`, `.speaker_encoder`, `.speech_tokenizer`."""

    model: Any
    config: Any
    """mlx_audio's ModelConfig."""
    kind: Kind
    size: str
    """"0b6" or "1b7"."""
    tokenizer: Tokenizer
    defaults: Sampling
    path: Path
    revision: str
    precision: str
    """"8bit", "bfloat16", "float32", …: of the talker's weights."""
    device: str

    @property
    def talker(self) -> Any:
        return self.model.talker

    @property
    def languages(self) -> dict[str, int]:
        """Names (lower case) to codec ids; dialects among them."""
        return dict(self.config.talker_config.codec_language_id or {})

    @property
    def speakers(self) -> tuple[str, ...]:
        return tuple(self.config.talker_config.spk_id or {})


def load(path: Path, *, device: str = "auto", precision: str = "", slots: int = 1, context: int = 2048) -> Checkpoint:
    """Read the checkpoint in `path` onto `device`.

    `precision` casts weights that are not quantised ("" keeps them); the codec always computes in float32.
    Raises DeviceError and CapacityError before any weight is read, ModelError for whatever is missing or of
    another shape, DependencyError for an mlx-audio that is not there.
    """
    if precision not in PRECISIONS:
        raise SettingError(f'There is no precision "{precision}".', hint=f"Known: {', '.join(PRECISIONS[1:])}.")
    config = read_json(path / "config.json")
    kind = _kind(config, path)
    generation = read_json(path / "generation_config.json")
    where = devices.choose(device)
    files = weight_files(path)
    codec_files = weight_files(path / "speech_tokenizer")
    size = sum(file.stat().st_size for file in (*files, *codec_files))
    value_bytes = 4 if precision == "float32" or where == "cpu" else 2
    need = devices.estimate(config, size, slots=slots, context=context, bytes_per_value=value_bytes)
    devices.check_memory(need, where)
    tokenizer = Tokenizer(path)
    model, parsed = _model(config, files, path)
    if precision:
        _cast(model, precision)
    model.tokenizer = tokenizer
    model.load_speech_tokenizer(_codec(path / "speech_tokenizer", codec_files))
    return Checkpoint(
        model, parsed, kind, str(config.get("tts_model_size", "")), tokenizer, from_generation_config(generation),
        path, revision(path), precision_of(model, config), where,
    )  # fmt: skip


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path} is missing.", hint=SOURCE) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error}).", hint=SOURCE) from None
    if not isinstance(found, dict):
        raise ModelError(f"{path} is not a JSON object.", hint=SOURCE)
    return found


def weight_files(folder: Path) -> list[Path]:
    """The folder's safetensors files; ModelError when there are none or fewer than the index names."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        what = "The codec is missing: " if folder.name == "speech_tokenizer" else ""
        raise ModelError(f"{what}there are no weights (*.safetensors) in {folder}.", hint=SOURCE)
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        named = set(read_json(index).get("weight_map", {}).values())
        missing = sorted(named - {file.name for file in files})
        if missing:
            raise ModelError(f"{folder / missing[0]} is missing (and {len(missing) - 1} more).", hint=SOURCE)
    return files


def revision(folder: Path) -> str:
    """What identifies a checkpoint: a hash over its configurations' bytes and its weights' headers and samples.

    Hashing gigabytes costs seconds at each start. A safetensors header names every tensor, type and offset;
    with 64 kB from the start, middle and end of the values it tells published files and conversions apart.
    """
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".txt", ".safetensors")):
        if file.name == "langdu.json":
            continue  # the store's own note
        total.update(str(file.relative_to(folder)).encode())
        total.update(_fingerprint(file) if file.suffix == ".safetensors" else file.read_bytes())
    return total.hexdigest()[:16]


def _fingerprint(file: Path, block: int = 65_536) -> bytes:
    size = file.stat().st_size
    with file.open("rb") as stream:
        header = int.from_bytes(stream.read(8), "little")
        parts = [size.to_bytes(8, "little"), stream.read(min(header, size))]
        for start in (8 + header, (8 + header + size) // 2, size - block):
            stream.seek(max(0, start))
            parts.append(stream.read(block))
    return hashlib.sha256(b"".join(parts)).digest()


def precision_of(model: Any, config: Mapping[str, Any]) -> str:
    quantization = config.get("quantization") or config.get("quantization_config")
    if quantization:
        return f"{quantization['bits']}bit"
    return str(model.talker.codec_head.weight.dtype).removeprefix("mlx.core.")


def _kind(config: Mapping[str, Any], path: Path) -> Kind:
    if config.get("model_type") != "qwen3_tts":
        raise ModelError(f"{path} holds a {config.get('model_type')!r} model, not qwen3_tts.", hint=SOURCE)
    tokenizer = config.get("tokenizer_type", "qwen3_tts_tokenizer_12hz")
    if tokenizer != "qwen3_tts_tokenizer_12hz":
        raise ModelError(f"{path} uses the codec {tokenizer}; only the 12 Hz one is supported.")
    for kind in KINDS:
        if config.get("tts_model_type") == kind:
            return kind
    raise ModelError(f"{path}: tts_model_type {config.get('tts_model_type')!r} is none of {', '.join(KINDS)}.")


def _model(config: dict[str, Any], files: list[Path], path: Path) -> tuple[Any, Any]:
    import mlx.core as mx

    try:
        from mlx_audio.tts.models.qwen3_tts import ModelConfig
        from mlx_audio.tts.models.qwen3_tts.qwen3_tts import Model
        from mlx_audio.utils import apply_quantization
    except ImportError as error:
        hint = "Install it with: pip install 'langdu[qwen3]'"
        raise DependencyError(f"mlx-audio cannot be imported ({error}).", hint=hint) from None
    try:
        parsed = ModelConfig.from_dict(json.loads(json.dumps(config)))
        model = Model(parsed)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ModelError(
            f"{path / 'config.json'} does not describe a Qwen3-TTS model ({error}).", hint=SOURCE
        ) from None
    weights = model.sanitize(_read_weights(files))
    apply_quantization(model, config, weights, model.model_quant_predicate)
    _assign(model, weights, files[0])
    mx.eval(model.parameters())
    model.eval()
    return model, parsed


def _codec(folder: Path, files: list[Path]) -> Any:
    import mlx.core as mx
    from mlx_audio.tts.models.qwen3_tts import config as configs
    from mlx_audio.tts.models.qwen3_tts.speech_tokenizer import Qwen3TTSSpeechTokenizer

    found = read_json(folder / "config.json")
    for part in ("encoder_config", "decoder_config"):
        if not isinstance(found.get(part), dict):
            raise ModelError(f"{folder / 'config.json'} has no {part}.", hint=SOURCE)
    names = configs.filter_dict_for_dataclass(configs.Qwen3TTSTokenizerConfig, found)
    codec = Qwen3TTSSpeechTokenizer(configs.Qwen3TTSTokenizerConfig(**names))
    weights = Qwen3TTSSpeechTokenizer.sanitize(_read_weights(files))
    # Rounded convolutions are audible, and the codec is a hundredth of the work: it computes in float32.
    weights = {name: value.astype(mx.float32) for name, value in weights.items()}
    _assign(codec, weights, files[0])
    quantizer = codec.encoder_model.quantizer
    for layer in (*quantizer.rvq_first.vq.layers, *quantizer.rvq_rest.vq.layers):
        layer.codebook.update_in_place()
    for layer in codec.encoder_model.encoder_transformer.transformer.layers:
        layer.gating.activation = _exact_gelu
    mx.eval(codec.parameters())
    codec.eval()
    return codec


def _exact_gelu(x: Any) -> Any:
    """The official encoder's GELU; mlx-audio leaves the tanh approximation, which can turn a close code over."""
    from mlx.nn.layers.activations import gelu

    return gelu(x)


def _read_weights(files: Iterable[Path]) -> dict[str, Any]:
    import mlx.core as mx

    weights: dict[str, Any] = {}
    for file in files:
        try:
            loaded: Any = mx.load(str(file))
            weights.update(loaded)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"{file} cannot be read ({error}).", hint=SOURCE) from None
    return weights


def _assign(module: Any, weights: Mapping[str, Any], file: Path) -> None:
    """Every parameter gets its weight, every weight has its parameter, all shapes agree; else ModelError."""
    from mlx.utils import tree_flatten

    wanted = dict(tree_flatten(module.parameters()))
    missing, extra = sorted(set(wanted) - set(weights) - _computed(wanted)), sorted(set(weights) - set(wanted))
    if missing:
        raise ModelError(f"{file.parent}: {_some(missing)} missing from the weights.", hint=SOURCE)
    if extra:
        hint = "A quantised folder needs its quantization block: langdu models repair." if _scales(extra) else SOURCE
        raise ModelError(f"{file.parent}: {_some(extra)} in the weights, but not in the model.", hint=hint)
    weights = {name: _oriented(name, value, tuple(wanted[name].shape)) for name, value in weights.items()}
    for name, value in weights.items():
        if tuple(value.shape) != tuple(wanted[name].shape):
            raise ModelError(
                f"{file.parent}: {name} has the shape {tuple(value.shape)}, the configuration says "
                f"{tuple(wanted[name].shape)}.", hint=SOURCE,
            )  # fmt: skip
    module.load_weights(list(weights.items()), strict=False)


def _oriented(name: str, value: Any, wanted: tuple[int, ...]) -> Any:
    """A convolution's weight in MLX's order, where mlx-audio's guess from the sizes alone went wrong.

    It takes (out, in, kernel) for (out, kernel, in) whenever the kernel is longer than the input is wide, and
    kernels of 1 by whether the input is wider than 64.
    """
    if value.ndim != 3 or tuple(value.shape) == wanted:
        return value
    transposed = name.startswith("decoder.") and (
        ".block.1.conv" in name or (".upsample." in name and ".0.conv" in name)
    )
    return value.transpose((1, 2, 0) if transposed else (0, 2, 1))


def _computed(wanted: Iterable[str]) -> set[str]:
    """Parameters that come from others after loading, and flags that only training looks at."""
    ends = ("codebook._embedding", "codebook._c2", "codebook.initialized")
    return {name for name in wanted if name.endswith(ends)}


def _scales(names: Iterable[str]) -> bool:
    return any(name.endswith((".scales", ".biases")) for name in names)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more are" if len(names) > 3 else (" is" if len(names) == 1 else " are")
    return ", ".join(names[:3]) + more


def _cast(model: Any, precision: str) -> None:
    import mlx.core as mx
    from mlx.utils import tree_map

    target = getattr(mx, precision)
    model.update(tree_map(lambda x: x.astype(target) if mx.issubdtype(x.dtype, mx.floating) else x, model.parameters()))
    mx.eval(model.parameters())
