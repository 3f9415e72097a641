"""Errors on their way out: every status and body of a refusal is decided here."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from langdu.errors import BusyError, CapacityError, DeadlineError, InputError, LangduError, MachineError, ModelError
from langdu.service.guard import error_body


class ErrorFacts(BaseModel):
    message: str
    type: str
    param: str | None
    code: str


class ErrorBody(BaseModel):
    error: ErrorFacts


REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "The request cannot be done as it stands."},
    401: {"model": ErrorBody, "description": "The token is missing or wrong."},
    403: {"model": ErrorBody, "description": "Another host or site."},
    404: {"model": ErrorBody, "description": "There is no such thing."},
    408: {"model": ErrorBody, "description": "The body did not come."},
    409: {"model": ErrorBody, "description": "Not in this state."},
    413: {"model": ErrorBody, "description": "The body is too large."},
    429: {"model": ErrorBody, "description": "The queue is full; see Retry-After."},
    500: {"model": ErrorBody, "description": "The engine failed."},
    503: {"model": ErrorBody, "description": "A model or the machine is not ready for it, or too much is under way."},
    504: {"model": ErrorBody, "description": "Not done in the time allowed."},
}


class NotFound(InputError):
    code = "not-found"


class Conflict(InputError):
    code = "conflict"


def status_of(error: LangduError) -> int:
    kinds: list[tuple[type[LangduError], int]] = [
        (NotFound, 404), (Conflict, 409), (InputError, 400), (BusyError, 429), (DeadlineError, 504),
        (CapacityError, 503), (MachineError, 503), (ModelError, 503),
    ]  # fmt: skip
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)


def body_of(error: LangduError, param: str | None = None) -> dict[str, Any]:
    kind = "invalid_request_error" if isinstance(error, InputError) else "server_error"
    return error_body(str(error), error.code, "rate_limit_error" if isinstance(error, BusyError) else kind, param)


def install(app: FastAPI) -> None:
    @app.exception_handler(LangduError)
    async def _ours(_: Request, error: LangduError) -> JSONResponse:
        headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, BusyError) else None
        return JSONResponse(body_of(error), status_of(error), headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
        param = ".".join(place) or None
        return JSONResponse(
            error_body(f"{param or 'body'}: {first['msg']}", "invalid-request", "invalid_request_error", param), 400
        )

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        code = {404: "not-found", 405: "method-not-allowed", 408: "body-late", 413: "too-large"}.get(
            error.status_code, "http"
        )
        body = error_body(str(error.detail), code, "invalid_request_error")
        return JSONResponse(body, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def _bug(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse(error_body("The service failed; its log says more.", "internal", "server_error"), 500)
