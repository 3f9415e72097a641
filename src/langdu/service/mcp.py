"""The door for agents: Model Context Protocol, over stdio (`langdu mcp`) and at /mcp of the service."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from langdu import __version__
from langdu.service.speech import Order, Speech, prepare
from langdu.settings import settings

if TYPE_CHECKING:
    from fastapi import FastAPI
    from mcp.server.mcpserver import MCPServer

    from langdu.service.core import Core
    from langdu.service.job_runner import JobRunner

INSTRUCTIONS = (
    "Speaks text aloud on the user's machine, or writes sound files. Voices come from list_voices; a wrong name is "
    "an error, never another voice."
)
TEXT_CHARS = 20_000
Text = Annotated[str, Field(min_length=1, max_length=TEXT_CHARS, description="The text to say.")]
VoiceName = Annotated[str | None, Field(max_length=64, description="A name from list_voices; none: by language.")]
Format = Literal["mp3", "m4a", "m4b", "wav", "flac", "opus"]


class Mouth:
    """What the tools do. One sentence at a time is heard: a new `speak` that plays ends the one before it."""

    def __init__(self, core: Core, runner: JobRunner | None) -> None:
        self._core, self._runner = core, runner
        self._speaking: set[asyncio.Task[Any]] = set()
        self.folder = settings().data_dir / "spoken"

    async def speak(
        self, text: str, voice: str | None, speed: float, play: bool, format: Literal["wav", "mp3", "flac"]
    ) -> dict[str, Any]:
        task = asyncio.create_task(self._speak(text, voice, speed, play=play, format=format))
        self._speaking.add(task)
        task.add_done_callback(self._speaking.discard)
        try:
            return await task
        except asyncio.CancelledError:
            if (current := asyncio.current_task()) is not None and current.cancelling():
                task.cancel()
                raise
            return {"stopped": True}

    async def _speak(self, text: str, voice: str | None, speed: float, *, play: bool, format: str) -> dict[str, Any]:
        from langdu.audio.encode import Writer
        from langdu.audio.play import Player, check_output

        if play:
            await asyncio.to_thread(check_output)
        started = time.perf_counter()
        ready = await asyncio.to_thread(prepare, Order(text, voice, speed, live=play))
        speech = Speech(self._core.hub, ready.spec, ready.plan.chunks, client="mcp")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{uuid.uuid4().hex}.{format}"
        sink: Any = None
        with contextlib.ExitStack() as stack:
            async with contextlib.aclosing(speech.blocks()) as blocks:
                async for block, rate_hz in blocks:
                    if sink is None:
                        sink = stack.enter_context(Player(rate_hz) if play else Writer(path, rate_hz))
                    await asyncio.to_thread(sink.write, block)
        assert speech.info is not None
        facts = {
            "voice": ready.persona.name, "engine": speech.info.engine, "model": speech.info.model,
            "device": speech.info.device, "audio_seconds": round(speech.samples / speech.info.sample_rate_hz, 3),
            "seconds": round(time.perf_counter() - started, 3),
        }  # fmt: skip
        return facts | ({"played": True} if play else {"file": str(path)})

    async def stop(self) -> int:
        tasks = list(self._speaking)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(tasks)

    async def make_audiobook(self, text: str, title: str, voice: str | None, format: Format) -> dict[str, Any]:
        from langdu.service.job_book import TEXT
        from langdu.service.job_models import JobOptions
        from langdu.service.jobs_api import add_job

        assert self._runner is not None
        wish = JobOptions(title=title, voice=voice, response_format=format, speed=1.0, verify=True)
        job = await add_job(self._runner.store, self._runner, text.encode("utf-8", "replace"), TEXT, wish)
        while (row := self._runner.store.get(job.id)).state in ("queued", "running"):
            await self._runner.changed(5.0)
        facts: dict[str, Any] = {"job": row.id, "state": row.state, "chunks": row.chunks, "faults": row.faults}
        if row.error:
            facts["error"] = row.error
        if row.state in ("done", "faulty"):
            facts |= {"file": str(self._runner.store.result(row.id)), "audio_seconds": round(row.audio_seconds, 3)}
        return facts


def make_server(core: Core, runner: JobRunner | None) -> MCPServer[Any]:
    from mcp.server.mcpserver import MCPServer

    server: MCPServer[Any] = MCPServer("langdu", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    mouth = Mouth(core, runner)

    async def speak(
        text: Text,
        voice: VoiceName = None,
        speed: Annotated[float, Field(ge=0.25, le=4.0)] = 1.0,
        play: Annotated[bool, Field(description="Play it on this machine; else write a file.")] = True,
        format: Literal["wav", "mp3", "flac"] = "wav",
    ) -> dict[str, Any]:
        """Say a text aloud, or write it to a sound file and return its path."""
        return await mouth.speak(text, voice, speed, play, format)

    async def list_voices() -> dict[str, Any]:
        """The voices that can be asked for by name."""
        from langdu.voices.listing import rows

        return {"voices": await asyncio.to_thread(rows)}

    async def stop() -> dict[str, Any]:
        """Stop whatever is being said now."""
        return {"stopped": await mouth.stop()}

    async def make_audiobook(
        text: Annotated[str, Field(min_length=1, max_length=2_000_000, description="The whole text.")],
        title: Annotated[str, Field(max_length=200)] = "",
        voice: VoiceName = None,
        format: Format = "mp3",
    ) -> dict[str, Any]:
        """Make a long text into one checked sound file; every part is heard and compared with its text."""
        return await mouth.make_audiobook(text, title, voice, format)

    for tool in (speak, list_voices, stop, make_audiobook):
        server.add_tool(_plain_errors(tool))
    return server


def _plain_errors(tool: Any) -> Any:
    """Our errors as tool errors: one sentence for the agent, no traceback."""
    import functools

    from mcp.server.mcpserver.exceptions import ToolError

    from langdu.errors import LangduError

    @functools.wraps(tool)
    async def wrapped(*args: Any, **arguments: Any) -> Any:
        try:
            return await tool(*args, **arguments)
        except LangduError as error:
            raise ToolError(str(error)) from None

    return wrapped


@contextlib.asynccontextmanager
async def mount_mcp(app: FastAPI, core: Core, runner: JobRunner) -> AsyncIterator[None]:
    """Serve /mcp while the context is open. Host and Origin are checked by the guard of the whole service."""
    from mcp.server.transport_security import TransportSecuritySettings

    server = make_server(core, runner)
    open_here = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    inner = server.streamable_http_app(transport_security=open_here)
    routes = list(inner.routes)
    app.router.routes[:0] = routes
    try:
        async with server.session_manager.run():
            yield
    finally:
        for route in routes:
            app.router.routes.remove(route)


async def serve_stdio(folder: Path) -> None:
    """Serve one agent over stdin and stdout until it closes them."""
    from langdu.service.core import Core
    from langdu.service.hub import Hub
    from langdu.service.job_runner import JobRunner
    from langdu.service.jobs import JobStore

    hub = Hub()
    core, store = Core(hub), JobStore(folder, settings().takes_dir)
    runner = JobRunner(core, store)
    runner.start()
    try:
        await make_server(core, runner).run_stdio_async()
    finally:
        await runner.stop()
        hub.close()
        store.close()
