"""The hardware and the Python on it. Looking takes milliseconds: the greeting does it too."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from langdu.doctor.finding import Finding, gigabytes

METAL_SHARE = 0.75
"""Of a Mac's memory, what Metal recommends as a working set when MLX has not been asked."""
SMI_TIMEOUT_S = 15
OLDEST_PYTHON, TESTED_PYTHON = (3, 11), (3, 13)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU Qwen3-TTS could run on. Bytes are 0 where they are not known."""

    kind: Literal["metal", "cuda"]
    name: str
    memory_bytes: int = 0
    free_bytes: int = 0
    driver: str = ""


@dataclass(frozen=True, slots=True)
class Hardware:
    system: str
    """As `platform.system()`: Darwin, Linux, …"""
    release: str
    chip: str
    chip_arch: str
    """What the chip is, arm64 or x86_64, also where Python runs translated."""
    python: str
    python_arch: str
    python_path: str
    cores: int
    memory_bytes: int
    free_bytes: int
    gpus: tuple[Gpu, ...] = ()

    @property
    def apple_silicon(self) -> bool:
        return self.system == "Darwin" and self.chip_arch == "arm64"

    @property
    def translated(self) -> bool:
        """An x86 Python on Apple silicon."""
        return self.apple_silicon and self.python_arch != "arm64"

    @property
    def gpu(self) -> Gpu | None:
        return max(self.gpus, key=lambda gpu: gpu.memory_bytes, default=None)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def look(*, quick: bool = False) -> Hardware:
    """This machine. `quick` does not ask the NVIDIA driver how much memory is free (that takes up to seconds)."""
    import psutil

    system, arch = platform.system(), _arch(platform.machine())
    chip_arch = "arm64" if system == "Darwin" and _sysctl("hw.optional.arm64") == "1" else arch
    memory = min(psutil.virtual_memory().total, _limit("memory.max"))
    free = min(psutil.virtual_memory().available, _limit("memory.max") - _limit("memory.current", 0))
    chip = _chip(system)
    gpus: tuple[Gpu, ...] = ()
    if system == "Darwin" and chip_arch == "arm64":
        gpus = (Gpu("metal", chip, int(memory * METAL_SHARE), int(min(free, memory * METAL_SHARE))),)
    elif system == "Linux":
        gpus = _nvidia_names() if quick else _nvidia()
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return Hardware(
        system, _release(system), chip, chip_arch, platform.python_version(), arch, sys.executable, cores,
        int(memory), int(free), gpus,
    )  # fmt: skip


def judge(machine: Hardware) -> list[Finding]:
    """Findings about system, chip, memory and Python."""
    memory = f"{gigabytes(machine.free_bytes)} of {gigabytes(machine.memory_bytes)} free"
    kind = "unified memory" if machine.apple_silicon else "memory"
    found = [
        Finding("ok", "system", f"{machine.release}, {machine.chip}, {machine.cores} cores", ""),
        Finding("ok", "memory", f"{kind}: {memory}", "all programs share it with the GPU" if kind != "memory" else ""),
    ]  # fmt: skip
    for gpu in machine.gpus:
        if gpu.kind == "cuda":
            free = f", {gigabytes(gpu.free_bytes)} of {gigabytes(gpu.memory_bytes)} free" if gpu.memory_bytes else ""
            driver = f"driver {gpu.driver}" if gpu.driver else ""
            found.append(Finding("ok", "gpu", f"{gpu.name}{free}", driver))
    return [*found, _python(machine)]


def _python(machine: Hardware) -> Finding:
    version = tuple(int(part) for part in machine.python.split(".")[:2])
    what = f"Python {machine.python} ({machine.python_arch}), {machine.python_path}"
    if machine.translated:
        return Finding(
            "error", "python", what,
            f"this is an x86 Python on Apple silicon ({machine.chip}): it runs translated, and MLX has no Metal there",
            "uv tool install --python cpython-3.12-macos-aarch64 'langdu[all]'",
        )  # fmt: skip
    if version > TESTED_PYTHON:
        reason = f"newer than {'.'.join(map(str, TESTED_PYTHON))}, the newest Langdu was tried with"
        return Finding("note", "python", what, reason, "uv tool install --python 3.12 'langdu[all]'")
    return Finding("ok", "python", what)


def parse_smi(text: str) -> tuple[Gpu, ...]:
    """Rows of `nvidia-smi --query-gpu=name,memory.total,memory.free,driver_version --format=csv,noheader,nounits`.

    A GPU with unified memory reports "[N/A]" for it; its bytes are then 0 (not known).
    """
    gpus = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 4:
            total, free = (int(cell) << 20 if cell.isdigit() else 0 for cell in cells[1:3])
            gpus.append(Gpu("cuda", cells[0], total, free, cells[3]))
    return tuple(gpus)


def _nvidia() -> tuple[Gpu, ...]:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return _nvidia_names()
    query = [smi, "--query-gpu=name,memory.total,memory.free,driver_version", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=SMI_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return _nvidia_names()
    return parse_smi(done.stdout)


def _nvidia_names() -> tuple[Gpu, ...]:
    """From the driver's own files; memory is not in them."""
    found = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = dict(line.split(":", 1) for line in _text(path).splitlines() if ":" in line)
        found.append(Gpu("cuda", lines.get("Model", "NVIDIA GPU").strip()))
    return tuple(found)


def _chip(system: str) -> str:
    if system == "Darwin":
        # A translated process is told "VirtualApple"; the model still says which Mac it is.
        name = _sysctl("machdep.cpu.brand_string")
        return name if name and "VirtualApple" not in name else f"Apple silicon ({_sysctl('hw.model')})"
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        if line.startswith(("model name", "Model")) and ":" in line:
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _release(system: str) -> str:
    if system == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    if system == "Linux":
        try:
            return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
        except OSError:
            return f"Linux {platform.release()}"
    return f"{system} {platform.release()}"


def _arch(machine: str) -> str:
    return {"aarch64": "arm64", "AMD64": "x86_64", "x86-64": "x86_64"}.get(machine, machine)


def _sysctl(name: str) -> str:
    try:
        done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _limit(name: str, default: float = float("inf")) -> float:
    """Bytes of a container's limit or use; `default` without one."""
    text = _text(Path("/sys/fs/cgroup") / name).strip()
    return int(text) if text.isdigit() else default


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
