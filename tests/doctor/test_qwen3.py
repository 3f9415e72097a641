"""Where Qwen3-TTS makes sense, which checkpoint fits, and what to use where it does not."""

from __future__ import annotations

import pytest

from langdu.doctor.machine import Gpu, Hardware
from langdu.doctor.qwen3 import best_that_fits, judge, need_bytes, not_sensible
from tests.doctor.machines import GB, SERVER, mac, nvidia

LARGE = "qwen3-1.7b-base-8bit"


def test_without_apple_or_nvidia_it_is_not_sensible_and_the_built_in_voice_is_named() -> None:
    (found,) = judge(SERVER, [(LARGE, 0)], voice="zf_xiaobei")
    assert found.level == "note"
    assert "no Apple or NVIDIA GPU" in found.reason
    assert found.command == 'langdu say -v zf_xiaobei "你好，世界。"'


def test_an_x86_python_on_a_mac_makes_it_not_sensible() -> None:
    assert "x86" in not_sensible(mac(36, 20, python_arch="x86_64"))


@pytest.mark.parametrize("machine", [mac(18, 12), nvidia(141, 130)])
def test_a_mac_and_an_nvidia_server_can(machine: Hardware) -> None:
    assert [found.level for found in judge(machine, [(LARGE, 0)], voice="v")] == ["ok"]


def test_a_gpu_whose_memory_is_not_known_is_not_refused() -> None:
    machine = nvidia(0, 0)
    assert not_sensible(machine) == ""
    assert [found.level for found in judge(machine, [(LARGE, 0)], voice="v")] == ["ok"]


def test_a_model_larger_than_memory_is_named_with_the_one_that_fits() -> None:
    _, found = judge(mac(8, 5), [("qwen3-1.7b-base-bf16", 0)], voice="v")
    assert (found.level, found.what) == ("warning", "qwen3-1.7b-base-bf16 is larger than memory")
    assert "6.0 GB for it" in found.reason
    assert found.command == "langdu models get qwen3-1.7b-base-8bit"


def test_a_model_that_only_lacks_free_memory_says_so_and_names_a_smaller_one() -> None:
    _, found = judge(mac(18, 4.5), [(LARGE, 0)], voice="v")
    assert found.what == f"{LARGE} does not fit right now"
    assert "4.5 GB are free now" in found.reason
    assert found.command.startswith("langdu models get qwen3-1.7b-base-4bit")


def test_a_machine_too_small_for_any_model_is_told_so() -> None:
    assert "needs" in not_sensible(mac(4, 2))


def test_the_smaller_checkpoint_is_of_the_same_kind() -> None:
    gpu = Gpu("metal", "Apple M1", 4 * GB)
    assert best_that_fits("qwen3-1.7b-voicedesign-8bit", gpu) == "qwen3-0.6b-voicedesign-6bit"
    assert best_that_fits("whisper-base", gpu) is None


def test_a_folder_is_measured_by_its_weights() -> None:
    assert need_bytes("some/folder", 2 * GB) - need_bytes("some/folder", 1 * GB) == 1 * GB
