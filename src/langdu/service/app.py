"""The application: doors, guard and OpenAPI put together; its life is the life of the workers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from langdu import __version__
from langdu.service import jobs_api, openai_api, problems, studio
from langdu.service.core import Core
from langdu.service.guard import Guard, Policy, Scope
from langdu.service.hub import Hub, Limits
from langdu.service.job_runner import JobRunner
from langdu.service.jobs import JobStore
from langdu.service.mcp import mount_mcp
from langdu.settings import settings

UPLOADS = (
    "/v1/audio/transcriptions",
    "/v1/audio/voices",
    "/v1/audio/voices/check",
    "/v1/jobs",
    "/v1/jobs/document",
    "/v1/script/document",
)
"""Routes that take files or books, and so larger bodies."""


class Health(BaseModel):
    status: str = "ok"
    version: str = __version__


class Ready(BaseModel):
    ready: bool
    detail: str = ""


class Status(BaseModel):
    queued: int
    loads: int
    unloads: int
    deaths: int
    workers: list[dict[str, Any]]


def create_app(
    policy: Policy | None = None, limits: Limits | None = None, *, folder: Path | None = None, mcp: bool = True
) -> FastAPI:
    """A service. Nothing is loaded until it is asked for.

    `folder` keeps its jobs and their takes; by default jobs lie below the data folder, and takes with those of all
    books.
    """
    policy = policy or Policy()
    takes = settings().takes_dir if folder is None else folder / "takes"
    folder = folder or settings().data_dir / "service"

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        hub = Hub(limits)
        app.state.core = core = Core(hub)
        app.state.jobs = store = JobStore(folder, takes)
        app.state.runner = runner = JobRunner(core, store)
        runner.start()
        try:
            async with contextlib.AsyncExitStack() as stack:
                if mcp:
                    await stack.enter_async_context(mount_mcp(app, core, runner))
                yield
        finally:
            await runner.stop()
            hub.close()
            store.close()

    app = FastAPI(
        title="Langdu", version=__version__, lifespan=life, responses=problems.REFUSALS,
        description="Local text to speech, compatible with OpenAI's clients.", docs_url=None, redoc_url=None,
    )  # fmt: skip
    problems.install(app)
    _probes(app)
    app.include_router(openai_api.router)
    app.include_router(jobs_api.router)
    app.include_router(studio.router)
    studio.mount_page(app)

    def count(scope: Scope, status: int) -> None:
        app.state.core.metrics.answered(getattr(scope.get("route"), "path", "other"), status)

    app.add_middleware(Guard, policy=policy, uploads=UPLOADS, on_answer=count)
    app.openapi = lambda: _schema(app)  # type: ignore[method-assign]
    return app


def _probes(app: FastAPI) -> None:
    @app.get("/health", tags=["running"])
    async def health() -> Health:
        """The process answers."""
        return Health()

    @app.get("/ready", tags=["running"], response_model=Ready, responses={503: {"model": Ready}})
    async def ready() -> Any:
        """The default voice could be spoken: its model is on this machine."""
        from langdu.errors import LangduError
        from langdu.models.store import model_dir

        try:
            model_dir("kokoro")
        except LangduError as error:
            return JSONResponse(Ready(ready=False, detail=str(error)).model_dump(), 503)
        return Ready(ready=True)

    @app.get("/metrics", tags=["running"], response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics(request: Request) -> Response:
        """Figures for Prometheus."""
        return Response(Core.of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v1/status", tags=["running"])
    async def status(request: Request) -> Status:
        """Resident workers, their memory, and the queue."""
        return Status.model_validate(Core.of(request).hub.status())


def _schema(app: FastAPI) -> dict[str, Any]:
    """OpenAPI as the service answers: a request that does not validate is a 400, never FastAPI's 422."""
    from fastapi.openapi.utils import get_openapi

    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for path in schema["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for unused in ("HTTPValidationError", "ValidationError"):
            schema["components"]["schemas"].pop(unused, None)
        app.openapi_schema = schema
    return app.openapi_schema
