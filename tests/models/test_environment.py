"""Packages that PYTHONPATH puts in the way are found without importing them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from langdu.models.environment import PACKAGES, check_environment

CODE = "from langdu.models.environment import check_environment; check_environment()"


def run(pythonpath: Path | str, code: str = CODE, cwd: Path | None = None) -> str:
    """The last line of what a fresh Python says with `pythonpath` before the usual folders."""
    paths = [str(pythonpath), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=cwd, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[-1] if done.stdout + done.stderr else ""


def package(folder: Path, module: str, version: str, *, metadata: bool) -> Path:
    (folder / module).mkdir(parents=True)
    text = (
        "raise ImportError('imported')\n" if metadata else f'__version__ = "{version}"\nraise ImportError("imported")\n'
    )
    (folder / module / "__init__.py").write_text(text)
    if metadata:
        info = folder / f"{PACKAGES[module].replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGES[module]}\nVersion: {version}\n")
    return folder


def test_the_installed_packages_suit() -> None:
    assert [found.module for found in check_environment()] == ["mlx", "mlx_audio", "transformers"]


@pytest.mark.parametrize("metadata", [True, False], ids=["installed there", "a bare folder"])
@pytest.mark.parametrize(("module", "version"), [("transformers", "4.30.0"), ("mlx", "0.20.0"), ("mlx_audio", "0.2.1")])
def test_a_wrong_version_is_named_with_its_path(tmp_path: Path, module: str, version: str, metadata: bool) -> None:
    said = run(package(tmp_path, module, version, metadata=metadata))
    assert f"Python would import {module} {version} from {tmp_path / module}" in said
    assert said.endswith(f"PYTHONPATH puts it first: unset it, or take {tmp_path} out.")


def test_a_copy_of_the_right_version_may_come_from_anywhere(tmp_path: Path) -> None:
    assert run(package(tmp_path, "transformers", "5.20.0", metadata=True)) == ""


def test_a_file_of_that_name_in_the_current_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "transformers.py").write_text("x = 1\n")
    said = run("", cwd=tmp_path)
    assert "transformers of an unknown version" in said
    assert said.endswith("It lies in the current folder: start from another one.")


def test_a_package_that_is_missing_says_how_to_get_it() -> None:
    code = f"import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; {CODE}"
    said = run("", code)
    assert "mlx is not installed." in said and "langdu[qwen3]" in said


def test_looking_imports_none_of_them() -> None:
    code = f"{CODE}; import sys; print(sorted(m for m in sys.modules if m.partition('.')[0] in {set(PACKAGES)}))"
    assert run("", code) == "[]"
