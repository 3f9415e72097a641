"""Every take that was ever made, kept so that nothing is said twice.

    takes.sqlite          index (SQLite, write-ahead log): key, seed, facts, verdict, state, file
    sound/ab/abcd….flac   24-bit FLAC named by the SHA-256 of its bytes

A file is on disk, whole and synced, before its row is; so after a kill or a power cut every row has its sound,
and the worst that remains is a file without a row, which `prune` clears away. Several processes may work on one
store at once: files appear and vanish only under the index's write lock. Peaks above full scale are kept by a
power of two (`shift`), so nothing is clipped. Takes are pruned on request only.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
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
ENDINGS = "endings"
"""Who judged a take that nobody heard: only how its engine ended it."""
BUSY_S = 30.0
STRAY_S = 3600.0
"""A file without a row and this old belongs to no process that is still writing it."""
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
    def judge(self) -> str:
        """Who gave the verdict; "" before there is one."""
        return str((self.verdict or {}).get("by", ""))

    @property
    def outcome(self) -> str:
        found = "unheard" if self.verdict is None else str(self.verdict["outcome"])
        return "unheard" if found == "pass" and self.judge == ENDINGS else found


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
        except sqlite3.DatabaseError as error:
            hint = f"If it is damaged, move {folder / 'takes.sqlite'} away: everything is then said anew."
            raise MachineError(f"The takes in {folder} cannot be opened ({error}).", hint=hint) from None
        except OSError as error:
            hint = "Set LANGDU_DATA_DIR to a folder that can be written."
            raise MachineError(f"The takes in {folder} cannot be opened ({error}).", hint=hint) from None

    def add(self, take: Take) -> Kept:
        """Keep a take. The same sound for the same key and seed is kept once."""
        part, sound, size, shift = self._write(take.audio, take.sample_rate_hz)
        facts = {
            "seconds": take.seconds, "ending": take.ending, "frames": take.frames, "engine": take.engine.as_dict(),
            "facts": take.facts,
        }  # fmt: skip
        now = time.time()
        with self._writing() as db:
            self._publish(part, sound)
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
        row = next(iter(self._rows(f"select {COLUMNS} from takes where id = ?", take)), None)
        if row is None:
            raise MachineError(f"Take {take} is no longer in {self.folder}.")
        return _kept(row)

    def of(self, key: str) -> list[Kept]:
        """All takes of a key, oldest first."""
        return [_kept(row) for row in self._rows(f"select {COLUMNS} from takes where key = ? order by id", key)]

    def usable(self, key: str) -> list[Kept]:
        """The takes of a key that may be used, best first: the accepted one, the best judged, the oldest.

        None that was rejected; one whose file is gone or cut short is dropped on the way.
        """
        found = [kept for kept in self.of(key) if kept.state != "rejected" and self._there(kept)]
        return sorted(found, key=lambda k: (k.state != "accepted", k.rank is None, k.rank or (), k.id))

    def choice(self, key: str) -> Kept | None:
        """The take to use: the first of `usable`."""
        return next(iter(self.usable(key)), None)

    def _there(self, kept: Kept) -> bool:
        path = self._path(kept.sound)
        if path.is_file() and path.stat().st_size == kept.bytes:
            return True
        self.forget(kept.sound)
        return False

    def file(self, kept: Kept) -> Path:
        """The FLAC file of its sound; read only, and divided by 2**shift."""
        return self._path(kept.sound)

    def load(self, kept: Kept) -> Audio | None:
        """The sound, shape (samples,). None when its file is gone or damaged; its rows are then dropped."""
        import soundfile

        try:
            data = self._path(kept.sound).read_bytes()
        except OSError:
            data = b""
        if hashlib.sha256(data).hexdigest() != kept.sound:
            self.forget(kept.sound)
            return None
        audio, _ = soundfile.read(io.BytesIO(data), dtype="float32")
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
        """Drop takes not used for so long, then the longest unused until the rest fits. Returns (takes, bytes).

        Bytes of files that a kill left without a row count too.
        """
        rows = self._rows("select sound, max(used), max(bytes), count(*) from takes group by sound order by max(used)")
        total = sum(row[2] for row in rows)
        now, takes, freed = time.time(), 0, 0
        for sound, used, size, count in rows:
            old = older_than_s is not None and now - used > older_than_s
            if not old and (most_bytes is None or total - freed <= most_bytes):
                continue
            self.forget(sound)
            takes, freed = takes + count, freed + size
        return takes, freed + self._clear_strays()

    def _clear_strays(self) -> int:
        freed = 0
        for path in (self.folder / "sound").rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                facts = path.stat()
                if path.is_dir() or time.time() - facts.st_mtime < STRAY_S:
                    continue
                with self._writing():
                    if path.suffix == ".part" or not self._rows("select 1 from takes where sound = ?", path.stem):
                        path.unlink()
                        freed += facts.st_size
        return freed

    def size(self) -> tuple[int, int]:
        """How many takes there are, and their bytes."""
        [(takes,)] = self._rows("select count(*) from takes")
        [(size,)] = self._rows("select sum(b) from (select max(bytes) b from takes group by sound)")
        return int(takes), int(size or 0)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> TakeStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except sqlite3.DatabaseError as error:
                hint = "If it is damaged, move takes.sqlite away: everything is then said anew."
                raise MachineError(
                    f"The index of takes in {self.folder} cannot be read ({error}).", hint=hint
                ) from None

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
            except sqlite3.DatabaseError as error:
                raise CapacityError(f"The index of takes in {self.folder} cannot be written ({error}).") from None

    def _write(self, audio: Audio, rate_hz: int) -> tuple[Path, str, int, int]:
        """The sound as a file without its name yet: (the file, its SHA-256, its bytes, the shift)."""
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
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        except (OSError, soundfile.LibsndfileError) as error:
            raise self._full(error) from None
        return path, digest, size, shift

    def _publish(self, part: Path, sound: str) -> None:
        """Give the file its name, and have the name on disk before the row is."""
        target = self._path(sound)
        try:
            try:
                target.parent.mkdir(exist_ok=True)
                part.replace(target)
                if os.name == "posix":
                    folder = os.open(target.parent, os.O_RDONLY)
                    try:
                        os.fsync(folder)
                    finally:
                        os.close(folder)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise self._full(error) from None

    def _full(self, error: Exception) -> CapacityError:
        return CapacityError(f"A take cannot be kept in {self.folder} ({error}).", hint="Is the disk full?")

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
