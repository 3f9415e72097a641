"""A service whose voices are tones: everything is real but the sound."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from langdu.service.app import create_app
from langdu.service.guard import Policy
from langdu.service.hub import Limits


class Running:
    """A service on a real socket, in a thread of the test."""

    def __init__(self, folder: Path, policy: Policy | None = None, limits: Limits | None = None) -> None:
        self.app = create_app(policy, limits or Limits(workers=2, idle_s=60), folder=folder)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(self.app, log_level="error", timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listener]))

    def __enter__(self) -> Running:
        self._thread.start()
        for _ in range(200):
            if self._server.started:
                return self
            threading.Event().wait(0.05)
        raise AssertionError("the service did not start")

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._listener.close()

    def client(self, headers: dict[str, str] | None = None) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, headers=headers)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def client(service: Running) -> Iterator[httpx.Client]:
    with service.client() as found:
        yield found
