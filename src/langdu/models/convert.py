"""Quantise a Qwen3-TTS folder for MLX.

The same modules are quantised as in the published conversions (mlx-audio's own predicate decides). All
other weights keep their bytes and their layout, and codec and tokenizer files are copied as they are.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langdu.errors import CapacityError, DependencyError, ModelError, OutputError, SettingError
from langdu.models import check_qwen3
from langdu.models.store import MANIFEST, Progress, Report, write_manifest

BITS = (4, 6, 8)
GROUP_SIZES = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class GroupError:
    """How far the quantised weights of one kind of layer are from the original ones.

    `relative`: rms of the difference over rms of the weights, all matrices of the group together; `worst`:
    the same for the worst single matrix.
    """

    group: str
    matrices: int
    relative: float
    worst: float
    worst_name: str


@dataclass(frozen=True, slots=True)
class Converted:
    path: Path
    bits: int
    group_size: int
    bytes_before: int
    bytes_after: int
    groups: tuple[GroupError, ...]


def convert(
    original: Path, out: Path, bits: int, *, group_size: int = 64, report: Report | None = None
) -> Converted:  # fmt: skip
    """Write `original`, quantised to `bits` bits in groups of `group_size` weights, to the new folder `out`.

    Raises SettingError for other bits, ModelError when `original` is not whole or is quantised already,
    OutputError when `out` exists, CapacityError when the disk is too small, DependencyError without MLX.
    """
    if bits not in BITS or group_size not in GROUP_SIZES:
        raise SettingError(f"Cannot quantise to {bits} bits in groups of {group_size}.", hint=_known())
    _check_original(original)
    if out.exists():
        raise OutputError(f"{out} exists already.", hint="Name a folder that does not exist yet.")
    partial = out.with_name(f".{out.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        free = shutil.disk_usage(partial).free
        if free < (need := _folder_bytes(original)):
            message = f"{out.parent} has {free / 1e6:.0f} MB free; {need / 1e6:.0f} MB may be needed."
            raise CapacityError(message, hint="Free some space, or name a folder on another disk.")
        weights, groups = _quantise(original, bits, group_size, report or (lambda progress: None))
        _write(original, partial, weights, {"group_size": group_size, "bits": bits, "mode": "affine"})
        partial.rename(out)
    except OSError as error:
        raise CapacityError(f"{out} cannot be written ({error.strerror or error}).") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Converted(out, bits, group_size, _folder_bytes(original), _folder_bytes(out), groups)


def _check_original(original: Path) -> None:
    if not original.is_dir() or not check_qwen3.looks_like(original):
        raise ModelError(f"{original} holds no Qwen3-TTS model.", hint="Give the folder of an official model.")
    if findings := check_qwen3.check(original):
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        raise ModelError(f"{original}: {findings[0]}{more}.", hint=f"See: langdu models check {original}")
    if check_qwen3.quantization(check_qwen3.read_json(original / "config.json")) is not None:
        raise ModelError(f"{original} is quantised already.", hint="Convert from the official, unquantised model.")


def _quantise(
    original: Path, bits: int, group_size: int, report: Callable[[Progress], None]
) -> tuple[dict[str, Any], tuple[GroupError, ...]]:
    """All weights by name, with those the predicate names packed; and the error of each group of them."""
    try:
        import mlx.core as mx
    except ImportError as error:
        raise DependencyError(f"MLX is not installed ({error}).", hint="Run: pip install 'langdu[qwen3]'") from None
    weights: dict[str, Any] = {}
    for file in sorted(original.glob("*.safetensors")):
        loaded: Any = mx.load(str(file))
        weights |= loaded
    names = [name for name in quantisable(original, group_size) if f"{name}.weight" in weights]
    squares: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for done, name in enumerate(names, 1):
        weight = weights[f"{name}.weight"]
        packed, scales, biases = mx.quantize(weight, group_size=group_size, bits=bits)
        back = mx.dequantize(packed, scales, biases, group_size=group_size, bits=bits).astype(mx.float32)
        difference = (back - weight.astype(mx.float32)).square().sum()
        whole = weight.astype(mx.float32).square().sum()
        mx.eval(packed, scales, biases, difference, whole)
        squares[layer_group(name)].append((difference.item(), whole.item(), name))
        weights |= {f"{name}.weight": packed, f"{name}.scales": scales, f"{name}.biases": biases}
        report(Progress("quantising", done, len(names)))
    return weights, tuple(_group_error(group, values) for group, values in sorted(squares.items()))


def quantisable(original: Path, group_size: int) -> Iterator[str]:
    """Names of the modules to quantise: mlx-audio's predicate, and rows that whole groups fill."""
    from mlx_audio.tts.models.qwen3_tts import ModelConfig
    from mlx_audio.tts.models.qwen3_tts.qwen3_tts import Model

    model = Model(ModelConfig.from_dict(check_qwen3.read_json(original / "config.json")))
    for name, module in model.named_modules():
        fits = hasattr(module, "to_quantized") and module.weight.shape[-1] % group_size == 0
        if fits and model.model_quant_predicate(name, module):
            yield name


def layer_group(name: str) -> str:
    """ "talker attention", "code predictor feed-forward", … for a module's name."""
    part = "code predictor" if ".code_predictor." in f".{name}." else "talker"
    for pattern, kind in ((r"self_attn", "attention"), (r"\.mlp\.", "feed-forward"), (r"head", "heads")):
        if re.search(pattern, name):
            return f"{part} {kind}"
    return f"{part} projections"


def _group_error(group: str, values: list[tuple[float, float, str]]) -> GroupError:
    ratios = [(math.sqrt(d / w) if w else 0.0, name) for d, w, name in values]
    total = math.sqrt(sum(d for d, _, _ in values) / (sum(w for _, w, _ in values) or 1.0))
    worst, name = max(ratios)
    return GroupError(group, len(values), total, worst, name)


def _write(original: Path, out: Path, weights: dict[str, Any], block: dict[str, Any]) -> None:
    import mlx.core as mx

    from langdu.models.catalog import ModelFile
    from langdu.models.files import sha256

    for path in sorted(original.rglob("*")):
        inside = path.relative_to(original)
        own = inside.parent == Path() and (path.suffix == ".safetensors" or path.name == check_qwen3.INDEX)
        if path.is_file() and not own and path.name != MANIFEST and not path.name.startswith("."):
            (out / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, out / inside)
    config = check_qwen3.read_json(original / "config.json") | {"quantization": block, "quantization_config": block}
    (out / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    mx.save_safetensors(str(out / "model.safetensors"), weights, metadata={"format": "mlx"})
    total = sum(value.nbytes for value in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict.fromkeys(sorted(weights), "model.safetensors")}
    (out / check_qwen3.INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    files = [
        ModelFile(path.relative_to(out).as_posix(), path.stat().st_size, sha256(path))
        for path in sorted(out.rglob("*"))
        if path.is_file()
    ]
    write_manifest(
        out, out.name.removeprefix(".").removesuffix(".partial"), "Apache-2.0", f"converted from {original.name}", files
    )


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _known() -> str:
    return f"Bits: {', '.join(map(str, BITS))}; group sizes: {', '.join(map(str, GROUP_SIZES))}."
