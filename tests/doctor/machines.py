"""Machines that are not here: what `machine.look` would say on them."""

from __future__ import annotations

from dataclasses import replace

from langdu.doctor.machine import Gpu, Hardware

GB = 1_000_000_000
SERVER = Hardware(
    "Linux", "Debian GNU/Linux 12", "AMD EPYC", "x86_64", "3.11.7", "x86_64", "/usr/bin/python", 2, 8 * GB, 6 * GB
)


def mac(memory_gb: float, free_gb: float, *, chip: str = "Apple M3 Pro", python_arch: str = "arm64") -> Hardware:
    memory, free = int(memory_gb * GB), int(free_gb * GB)
    gpu = Gpu("metal", chip, int(memory * 0.75), min(free, int(memory * 0.75)))
    return Hardware(
        "Darwin", "macOS 15.1", chip, "arm64", "3.12.4", python_arch, "/opt/python3", 12, memory, free, (gpu,)
    )


def nvidia(memory_gb: float, free_gb: float, driver: str = "580.65.06") -> Hardware:
    return replace(SERVER, gpus=(Gpu("cuda", "NVIDIA H200", int(memory_gb * GB), int(free_gb * GB), driver),))
