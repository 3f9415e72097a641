"""Whether MLX computes on the GPU: a product of matrices timed there and on the CPU, not a flag.

Frameworks have sent work to the CPU with clean logs before; the clock and the numbers show it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from langdu.doctor.child import Died
from langdu.doctor.finding import Finding
from langdu.doctor.machine import Hardware

SIZE_GPU, REPEATS_GPU = 2048, 16
SIZE_CPU, REPEATS_CPU = 768, 3
TIMED_RUNS = 3
CLEARLY_FASTER = 1.5
"""GPU over CPU, in float32. The smallest Apple GPU has about twice the float32 rate of its CPU's matrix unit."""
TOLERANCE = 2e-2
"""Largest difference between the two products over the largest value: tf32 keeps 10 bits of mantissa (1e-3)."""
NEWEST_CUDA_12_DRIVER = 580
"""From this driver on CUDA 13 runs."""


@dataclass(frozen=True, slots=True)
class Computed:
    """What MLX says and what it did. Rates in GFLOP/s (2·n³ operations a product); 0 where there is no GPU."""

    version: str
    path: str
    default_device: str
    """"gpu" or "cpu"."""
    backend: str
    """"metal", "cuda" or ""."""
    cpu_gflops: float
    gpu_gflops: float = 0.0
    difference: float = 0.0
    device: dict[str, Any] = field(default_factory=dict)
    """MLX's own facts about the device: name, memory, recommended working set."""


def look() -> dict[str, Any]:
    """Import MLX and time it. Runs in a child process."""
    import mlx.core as mx

    gpu = bool(mx.is_available(mx.gpu))
    backend = ("metal" if mx.metal.is_available() else "cuda") if gpu else ""
    default = "gpu" if mx.default_device() == mx.Device(mx.gpu) else "cpu"
    cpu_gflops = _rate(mx, mx.cpu, SIZE_CPU, REPEATS_CPU)
    gpu_gflops = _rate(mx, mx.gpu, SIZE_GPU, REPEATS_GPU) if gpu else 0.0
    from langdu.models.environment import look as find

    version, path = str(getattr(mx, "__version__", "")), str(find("mlx").path)
    facts = {key: value for key, value in mx.device_info().items() if isinstance(value, (str, int, float))}
    difference = _difference(mx) if gpu else 0.0
    return asdict(Computed(version, path, default, backend, cpu_gflops, gpu_gflops, difference, facts))


def _rate(mx: Any, device: Any, size: int, repeats: int) -> float:
    """GFLOP/s of a chain of float32 products; the best of three, after one to warm up."""
    with mx.stream(device):
        a = mx.random.normal((size, size), key=mx.random.key(1)) / size**0.5  # the chain keeps its scale
        best = float("inf")
        for run in range(TIMED_RUNS + 1):
            mx.eval(a)
            started = time.perf_counter()
            product = a
            for _ in range(repeats):
                product = product @ a
            mx.eval(product)
            if run:
                best = min(best, time.perf_counter() - started)
    return float(2 * size**3 * repeats / best / 1e9)


def _difference(mx: Any) -> float:
    """Largest difference between the GPU's and the CPU's product of the same matrices, over the largest value."""
    a, b = (mx.random.normal((512, 512), key=mx.random.key(seed)) for seed in (1, 2))
    mx.eval(a, b)
    on_cpu, on_gpu = mx.matmul(a, b, stream=mx.cpu), mx.matmul(a, b, stream=mx.gpu)
    mx.eval(on_cpu, on_gpu)
    return float(mx.abs(on_cpu - on_gpu).max() / mx.abs(on_cpu).max())


def judge(machine: Hardware, found: Computed | Died | None) -> list[Finding]:
    """Findings on MLX. None: it is not installed."""
    gpu = machine.gpu
    if found is None:
        return [_not_installed(machine)]
    if isinstance(found, Died):
        command = "pip install --force-reinstall 'mlx>=0.32.4,<0.33'"
        return [
            Finding("error" if gpu else "warning", "mlx", "MLX is installed and does not run", found.reason, command)
        ]
    where = f"MLX {found.version}, {found.path}"
    rates = f"{_rate_text(found.gpu_gflops)} on the GPU, {_rate_text(found.cpu_gflops)} on the CPU (float32 product)"
    if not found.backend:
        return [_without_gpu(machine, found, where)]
    name = found.device.get("device_name") or (gpu.name if gpu else "GPU")
    label = "Metal" if found.backend == "metal" else "CUDA"
    if found.difference > TOLERANCE:
        reason = (
            f"the same product differs by {found.difference:.0%} between GPU and CPU; driver or hardware is at fault"
        )
        return [Finding("error", "gpu-used", f"{name} computes wrongly", reason, _reinstall(machine))]
    if found.gpu_gflops < CLEARLY_FASTER * found.cpu_gflops:
        reason = f"{rates}: the work does not seem to reach it, or other programs keep it busy"
        return [
            Finding("warning", "gpu-used", f"{label} is there, but not faster than the CPU", reason, "langdu doctor")
        ]
    if found.default_device != "gpu":
        reason = f"{where} takes the CPU by default although {name} works"
        return [Finding("warning", "gpu-used", "MLX's default device is the CPU", reason, _reinstall(machine))]
    return [
        Finding("ok", "mlx", where, f"default device: {found.default_device}"),
        Finding("ok", "gpu-used", f"{label} computes on {name}", rates),
    ]


def _not_installed(machine: Hardware) -> Finding:
    if machine.gpu is None:
        reason = "Qwen3-TTS runs on it; this machine has no GPU for it, so nothing is missed"
        return Finding("note", "mlx", "MLX is not installed", reason)
    command = "pip install 'langdu[qwen3]'" + (f" {_cuda(machine)}" if machine.gpu.kind == "cuda" else "")
    return Finding("note", "mlx", "MLX is not installed", f"Qwen3-TTS runs on it, on {machine.gpu.name}", command)


def _without_gpu(machine: Hardware, found: Computed, where: str) -> Finding:
    if machine.apple_silicon:
        reason = f"{where} computes on the CPU: a translated Python or a virtual machine has no Metal"
        command = "uv tool install --python cpython-3.12-macos-aarch64 'langdu[all]'"
        return Finding("error", "gpu-used", "Metal is not available, and this is a Mac", reason, command)
    if machine.gpu is not None:
        reason = f"{where} has no CUDA backend and computes on the CPU"
        return Finding(
            "warning", "gpu-used", f"{machine.gpu.name} is not used", reason, f"pip install {_cuda(machine)}"
        )
    return Finding("ok", "mlx", where, f"it computes on the CPU, {_rate_text(found.cpu_gflops)} (float32 product)")


def _cuda(machine: Hardware) -> str:
    """MLX's CUDA package for the driver that is there; the newest when the driver does not say."""
    gpu = machine.gpu
    major = gpu.driver.partition(".")[0] if gpu else ""
    return "'mlx[cuda12]'" if major.isdigit() and int(major) < NEWEST_CUDA_12_DRIVER else "'mlx[cuda13]'"


def _reinstall(machine: Hardware) -> str:
    package = _cuda(machine) if machine.gpu and machine.gpu.kind == "cuda" else "'mlx>=0.32.4,<0.33'"
    return f"pip install --force-reinstall {package}"


def _rate_text(gflops: float) -> str:
    return f"{gflops / 1000:.1f} TFLOP/s" if gflops >= 1000 else f"{gflops:.0f} GFLOP/s"
