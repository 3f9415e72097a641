"""Where models are on this machine. One function answers installer and runtime alike: `folder_of`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from langdu.errors import CapacityError, ModelError
from langdu.models.catalog import CATALOG, Entry, ModelFile, find
from langdu.settings import settings

MANIFEST = "langdu.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one file has come. `total` is 0 when it is not known."""

    file: str
    done: int
    total: int


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the manifest holds about one file."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The store's own note in a model folder, `langdu.json`: where the files came from and what they must be."""

    name: str
    licence: str
    source: str
    files: dict[str, Facts]


@dataclass(frozen=True, slots=True)
class Installed:
    entry: Entry
    path: Path
    size: int
    """Bytes, by the manifest; 0 when that cannot be read."""
    source: str
    problem: str = ""
    """Why it cannot be used as it is; empty when it can."""


def folder_of(name: str) -> Path:
    """The folder of a model, there or not. Names come from the catalogue, so they are safe as paths."""
    return settings().models_dir / find(name).name


def model_dir(name: str) -> Path:
    """The folder of an installed model with every file at its size. ModelError when it is not there.

    Sizes only: hashing gigabytes at each start would cost more than loading them. `check` reads the bytes.
    """
    path = folder_of(name)
    if not (path / MANIFEST).is_file():
        raise ModelError(f"The model {name} is not on this machine.", hint=f"Run: langdu models get {name}")
    again = f"Run: langdu models remove {name} && langdu models get {name}"
    for file, facts in read_manifest(path, hint=again).files.items():
        found = path / file
        if not found.is_file() or found.stat().st_size != facts.size:
            state = "damaged" if found.is_file() else "missing"
            raise ModelError(f"The model {name} is not whole: {found} is {state}.", hint=again)
    return path


def ensure(name: str, *, report: Report | None = None, say: Callable[[str], None] | None = None) -> Path:
    """The folder of a model, fetched first when it is not there.

    `say` is told which source was chosen and why others were not (default: stderr).
    """
    try:
        return model_dir(name)
    except ModelError:
        from langdu.models.fetch import fetch

        with locked(name, say):
            try:
                return model_dir(name)  # another process brought it meanwhile
            except ModelError:
                fetch(find(name), folder_of(name), report=report, say=say)
        return model_dir(name)


def installed() -> list[Installed]:
    """Models of the catalogue that are on this machine, the damaged ones too."""
    found = []
    for name, entry in CATALOG.items():
        path = settings().models_dir / name
        if not (path / MANIFEST).is_file():
            continue
        size, source, problem = 0, "", ""
        try:
            manifest = read_manifest(path)
            size, source = sum(facts.size for facts in manifest.files.values()), manifest.source
            model_dir(name)
        except ModelError as error:
            problem = error.message
        found.append(Installed(entry, path, size, source, problem))
    return found


def remove(name: str) -> Path:
    """Delete a model's folder and what an unfinished download left. ModelError when there is neither."""
    path = folder_of(name)
    partial = path.with_name(f".{path.name}.partial")
    if not path.is_dir() and not partial.is_dir():
        raise ModelError(f"The model {name} is not on this machine.", hint="See: langdu models list")
    if path.is_dir() and not (path / MANIFEST).is_file():
        raise ModelError(f"{path} was not made by Langdu.", hint="Delete it yourself if that is what you want.")
    with locked(name):
        for folder in (path, partial):
            if folder.is_dir():
                shutil.rmtree(folder)
    return path


@contextmanager
def locked(name: str, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """One process at a time installs or removes a model; another one waits, and says so."""
    import fcntl

    folder = settings().models_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f".{find(name).name}.lock").open("w")
    except OSError as error:
        raise CapacityError(
            f"Models cannot be stored in {folder} ({error.strerror}).", hint="Set LANGDU_DATA_DIR to another folder."
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if say is not None:
                say(f"{name}: another process is at it; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_manifest(path: Path, name: str, licence: str, source: str, files: Iterable[ModelFile]) -> None:
    listed = {file.path: {"size": file.size, "sha256": file.sha256} for file in files}
    facts = {"name": name, "licence": licence, "source": source, "files": listed}
    written = path / f".{MANIFEST}.new"
    written.write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    written.replace(path / MANIFEST)


def read_manifest(path: Path, *, hint: str = "Remove the folder and fetch the model again.") -> Manifest:
    """The manifest of the model folder `path`. ModelError when it is damaged or names files outside the folder."""
    try:
        found = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        files = {
            str(name): Facts(int(facts["size"]), str(facts["sha256"])) for name, facts in found["files"].items()
        }  # fmt: skip
        for name in files:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"it names {name}")
        return Manifest(str(found["name"]), str(found.get("licence", "")), str(found.get("source", "")), files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path / MANIFEST} cannot be read ({error}).", hint=hint) from None
