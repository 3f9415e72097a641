"""Model folders: what is missing, what is damaged, and the one command for each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from langdu.doctor.models import Checked, judge, look, partials
from langdu.models.check import Finding as Fault

BIT = "qwen3-1.7b-base-8bit"


def checked(*mends: str, name: str = BIT) -> Checked:
    return Checked(
        name, f"/models/{name}", 3_100_000_000, tuple(Fault("x", f"{mend}.json", "is bad", mend) for mend in mends)
    )  # type: ignore[arg-type]


def commands(*found: Checked) -> list[str]:
    return [one.command for one in judge(found, [], needed=[], wanted=[])]


def test_the_default_voices_model_is_needed_another_only_wanted() -> None:
    needed, wanted = judge([], [], needed=["kokoro"], wanted=["whisper-base"])
    assert (needed.level, needed.command) == ("error", "langdu models get kokoro")
    assert (wanted.level, wanted.command) == ("warning", "langdu models get whisper-base")


def test_each_kind_of_fault_has_its_command() -> None:
    assert commands(checked("repair")) == [f"langdu models repair {BIT}"]
    assert commands(checked("repair", "original")) == [f"langdu models repair {BIT} --from qwen3-1.7b-base-official"]
    assert commands(checked("fetch", "repair")) == [f"langdu models remove {BIT} && langdu models get {BIT}"]


def test_faults_are_one_finding_a_model() -> None:
    (found,) = judge([checked("repair", "repair", "repair", "repair", "repair")], [], needed=[], wanted=[])
    assert (found.level, found.reason.endswith("and 2 more")) == ("error", True)


def test_a_download_that_broke_off_is_gone_on_with() -> None:
    (found,) = judge([], [(BIT, 1_500_000_000)], needed=[], wanted=[])
    assert (found.level, found.command) == ("note", f"langdu models get {BIT}")
    assert "1.5 GB have come" in found.reason


def test_what_a_download_left_is_found(tmp_path: Path) -> None:
    (tmp_path / f".{BIT}.partial").mkdir()
    (tmp_path / f".{BIT}.partial" / "model.safetensors").write_bytes(b"half")
    (tmp_path / ".kokoro.partial").mkdir()
    (tmp_path / ".else.partial").mkdir()
    assert partials(tmp_path) == [(BIT, 4)]


def test_a_folder_that_a_persona_names_is_checked_too(
    tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path))
    folder = shutil.copytree(tiny_base, tmp_path / "mine")
    assert look([str(folder)], hashes=True, step=lambda what: None)[0].faults == ()
    (folder / "vocab.json").unlink()
    (found,) = look([str(folder)], hashes=True, step=lambda what: None)
    (finding,) = judge([found], [], needed=[], wanted=[])
    assert finding.level == "error" and "vocab.json" in finding.reason
