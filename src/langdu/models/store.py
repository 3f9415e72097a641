"""Where models are on this machine. One function answers installer and runtime alike: `folder_of`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from langdu.errors import ModelError
from langdu.models.catalog import CATALOG, Entry, find
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
class Installed:
    entry: Entry
    path: Path
    size: int
    source: str


def folder_of(name: str) -> Path:
    """The folder of a model, there or not. Names come from the catalogue, so they are safe as paths."""
    return settings().models_dir / find(name).name


def model_dir(name: str) -> Path:
    """The folder of an installed model, checked to be complete. ModelError when it is not there."""
    path = folder_of(name)
    if not (path / MANIFEST).is_file():
        raise ModelError(f"The model {name} is not on this machine.", hint=f"Run: langdu models get {name}")
    for file, facts in _manifest(path)["files"].items():
        found = path / file
        if not found.is_file() or found.stat().st_size != facts["size"]:
            state = "damaged" if found.is_file() else "missing"
            raise ModelError(
                f"The model {name} is not whole: {found} is {state}.",
                hint=f"Run: langdu models remove {name} && langdu models get {name}",
            )
    return path


def ensure(name: str, *, report: Report | None = None, say: Callable[[str], None] | None = None) -> Path:
    """The folder of a model, fetched first when it is not there. `say` is told which source was chosen."""
    try:
        return model_dir(name)
    except ModelError:
        from langdu.models.fetch import fetch

        with locked(name):
            try:
                return model_dir(name)  # another process brought it meanwhile
            except ModelError:
                fetch(find(name), folder_of(name), report=report, say=say)
        return model_dir(name)


def installed() -> list[Installed]:
    found = []
    for name, entry in CATALOG.items():
        path = settings().models_dir / name
        if (path / MANIFEST).is_file():
            manifest = _manifest(path)
            size = sum(facts["size"] for facts in manifest["files"].values())
            found.append(Installed(entry, path, size, str(manifest["source"])))
    return found


def remove(name: str) -> Path:
    """Delete a model's folder. ModelError when it is not there."""
    path = folder_of(name)
    if not path.is_dir():
        raise ModelError(f"The model {name} is not on this machine.", hint="See: langdu models list")
    with locked(name):
        shutil.rmtree(path)
    return path


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One process at a time installs or removes a model."""
    import fcntl

    folder = settings().models_dir
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{find(name).name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_manifest(path: Path, entry: Entry, source: str, files: dict[str, dict[str, str | int]]) -> None:
    facts = {"name": entry.name, "licence": entry.licence, "source": source, "files": files}
    (path / MANIFEST).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _manifest(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    try:
        found: dict[str, dict[str, dict[str, int]]] = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "Remove the folder and fetch the model again."
        raise ModelError(f"{path / MANIFEST} cannot be read ({error}).", hint=hint) from None
    return found
