"""What stands before every route: who may ask, from where, and how much they may send.

On loopback without a token the guard is the Host and Origin check: a web page of another site can reach
127.0.0.1 by a name that its owner points there (DNS rebinding), or post a form to it, but it cannot forge
either header. On any other address a token is required.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException

from langdu.errors import SettingError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS = ("/health", "/ready")
"""Probes ask these without a token; they say nothing but "up"."""


@dataclass(frozen=True, slots=True)
class Policy:
    host: str = "127.0.0.1"
    token: str = ""
    names: tuple[str, ...] = ()
    """Further host names under which clients may reach the service."""
    body_bytes: int = 2 << 20
    upload_bytes: int = 64 << 20
    """For the routes that take files."""
    requests: int = 400
    """Under way at once, waiting ones included; more are refused, which bounds memory."""
    body_s: float = 30.0
    """A body of which nothing comes for so long is given up."""

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.token:
            raise SettingError(
                f"The service may not listen on {self.host} without a token.",
                hint="Set LANGDU_TOKEN to a long random text, or listen on 127.0.0.1.",
            )

    def knows(self, netloc: str) -> bool:
        """Whether a Host header names this service. An address that needs a token may have any name."""
        try:
            name = (urlsplit(f"//{netloc}").hostname or "").lower()
        except ValueError:
            return False
        return is_loopback(name) or name in (self.host, *self.names) or not is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware. Refusals have the error shape of the API."""

    def __init__(
        self, app: App, policy: Policy, uploads: tuple[str, ...], on_answer: Callable[[Scope, int], None]
    ) -> None:
        self._app, self._policy, self._uploads, self._on_answer = app, policy, uploads, on_answer
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        scope.setdefault("state", {})["request_id"] = request_id = uuid.uuid4().hex
        refusal = self._refusal(scope, headers)
        limit = self._policy.upload_bytes if scope["path"] in self._uploads else self._policy.body_bytes
        if refusal is None and _length(headers) > limit:
            refusal = (413, "too-large", f"The body is larger than {limit} bytes.")
        if refusal is None and self._under_way >= self._policy.requests and scope["path"] not in OPEN_PATHS:
            refusal = (503, "overloaded", f"{self._under_way} requests are under way already.")
        if refusal is not None:
            self._on_answer(scope, refusal[0])
            await _refuse(send, request_id, *refusal)
            return
        received, more = 0, True

        async def counted() -> MutableMapping[str, Any]:
            nonlocal received, more
            if not more:
                return await receive()  # it waits for the client to leave
            try:
                message = await asyncio.wait_for(receive(), self._policy.body_s)
            except TimeoutError:
                raise HTTPException(408, "The body did not come.") from None
            received += len(message.get("body", b""))
            more = bool(message.get("more_body"))
            if received > limit:  # a chunked body announces no length
                raise HTTPException(413, f"The body is larger than {limit} bytes.")
            return message

        async def named(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self._on_answer(scope, message["status"])
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-langdu-request-id", request_id.encode()), (b"x-content-type-options", b"nosniff"),
                ]  # fmt: skip
            await send(message)

        self._under_way += 1
        try:
            await self._app(scope, counted, named)
        finally:
            self._under_way -= 1

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str] | None:
        if not self._policy.knows(headers.get("host", "localhost")):
            return 403, "unknown-host", "The Host header names another service."
        origin = headers.get("origin", "")
        if origin and not self._same_site(origin, headers.get("host", "")):
            return 403, "foreign-origin", "Pages of other sites may not use this service."
        if self._policy.token and scope["path"] not in OPEN_PATHS and not self._authorised(headers):
            return 401, "invalid-token", "The token is missing or wrong."
        return None

    def _same_site(self, origin: str, host: str) -> bool:
        try:
            return urlsplit(origin).netloc.lower() == host.lower()
        except ValueError:
            return False

    def _authorised(self, headers: dict[str, str]) -> bool:
        """Bearer token; or, for a browser, the password of Basic authentication. Compared in constant time."""
        import base64
        import binascii

        scheme, _, value = headers.get("authorization", "").partition(" ")
        given = value.strip()
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                given = ""
        elif scheme.lower() != "bearer":
            given = ""
        return hmac.compare_digest(given.encode(), self._policy.token.encode())


def _length(headers: dict[str, str]) -> int:
    found = headers.get("content-length", "0")
    return int(found) if found.isascii() and found.isdigit() else 0


async def _refuse(send: Send, request_id: str, status: int, code: str, message: str) -> None:
    kind = "rate_limit_error" if status == 503 else "invalid_request_error"
    body = json.dumps(error_body(message, code, kind)).encode()
    headers = [
        (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()),
        (b"x-langdu-request-id", request_id.encode()), (b"connection", b"close"),
    ]  # fmt: skip
    if status == 503:
        headers.append((b"retry-after", b"2"))
    if status == 401:
        headers.append((b"www-authenticate", b'Basic realm="langdu"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def error_body(message: str, code: str, kind: str, param: str | None = None) -> dict[str, Any]:
    """An error as OpenAI's clients read it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
