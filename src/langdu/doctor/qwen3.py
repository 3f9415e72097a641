"""Whether Qwen3-TTS makes sense on this machine, with which checkpoint, and what to use where it does not."""

from __future__ import annotations

from collections.abc import Iterable

from langdu.doctor.finding import Finding, gigabytes
from langdu.doctor.machine import Gpu, Hardware
from langdu.engines.qwen3.device import SPARE, estimate
from langdu.models.catalog import CATALOG

DEFAULT = "qwen3-1.7b-base-8bit"
SMALLER = ("8bit", "6bit", "4bit")
"""Tried in this order, 1.7B before 0.6B; bf16 only for those who ask for it."""
TALKER = {"talker_config": {"num_hidden_layers": 28, "num_key_value_heads": 8, "head_dim": 128}}
"""Published 0.6B and 1.7B alike."""
CONTEXT = 2048
CPU_REASON = (
    "there is no Apple or NVIDIA GPU: on a CPU it takes several times as long as its sound lasts "
    "(3.3 frames a second measured on two server cores; speech has 12.5)"
)
BUILTIN = 'langdu say -v {voice} "你好，世界。"'


def need_bytes(model: str, size: int = 0) -> int:
    """Memory one row of the model takes: weights, context and codec, as the engine itself estimates them.

    `size`: bytes of weights on disk, for a model that is not in the catalogue.
    """
    weights = size or CATALOG[model].size
    return estimate(TALKER, weights, slots=1, context=CONTEXT, bytes_per_value=2).total


def not_sensible(machine: Hardware) -> str:
    """Why no Qwen3-TTS checkpoint should be tried here; empty when one can be."""
    if machine.translated:
        return "this Python is an x86 one: MLX has no Metal there"
    gpu = machine.gpu
    if gpu is None:
        return CPU_REASON
    if gpu.memory_bytes and best_that_fits(DEFAULT, gpu) is None:
        smallest = min(need_bytes(model) for model in CATALOG if model.endswith("-4bit"))
        return (
            f"the smallest model needs {gigabytes(smallest)}, and {gpu.name} has {gigabytes(gpu.memory_bytes)} for it"
        )
    return ""


def best_that_fits(model: str, gpu: Gpu) -> str | None:
    """The largest checkpoint of `model`'s kind that the GPU's memory holds; None when none does."""
    if model not in CATALOG or CATALOG[model].role != "qwen3":
        return None
    kind = model.split("-")[2]
    names = [f"qwen3-{size}-{kind}-{bits}" for size in ("1.7b", "0.6b") for bits in SMALLER]
    return next((name for name in names if _holds(gpu.memory_bytes, need_bytes(name))), None)


def judge(machine: Hardware, models: Iterable[tuple[str, int]], *, voice: str) -> list[Finding]:
    """One finding on the machine; where it can run Qwen3-TTS, one for each of `models` (name or folder, bytes of
    weights or 0) that it cannot hold. `voice`: the built-in voice to point to."""
    reason = not_sensible(machine)
    if reason:
        what = "Qwen3-TTS (cloned and designed voices) does not make sense on this machine"
        return [
            Finding("note", "qwen3", what, f"{reason}; the built-in voices need no GPU", BUILTIN.format(voice=voice))
        ]
    gpu = machine.gpu
    assert gpu is not None
    if not gpu.memory_bytes:
        return [Finding("ok", "qwen3", f"Qwen3-TTS makes sense here: {gpu.name}", "its memory is not known")]
    best = best_that_fits(DEFAULT, gpu)
    found = [Finding("ok", "qwen3", f"Qwen3-TTS makes sense here: {gpu.name} holds {best}")]
    for model, size in models:
        need = need_bytes(model, size)
        if not _holds(gpu.memory_bytes, need):
            other = best_that_fits(model, gpu)
            reason = f"it needs {gigabytes(need)}, and {gpu.name} has {gigabytes(gpu.memory_bytes)} for it"
            command = f"langdu models get {other}" if other else BUILTIN.format(voice=voice)
            found.append(Finding("warning", "qwen3-memory", f"{model} is larger than memory", reason, command))
        elif not _holds(gpu.free_bytes, need):
            reason = f"it needs {gigabytes(need)}, and {gigabytes(gpu.free_bytes)} are free now: close other programs"
            smaller = best_that_fits(model, Gpu(gpu.kind, gpu.name, gpu.free_bytes))
            command = f"langdu models get {smaller}" if smaller and smaller != model else "langdu doctor --quick"
            found.append(Finding("warning", "qwen3-memory", f"{model} does not fit right now", reason, command))
    return found


def _holds(memory: int, need: int) -> bool:
    return need <= memory * (1 - SPARE)
