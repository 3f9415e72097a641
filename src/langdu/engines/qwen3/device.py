"""Where MLX computes, and whether a checkpoint fits there. Nothing falls back: the wrong device is an error."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

from langdu.errors import CapacityError, DependencyError, DeviceError, SettingError

DEVICES = ("auto", "cpu", "gpu", "metal", "cuda")
CODEC_FRAME_BYTES = 1920 * 96 * 4 * 6
"""What one frame costs while it is decoded: the widest late layer in float32, and six of it alive at once."""
SPARE = 0.10
"""Share of the machine's memory that stays with everything else."""


def choose(wanted: str) -> str:
    """Make `wanted` MLX's default device and return its name: "cpu", "metal" or "cuda".

    "auto" is the best device of this platform: on a Mac that is Metal and nothing less. Raises
    DependencyError without MLX, DeviceError when the device is not there, SettingError for another name.
    """
    if wanted not in DEVICES:
        raise SettingError(f'There is no device "{wanted}".', hint=f"Known: {', '.join(DEVICES)}.")
    try:
        import mlx.core as mx
    except ImportError as error:
        raise DependencyError(
            f"MLX is not installed ({error}).", hint="Install it with: pip install 'langdu[qwen3]'"
        ) from None
    gpu = _gpu(mx)
    if wanted == "auto":
        if platform.system() == "Darwin" and gpu != "metal":
            raise DeviceError(
                "Metal is not available, and this is a Mac.",
                hint="Use a native arm64 Python outside a virtual machine, or ask for the device cpu (slow).",
            )
        wanted = gpu or "cpu"
    elif wanted == "gpu":
        wanted = gpu or "gpu"
    if wanted != "cpu" and wanted != gpu:
        found = f"MLX has {gpu} here" if gpu else "MLX has no GPU here"
        hint = "On NVIDIA install mlx-cuda-13; on a Mac use a native arm64 Python." if not gpu else ""
        raise DeviceError(f"The device {wanted} was asked for; {found}.", hint=hint)
    target = mx.cpu if wanted == "cpu" else mx.gpu
    mx.set_default_device(target)
    if mx.default_device() != mx.Device(target):
        raise DeviceError(f"MLX computes on {mx.default_device()} although {wanted} was asked for.")
    return wanted


def _gpu(mx: Any) -> str:
    """The GPU backend MLX can use now: "metal", "cuda" or ""."""
    if not mx.is_available(mx.gpu):
        return ""
    return "metal" if mx.metal.is_available() else "cuda"


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes a loaded engine takes."""

    weights: int
    context: int
    codec: int

    @property
    def total(self) -> int:
        return self.weights + self.context + self.codec


def estimate(config: dict[str, Any], weights: int, *, slots: int, context: int, bytes_per_value: int) -> Need:
    """`slots` rows of `context` positions each, beside weights of `weights` bytes.

    One position keeps a key and a value of every layer: 2 × layers × kv heads × head size × value size.
    """
    talker = config["talker_config"]
    head = int(talker.get("head_dim", 128))
    position = 2 * int(talker["num_hidden_layers"]) * int(talker["num_key_value_heads"]) * head * bytes_per_value
    return Need(weights, slots * context * position, 325 * CODEC_FRAME_BYTES)


def check_memory(need: Need, device: str, *, available: int | None = None) -> None:
    """Raises CapacityError with the numbers when `need` does not fit into the memory `device` computes in."""
    free = available_bytes(device) if available is None else available
    if need.total > free * (1 - SPARE):
        parts = f"weights {_gb(need.weights)}, context {_gb(need.context)}, codec {_gb(need.codec)}"
        raise CapacityError(
            f"The model needs {_gb(need.total)} ({parts}), and {_gb(free)} are free on this {device} device.",
            hint="Close other programs, take a smaller or more quantised model, or fewer slots.",
        )


def available_bytes(device: str) -> int:
    """Free memory where `device` computes: the GPU's own for CUDA, the machine's otherwise (a Mac shares it)."""
    import mlx.core as mx
    import psutil

    free = int(psutil.virtual_memory().available)
    if device == "cpu":
        return free
    facts = mx.device_info()
    for name in ("free_memory", "max_recommended_working_set_size", "total_memory", "memory_size"):
        if name in facts:
            own = int(facts[name])
            return min(own, free) if device == "metal" else own
    return free


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
