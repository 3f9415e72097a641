"""The studio: a page of this service, and the few routes only it needs.

The page is plain HTML, CSS and modules of JavaScript inside the package: no build, no toolkit, nothing fetched
from elsewhere, so it works on a machine without a network and under a strict content policy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, FastAPI, File, Form, Request, Response, UploadFile
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.staticfiles import StaticFiles

from langdu.errors import LangduError, VoiceError
from langdu.service.core import Core, saved
from langdu.service.job_book import script_options
from langdu.service.job_models import Name, Reading
from langdu.service.jobs_api import name_of
from langdu.service.problems import REFUSALS, NotFound, body_of
from langdu.service.streaming import event
from langdu.text.model import Document, Language

router = APIRouter(tags=["studio"], responses=REFUSALS)
PROGRESS_S = 0.2
LINES = 1000
"""Sentences of a script that the page is given; a book has ten times as many."""
PAGE = Path(__file__).parent / "page"
POLICY = "default-src 'self'; media-src 'self' blob:; img-src 'self' data:; object-src 'none'; frame-ancestors 'none'"


class ScriptWish(BaseModel):
    model_config = ConfigDict(extra="forbid")
    input: str = Field(min_length=1, max_length=200_000)
    language: Literal["zh", "en", "ja"] | None = None
    voice: str | None = Field(default=None, max_length=64)
    roles: dict[Name, Name] = Field(default_factory=dict, max_length=200)
    reading: Reading = Reading()


class Line(BaseModel):
    source: str
    spoken: str
    language: Language
    voice: str | None
    paragraph: int
    changed: bool


class ScriptView(BaseModel):
    lines: list[Line]
    changes: list[dict[str, str]]
    warnings: list[str]
    more: int = Field(description="Sentences beyond those listed.")


@router.post("/v1/script")
async def script(wish: ScriptWish) -> ScriptView:
    """What will be said, sentence by sentence, and what the reading rules changed."""
    return await asyncio.to_thread(_view, wish.input, wish)


@router.post("/v1/script/document")
async def script_of_document(file: Annotated[UploadFile, File(description="A document, as for a job.")]) -> ScriptView:
    """The same for the beginning of a document."""
    from langdu.text.documents import read_document

    data, name = await file.read(), name_of(file)
    return await asyncio.to_thread(lambda: _view(read_document(data, name), ScriptWish(input="-")))


def _view(source: str | Document, wish: ScriptWish) -> ScriptView:
    from langdu.synthesis.casting import for_cast, resolver
    from langdu.synthesis.say import guess_language, persona_for
    from langdu.text.script import make_script

    default = persona_for(wish.voice, wish.language or guess_language(wish.input))
    options = script_options(wish.reading.model_dump(exclude_none=True))
    options = for_cast(options, resolver(default, wish.roles), wish.roles)
    made = make_script(source, language=wish.language, options=options)
    lines = [
        Line(
            source=u.source, spoken=u.spoken, language=u.language, voice=u.voice, paragraph=u.paragraph,
            changed=u.source.strip() != u.spoken.strip(),
        )
        for u in made.utterances[:LINES]
    ]  # fmt: skip
    changes = [{"rule": c.rule, "before": c.before, "after": c.after} for c in made.changes[:LINES]]
    more = max(0, len(made.utterances) - LINES)
    return ScriptView(lines=lines, changes=changes, warnings=[w.message for w in made.warnings[:LINES]], more=more)


class ClipView(BaseModel):
    transcript: str
    heard: str
    language: str
    seconds: float
    warnings: list[str]


@router.post("/v1/audio/voices/check")
async def check_clip(
    request: Request, file: Annotated[UploadFile, File(description="A recording of one speaker.")]
) -> ClipView:
    """What would be made of a reference clip: its transcript to confirm, and what is wrong with it."""
    from langdu.voices.reference import intake

    with saved(await file.read()) as path:
        async with Core.of(request).ear() as checker:
            made = await asyncio.to_thread(intake, path, checker=checker)
    return ClipView(
        transcript=made.transcript, heard=made.heard, language=made.language,
        seconds=round(made.report.kept_seconds, 2), warnings=list(made.warnings),
    )  # fmt: skip


class NewVoice(BaseModel):
    name: str
    transcript: str
    transcript_by: Literal["person", "asr"]
    language: str | None
    warnings: list[str]


@router.post("/v1/audio/voices", status_code=201)
async def create_voice(
    request: Request,
    file: Annotated[UploadFile, File(description="A recording of one speaker, 3 to 20 s.")],
    name: Annotated[str, Form(min_length=1, max_length=64)],
    consent: Annotated[bool, Form(description="The speaker has agreed to the cloning of this voice.")],
    transcript: Annotated[str | None, Form(max_length=1000, description="None: what the checker hears.")] = None,
) -> NewVoice:
    """Make a cloned voice from a recording, through the same intake as `langdu voices add`."""
    from langdu.voices.adding import CONSENT, add_clone
    from langdu.voices.library import Library
    from langdu.voices.reference import intake

    if not consent:
        raise VoiceError("A voice is only cloned with its speaker's consent.", hint="Confirm it with consent=true.")
    library = await asyncio.to_thread(Library)
    library.check_new(name)
    with saved(await file.read()) as path:
        async with Core.of(request).ear() as checker:
            made = await asyncio.to_thread(intake, path, text=transcript, checker=checker)
    persona = await asyncio.to_thread(add_clone, library, name, made, consent=CONSENT)
    return NewVoice(
        name=persona.name, transcript=persona.transcript, transcript_by=persona.transcript_by,
        language=persona.language, warnings=list(made.warnings),
    )  # fmt: skip


@router.post(
    "/v1/models/{model}/download",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def download(model: str) -> StreamingResponse:
    """Fetch a model of the catalogue; events `progress` (file, done, total in bytes), then `done` or `error`."""
    from langdu.models.catalog import CATALOG

    if model not in CATALOG:
        raise NotFound(f'There is no model "{model}" to fetch.', hint="See /v1/models.")
    return StreamingResponse(_fetch(model), media_type="text/event-stream")


async def _fetch(model: str) -> AsyncIterator[bytes]:
    from langdu.models.store import Progress, ensure

    loop = asyncio.get_running_loop()
    latest: dict[str, Progress] = {}
    moved = asyncio.Event()

    def report(progress: Progress) -> None:
        latest["now"] = progress
        loop.call_soon_threadsafe(moved.set)

    task = asyncio.ensure_future(asyncio.to_thread(ensure, model, report=report))
    task.add_done_callback(lambda _: moved.set())
    while not task.done():
        await moved.wait()
        moved.clear()
        if (now := latest.pop("now", None)) is not None:
            yield event("progress", file=now.file, done=now.done, total=now.total)
        await asyncio.sleep(PROGRESS_S)
    failure = task.exception()
    if isinstance(failure, LangduError):
        yield event("error", **body_of(failure))
    elif failure is not None:
        raise failure
    else:
        yield event("done")


@router.get("/", include_in_schema=False)
async def page() -> Response:
    return FileResponse(PAGE / "index.html", headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"})


def mount_page(app: FastAPI) -> None:
    app.mount("/studio", StaticFiles(directory=PAGE), name="studio")
