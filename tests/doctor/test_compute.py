"""MLX judged by what it did: rates and results, not flags."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from langdu.doctor.child import Died, ask
from langdu.doctor.compute import Computed, judge
from langdu.doctor.finding import Finding
from langdu.doctor.machine import Hardware
from tests.doctor.machines import SERVER, mac, nvidia

ON_CPU = Computed("0.32.4", "/site/mlx", "cpu", "", 90.0)
METAL = Computed("0.32.4", "/site/mlx", "gpu", "metal", 1200.0, 5400.0, 1e-6, {"device_name": "Apple M3 Pro"})
CUDA = replace(METAL, backend="cuda", device={"device_name": "NVIDIA H200"}, difference=3e-4)


def worst(machine: Hardware, found: Computed | Died | None) -> Finding:
    return max(judge(machine, found), key=lambda one: ("ok", "note", "warning", "error").index(one.level))


def test_a_gpu_that_computes_is_ok_with_both_rates() -> None:
    mlx, used = judge(mac(18, 9), METAL)
    assert (mlx.level, used.level) == ("ok", "ok")
    assert used.what == "Metal computes on Apple M3 Pro"
    assert "5.4 TFLOP/s on the GPU, 1.2 TFLOP/s on the CPU" in used.reason
    assert judge(nvidia(141, 130), CUDA)[1].what == "CUDA computes on NVIDIA H200"


def test_a_gpu_no_faster_than_the_cpu_is_suspected() -> None:
    found = worst(mac(18, 9), replace(METAL, gpu_gflops=1250.0))
    assert (found.level, "not faster than the CPU" in found.what) == ("warning", True)


def test_a_gpu_that_computes_something_else_is_an_error() -> None:
    assert worst(mac(18, 9), replace(METAL, difference=0.3)).level == "error"


def test_the_rounding_of_tf32_is_not_an_error() -> None:
    assert worst(nvidia(141, 130), replace(CUDA, difference=2e-3)).level == "ok"


def test_a_mac_without_metal_is_an_error() -> None:
    found = worst(mac(18, 9), ON_CPU)
    assert (found.level, found.what) == ("error", "Metal is not available, and this is a Mac")


def test_an_nvidia_gpu_that_mlx_does_not_see_names_the_package_for_its_driver() -> None:
    assert worst(nvidia(141, 130), ON_CPU).command == "pip install 'mlx[cuda13]'"
    assert worst(nvidia(24, 20, driver="550.54.15"), ON_CPU).command == "pip install 'mlx[cuda12]'"


def test_mlx_on_a_server_without_a_gpu_is_nothing_wrong() -> None:
    assert [found.level for found in judge(SERVER, ON_CPU)] == ["ok"]
    assert [found.level for found in judge(SERVER, None)] == ["note"]


def test_mlx_missing_on_a_machine_that_could_use_it_is_a_note_with_its_command() -> None:
    assert worst(mac(18, 9), None).command == "pip install 'langdu[qwen3]'"
    assert worst(nvidia(141, 130), None).command == "pip install 'langdu[qwen3]' 'mlx[cuda13]'"


def test_a_default_device_that_is_not_the_gpu_is_said() -> None:
    assert worst(mac(18, 9), replace(METAL, default_device="cpu")).what == "MLX's default device is the CPU"


def test_an_mlx_that_crashes_is_a_finding() -> None:
    found = worst(mac(18, 9), Died("it crashed (SIGSEGV)"))
    assert (found.level, found.reason) == ("error", "it crashed (SIGSEGV)")
    assert worst(SERVER, Died("it crashed (SIGSEGV)")).level == "warning"


@pytest.mark.skipif(importlib.util.find_spec("mlx") is None, reason="MLX is not installed")
def test_the_mlx_that_is_here_multiplies_and_is_timed() -> None:
    answer = ask("compute", timeout_s=120)
    assert not isinstance(answer, Died), answer
    found = Computed(**answer)
    assert found.version.startswith("0.32") and found.cpu_gflops > 0.1
    assert (found.gpu_gflops > 0) == bool(found.backend)
