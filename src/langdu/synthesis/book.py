"""A whole book: read, planned, said, judged, rendered, reported. What `langdu book` calls.

    Book(request)                 reads, casts and plans; every mistake of the user is found here
    book.make(on_event)           says what is missing, renders meanwhile, measures, reports -> Summary

Killed at any point, the same request goes on: takes are found by their keys.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from langdu.audio.av_encode import Tags
from langdu.audio.encode import format_of
from langdu.audio.loudness import profile
from langdu.engines.base import Failed
from langdu.errors import Cancelled, InputError, MachineError, OutputError, SettingError
from langdu.quality.report import Report, write_report
from langdu.settings import settings
from langdu.synthesis import project
from langdu.synthesis.capacity import choose_workers
from langdu.synthesis.casting import Casting, cast_script, for_cast, resolver
from langdu.synthesis.forecast import Progress
from langdu.synthesis.making import Counts, Ear, Judge, Maker, failure_of
from langdu.synthesis.model import Chunk
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import EngineSpec, Runner
from langdu.synthesis.say import SayRequest, guess_language, own_language, persona_for
from langdu.synthesis.takes import Kept, TakeStore
from langdu.synthesis.volumes import MOST_CORRECTIONS, Spoken, Volume, Volumes
from langdu.text import pronunciation
from langdu.text.model import Document, Language, Script
from langdu.text.script import ScriptOptions, make_script

Event = dict[str, Any]
RunnerFor = Callable[[EngineSpec, list[Chunk]], Runner]


@dataclass(frozen=True, slots=True)
class BookRequest:
    document: Document
    output: Path
    source: str = ""
    """The document's path, for the project file."""
    voice: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    options: ScriptOptions = field(default_factory=ScriptOptions)
    loudness: str = "podcast"
    first_chapter: int = 1
    last_chapter: int | None = None
    split: bool = False
    subtitles: bool = True
    check: bool = True
    retries: int | None = None
    workers: int | None = None
    force: bool = False
    speed: float = 1.0
    overwrite: bool = False
    remember: bool = True
    """As the book made last."""
    cluster: str = ""
    engine: str = ""
    model: str = ""
    language: Language | None = None
    """None: decided by sentence."""
    cap: int | None = None
    """Most characters in a chunk; None: the setting."""
    engine_options: dict[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(slots=True)
class Summary:
    """RTF is seconds of work per second of sound: lower is better."""

    chunks: int = 0
    said: int = 0
    retries: int = 0
    reused: int = 0
    faults: list[dict[str, Any]] = field(default_factory=list)
    inconclusive: int = 0
    seconds: float = 0.0
    audio_seconds: float = 0.0
    rtf: float = 0.0
    output: str = ""
    outputs: list[str] = field(default_factory=list)
    report: str = ""
    lufs: float = 0.0
    true_peak_db: float = 0.0
    problems: list[str] = field(default_factory=list)
    """What the finished files are not, against their loudness profile."""
    workers: int = 0
    load_seconds: float = 0.0
    peak_memory_mb: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {key: round(value, 3) if isinstance(value, float) else value for key, value in asdict(self).items()}


class Book:
    def __init__(self, request: BookRequest) -> None:
        self.request = request
        self._started = time.perf_counter()
        self._check_output()
        self.profile = profile(request.loudness)
        document = request.document
        sample = " ".join(p.text for s in document.sections for p in s.paragraphs[:20])
        language = request.language or document.language or guess_language(sample)
        default = persona_for(request.voice, language)
        persona_of = resolver(default, request.roles)
        options = for_cast(request.options, persona_of, request.roles)
        self.script: Script = make_script(
            document, language=request.language, default=own_language(default), options=options
        )
        self._say = SayRequest(
            "", request.voice, language, request.workers, request.force, request.speed, engine=request.engine,
            model=request.model, engine_options=dict(request.engine_options), cap=request.cap,
        )  # fmt: skip
        self.casting: Casting = cast_script(self.script, self._say, persona_of, language=language)
        self.chunks = self._selected()
        title = self.script.title or request.output.stem
        self.volumes = Volumes(
            request.output, self.casting.plan.chapters, self.profile, split=request.split or self.profile.split,
            tags=Tags(title, self.script.author, title, cover=self.script.cover), subtitles=request.subtitles,
        )  # fmt: skip
        self.project = self._claimed()

    def _check_output(self) -> None:
        request = self.request
        if str(request.output) == "-":
            raise OutputError("A book is measured after it is written, so it cannot go to stdout.", hint="Use -o FILE.")
        format_of(str(request.output))
        if not request.output.parent.is_dir():
            raise OutputError(f"The folder {request.output.parent} does not exist.", hint="Create it first.")
        if not os.access(request.output.parent, os.W_OK):
            raise OutputError(f"The folder {request.output.parent} cannot be written.", hint="Use another folder.")

    def _claimed(self) -> project.Project:
        """The project, with the files it may replace. OutputError for a file that no book made here has written."""
        request = self.request
        targets = self.volumes.targets(chunk.chapter for chunk in self.chunks)
        targets += [request.output.with_suffix(suffix) for suffix in (".report.html", ".report.json")]
        ours: set[str] = set()
        if project.path_of(request.output).is_file():
            with contextlib.suppress(InputError):  # damaged: it shows nothing
                ours = set(project.load(request.output).outputs)
        for target in targets:
            if target.is_dir():
                raise OutputError(f"{target} is a folder.", hint="Name a file in it.")
            if target.exists() and target.name not in ours and not request.overwrite:
                hint = "Use --overwrite, or another name."
                raise OutputError(f"{target} exists and is not of a book made here.", hint=hint)
        chunks = tuple(project.project_chunk(chunk, self.casting.spec_of(chunk)) for chunk in self.chunks)
        names = tuple(sorted(ours | {target.name for target in targets}))
        return project.Project(request.source, str(request.output.resolve()), chunks, names)

    def _selected(self) -> list[Chunk]:
        plan, first, last = self.casting.plan, self.request.first_chapter, self.request.last_chapter
        count = len(plan.chapters)
        last = count if last is None else last
        if not 1 <= first <= last <= count:
            raise SettingError(f"Chapters {first} to {last} are not in this book; it has {count}.")
        chunks = [chunk for chunk in plan.chunks if first - 1 <= chunk.chapter < last]
        if not chunks:
            raise InputError("There is nothing to say in these chapters.")
        return chunks

    def make(
        self,
        on_event: Callable[[Event], None] = lambda event: None,
        *,
        store: TakeStore | None = None,
        judge: Judge | None = None,
        runner_for: RunnerFor | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Summary:
        """Make the file or files. Raises EngineError, with no file written, when a chunk could not be said.

        `runner_for` says the chunks of an engine where they are not to have workers of their own; `stopped` is asked
        at each chunk that is written, and ends the book with Cancelled.
        """
        own = store is None
        store = store or TakeStore(settings().takes_dir)
        try:
            with project.locked(self.request.output, self.project.outputs):
                return _Making(self, store, judge, on_event, runner_for, stopped).run()
        except BrokenPipeError:  # nobody reads the events any more
            raise
        except OSError as error:  # subtitles, report, project: small files beside the output
            what = error.filename or self.request.output
            raise OutputError(f"{what} cannot be written ({error.strerror}).", hint="Is the disk full?") from None
        finally:
            if own:
                store.close()

    def shown(self, chunk: Chunk) -> tuple[tuple[str, str], ...]:
        """The sentences of a chunk, each as said and as written; () where it has parts of sentences."""
        mine = [self.script.utterances[index] for index in chunk.utterances]
        spoken = "".join("".join(pronunciation.plain(utterance.spoken).split()) for utterance in mine)
        if spoken != "".join(chunk.text.split()):
            return ()
        return tuple((utterance.spoken, utterance.source) for utterance in mine)


class _Making:
    """One run of a book."""

    def __init__(
        self, book: Book, store: TakeStore, judge: Judge | None, on_event: Callable[[Event], None],
        runner_for: RunnerFor | None, stopped: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._book, self._store, self._event, self._stopped = book, store, on_event, stopped
        request = book.request
        if judge is None and request.check:
            judge = Ear(settings().checker)
        retries = settings().max_retries if request.retries is None else request.retries
        runner_for = runner_for or (self._cluster if request.cluster else self._pool)
        self._maker = Maker(
            store, book.casting.spec_of, runner_for, judge=judge, retries=retries, on_take=self._on_take
        )
        self._summary = Summary(chunks=len(book.chunks), output=str(request.output))
        self._done = self._faulty = 0
        self._volumes = book.volumes
        self._progress = Progress(book.chunks)

    def _pool(self, spec: EngineSpec, chunks: list[Chunk]) -> Runner:
        request = self._book.request
        batched = self._book.casting.infos[chunks[0].persona.content_hash()].batched
        workers = choose_workers(
            request.workers, engine=spec.engine, chunks=len(chunks), batched=batched, force=request.force
        )
        personas = {chunk.persona.content_hash(): chunk.persona for chunk in chunks}
        return Pool(spec, workers, personas=list(personas.values()))

    def _cluster(self, spec: EngineSpec, chunks: list[Chunk]) -> Runner:
        from langdu.synthesis.cluster import Cluster

        info = self._book.casting.infos[chunks[0].persona.content_hash()]
        return Cluster(self._book.request.cluster, spec, info)

    def _on_take(self, chunk: Chunk, kept: Kept) -> None:
        self._event({
            "event": "take", "chunk": chunk.name, "attempt": kept.attempt, "outcome": kept.outcome,
            "faults": _faults(kept), "audio_seconds": round(kept.audio_seconds, 3),
        })  # fmt: skip

    def run(self) -> Summary:
        book, counts = self._book, self._maker.counts
        chapters = len({chunk.chapter for chunk in book.chunks})
        self._event({"event": "plan", "chunks": len(book.chunks), "chapters": chapters})
        book.project.save(remember=book.request.remember)
        rate_hz = next(iter(book.casting.infos.values())).sample_rate_hz
        with contextlib.closing(self._spoken()) as spoken:  # a file that cannot be written ends the workers at once
            self._volumes.write(spoken, rate_hz)
        return self._finish(self._fitted(rate_hz), counts)

    def _spoken(self) -> Generator[Spoken, None, None]:
        """Chunks in order, as they become ready; raises the first failure once everything else was said."""
        failed: list[tuple[Chunk, Failed]] = []
        with contextlib.closing(self._maker.make(self._book.chunks)) as made:
            for chunk, kept in made:
                self._done += 1
                self._tell(chunk, kept)
                if isinstance(kept, Failed):
                    failed.append((chunk, kept))
                elif not failed:
                    yield self._with_sound(chunk, kept)
        if failed:
            raise failure_of(*failed[0])

    def _with_sound(self, chunk: Chunk, kept: Kept) -> Spoken:
        if self._stopped():
            raise Cancelled("The book was stopped.")
        audio = self._store.load(kept)
        if audio is None:
            message = f"The sound of chunk {chunk.name} was damaged on disk, or pruned while it was used."
            raise MachineError(message, hint="Run the same command again: it is then said anew.")
        return Spoken(chunk, kept, audio, self._book.shown(chunk))

    def _tell(self, chunk: Chunk, kept: Kept | Failed) -> None:
        outcome = "failed" if isinstance(kept, Failed) else kept.outcome
        self._faulty += outcome in ("fault", "failed")
        self._event({
            "event": "chunk", "chunk": chunk.name, "done": self._done, "chunks": len(self._book.chunks),
            "outcome": outcome, "faults": [kept.message] if isinstance(kept, Failed) else _faults(kept),
            "faults_so_far": self._faulty, "said": self._maker.counts.said, "reused": self._maker.counts.reused,
            **self._progress.after(chunk, 0.0 if isinstance(kept, Failed) else kept.audio_seconds, self._maker.missing),
        })  # fmt: skip

    def _fitted(self, rate_hz: int) -> list[Volume]:
        """Measured after encoding, and rendered again where the profile was missed."""
        volumes = self._volumes.measured()
        for _ in range(MOST_CORRECTIONS):
            problems = [problem for volume in volumes for problem in volume.problems]
            if not problems:
                break
            self._event({"event": "render", "again": True, "problems": problems})
            self._volumes.again(
                lambda line: self._with_sound(line.chunk, self._store.get(line.kept.id)), rate_hz, volumes
            )
            volumes = self._volumes.measured()
        return volumes

    def _finish(self, volumes: list[Volume], counts: Counts) -> Summary:
        summary, request, lines = self._summary, self._book.request, self._volumes.lines
        self._store.touch([line.kept.id for line in lines])
        summary.said, summary.retries, summary.reused = counts.said, counts.retries, counts.reused
        summary.faults = [
            {"chunk": line.chunk.name, "faults": _faults(line.kept), "text": line.chunk.text}
            for line in lines
            if line.kept.outcome == "fault" and line.kept.state != "accepted"
        ]
        summary.inconclusive = sum(line.kept.outcome == "inconclusive" for line in lines)
        summary.audio_seconds = sum(volume.seconds for volume in volumes)
        summary.outputs = [str(volume.path) for volume in volumes]
        summary.output = str(request.output) if len(volumes) == 1 else str(volumes[0].path)
        summary.problems = [f"{volume.path.name}: {problem}" for volume in volumes for problem in volume.problems]
        summary.lufs = round(sum(v.levels.lufs * v.seconds for v in volumes) / summary.audio_seconds, 2)
        summary.true_peak_db = round(max(volume.levels.true_peak_db for volume in volumes), 2)
        summary.workers, summary.load_seconds = counts.workers, counts.load_seconds
        summary.peak_memory_mb = counts.peak_memory_mb
        summary.report = str(request.output.with_suffix(".report.html"))
        summary.seconds = time.perf_counter() - self._book._started
        summary.rtf = summary.seconds / summary.audio_seconds
        title = self._book.script.title or request.output.stem
        files = [asdict(volume) | {"path": volume.path.name} for volume in volumes]
        infos = list(dict.fromkeys(self._book.casting.infos.values()))
        report = Report(title, self._book.casting.plan.chapters, lines, summary.as_dict(), files, infos)
        write_report(request.output, report, self._store)
        self._event({"event": "summary", **summary.as_dict()})
        return summary


def _faults(kept: Kept) -> list[str]:
    return [f["name"] for f in (kept.verdict or {}).get("findings", []) if f["level"] == "fault"]
