"""The store: what is in it comes back as it was, whoever else is writing and whatever was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from langdu.engines.base import EngineInfo
from langdu.errors import MachineError
from langdu.synthesis.model import Take
from langdu.synthesis.takes import TakeStore

INFO = EngineInfo("tone", "tone", "1", "float32", "cpu", 24_000)


def take(key: str = "k", *, seed: int = 0, attempt: int = 1, level: float = 0.3, seconds: float = 0.5) -> Take:
    audio = (level * np.sin(np.arange(int(24_000 * seconds)) * (0.05 + 0.01 * (seed % 7)))).astype(np.float32)
    return Take(key, audio, 24_000, seed, 1.5, "ended", 0, INFO, attempt, {"phonemes": 7})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TakeStore]:
    with TakeStore(tmp_path / "takes") as found:
        yield found


def test_a_take_comes_back_as_it_was(store: TakeStore) -> None:
    made = take()
    back = store.take(store.add(made))
    assert back is not None
    np.testing.assert_allclose(back.audio, made.audio, atol=2**-23)
    assert (back.key, back.seed, back.seconds, back.ending, back.engine, back.facts) == (
        "k", 0, 1.5, "ended", INFO, {"phonemes": 7},
    )  # fmt: skip


def test_peaks_above_full_scale_are_kept(store: TakeStore) -> None:
    loud = take(level=3.3)
    back = store.load(store.add(loud))
    assert back is not None
    np.testing.assert_allclose(back, loud.audio, atol=2**-20)


def test_the_same_take_is_kept_once_and_another_seed_beside_it(store: TakeStore) -> None:
    assert store.add(take()).id == store.add(take()).id
    store.add(take(seed=1))
    assert [kept.seed for kept in store.of("k")] == [0, 1]


def test_the_accepted_take_is_used_else_the_best_judged_and_never_a_rejected_one(store: TakeStore) -> None:
    first, second, third = (store.add(take(seed=seed, attempt=seed + 1)) for seed in range(3))
    choice = lambda: getattr(store.choice("k"), "id", None)  # noqa: E731
    assert choice() == first.id
    store.judged(first.id, {"outcome": "fault"}, (2, 1))
    store.judged(second.id, {"outcome": "pass"}, (0, 0))
    assert choice() == second.id
    store.accept(third.id)
    assert choice() == third.id
    store.accept(first.id)
    assert [kept.state for kept in store.of("k")] == ["accepted", "made", "made"]
    store.reject(first.id)
    assert choice() == second.id
    store.reject(second.id)
    store.reject(third.id)
    assert choice() is None


def test_a_lost_or_damaged_file_is_no_take(store: TakeStore) -> None:
    kept = [store.add(take(str(n), seed=n)) for n in range(3)]
    files = {k.key: next(store.folder.glob(f"sound/*/{k.sound}.flac")) for k in kept}
    files["0"].unlink()
    files["1"].write_bytes(files["1"].read_bytes()[:100])
    flipped = bytearray(files["2"].read_bytes())
    flipped[-40] ^= 1
    files["2"].write_bytes(flipped)
    assert [store.load(k) for k in kept] == [None, None, None]
    assert [store.choice(key) for key in "012"] == [None, None, None]


def test_what_a_kill_left_without_a_row_goes_with_the_next_pruning(store: TakeStore) -> None:
    kept = store.add(take())
    stray, part = store.folder / "sound" / "ab" / f"{'ab' * 32}.flac", store.folder / "sound" / ".x.part"
    stray.parent.mkdir(exist_ok=True)
    for path in (stray, part):
        path.write_bytes(b"x" * 10)
    assert store.prune(most_bytes=10**9) == (0, 0)  # young: another process may be writing it
    for path in (stray, part):
        os.utime(path, (0, 0))
    assert store.prune(most_bytes=10**9) == (0, 20)
    assert not stray.exists()
    assert store.load(kept) is not None


def test_a_damaged_index_is_said_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "takes.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(MachineError, match=r"move .*takes\.sqlite away"):
        TakeStore(tmp_path)


def test_takes_are_pruned_by_size_longest_unused_first(store: TakeStore) -> None:
    kept = [store.add(take(str(n), seed=n)) for n in range(4)]
    store.touch([kept[0].id])
    total = sum(k.bytes for k in kept)
    taken, freed = store.prune(most_bytes=total - 1)
    assert (taken, freed) == (1, kept[1].bytes)
    assert store.choice("0") is not None
    assert store.choice("1") is None
    assert store.size() == (3, total - freed)


def test_takes_are_pruned_by_age(store: TakeStore) -> None:
    store.add(take())
    assert store.prune(older_than_s=3600) == (0, 0)
    assert store.prune(older_than_s=-1)[0] == 1


def test_two_processes_write_one_store(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys, numpy as np
        from pathlib import Path
        from langdu.engines.base import EngineInfo
        from langdu.synthesis.model import Take
        from langdu.synthesis.takes import TakeStore
        info = EngineInfo("tone", "tone", "1", "float32", "cpu", 24_000)
        with TakeStore(Path(sys.argv[1])) as store:
            for n in range(40):
                audio = np.full(2400, (n + 1) / 100, np.float32)
                kept = store.add(Take(f"{n}", audio, 24_000, int(sys.argv[2]), 1.0, "ended", 0, info))
                store.accept(kept.id)
    """)
    folder = tmp_path / "takes"
    runs = [subprocess.Popen([sys.executable, "-c", script, str(folder), str(seed)]) for seed in range(2)]
    assert [run.wait(60) for run in runs] == [0, 0]
    with TakeStore(folder) as store:
        for n in range(40):
            takes = store.of(f"{n}")
            assert len(takes) == 2
            assert [kept.state for kept in takes].count("accepted") == 1
            assert store.load(takes[0]) is not None


def test_a_take_is_whole_though_another_process_drops_the_same_sound_all_the_time(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        from langdu.synthesis.takes import TakeStore
        with TakeStore(Path(sys.argv[1])) as store:
            print("ready", flush=True)
            while True:
                store.prune(older_than_s=0)
    """)
    folder = tmp_path / "takes"
    run = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE)
    assert run.stdout is not None
    run.stdout.readline()
    torn = 0
    with TakeStore(folder) as store:
        for _ in range(60):
            try:
                kept = store.add(take())
            except MachineError:  # dropped between being written and being read
                continue
            file = folder / "sound" / kept.sound[:2] / f"{kept.sound}.flac"
            with store._writing():
                torn += bool(store.of("k")) != file.exists()
    run.kill()
    run.wait()
    run.stdout.close()
    assert torn == 0


def test_a_folder_that_cannot_be_is_an_error_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot be opened"):
        TakeStore(tmp_path / "file")
