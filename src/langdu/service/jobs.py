"""Jobs on disk: what is wanted, how far it is, and a folder for each with its source and its files.

A job is a book: its sound lies in the store of takes, under keys that say what made it, so nothing is said twice
and `langdu takes` sees the same takes. What is kept of each chunk here is what the studio shows. Both outlive
kill -9: a take is on disk before its row is, and the next process says only what has none.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from langdu.service.problems import Conflict, NotFound
from langdu.synthesis.model import Chunk
from langdu.synthesis.takes import Kept, TakeStore

State = Literal["queued", "running", "done", "faulty", "failed", "cancelled"]
"""faulty: made, but chunks have faults that nobody accepted yet."""
FINAL = ("done", "faulty", "failed", "cancelled")

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY, created REAL NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL, error TEXT NOT NULL DEFAULT '',
  wish TEXT NOT NULL, seconds REAL NOT NULL DEFAULT 0, audio_seconds REAL NOT NULL DEFAULT 0,
  problems TEXT NOT NULL DEFAULT '[]');
CREATE TABLE IF NOT EXISTS chunks (
  job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, idx INTEGER NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL,
  text TEXT NOT NULL, voice TEXT NOT NULL, language TEXT NOT NULL,
  take INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 0, redo INTEGER NOT NULL DEFAULT 0,
  verdict TEXT NOT NULL DEFAULT 'waiting', heard TEXT NOT NULL DEFAULT '', cer REAL, faults TEXT NOT NULL DEFAULT '[]',
  accepted INTEGER NOT NULL DEFAULT 0, audio_seconds REAL NOT NULL DEFAULT 0, rev INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (job, idx));
"""
REV = "rev = (SELECT MAX(rev) + 1 FROM chunks WHERE job = :job)"
"""Marks a changed row, so that watchers of a long book are told of it alone."""


@dataclass(frozen=True, slots=True)
class JobWish:
    """What a client wants made; kept as JSON, so names, numbers and texts only."""

    source: str
    """Name of the text or document in the job's folder; its suffix is one of those we read."""
    title: str = ""
    voice: str | None = None
    roles: dict[str, str] = field(default_factory=dict)
    language: str | None = None
    format: str = "mp3"
    speed: float = 1.0
    verify: bool = True
    loudness: str = "podcast"
    script: dict[str, Any] = field(default_factory=dict)
    """Fields of ScriptOptions; `lexicon` as a table of words."""
    engine_options: dict[str, str | int | float | bool] = field(default_factory=dict)
    """Not offered over HTTP."""


@dataclass(frozen=True, slots=True)
class JobRow:
    id: str
    created: float
    title: str
    state: State
    error: str
    format: str
    verify: bool
    chunks: int
    made: int
    faults: int
    """Chunks with a fault that was not accepted."""
    seconds: float
    """From the beginning of the last run to its end."""
    audio_seconds: float
    problems: tuple[str, ...]
    """What the finished file is not, against its loudness profile."""


@dataclass(frozen=True, slots=True)
class ChunkRow:
    index: int
    name: str
    text: str
    voice: str
    language: str
    attempt: int
    verdict: str
    """waiting, unheard, pass, fault, or inconclusive."""
    heard: str
    faults: tuple[str, ...]
    """What the judge noticed, in words."""
    cer: float | None
    accepted: bool
    audio_seconds: float


class JobStore:
    """Thread-safe; every change is on disk when the call returns. `takes` holds the sound."""

    def __init__(self, folder: Path, takes: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.takes = TakeStore(takes)
        self._lock = threading.RLock()
        self._db = sqlite3.connect(folder / "queue.sqlite", check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        for line in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"):
            self._db.execute(line)
        self._db.executescript(SCHEMA)
        # What was running when the process ended goes on with its next chunk.
        self._db.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running'")

    def close(self) -> None:
        with self._lock:
            self._db.close()
        self.takes.close()

    def new_folder(self) -> tuple[str, Path]:
        """An id, and the folder where its source belongs; it is no job before `add`."""
        job = uuid.uuid4().hex
        folder = self.folder_of(job)
        folder.mkdir(parents=True)
        return job, folder

    def add(self, job: str, wish: JobWish, title: str, chunks: Sequence[Chunk]) -> None:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(
                "INSERT INTO jobs (id, created, title, state, wish) VALUES (?, ?, ?, 'queued', ?)",
                (job, time.time(), title, json.dumps(asdict(wish), ensure_ascii=False)),
            )
            self._insert(job, chunks)
            self._db.execute("COMMIT")

    def _insert(self, job: str, chunks: Sequence[Chunk]) -> None:
        self._db.executemany(
            "INSERT INTO chunks (job, idx, name, key, text, voice, language) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(job, at, c.name, c.key, c.text, c.persona.name, c.language) for at, c in enumerate(chunks)],
        )

    def replan(self, job: str, chunks: Sequence[Chunk]) -> None:
        """Chunks as they are read now, where a persona, a model or a rule has changed since; unchanged ones stay."""
        with self._lock:
            rows = self._db.execute("SELECT key FROM chunks WHERE job = ? ORDER BY idx", (job,)).fetchall()
            if [row["key"] for row in rows] == [chunk.key for chunk in chunks]:
                return
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM chunks WHERE job = ?", (job,))
            self._insert(job, chunks)
            self._db.execute("COMMIT")

    def all(self) -> list[JobRow]:
        with self._lock:
            ids = [row["id"] for row in self._db.execute("SELECT id FROM jobs ORDER BY created DESC")]
            return [self.get(job) for job in ids]

    def get(self, job: str) -> JobRow:
        """Raises NotFound."""
        with self._lock:
            row = self._row(job)
            made, faults, chunks = self._db.execute(
                "SELECT SUM(take AND NOT redo), SUM(verdict = 'fault' AND NOT accepted), COUNT(*) "
                "FROM chunks WHERE job = ?",
                (job,),
            ).fetchone()
        wish = json.loads(row["wish"])
        return JobRow(
            row["id"], row["created"], row["title"], row["state"], row["error"], wish["format"], wish["verify"],
            chunks, made, faults, row["seconds"], row["audio_seconds"], tuple(json.loads(row["problems"])),
        )  # fmt: skip

    def wish(self, job: str) -> JobWish:
        with self._lock:
            return JobWish(**json.loads(self._row(job)["wish"]))

    def chunks(self, job: str) -> list[ChunkRow]:
        return self.changes(job, 0)[0]

    def changes(self, job: str, after: int) -> tuple[list[ChunkRow], int]:
        """Chunks that changed after that revision, and the revision now."""
        with self._lock:
            self._row(job)
            rows = self._db.execute(
                "SELECT * FROM chunks WHERE job = ? AND rev > ? ORDER BY idx", (job, after)
            ).fetchall()
        return [_chunk_row(row) for row in rows], max([after, *(row["rev"] for row in rows)])

    def next_queued(self) -> str | None:
        with self._lock:
            row = self._db.execute("SELECT id FROM jobs WHERE state = 'queued' ORDER BY created LIMIT 1").fetchone()
            return None if row is None else str(row["id"])

    def set_state(self, job: str, state: State, *, error: str = "") -> None:
        with self._lock:
            self._db.execute("UPDATE jobs SET state = ?, error = ? WHERE id = ?", (state, error, job))

    def made(self, job: str, name: str, kept: Kept) -> None:
        """The take that a chunk uses from now on. Without effect when the job was deleted meanwhile."""
        verdict = kept.verdict or {}
        faults = [finding["message"] for finding in verdict.get("findings", [])]
        with self._lock:
            self._db.execute(
                "UPDATE chunks SET take = :take, attempt = :attempt, verdict = :verdict, heard = :heard, cer = :cer, "
                f"faults = :faults, accepted = :accepted, audio_seconds = :seconds, {REV} "
                "WHERE job = :job AND name = :name AND (take, verdict, accepted) != (:take, :verdict, :accepted)",
                {"take": kept.id, "attempt": kept.attempt, "verdict": kept.outcome, "job": job, "name": name,
                 "heard": verdict.get("heard") or "", "cer": verdict.get("cer"), "seconds": kept.audio_seconds,
                 "faults": json.dumps(faults, ensure_ascii=False), "accepted": int(kept.state == "accepted")},
            )  # fmt: skip

    def refresh(self, job: str) -> None:
        """Take over what `langdu takes`, or another job with the same words, has chosen meanwhile."""
        with self._lock:
            rows = self._db.execute("SELECT name, key FROM chunks WHERE job = ? AND take", (job,)).fetchall()
        for row in rows:
            if (kept := self.takes.choice(row["key"])) is not None:
                self.made(job, row["name"], kept)
        self._settle(job)

    def _settle(self, job: str) -> None:
        with self._lock:
            found = self.get(job)
            if found.state in ("done", "faulty"):
                self.set_state(job, "faulty" if found.faults else "done")

    def finish(self, job: str, *, seconds: float, audio_seconds: float, problems: Sequence[str]) -> None:
        with self._lock:
            self._db.execute(
                "UPDATE jobs SET state = 'done', seconds = ?, audio_seconds = ?, problems = ? WHERE id = ?",
                (seconds, audio_seconds, json.dumps(problems, ensure_ascii=False), job),
            )
            self._settle(job)

    def redo(self, job: str, index: int) -> None:
        """Have one chunk said again with a new seed; its take stays in use until then."""
        with self._lock:
            self.chunk(job, index)
            self._db.execute(
                f"UPDATE chunks SET redo = 1, {REV} WHERE job = :job AND idx = :at", {"job": job, "at": index}
            )
            if self._row(job)["state"] in FINAL:
                self.set_state(job, "queued")

    def wanted_again(self, job: str) -> list[str]:
        """Names of the chunks to say again."""
        with self._lock:
            rows = self._db.execute("SELECT name FROM chunks WHERE job = ? AND redo ORDER BY idx", (job,)).fetchall()
            return [str(row["name"]) for row in rows]

    def said_again(self, job: str, name: str) -> None:
        with self._lock:
            facts = {"job": job, "name": name}
            self._db.execute(f"UPDATE chunks SET redo = 0, {REV} WHERE job = :job AND name = :name", facts)

    def accept(self, job: str, index: int) -> None:
        """A person heard it and takes it as it is."""
        row = self.chunk(job, index)
        kept = self.takes.choice(row["key"]) if row["take"] else None
        if kept is None:
            raise Conflict("This chunk has no sound yet.")
        self.takes.accept(kept.id)
        self.made(job, row["name"], self.takes.get(kept.id))
        self._settle(job)

    def cancel(self, job: str) -> None:
        with self._lock:
            if self._row(job)["state"] in FINAL:
                raise Conflict("This job has ended already.")
            self.set_state(job, "cancelled")

    def resume(self, job: str) -> None:
        with self._lock:
            if self._row(job)["state"] not in ("failed", "cancelled"):
                raise Conflict("Only a job that failed or was cancelled can be resumed.")
            self.set_state(job, "queued")

    def delete(self, job: str) -> None:
        """The job and its files. Its takes stay, as those of every book, until they are pruned."""
        with self._lock:
            self._row(job)
            self._db.execute("DELETE FROM jobs WHERE id = ?", (job,))
        shutil.rmtree(self.folder_of(job), ignore_errors=True)

    def folder_of(self, job: str) -> Path:
        """Where its files are. The id is looked up first, so it is one of ours and never a path."""
        return self.folder / "jobs" / job

    def output_of(self, job: str) -> Path:
        return self.folder_of(job) / f"result.{self.wish(job).format}"

    def sound(self, job: str, index: int) -> Path:
        """The file of the chunk's take. Raises NotFound while there is none."""
        row = self.chunk(job, index)
        kept = self.takes.choice(row["key"]) if row["take"] else None
        if kept is None:
            raise NotFound("This chunk has no sound yet.")
        return self.takes.file(kept)

    def result(self, job: str, suffix: str = "") -> Path:
        """The finished file, or the one beside it with this suffix. Raises Conflict while there is none."""
        path, row = self.output_of(job), self.get(job)
        path = path.with_suffix(suffix) if suffix else path
        if row.state not in ("done", "faulty") or not path.is_file():
            raise Conflict(f"The job is {row.state}; it has no such file yet.")
        return path

    def chunk(self, job: str, index: int) -> sqlite3.Row:
        with self._lock:
            self._row(job)
            row = self._db.execute("SELECT * FROM chunks WHERE job = ? AND idx = ?", (job, index)).fetchone()
        if row is None:
            raise NotFound(f"The job has no chunk {index}.")
        assert isinstance(row, sqlite3.Row)
        return row

    def _row(self, job: str) -> sqlite3.Row:
        row = self._db.execute("SELECT * FROM jobs WHERE id = ?", (job,)).fetchone()
        if row is None:
            raise NotFound("There is no such job.")
        assert isinstance(row, sqlite3.Row)
        return row


def _chunk_row(row: sqlite3.Row) -> ChunkRow:
    return ChunkRow(
        row["idx"], row["name"], row["text"], row["voice"], row["language"], row["attempt"],
        "waiting" if row["redo"] else row["verdict"], row["heard"], tuple(json.loads(row["faults"])), row["cer"],
        bool(row["accepted"]), row["audio_seconds"],
    )  # fmt: skip
