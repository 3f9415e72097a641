"""The routes of jobs: whole documents, their progress, their chunks one by one, their result."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, Response, StreamingResponse
from pydantic import ValidationError

from langdu.errors import DocumentError, SettingError
from langdu.service.job_book import TEXT, book_of
from langdu.service.job_models import ChunkFacts, Format, Job, JobDetail, JobList, JobOptions, NewJob
from langdu.service.job_runner import JobRunner
from langdu.service.jobs import FINAL, JobStore, JobWish
from langdu.service.problems import REFUSALS
from langdu.service.streaming import event
from langdu.voices.library import write_atomic

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=REFUSALS)
JobId = Annotated[str, PathParameter(pattern="^[0-9a-f]{32}$")]
Index = Annotated[int, PathParameter(ge=0, le=1_000_000)]
KINDS = (".txt", ".md", ".epub", ".docx", ".pdf", ".html", ".htm", ".srt", ".vtt")
EVENT_S = 15.0
"""A stream of events says something at least so often, so that a dead client is noticed."""
SOUND = {"content": {"audio/*": {"schema": {"type": "string", "format": "binary"}}}}


def _store(request: Request) -> JobStore:
    found = request.app.state.jobs
    assert isinstance(found, JobStore)
    return found


def _runner(request: Request) -> JobRunner:
    found = request.app.state.runner
    assert isinstance(found, JobRunner)
    return found


def job_of(store: JobStore, job: str) -> Job:
    return Job(**dataclasses.asdict(store.get(job)))


def _detail(store: JobStore, job: str) -> JobDetail:
    items = [ChunkFacts(**dataclasses.asdict(row)) for row in store.chunks(job)]
    return JobDetail(**job_of(store, job).model_dump(), items=items)


async def add_job(store: JobStore, runner: JobRunner, source: bytes, name: str, wish: JobOptions) -> Job:
    """Read and plan a source, and queue it. Whatever is wrong with it is raised here, and nothing is left behind."""
    kept = JobWish(
        name, wish.title, wish.voice, dict(wish.roles), wish.language, wish.response_format, wish.speed, wish.verify,
        wish.loudness, wish.reading.model_dump(exclude_none=True),
    )  # fmt: skip
    job, folder = store.new_folder()
    try:
        await asyncio.to_thread(write_atomic, folder / name, source)
        book = await asyncio.to_thread(book_of, folder, kept)
        title = wish.title or book.script.title or book.script.utterances[0].source[:40]
        store.add(job, kept, title, book.chunks)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    runner.wake(job, book)
    return job_of(store, job)


@router.post("", status_code=201)
async def create(wish: NewJob, request: Request) -> Job:
    """Make a text, however long, into one file."""
    return await add_job(_store(request), _runner(request), wish.input.encode("utf-8", "replace"), TEXT, wish)


@router.post("/document", status_code=201)
async def create_from_document(
    request: Request,
    file: Annotated[UploadFile, File(description="txt, md, epub, docx, pdf, html, srt or vtt.")],
    voice: Annotated[str | None, Form(max_length=64)] = None,
    title: Annotated[str, Form(max_length=200)] = "",
    response_format: Annotated[Format, Form()] = "mp3",
    verify: Annotated[bool, Form()] = True,
    options: Annotated[str, Form(max_length=200_000, description="The further fields of a job, as JSON.")] = "{}",
) -> Job:
    """Make a document into one file."""
    fields = {"title": title, "voice": voice, "response_format": response_format, "verify": verify}
    try:
        wish = JobOptions.model_validate({**fields, **_object(options)})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"options: {place}: {first['msg']}.") from None
    return await add_job(_store(request), _runner(request), await file.read(), name_of(file), wish)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise SettingError("options is not a JSON object.")
    return found


def name_of(file: UploadFile) -> str:
    """Ours for an uploaded document. Only the suffix of its own is used, and only one of those we know."""
    suffix = Path(file.filename or "").suffix.lower()
    if suffix not in KINDS:
        raise DocumentError(f'Documents of kind "{suffix or "none"}" are not read.', hint=f"Known: {' '.join(KINDS)}.")
    return f"document{suffix}"


@router.get("")
async def index(request: Request) -> JobList:
    """All jobs, the newest first."""
    return JobList(data=[Job(**dataclasses.asdict(row)) for row in _store(request).all()])


@router.get("/{job}")
async def show(job: JobId, request: Request) -> JobDetail:
    """One job and its chunks, with what was heard of each."""
    store = _store(request)
    if store.get(job).state in FINAL:
        await asyncio.to_thread(store.refresh, job)
    return _detail(store, job)


@router.delete("/{job}", status_code=204)
async def delete(job: JobId, request: Request) -> Response:
    """Delete a job and its files; one under way is stopped first. Its takes stay until `langdu takes prune`."""
    _store(request).get(job)
    await _runner(request).abort(job)
    _store(request).delete(job)
    return Response(status_code=204)


@router.post("/{job}/cancel")
async def cancel(job: JobId, request: Request) -> Job:
    """Stop a job; what is made stays, and it can be resumed."""
    _store(request).cancel(job)
    await _runner(request).abort(job)
    await _runner(request).tell()
    return job_of(_store(request), job)


@router.post("/{job}/resume")
async def resume(job: JobId, request: Request) -> Job:
    """Go on with a job that failed or was cancelled."""
    _store(request).resume(job)
    _runner(request).wake()
    return job_of(_store(request), job)


@router.post("/{job}/chunks/{index}/redo")
async def redo(job: JobId, index: Index, request: Request) -> Job:
    """Say one chunk again with a new seed, then make the result again."""
    _store(request).redo(job, index)
    _runner(request).wake()
    return job_of(_store(request), job)


@router.post("/{job}/chunks/{index}/accept")
async def accept(job: JobId, index: Index, request: Request) -> Job:
    """Take a chunk as it is, whatever the checker heard."""
    _store(request).accept(job, index)
    await _runner(request).tell()
    return job_of(_store(request), job)


@router.get("/{job}/chunks/{index}/audio", response_class=Response, responses={200: SOUND})
async def chunk_audio(job: JobId, index: Index, request: Request) -> FileResponse:
    """The sound of one chunk, as the engine made it, as FLAC."""
    return FileResponse(_store(request).sound(job, index), media_type="audio/flac")


@router.get("/{job}/audio", response_class=Response, responses={200: SOUND})
async def audio(job: JobId, request: Request) -> FileResponse:
    """The finished file."""
    return _named(_store(request), job, "")


def _named(store: JobStore, job: str, suffix: str) -> FileResponse:
    path = store.result(job, suffix)
    kinds = {".mp3": "audio/mpeg", ".opus": "audio/ogg", ".flac": "audio/flac", ".wav": "audio/wav",
             ".m4a": "audio/mp4", ".m4b": "audio/mp4", ".srt": "application/x-subrip", ".vtt": "text/vtt",
             ".html": "text/html"}  # fmt: skip
    title = "".join(c if c.isalnum() else "_" for c in store.get(job).title)[:60].strip("_") or "langdu"
    return FileResponse(path, media_type=kinds[path.suffix], filename=title + (suffix or path.suffix))


@router.get(
    "/{job}/events",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def events(job: JobId, request: Request) -> StreamingResponse:
    """Server-sent events `chunk` (all of them first, then each that changes) and `job` (state, counts, time left).

    They end with the job.
    """
    store, runner = _store(request), _runner(request)
    store.get(job)
    return StreamingResponse(_watch(store, runner, job), media_type="text/event-stream")


@router.get("/{job}/{kind}", response_class=Response, responses={200: {"content": {"text/*": {}}}})
async def beside(job: JobId, kind: Literal["srt", "vtt", "report"], request: Request) -> FileResponse:
    """What lies beside the finished file: subtitles, or the report of every chunk and its verdict (HTML)."""
    return _named(_store(request), job, ".report.html" if kind == "report" else f".{kind}")


async def _watch(store: JobStore, runner: JobRunner, job: str) -> AsyncIterator[bytes]:
    from langdu.service.problems import NotFound

    last, seen = "", 0
    while True:
        try:
            rows, seen = store.changes(job, seen)
            facts = job_of(store, job).model_dump() | {"left_s": runner.left_s(job)}
        except NotFound:
            yield event("deleted")
            return
        for row in rows:
            yield event("chunk", **dataclasses.asdict(row))
        if (text := json.dumps(facts)) != last:
            last = text
            yield event("job", job=facts)
        else:
            yield b": still here\n\n"
        if facts["state"] in FINAL:
            return
        await runner.changed(EVENT_S)
