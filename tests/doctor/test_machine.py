"""What the doctor says about hardware and Python, on machines that are not here."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace

from langdu.doctor import machine
from langdu.doctor.finding import Finding
from langdu.doctor.machine import Gpu, judge, parse_smi
from tests.doctor.machines import GB, SERVER, mac


def about(found: list[Finding], check: str) -> Finding:
    (one,) = [finding for finding in found if finding.check == check]
    return one


def test_this_machine_is_seen_as_it_is() -> None:
    here = machine.look(quick=True)
    assert (here.system, here.python, here.python_path) == (
        platform.system(),
        platform.python_version(),
        sys.executable,
    )
    assert 0 < here.free_bytes <= here.memory_bytes
    assert here.cores >= 1 and here.chip and here.release


def test_an_x86_python_on_apple_silicon_is_named_and_mended() -> None:
    found = about(judge(mac(18, 9, python_arch="x86_64")), "python")
    assert (found.level, "x86 Python on Apple silicon (Apple M3 Pro)" in found.reason) == ("error", True)
    assert "aarch64" in found.command


def test_an_x86_python_on_an_intel_mac_is_right() -> None:
    intel = replace(SERVER, system="Darwin", release="macOS 14", chip="Intel Core i7")
    assert about(judge(intel), "python").level == "ok"


def test_memory_of_a_mac_is_shared_with_its_gpu() -> None:
    found = about(judge(mac(18, 9)), "memory")
    assert found.what == "unified memory: 9.0 GB of 18.0 GB free"
    assert "share" in found.reason


def test_a_python_newer_than_any_tried_is_a_note() -> None:
    assert about(judge(replace(SERVER, python="3.15.0")), "python").level == "note"


def test_rows_of_the_nvidia_tool_are_read() -> None:
    text = "NVIDIA H200, 143771, 143000, 580.65.06\nNVIDIA GB10, [N/A], [N/A], 580.95.05\nfailed\n"
    first, second = parse_smi(text)
    assert first == Gpu("cuda", "NVIDIA H200", 143771 << 20, 143000 << 20, "580.65.06")
    assert (second.memory_bytes, second.free_bytes) == (0, 0)


def test_the_largest_gpu_counts() -> None:
    two = replace(SERVER, gpus=(Gpu("cuda", "small", 8 * GB), Gpu("cuda", "large", 24 * GB)))
    assert two.gpu is not None and two.gpu.name == "large"
