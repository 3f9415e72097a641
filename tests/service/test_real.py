"""The service with the real voice and the real checker, as its users start it; a data folder of its own."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import soundfile
from mcp.client.client import Client

from .real_service import RealService

pytestmark = pytest.mark.real
SENTENCE = "今天的会议改到下午三点，请大家提前五分钟到。"
CLIP = "列车准时离开上海，经过南京和济南，大约四个半小时以后到达北京。"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealService]:
    with RealService(tmp_path_factory.mktemp("home"), "--idle", "3") as found:
        yield found


@pytest.fixture
def client(service: RealService) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=120) as found:
        yield found


def recording(client: httpx.Client, text: str) -> bytes:
    wish = {"input": text, "voice": "zf_xiaobei", "response_format": "flac", "stream": False}
    answer = client.post("/v1/audio/speech", json=wish)
    answer.raise_for_status()
    return answer.content


def test_a_recording_is_transcribed(client: httpx.Client) -> None:
    sound = recording(client, SENTENCE)
    answer = client.post("/v1/audio/transcriptions", files={"file": ("x.flac", sound)}, data={"language": "zh"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert "会议" in found["text"] and "下午" in found["text"]
    assert found["duration"] == pytest.approx(soundfile.info(io.BytesIO(sound)).duration, abs=0.01)
    plain = client.post("/v1/audio/transcriptions", files={"file": ("x", sound)}, data={"response_format": "text"})
    assert plain.headers["content-type"].startswith("text/plain")


def test_a_clip_becomes_a_persona_with_the_transcript_a_person_confirmed(
    client: httpx.Client, service: RealService
) -> None:
    clip = recording(client, CLIP)
    seen = client.post("/v1/audio/voices/check", files={"file": ("clip.flac", clip)}).json()
    assert "上海" in seen["transcript"] and 3 < seen["seconds"] < 20
    form = {"name": "列车", "transcript": CLIP, "consent": "true"}
    made = client.post("/v1/audio/voices", files={"file": ("clip.flac", clip)}, data=form)
    assert made.status_code == 201, made.text
    assert made.json()["transcript_by"] == "person"
    assert "列车" in (row["id"] for row in client.get("/v1/audio/voices").json()["voices"])
    assert "列车" in (service.home / "voices" / "personas.json").read_text(encoding="utf-8")
    again = client.post("/v1/audio/voices", files={"file": ("clip.flac", clip)}, data=form)
    assert again.status_code == 400


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"consent": "false"}, "consent"),
        ({"name": "../x"}, "name"),
        ({"transcript": "完全是别的话，一个字也不一样。"}, ""),
    ],
)
def test_a_clip_without_consent_name_or_its_own_words_is_none(
    client: httpx.Client, form: dict[str, str], why: str
) -> None:
    files = {"file": ("clip.flac", recording(client, CLIP))}
    data = {"name": "谁", "transcript": CLIP, "consent": "true", **form}
    answer = client.post("/v1/audio/voices", files=files, data=data)
    assert answer.status_code == 400
    assert why in answer.json()["error"]["message"]


@pytest.mark.asyncio
async def test_an_agent_has_a_checked_audiobook_made(service: RealService) -> None:
    async with Client(f"{service.url}/mcp") as agent:
        arguments = {"text": f"{SENTENCE}\n\n{CLIP}", "title": "两句话", "voice": "zf_xiaobei", "format": "m4b"}
        result = await agent.call_tool("make_audiobook", arguments)
    assert not result.is_error
    facts: dict[str, Any] = result.structured_content or {}
    facts = facts.get("result", facts)
    assert (facts["state"], facts["faults"]) == ("done", 0)
    assert Path(facts["file"]).stat().st_size > 10_000
    detail = httpx.get(f"{service.url}/v1/jobs/{facts['job']}").json()
    assert {item["verdict"] for item in detail["items"]} == {"pass"}


def test_an_idle_engine_gives_its_memory_back(client: httpx.Client) -> None:
    recording(client, "你好。")
    before = client.get("/v1/status").json()
    assert before["workers"][0]["memory_mb"] > 200
    end = time.monotonic() + 30
    while client.get("/v1/status").json()["workers"] and time.monotonic() < end:
        time.sleep(0.2)
    assert client.get("/v1/status").json()["workers"] == []
    assert client.get("/v1/status").json()["unloads"] > before["unloads"]
