"""The routes of jobs: whole documents, their progress, their chunks one by one, their result."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from langdu.errors import DocumentError
from langdu.service.job_runner import JobRunner
from langdu.service.jobs import FINAL, JobStore, State
from langdu.service.problems import REFUSALS
from langdu.service.speech import Order, prepare
from langdu.service.streaming import event
from langdu.text.model import Document

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=REFUSALS)
Format = Literal["mp3", "opus", "flac", "wav", "m4a"]
JobId = Annotated[str, PathParameter(pattern="^[0-9a-f]{32}$")]
Index = Annotated[int, PathParameter(ge=0, le=1_000_000)]
KINDS = (".txt", ".md", ".epub", ".docx", ".pdf", ".html", ".htm", ".srt", ".vtt")
TEXT_CHARS = 2_000_000
EVENT_S = 15.0
"""A stream of events says something at least so often, so that a dead client is noticed."""
SOUND = {"content": {"audio/*": {"schema": {"type": "string", "format": "binary"}}}}


class NewJob(BaseModel):
    model_config = ConfigDict(extra="forbid")
    input: str = Field(min_length=1, max_length=TEXT_CHARS)
    title: str = Field("", max_length=200)
    voice: str | None = Field(None, max_length=64)
    language: Literal["zh", "en", "ja"] | None = None
    response_format: Format = "mp3"
    speed: float = Field(1.0, ge=0.25, le=4.0, allow_inf_nan=False)
    verify: bool = Field(True, description="Listen to every chunk and compare it with its text.")


class Job(BaseModel):
    id: str
    object: Literal["job"] = "job"
    created: float
    title: str
    state: State
    error: str
    format: str
    verify: bool
    chunks: int
    made: int
    faults: int
    seconds: float
    audio_seconds: float


class ChunkFacts(BaseModel):
    index: int
    name: str
    text: str
    voice: str
    language: str
    attempt: int
    verdict: str
    heard: str
    faults: list[str]
    cer: float | None
    accepted: bool
    audio_seconds: float


class JobDetail(Job):
    items: list[ChunkFacts]


class JobList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Job]


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


async def add_job(store: JobStore, runner: JobRunner, source: str | Document, wish: NewJob) -> Job:
    order = Order(source, wish.voice, wish.speed, language=wish.language, live=False)
    ready = await asyncio.to_thread(prepare, order)
    title = wish.title or ready.script.title or ready.script.utterances[0].source[:40]
    job = store.add(ready.plan, ready.spec, title=title, format=wish.response_format, verify=wish.verify)
    runner.wake()
    return job_of(store, job)


@router.post("", status_code=201)
async def create(wish: NewJob, request: Request) -> Job:
    """Make a text, however long, into one file."""
    return await add_job(_store(request), _runner(request), wish.input, wish)


@router.post("/document", status_code=201)
async def create_from_document(
    request: Request,
    file: Annotated[UploadFile, File(description="txt, md, epub, docx, pdf, html, srt or vtt.")],
    voice: Annotated[str | None, Form(max_length=64)] = None,
    title: Annotated[str, Form(max_length=200)] = "",
    response_format: Annotated[Format, Form()] = "mp3",
    verify: Annotated[bool, Form()] = True,
) -> Job:
    """Make a document into one file."""
    document = await read_upload(file)
    wish = NewJob(input="-", title=title, voice=voice, response_format=response_format, speed=1.0, verify=verify)
    return await add_job(_store(request), _runner(request), document, wish)


async def read_upload(file: UploadFile) -> Document:
    """An uploaded document. Only the suffix of its name is used, and only one of those we know."""
    from langdu.text.documents import read_document

    suffix = Path(file.filename or "").suffix.lower()
    if suffix not in KINDS:
        raise DocumentError(f'Documents of kind "{suffix or "none"}" are not read.', hint=f"Known: {' '.join(KINDS)}.")
    return await asyncio.to_thread(read_document, await file.read(), f"document{suffix}")


@router.get("")
async def index(request: Request) -> JobList:
    """All jobs, the newest first."""
    return JobList(data=[Job(**dataclasses.asdict(row)) for row in _store(request).all()])


@router.get("/{job}")
async def show(job: JobId, request: Request) -> JobDetail:
    """One job and its chunks, with what was heard of each."""
    return _detail(_store(request), job)


@router.delete("/{job}", status_code=204)
async def delete(job: JobId, request: Request) -> Response:
    """Delete a job and its sound; one under way is stopped first."""
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
    """The sound of one chunk, as the engine made it."""
    return FileResponse(_store(request).sound(job, index), media_type="audio/wav")


@router.get("/{job}/audio", response_class=Response, responses={200: SOUND})
async def audio(job: JobId, request: Request) -> FileResponse:
    """The finished file."""
    path = _store(request).result(job)
    kinds = {"mp3": "audio/mpeg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/wav", "m4a": "audio/mp4"}
    title = "".join(c if c.isalnum() else "_" for c in _store(request).get(job).title)[:60].strip("_") or "langdu"
    return FileResponse(path, media_type=kinds[path.suffix[1:]], filename=title + path.suffix)


@router.get(
    "/{job}/events",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def events(job: JobId, request: Request) -> StreamingResponse:
    """Progress as server-sent events `job` (state and counts) and `chunk`; ends when the job has ended."""
    store, runner = _store(request), _runner(request)
    store.get(job)
    return StreamingResponse(_watch(store, runner, job), media_type="text/event-stream")


async def _watch(store: JobStore, runner: JobRunner, job: str) -> AsyncIterator[bytes]:
    from langdu.service.problems import NotFound

    last, seen = "", {}  # type: str, dict[int, str]
    while True:
        try:
            detail = _detail(store, job)
        except NotFound:
            yield event("deleted")
            return
        for item in detail.items:
            facts = item.model_dump()
            text = json.dumps(facts)
            if item.verdict != "waiting" and seen.get(item.index) != text:
                seen[item.index] = text
                yield event("chunk", **facts)
        facts = job_of(store, job).model_dump()
        if (text := json.dumps(facts)) != last:
            last = text
            yield event("job", job=facts)
        else:
            yield b": still here\n\n"
        if detail.state in FINAL:
            return
        await runner.changed(EVENT_S)
