"""The project file of a book: which chunks it has and where it was written, for `langdu takes` and overwriting.

It lies beside the output as `NAME.langdu.json` and can be moved with it; `last-book` in the data folder names
the project made last. It is no cache: without it the next run still finds every take by its key.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from langdu.errors import DocumentError, InputError, OutputError
from langdu.settings import settings
from langdu.synthesis.model import Chunk
from langdu.synthesis.runner import EngineSpec
from langdu.voices.library import write_atomic
from langdu.voices.persona import PERSONA

VERSION = 1


@dataclass(frozen=True, slots=True)
class ProjectChunk:
    name: str
    key: str
    text: str
    language: str
    persona: dict[str, Any]
    spec: dict[str, Any]
    speed: float
    pause_after_s: float
    pronounced: str = ""

    def chunk(self) -> Chunk:
        chapter, number = self.name.split(".")
        persona = PERSONA.validate_python(self.persona)
        return Chunk(
            0, int(chapter) - 1, int(number), self.text, self.language, persona, self.pause_after_s, self.key,
            speed=self.speed, pronounced=self.pronounced,
        )  # fmt: skip

    def engine(self) -> EngineSpec:
        return EngineSpec(**self.spec)


@dataclass(frozen=True, slots=True)
class Project:
    source: str
    output: str
    chunks: tuple[ProjectChunk, ...]
    outputs: tuple[str, ...] = ()
    """Names of all files this book writes beside the project: what it may replace unasked."""
    version: int = field(default=VERSION)

    def find(self, name: str) -> ProjectChunk:
        """The chunk called `chapter.number`. InputError says which there are."""
        for chunk in self.chunks:
            if chunk.name == name:
                return chunk
        last = self.chunks[-1].name if self.chunks else "none"
        raise InputError(f'There is no chunk "{name}" in {self.output}.', hint=f"Chunks run from 1.1 to {last}.")

    def save(self, *, remember: bool = True) -> None:
        """`remember`: as the book made last, which `langdu takes` means by itself."""
        path = path_of(self.output)
        data = json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"
        write_atomic(path, data.encode(), shared=True)
        if remember:
            settings().data_dir.mkdir(parents=True, exist_ok=True)
            write_atomic(_last(), f"{path}\n".encode())


@contextlib.contextmanager
def locked(output: Path, names: Iterable[str]) -> Iterator[None]:
    """One process at a time makes an output. What a killed one left half-written of these files is cleared away."""
    import fcntl

    folder = settings().data_dir / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(output.resolve()).encode()).hexdigest()[:20]
    with (folder / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "Wait for it, or end it first; nothing that it has said is lost."
            raise OutputError(f"Another langdu book is making {output}.", hint=hint) from None
        for part in (p for name in names for p in output.parent.glob(f".{glob.escape(name)}.*.part")):
            part.unlink(missing_ok=True)
        yield


def project_chunk(chunk: Chunk, spec: EngineSpec) -> ProjectChunk:
    return ProjectChunk(
        chunk.name, chunk.key, chunk.text, chunk.language, PERSONA.dump_python(chunk.persona, mode="json"),
        asdict(spec), chunk.speed, chunk.pause_after_s, chunk.pronounced,
    )  # fmt: skip


def path_of(output: str | Path) -> Path:
    return Path(f"{Path(output).resolve()}.langdu.json")


def load(output: str | Path | None = None) -> Project:
    """The project of an output, or of the book made last. DocumentError when there is none."""
    if output is not None:
        path = path_of(output)
    elif _last().is_file():
        path = Path(_last().read_text(encoding="utf-8").strip())
    else:
        raise DocumentError("No book was made yet.", hint="Make one: langdu book TEXT -o FILE")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        chunks = tuple(ProjectChunk(**chunk) for chunk in found.pop("chunks"))
        return Project(**{**found, "chunks": chunks, "outputs": tuple(found["outputs"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = "is not there" if isinstance(error, FileNotFoundError) else f"cannot be read ({error})"
        raise DocumentError(f"The project {path} {what}.", hint="Run langdu book once more.") from None


def _last() -> Path:
    return settings().data_dir / "last-book"
