import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import soundfile
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from .conftest import Running


def text_of(result: Any) -> str:
    return "".join(getattr(part, "text", "") for part in result.content)


@pytest.mark.asyncio
async def test_the_tools_are_those_agents_expect(service: Running) -> None:
    async with Client(f"{service.url}/mcp") as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
    assert set(tools) == {"speak", "list_voices", "stop", "make_audiobook"}
    assert all(tool.description for tool in tools.values())
    assert tools["speak"].input_schema["required"] == ["text"]


@pytest.mark.asyncio
async def test_an_agent_gets_a_sound_file(service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Client(f"{service.url}/mcp") as agent:
        result = await agent.call_tool("speak", {"text": "你好，世界。", "voice": "tone", "play": False})
    assert not result.is_error
    facts = result.structured_content
    assert facts is not None
    facts = facts.get("result", facts)
    try:
        assert soundfile.info(facts["file"]).duration == pytest.approx(facts["audio_seconds"], abs=0.01)
        assert facts["engine"] == "tone"
    finally:
        Path(facts["file"]).unlink()


@pytest.mark.asyncio
async def test_an_unknown_voice_is_told_to_the_agent(service: Running) -> None:
    async with Client(f"{service.url}/mcp") as agent:
        result = await agent.call_tool("speak", {"text": "你好", "voice": "nobody", "play": False})
    assert result.is_error
    assert "no voice" in text_of(result) and "Traceback" not in text_of(result)


@pytest.mark.parametrize("arguments", [{}, {"text": ""}, {"text": "你好", "speed": 99}, {"text": 5}])
@pytest.mark.asyncio
async def test_bad_arguments_are_an_error_of_the_tool(service: Running, arguments: dict[str, Any]) -> None:
    async with Client(f"{service.url}/mcp") as agent:
        assert (await agent.call_tool("speak", arguments)).is_error


@pytest.mark.asyncio
async def test_voices_are_listed(service: Running) -> None:
    async with Client(f"{service.url}/mcp") as agent:
        assert "zf_xiaobei" in text_of(await agent.call_tool("list_voices", {}))


@pytest.mark.asyncio
async def test_stop_says_how_much_was_stopped(service: Running) -> None:
    async with Client(f"{service.url}/mcp") as agent:
        assert '"stopped": 0' in text_of(await agent.call_tool("stop", {})).replace("\n", "")


@pytest.mark.asyncio
async def test_over_stdio_stdout_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    environment = {**os.environ, "LANGDU_DATA_DIR": str(tmp_path)}
    server = StdioServerParameters(command=sys.executable, args=["-m", "langdu", "mcp"], env=environment)
    async with Client(stdio_client(server)) as agent:
        result = await agent.call_tool("speak", {"text": "你好。", "voice": "tone", "play": False})
        assert not result.is_error, text_of(result)
    assert list((tmp_path / "spoken").glob("*.wav"))


def test_the_process_ends_when_its_agent_is_gone(tmp_path: Path) -> None:
    import subprocess

    environment = {**os.environ, "LANGDU_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "langdu", "mcp"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        end = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        code = process.poll()
        process.kill()
    assert code == 0
