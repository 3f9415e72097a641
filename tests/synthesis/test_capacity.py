"""How many workers: by cores, by memory, by what is asked, with the numbers in every refusal."""

from __future__ import annotations

import pytest

from langdu.errors import CapacityError, SettingError
from langdu.synthesis.capacity import Machine, choose_workers, most_workers

SMALL = Machine(cores=2, free_mb=8000)


def test_auto_uses_all_cores_but_not_more_than_there_are_chunks() -> None:
    assert choose_workers(None, engine="kokoro", chunks=10, machine=SMALL) == 2
    assert choose_workers(None, engine="kokoro", chunks=1, machine=SMALL) == 1


def test_memory_caps_before_cores_do() -> None:
    assert most_workers("kokoro", Machine(cores=16, free_mb=4500)) == 3
    assert most_workers("kokoro", Machine(cores=16, free_mb=100)) == 1


def test_a_batched_engine_gets_one_process_unless_asked() -> None:
    machine = Machine(cores=8, free_mb=64000)
    assert choose_workers(None, engine="qwen3", chunks=50, batched=True, machine=machine) == 1
    assert choose_workers(4, engine="qwen3", chunks=50, batched=True, machine=machine) == 4


def test_too_many_are_refused_with_the_numbers_and_force_overrides() -> None:
    with pytest.raises(CapacityError, match=r"18 workers .* 2 cores, 8000 MB") as refusal:
        choose_workers(18, engine="kokoro", chunks=50, machine=SMALL)
    assert "--workers 2" in refusal.value.hint
    assert choose_workers(18, engine="kokoro", chunks=50, machine=SMALL, force=True) == 18


def test_none_at_all_is_refused() -> None:
    with pytest.raises(SettingError):
        choose_workers(0, engine="kokoro", chunks=5, machine=SMALL)
