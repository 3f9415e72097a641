"""The routes OpenAI's clients know: speech, voices, models, transcriptions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, File, Form, Header, Request, UploadFile
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from langdu.engines.base import Audio
from langdu.errors import LangduError, SettingError, TextError
from langdu.service.core import Core
from langdu.service.problems import REFUSALS, body_of
from langdu.service.speech import Order, Prepared, Speech, prepare
from langdu.service.streaming import MEDIA, audio_delta, encoded, event, unless_gone, with_true_size

router = APIRouter(tags=["speech"], responses=REFUSALS)
Format = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
CLIENT_GONE = 499
"""Nobody reads it; it is counted in the figures."""
ALIASES = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts")
"""Model names that existing clients send; they leave the choice to the voice, and X-Langdu-Model tells which."""


class VoiceId(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(min_length=1, max_length=64)


class SpeechRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input: str = Field(min_length=1, description="The text to say.")
    model: str = Field("tts-1", max_length=100, description="An alias, or the model the voice must have.")
    voice: str | VoiceId | None = Field(None, description="A name from /v1/audio/voices; none: by language.")
    instructions: str = Field("", max_length=2000, description="How to say it; refused where the voice cannot.")
    response_format: Format = "mp3"
    speed: float = Field(1.0, ge=0.25, le=4.0, allow_inf_nan=False)
    stream_format: Literal["audio", "sse"] = "audio"
    stream: bool = Field(True, description="False: the whole sound at once, with its size and facts.")
    language: Literal["zh", "en", "ja"] | None = None
    seed: int = Field(0, ge=0, lt=2**31)


@router.post(
    "/v1/audio/speech",
    response_class=Response,
    responses={
        200: {
            "description": "The sound, or events that carry it.",
            "content": {
                **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA.values()},
                "text/event-stream": {},
            },
        }
    },
)
async def speak(
    wish: SpeechRequest,
    request: Request,
    x_langdu_deadline: Annotated[float | None, Header(gt=0, le=3600, description="Seconds; default 300.")] = None,
    x_langdu_lenient: Annotated[
        bool, Header(description="Leave out what the voice cannot do, with a warning.")
    ] = False,
) -> Response:
    """Say a text. Streamed as it is made; errors before the first sound have a status of their own."""
    core = Core.of(request)
    if len(wish.input) > core.input_chars:
        raise TextError(f"The input has {len(wish.input)} characters; the limit is {core.input_chars}.")
    voice = wish.voice.id if isinstance(wish.voice, VoiceId) else wish.voice
    order = Order(
        wish.input, voice, wish.speed, wish.instructions, x_langdu_lenient, wish.language, wish.seed, live=wish.stream,
    )  # fmt: skip
    with core.hub.place():
        ready = await asyncio.to_thread(prepare, order)
    _check_model(wish.model, ready)
    deadline_s = x_langdu_deadline if x_langdu_deadline is not None else core.deadline_s
    chunks = ready.plan.chunks
    speech = Speech(
        core.hub, ready.spec, chunks, client=core.client_of(request), seeds=(wish.seed,) * len(chunks),
        stream=wish.stream and ready.spec.engine == "qwen3", deadline_s=deadline_s,
    )  # fmt: skip
    answer = await unless_gone(request, _answer(core, wish, ready, speech))
    return answer or Response(status_code=CLIENT_GONE)


async def _answer(core: Core, wish: SpeechRequest, ready: Prepared, speech: Speech) -> Response:
    started = time.perf_counter()
    samples = 0

    async def counted() -> AsyncIterator[tuple[Audio, int]]:
        nonlocal samples
        async for block, rate_hz in speech.blocks():
            samples += len(block)
            yield block, rate_hz

    body = encoded(counted(), wish.response_format)
    media = MEDIA[wish.response_format]
    if wish.stream_format == "audio" and (
        not wish.stream or (len(ready.plan.chunks) == 1 and not speech.ticket.stream)
    ):
        sound = with_true_size(b"".join([piece async for piece in body]), wish.response_format, samples)
        core.metrics.spoken(speech, time.perf_counter() - started)
        return Response(sound, media_type=media, headers=_facts(ready, speech, time.perf_counter() - started))
    first = await anext(body, b"")  # an error up to here still has its own status
    core.metrics.first_sound(time.perf_counter() - started)
    headers = _facts(ready, speech)

    async def rest() -> AsyncIterator[bytes]:
        try:
            yield first
            async for piece in body:
                yield piece
            core.metrics.spoken(speech, time.perf_counter() - started)
        finally:
            await body.aclose()

    if wish.stream_format == "audio":
        return StreamingResponse(rest(), media_type=media, headers=headers)
    return StreamingResponse(_events(rest(), speech, wish), media_type="text/event-stream", headers=headers)


async def _events(pieces: AsyncIterator[bytes], speech: Speech, wish: SpeechRequest) -> AsyncIterator[bytes]:
    try:
        async for piece in pieces:
            yield audio_delta(piece)
    except LangduError as error:
        yield event("error", **body_of(error))
        return
    usage = {"input_tokens": len(wish.input), "output_tokens": sum(take.frames for take in speech.takes)}
    yield event("speech.audio.done", usage={**usage, "total_tokens": sum(usage.values())})


def _facts(ready: Prepared, speech: Speech, seconds: float | None = None) -> dict[str, str]:
    """Facts of the run as headers; names outside ASCII are percent-encoded."""
    found = {"Voice": quote(ready.persona.name), "Chunks": str(len(ready.plan.chunks)), "Engine": ready.spec.engine}
    if speech.info is not None:
        info = speech.info
        found |= {"Model": quote(info.model), "Precision": info.precision, "Device": info.device}
        found["Sample-Rate"] = str(info.sample_rate_hz)
    if seconds is not None and speech.info is not None:
        found["Audio-Seconds"] = f"{speech.samples / speech.info.sample_rate_hz:.3f}"
        found["Seconds"] = f"{seconds:.3f}"
    headers = {f"X-Langdu-{name}": value for name, value in found.items()}
    if ready.warnings:
        headers["X-Langdu-Warning"] = "; ".join(ready.warnings).encode("ascii", "backslashreplace").decode()
    return headers


def _check_model(asked: str, ready: Prepared) -> None:
    its_own = {ready.spec.engine, ready.spec.model} - {""}
    if asked not in ALIASES and asked not in its_own:
        raise SettingError(
            f'The voice "{ready.persona.name}" does not speak with the model "{asked}".',
            hint=f"Use one of {', '.join(sorted(its_own | set(ALIASES)))}.",
        )


class VoiceRow(BaseModel):
    id: str
    name: str
    kind: str
    language: str
    gender: str
    engine: str
    licence: str
    note: str


class VoiceList(BaseModel):
    object: Literal["list"] = "list"
    voices: list[VoiceRow]


@router.get("/v1/audio/voices")
async def voices() -> VoiceList:
    """Every voice that can be asked for: the user's personas first."""
    from langdu.voices.listing import rows

    found = await asyncio.to_thread(rows)
    return VoiceList(voices=[VoiceRow(id=row["name"], **row) for row in found])


class ModelRow(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "langdu"
    role: str
    installed: bool
    size: int


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelRow]


@router.get("/v1/models")
async def models() -> ModelList:
    """The catalogue, and which of it is on this machine; then the aliases that existing clients send."""
    from langdu.models.catalog import CATALOG
    from langdu.models.store import installed

    here = {found.entry.name for found in await asyncio.to_thread(installed)}
    rows = [ModelRow(id=e.name, role=e.role, installed=e.name in here, size=e.size) for e in CATALOG.values()]
    return ModelList(data=rows + [ModelRow(id=name, role="alias", installed=True, size=0) for name in ALIASES])


@router.get("/v1/models/{model}")
async def model(model: str) -> ModelRow:
    from langdu.service.problems import NotFound

    for row in (await models()).data:
        if row.id == model:
            return row
    raise NotFound(f'There is no model "{model}".', hint="See /v1/models.")


class Transcription(BaseModel):
    text: str
    language: str
    duration: float
    probability: float


@router.post(
    "/v1/audio/transcriptions",
    response_model=Transcription,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def transcribe(
    request: Request,
    file: Annotated[UploadFile, File(description="A sound file.")],
    model: Annotated[str, Form(max_length=100)] = "whisper-1",
    language: Annotated[Literal["zh", "en", "ja"] | None, Form()] = None,
    response_format: Annotated[Literal["json", "text", "verbose_json"], Form()] = "json",
) -> Any:
    """What the checker hears in a sound file."""
    core = Core.of(request)
    if model not in ("whisper-1", core.checker_model):
        raise SettingError(f'Transcription uses {core.checker_model}, not "{model}".')
    heard, seconds = await core.hear_upload(file, language)
    if response_format == "text":
        return Response(heard.text, media_type="text/plain; charset=utf-8")
    return Transcription(
        text=heard.text, language=heard.language, duration=round(seconds, 3), probability=round(heard.probability, 4)
    )
