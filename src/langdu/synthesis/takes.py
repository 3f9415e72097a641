"""Every take that was ever made, kept so that nothing is said twice.

    takes.sqlite          index (SQLite, write-ahead log): key, seed, facts, verdict, state, file
    sound/ab/abcd….flac   24-bit FLAC named by the SHA-256 of its bytes

A file is on disk, whole and synced, before its row is; so after a kill or a power cut every row has its sound,
and the worst that remains is a file without a row. Several processes may work on one store at once. Peaks
above full scale are kept by a power of two (`shift`), so nothing is clipped. Takes are pruned on request only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from langdu.engines.base import Audio, EngineInfo
from langdu.errors import CapacityError, MachineError
from langdu.synthesis.model import Take

State = Literal["made", "accepted", "rejected"]
BUSY_S = 30.0
SCHEMA = """
create table if not exists takes (
    id integer primary key,
    key text not null,
    attempt integer not null,
    seed integer not null,
    state text not null default 'made',
    sound text not null,
    bytes integer not null,
    samples integer not null,
    rate_hz integer not null,
    shift integer not null default 0,
    facts text not null,
    verdict text,
    rank text,
    made real not null,
    used real not null
);
create index if not exists by_key on takes (key);
create index if not exists by_sound on takes (sound);
"""
COLUMNS = "id, key, attempt, seed, state, sound, bytes, samples, rate_hz, shift, facts, verdict, rank, made, used"


@dataclass(frozen=True, slots=True)
class Kept:
    """A take as the index knows it; `TakeStore.load` brings the sound."""

    id: int
    key: str
    attempt: int
    seed: int
    state: State
    sound: str
    bytes: int
    samples: int
    rate_hz: int
    shift: int
    facts: dict[str, Any]
    """seconds, ending, frames, engine (as a dict), and the engine's own facts."""
    verdict: dict[str, Any] | None
    """As `Verdict.as_dict` gave it, with word times; None: not judged yet."""
    rank: tuple[float, ...] | None
    """Order among takes of one key, lower is better; see quality.verdict.rank."""
    made: float
    used: float

    @property
    def audio_seconds(self) -> float:
        return self.samples / self.rate_hz

    @property
    def outcome(self) -> str:
        return "unheard" if self.verdict is None else str(self.verdict["outcome"])


class TakeStore:
    """Thread-safe. Raises MachineError when the folder cannot be used, CapacityError on a full disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        try:
            (folder / "sound").mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / "takes.sqlite", timeout=BUSY_S, check_same_thread=False)
            self._db.isolation_level = None
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=full")
            self._db.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise MachineError(f"The takes in {folder} cannot be opened ({error}).", hint="Is the disk full?") from None

    def add(self, take: Take) -> Kept:
        """Keep a take. The same sound for the same key and seed is kept once."""
        sound, size, shift = self._write(take.audio, take.sample_rate_hz)
        facts = {
            "seconds": take.seconds, "ending": take.ending, "frames": take.frames, "engine": take.engine.as_dict(),
            "facts": take.facts,
        }  # fmt: skip
        now = time.time()
        with self._writing() as db:
            twin = db.execute(
                "select id from takes where key = ? and seed = ? and sound = ?", (take.key, take.seed, sound)
            ).fetchone()
            if twin is not None:
                found = twin[0]
            else:
                found = db.execute(
                    "insert into takes (key, attempt, seed, sound, bytes, samples, rate_hz, shift, facts, made, used)"
                    " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (take.key, take.attempt, take.seed, sound, size, len(take.audio), take.sample_rate_hz, shift,
                     json.dumps(facts, ensure_ascii=False), now, now),
                ).lastrowid  # fmt: skip
        return self.get(found)

    def judged(self, take: int, verdict: dict[str, Any], rank: tuple[float, ...]) -> Kept:
        with self._writing() as db:
            db.execute(
                "update takes set verdict = ?, rank = ? where id = ?",
                (json.dumps(verdict, ensure_ascii=False), json.dumps(rank), take),
            )
        return self.get(take)

    def accept(self, take: int) -> None:
        """Make this the take of its key, whatever its verdict."""
        with self._writing() as db:
            db.execute(
                "update takes set state = 'made'"
                " where state = 'accepted' and key = (select key from takes where id = ?)",
                (take,),
            )
            db.execute("update takes set state = 'accepted' where id = ?", (take,))

    def reject(self, take: int) -> None:
        """Never use this take again; its key is said anew when no other take is left."""
        with self._writing() as db:
            db.execute("update takes set state = 'rejected' where id = ?", (take,))

    def get(self, take: int) -> Kept:
        with self._lock:
            row = self._db.execute(f"select {COLUMNS} from takes where id = ?", (take,)).fetchone()
        if row is None:
            raise MachineError(f"Take {take} is no longer in {self.folder}.")
        return _kept(row)

    def of(self, key: str) -> list[Kept]:
        """All takes of a key, oldest first."""
        with self._lock:
            rows = self._db.execute(f"select {COLUMNS} from takes where key = ? order by id", (key,)).fetchall()
        return [_kept(row) for row in rows]

    def choice(self, key: str) -> Kept | None:
        """The take to use: the accepted one, else the best judged, else the oldest; none that was rejected.

        A take whose file is gone or cut short is dropped on the way.
        """
        usable = [kept for kept in self.of(key) if kept.state != "rejected" and self._there(kept)]
        if not usable:
            return None
        return min(usable, key=lambda k: (k.state != "accepted", k.rank is None, k.rank or (), k.id))

    def _there(self, kept: Kept) -> bool:
        path = self._path(kept.sound)
        if path.is_file() and path.stat().st_size == kept.bytes:
            return True
        self.forget(kept.sound)
        return False

    def load(self, kept: Kept) -> Audio | None:
        """The sound, shape (samples,). None when its file is gone or damaged; its rows are then dropped."""
        import soundfile

        path = self._path(kept.sound)
        try:
            audio, _ = soundfile.read(path, dtype="float32")
        except (OSError, soundfile.LibsndfileError):
            audio = np.zeros(0, np.float32)
        if len(audio) != kept.samples:
            self.forget(kept.sound)
            return None
        return np.asarray(audio * np.float32(2**kept.shift) if kept.shift else audio, np.float32)

    def take(self, kept: Kept) -> Take | None:
        """The take as it was made."""
        audio = self.load(kept)
        if audio is None:
            return None
        facts = kept.facts
        return Take(
            kept.key, audio, kept.rate_hz, kept.seed, facts["seconds"], facts["ending"], facts["frames"],
            EngineInfo(**_tuples(facts["engine"])), kept.attempt, facts["facts"],
        )  # fmt: skip

    def touch(self, takes: list[int]) -> None:
        """Note that these were used now; pruning by age goes by it."""
        now = time.time()
        with self._writing() as db:
            db.executemany("update takes set used = ? where id = ?", [(now, take) for take in takes])

    def forget(self, sound: str) -> None:
        """Drop a sound and every row that names it."""
        with self._writing() as db:
            db.execute("delete from takes where sound = ?", (sound,))
        self._path(sound).unlink(missing_ok=True)

    def prune(self, *, older_than_s: float | None = None, most_bytes: int | None = None) -> tuple[int, int]:
        """Drop takes not used for so long, then the longest unused until the rest fits. Returns (takes, bytes)."""
        with self._lock:
            rows = self._db.execute(
                "select sound, max(used), max(bytes), count(*) from takes group by sound order by max(used)"
            ).fetchall()
        total = sum(row[2] for row in rows)
        now, takes, freed = time.time(), 0, 0
        for sound, used, size, count in rows:
            old = older_than_s is not None and now - used > older_than_s
            if not old and (most_bytes is None or total - freed <= most_bytes):
                continue
            self.forget(sound)
            takes, freed = takes + count, freed + size
        return takes, freed

    def size(self) -> tuple[int, int]:
        """How many takes there are, and their bytes."""
        with self._lock:
            takes = self._db.execute("select count(*) from takes").fetchone()[0]
            size = self._db.execute("select sum(b) from (select max(bytes) b from takes group by sound)").fetchone()[0]
        return int(takes), int(size or 0)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> TakeStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._db.execute("begin immediate")
                try:
                    yield self._db
                except BaseException:
                    self._db.execute("rollback")
                    raise
                self._db.execute("commit")
            except sqlite3.OperationalError as error:
                raise CapacityError(f"The index of takes in {self.folder} cannot be written ({error}).") from None

    def _write(self, audio: Audio, rate_hz: int) -> tuple[str, int, int]:
        """The sound as a file: (its SHA-256, its bytes, the shift)."""
        import soundfile

        peak = float(np.abs(audio).max()) if len(audio) else 0.0
        shift = max(0, int(np.ceil(np.log2(peak / (1 - 2**-20))))) if peak > 1 - 2**-20 else 0
        try:
            handle, name = tempfile.mkstemp(dir=self.folder / "sound", prefix=".", suffix=".part")
            path = Path(name)
            try:
                with os.fdopen(handle, "w+b") as file:
                    scaled = audio * np.float32(2.0**-shift) if shift else audio
                    soundfile.write(file, scaled, rate_hz, format="FLAC", subtype="PCM_24")
                    file.flush()
                    os.fsync(file.fileno())
                    file.seek(0)
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                    size = file.seek(0, os.SEEK_END)
                target = self._path(digest)
                target.parent.mkdir(exist_ok=True)
                path.replace(target)
            finally:
                path.unlink(missing_ok=True)
        except (OSError, soundfile.LibsndfileError) as error:
            raise CapacityError(
                f"A take cannot be kept in {self.folder} ({error}).", hint="Is the disk full?"
            ) from None
        return digest, size, shift

    def _path(self, sound: str) -> Path:
        return self.folder / "sound" / sound[:2] / f"{sound}.flac"


def _kept(row: tuple[Any, ...]) -> Kept:
    fields = dict(zip(COLUMNS.split(", "), row, strict=True))
    fields["facts"] = json.loads(fields["facts"])
    fields["verdict"] = json.loads(fields["verdict"]) if fields["verdict"] else None
    fields["rank"] = tuple(json.loads(fields["rank"])) if fields["rank"] else None
    return Kept(**fields)


def _tuples(engine: dict[str, Any]) -> dict[str, Any]:
    return {**engine, "languages": tuple(engine["languages"])}
