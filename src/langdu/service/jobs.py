"""Jobs on disk: one SQLite file and a folder of sound for each job; both survive kill -9.

A job is planned once, when it is made; what is stored are its chunks, so a restart needs no text front end and
says only chunks that have no sound yet. Sound is written and renamed before its row says that it exists.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from langdu.service.problems import Conflict, NotFound
from langdu.synthesis.model import Chunk, Plan
from langdu.synthesis.runner import EngineSpec
from langdu.voices.persona import PERSONA

State = Literal["queued", "running", "done", "faulty", "failed", "cancelled"]
"""faulty: made, but chunks have faults that nobody accepted yet."""
FINAL = ("done", "faulty", "failed", "cancelled")

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY, created REAL NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL, error TEXT NOT NULL DEFAULT '',
  spec TEXT NOT NULL, format TEXT NOT NULL, verify INTEGER NOT NULL, seconds REAL NOT NULL DEFAULT 0,
  audio_seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS chunks (
  job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, idx INTEGER NOT NULL, name TEXT NOT NULL,
  chunk TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, file TEXT NOT NULL DEFAULT '',
  verdict TEXT NOT NULL DEFAULT 'waiting', heard TEXT NOT NULL DEFAULT '', cer REAL,
  faults TEXT NOT NULL DEFAULT '[]',
  accepted INTEGER NOT NULL DEFAULT 0,
  audio_seconds REAL NOT NULL DEFAULT 0, seconds REAL NOT NULL DEFAULT 0, PRIMARY KEY (job, idx));
"""


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
    audio_seconds: float


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
    """Thread-safe; every change is on disk when the call returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._db = sqlite3.connect(folder / "jobs.sqlite", check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        for line in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"):
            self._db.execute(line)
        self._db.executescript(SCHEMA)
        # What was running when the process ended goes on with its next chunk.
        self._db.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running'")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def add(self, plan: Plan, spec: EngineSpec, *, title: str, format: str, verify: bool) -> str:
        job = uuid.uuid4().hex
        rows = [(job, c.index, c.name, json.dumps(_dump(c), ensure_ascii=False)) for c in plan.chunks]
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(
                "INSERT INTO jobs (id, created, title, state, spec, format, verify) "
                "VALUES (?, ?, ?, 'queued', ?, ?, ?)",
                (job, time.time(), title, json.dumps(asdict(spec)), format, int(verify)),
            )
            self._db.executemany("INSERT INTO chunks (job, idx, name, chunk) VALUES (?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")
        return job

    def all(self) -> list[JobRow]:
        with self._lock:
            ids = [row["id"] for row in self._db.execute("SELECT id FROM jobs ORDER BY created DESC")]
            return [self.get(job) for job in ids]

    def get(self, job: str) -> JobRow:
        """Raises NotFound."""
        with self._lock:
            row = self._row(job)
            made, faults, chunks = self._db.execute(
                "SELECT SUM(file != ''), SUM(verdict = 'fault' AND NOT accepted), COUNT(*) FROM chunks WHERE job = ?",
                (job,),
            ).fetchone()
        return JobRow(
            row["id"], row["created"], row["title"], row["state"], row["error"], row["format"], bool(row["verify"]),
            chunks, made, faults, row["seconds"], row["audio_seconds"],
        )  # fmt: skip

    def chunks(self, job: str) -> list[ChunkRow]:
        with self._lock:
            self._row(job)
            rows = self._db.execute("SELECT * FROM chunks WHERE job = ? ORDER BY idx", (job,)).fetchall()
        return [_chunk_row(row) for row in rows]

    def plan(self, job: str) -> tuple[EngineSpec, tuple[Chunk, ...]]:
        with self._lock:
            spec = json.loads(self._row(job)["spec"])
            rows = self._db.execute("SELECT chunk FROM chunks WHERE job = ? ORDER BY idx", (job,)).fetchall()
        return EngineSpec(**spec), tuple(_load(json.loads(row["chunk"])) for row in rows)

    def unmade(self, job: str) -> list[tuple[int, int]]:
        """(index, attempt to make) of chunks without sound."""
        with self._lock:
            rows = self._db.execute("SELECT idx, attempt FROM chunks WHERE job = ? AND file = '' ORDER BY idx", (job,))
            return [(row["idx"], row["attempt"] + 1) for row in rows]

    def next_queued(self) -> str | None:
        with self._lock:
            row = self._db.execute("SELECT id FROM jobs WHERE state = 'queued' ORDER BY created LIMIT 1").fetchone()
            return None if row is None else str(row["id"])

    def set_state(self, job: str, state: State, *, error: str = "") -> None:
        with self._lock:
            self._db.execute("UPDATE jobs SET state = ?, error = ? WHERE id = ?", (state, error, job))

    def made(
        self, job: str, index: int, *, attempt: int, file: str, verdict: str, heard: str, cer: float | None,
        faults: Sequence[str] = (), audio_seconds: float, seconds: float,
    ) -> None:  # fmt: skip
        """A chunk has sound. Without effect when the job was deleted meanwhile."""
        noticed = json.dumps(faults, ensure_ascii=False)
        with self._lock:
            self._db.execute(
                "UPDATE chunks SET attempt = ?, file = ?, verdict = ?, heard = ?, cer = ?, faults = ?, "
                "audio_seconds = ?, seconds = ?, accepted = 0 WHERE job = ? AND idx = ?",
                (attempt, file, verdict, heard, cer, noticed, audio_seconds, seconds, job, index),
            )

    def finish(self, job: str, *, audio_seconds: float) -> None:
        with self._lock:
            work = self._db.execute("SELECT SUM(seconds) FROM chunks WHERE job = ?", (job,)).fetchone()[0] or 0.0
            state = "faulty" if self.get(job).faults else "done"
            self._db.execute(
                "UPDATE jobs SET state = ?, seconds = ?, audio_seconds = ? WHERE id = ?",
                (state, work, audio_seconds, job),
            )

    def redo(self, job: str, index: int) -> None:
        """Have one chunk said again with a new seed; its old sound stays until then."""
        with self._lock:
            self.chunk(job, index)
            self._db.execute("UPDATE chunks SET file = '', verdict = 'waiting' WHERE job = ? AND idx = ?", (job, index))
            if self._row(job)["state"] in FINAL:
                self.set_state(job, "queued")

    def accept(self, job: str, index: int) -> None:
        """A person heard it and takes it as it is."""
        with self._lock:
            if not self.chunk(job, index)["file"]:
                raise Conflict("This chunk has no sound yet.")
            self._db.execute("UPDATE chunks SET accepted = 1 WHERE job = ? AND idx = ?", (job, index))
            if self._row(job)["state"] == "faulty" and not self.get(job).faults:
                self.set_state(job, "done")

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
        with self._lock:
            self._row(job)
            self._db.execute("DELETE FROM jobs WHERE id = ?", (job,))
        shutil.rmtree(self.folder_of(job), ignore_errors=True)

    def folder_of(self, job: str) -> Path:
        """Where its sound is. The id is looked up first, so it is one of ours and never a path."""
        return self.folder / "jobs" / job

    def sound(self, job: str, index: int) -> Path:
        """The chunk's file. Raises NotFound while there is none."""
        file = str(self.chunk(job, index)["file"])
        if not file:
            raise NotFound("This chunk has no sound yet.")
        return self.folder_of(job) / file

    def result(self, job: str) -> Path:
        """The finished file. Raises Conflict while there is none."""
        row = self.get(job)
        path = self.folder_of(job) / f"result.{row.format}"
        if row.state not in ("done", "faulty") or not path.is_file():
            raise Conflict(f"The job is {row.state}; it has no result yet.")
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
    chunk = json.loads(row["chunk"])
    return ChunkRow(
        row["idx"], row["name"], chunk["text"], chunk["persona"]["name"], chunk["language"], row["attempt"],
        row["verdict"], row["heard"], tuple(json.loads(row["faults"])), row["cer"],
        bool(row["accepted"]), row["audio_seconds"],
    )  # fmt: skip


def _dump(chunk: Chunk) -> dict[str, Any]:
    facts = {field.name: getattr(chunk, field.name) for field in fields(chunk)}
    return facts | {"persona": PERSONA.dump_python(chunk.persona, mode="json")}


def _load(facts: dict[str, Any]) -> Chunk:
    persona = PERSONA.validate_python(facts["persona"])
    return Chunk(**{**facts, "persona": persona, "utterances": tuple(facts["utterances"])})
