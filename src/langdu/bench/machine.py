"""Where a bench ran: enough to tell two machines apart, and to run it again with the same versions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from langdu import __version__
from langdu.synthesis.capacity import Machine

PACKAGES = (
    "numpy", "onnxruntime", "mlx", "mlx-metal", "mlx-cuda-12", "mlx-cuda-13", "mlx-cpu", "mlx-audio", "transformers",
    "tokenizers", "faster-whisper", "ctranslate2", "misaki", "wetext",
)  # fmt: skip
PROBE_S = 60.0
BUSY = 0.25
"""Share of the cores at work before the bench began, from which on it says so."""


def describe() -> dict[str, Any]:
    """System, processor, cores, memory and GPU; `id` is the same for the same machine, `busy` is its load before."""
    import psutil

    here = Machine.here()
    gpu = gpu_facts()
    facts: dict[str, Any] = {
        "system": platform.system(), "release": platform.release(), "architecture": platform.machine(),
        "cpu": cpu_name(), "cores": here.cores, "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "gpu": gpu.get("name", ""), "gpu_memory_gb": round(gpu.get("total", 0) / 1e9, 1),
        "mlx_device": gpu.get("device", ""), "python": platform.python_version(),
    }  # fmt: skip
    identity = [facts[name] for name in ("system", "architecture", "cpu", "cores", "memory_gb", "gpu")]
    return facts | {
        "id": hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12],
        "free_mb": here.free_mb,
        "busy": round(os.getloadavg()[0] / here.cores, 2),
    }


def named(machine: dict[str, Any]) -> str:
    """One line for a machine's facts."""
    gpu = f", {machine['gpu']} ({machine['gpu_memory_gb']} GB)" if machine.get("gpu") else ""
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB{gpu}, {machine['system']}"


def versions() -> dict[str, str]:
    """Langdu's and those of the packages that decide speed or sound."""
    found = {"langdu": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def gpu_facts() -> dict[str, Any]:
    """What MLX computes on, by a child process: MLX belongs to one thread of one process. {} without MLX."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "langdu.bench.device"], capture_output=True, text=True, timeout=PROBE_S, check=False
        )
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {}
    except (subprocess.TimeoutExpired, OSError, ValueError, IndexError):
        return {}
    return found


def cpu_name() -> str:
    """The processor's name as its maker gives it."""
    if sys.platform == "darwin":
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
