"""Disk and ports, with real servers on the ports."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from langdu.doctor.places import Disk, Port, judge_disk, judge_port, look_disk, look_port

HERE = "127.0.0.1"


class _Health(BaseHTTPRequestHandler):
    """Another speech server with a /health of its own, as there are several at this port."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "healthy"}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other_server() -> Iterator[int]:
    with ThreadingHTTPServer((HERE, 0), _Health) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        return int(probe.getsockname()[1])


def test_a_free_port_is_free() -> None:
    found = look_port("serve", HERE, free_port())
    assert (found.free, judge_port(found).level) == (True, "ok")


@pytest.mark.parametrize("command", ["serve", "wyoming"])
def test_another_program_is_named_and_another_port_proposed(other_server: int, command: str) -> None:
    found = look_port(command, HERE, other_server)
    assert (found.free, found.langdu) == (False, False)
    finding = judge_port(found)
    assert (finding.level, finding.command) == ("warning", f"langdu {command} --port {other_server + 1}")
    assert f"pid {os.getpid()}" in finding.reason


def test_our_wyoming_server_is_recognised() -> None:
    pytest.importorskip("wyoming")
    from langdu.service.hub import Hub, Limits
    from langdu.service.wyoming import wyoming_server

    async def ask() -> Port:
        port, hub = free_port(), Hub(Limits())
        try:
            async with wyoming_server(hub, HERE, port):
                return await asyncio.to_thread(look_port, "wyoming", HERE, port)
        finally:
            hub.close()

    found = asyncio.run(ask())
    assert (found.langdu, judge_port(found).level) == (True, "ok")


def test_our_service_is_recognised() -> None:
    uvicorn = pytest.importorskip("uvicorn")
    from langdu.service.app import create_app
    from langdu.service.guard import Policy
    from langdu.service.hub import Limits

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(Policy(HERE, "", ()), Limits()), port=port, log_level="error"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
        assert look_port("serve", HERE, port).langdu
    finally:
        server.should_exit = True
        thread.join(20)


def test_an_address_this_machine_does_not_have_is_said() -> None:
    found = look_port("serve", "192.0.2.1", 8880)
    assert (judge_port(found).level, judge_port(found).command) == ("warning", "langdu serve --host 127.0.0.1")


def test_room_is_measured_where_the_folder_will_be(tmp_path: Path) -> None:
    found = look_disk(tmp_path / "not" / "there" / "yet")
    assert found.writable and found.total_bytes > found.free_bytes > 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_seen(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert not look_disk(tmp_path / "data").writable


def test_how_much_room_is_enough_depends_on_what_is_still_to_come() -> None:
    def level(free: float, missing: float = 0, writable: bool = True) -> str:
        return judge_disk(Disk("/data", int(free), int(1e12), writable), missing_bytes=int(missing)).level

    assert [level(100e9), level(1e9), level(0.1e9), level(4e9, missing=5e9)] == ["ok", "warning", "error", "error"]
    assert level(100e9, writable=False) == "error"
