"""What the routes of jobs take and give."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from langdu.service.jobs import State

Format = Literal["mp3", "opus", "flac", "wav", "m4a", "m4b"]
TEXT_CHARS = 2_000_000
Pause = Annotated[float | None, Field(ge=0, le=10, allow_inf_nan=False, description="Seconds; none: the setting.")]
Word = Annotated[str, Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=64)]


class Reading(BaseModel):
    """How a text is read, as `langdu script` and `langdu book` take it."""

    model_config = ConfigDict(extra="forbid")
    emoji: Literal["drop", "name"] = "drop"
    url: Literal["domain", "word", "skip"] = "domain"
    dialogue: bool = Field(default=False, description="A paragraph that begins with NAME: is said by NAME.")
    read_titles: bool = Field(default=True, description="Say the titles of chapters.")
    lexicon: dict[Word, Word] = Field(default_factory=dict, max_length=2000, description="Word: how it is said.")
    pause_sentence_s: Pause = None
    pause_paragraph_s: Pause = None


class JobOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str = Field("", max_length=200)
    voice: str | None = Field(None, max_length=64)
    roles: dict[Name, Name] = Field(default_factory=dict, max_length=200, description="Role in the text: voice.")
    language: Literal["zh", "en", "ja"] | None = None
    response_format: Format = "mp3"
    speed: float = Field(1.0, ge=0.25, le=4.0, allow_inf_nan=False)
    verify: bool = Field(True, description="Listen to every chunk and compare it with its text.")
    loudness: Literal["podcast", "broadcast", "none"] = "podcast"
    reading: Reading = Reading()


class NewJob(JobOptions):
    input: str = Field(min_length=1, max_length=TEXT_CHARS)


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
    problems: list[str] = Field(description="What the finished file is not, against its loudness profile.")
    left_s: float | None = Field(None, description="Seconds it will still take, while it is made.")


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
