import asyncio
import resource
import subprocess
import sys

import pytest
import uvicorn

from langdu.service import connections

HELLO = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def app(scope: dict[str, object], receive: object, send: object) -> None:
    assert callable(send)
    if scope["type"] == "http":
        await asyncio.sleep(0.6)  # longer than the patience with a silent connection
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(("sent", "answered"), [(b"", False), (HELLO[:12], False), (HELLO, True)])
def test_a_connection_without_a_whole_request_is_let_go(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, answered: bool
) -> None:
    monkeypatch.setattr(connections, "QUIET_S", 0.3)
    monkeypatch.setattr(connections, "LOOK_S", 0.05)

    async def talk() -> bytes:
        config = uvicorn.Config(app, port=0, http=connections.Connection, lifespan="off", log_level="error")  # type: ignore[arg-type]
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        try:
            return await asyncio.wait_for(reader.read(), 20)
        finally:
            writer.close()
            server.should_exit = True
            await serving

    assert asyncio.run(talk()).startswith(b"HTTP/1.1 204") is answered


def test_the_limit_of_open_files_is_raised_as_far_as_allowed() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = (
        "import resource as r; from langdu.service.connections import more_files\n"
        f"r.setrlimit(r.RLIMIT_NOFILE, (256, {hard}))\n"
        "more_files(); print(r.getrlimit(r.RLIMIT_NOFILE)[0])"
    )
    found = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert int(found.stdout) == min(hard, connections.FILES) if hard >= 0 else connections.FILES
