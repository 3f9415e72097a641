"""Placing a model's files, and telling whether they are the ones they should be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO

from langdu.errors import ModelError
from langdu.models.catalog import ModelFile
from langdu.models.store import Progress, Report

BLOCK = 1 << 20


def place(folder: Path, name: str) -> Path:
    """A path inside `folder` for a name that came from outside. ModelError for one that would leave it."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise ModelError(f"{name!r} is not a file name a model may have")
    target = folder.joinpath(*path.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def pour(streams: Iterable[IO[bytes]], target: Path, file: ModelFile, report: Report) -> str:
    """Write the streams one after the other to `target`; return the SHA-256 (hex) of the whole."""
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as out:
        for stream in streams:
            while block := stream.read(BLOCK):
                out.write(block)
                digest.update(block)
                done += len(block)
                report(Progress(file.path, done, file.size))
    return digest.hexdigest()


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def blob_id(path: Path) -> str:
    """Git's name for the file's content: SHA-1 over "blob SIZE\\0" and the bytes."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def holds(path: Path, file: ModelFile) -> bool:
    """Whether `path` already is the file, by its hash; False when no hash is known."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    if file.sha256:
        return sha256(path) == file.sha256
    return bool(file.blob) and blob_id(path) == file.blob


def checked(file: ModelFile, target: Path, digest: str) -> ModelFile:
    """The file with its true size and hash; deleted and refused when it is not what was promised."""
    size = target.stat().st_size
    problem = ""
    if file.sha256 and digest != file.sha256:
        problem = f"has SHA-256 {digest[:12]}…, not {file.sha256[:12]}…"
    elif file.size and size != file.size:
        problem = f"has {size} bytes, not {file.size}"
    elif file.blob and blob_id(target) != file.blob:
        problem = "is not the file the hub lists"
    if problem:
        target.unlink()
        raise ModelError(f"{file.path} {problem}")
    return replace(file, size=size, sha256=digest)
