import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from langdu.service.hub import Hub, Limits
from langdu.service.wyoming import wyoming_server

TONE = SynthesizeVoice(name="tone")


@pytest_asyncio.fixture
async def client() -> AsyncIterator[AsyncTcpClient]:
    hub = Hub(Limits(workers=1))
    try:
        async with wyoming_server(hub, "127.0.0.1", 0) as server:
            port = server._server.sockets[0].getsockname()[1]
            async with AsyncTcpClient("127.0.0.1", port) as found:
                yield found
    finally:
        await asyncio.to_thread(hub.close)


async def read_until(
    client: AsyncTcpClient, kind: type[AudioStop] | type[SynthesizeStopped] | type[Error]
) -> list[Event]:
    events = []
    while True:
        event = await asyncio.wait_for(client.read_event(), 20)
        assert event is not None
        events.append(event)
        if kind.is_type(event.type):
            return events


def sound(events: list[Event]) -> bytes:
    return b"".join(AudioChunk.from_event(e).audio for e in events if AudioChunk.is_type(e.type))


@pytest.mark.asyncio
async def test_it_says_which_voices_it_has(client: AsyncTcpClient) -> None:
    await client.write_event(Describe().event())
    event = await client.read_event()
    assert event is not None
    program = Info.from_event(event).tts[0]
    assert program.supports_synthesize_streaming
    assert "zf_xiaobei" in [voice.name for voice in program.voices]


@pytest.mark.asyncio
async def test_a_text_is_said_between_start_and_stop(client: AsyncTcpClient) -> None:
    await client.write_event(Synthesize(text="你好，世界。", voice=TONE).event())
    events = await read_until(client, AudioStop)
    start = AudioStart.from_event(events[0])
    assert (start.rate, start.width, start.channels) == (24000, 2, 1)
    assert np.abs(np.frombuffer(sound(events), "<i2")).max() > 1000


@pytest.mark.asyncio
async def test_a_sentence_is_heard_before_the_next_one_is_written(client: AsyncTcpClient) -> None:
    await client.write_event(SynthesizeStart(voice=TONE).event())
    await client.write_event(SynthesizeChunk(text="今天天气").event())
    await client.write_event(SynthesizeChunk(text="很好。我们").event())
    first = await asyncio.wait_for(client.read_event(), 20)
    assert first is not None and AudioStart.is_type(first.type)
    await client.write_event(SynthesizeChunk(text="回家").event())
    await client.write_event(SynthesizeStop().event())
    events = await read_until(client, SynthesizeStopped)
    kinds = [event.type for event in events]
    assert kinds.count("audio-start") == 0 and kinds.count("audio-stop") == 1
    assert len(sound(events)) / 2 / 24000 > 0.3


@pytest.mark.asyncio
async def test_a_whole_text_sent_beside_its_stream_is_not_said_twice(client: AsyncTcpClient) -> None:
    await client.write_event(SynthesizeStart(voice=TONE).event())
    await client.write_event(SynthesizeChunk(text="你好。").event())
    await client.write_event(Synthesize(text="你好。", voice=TONE).event())
    await client.write_event(SynthesizeStop().event())
    twice = sound(await read_until(client, SynthesizeStopped))
    await client.write_event(Synthesize(text="你好。", voice=TONE).event())
    assert sound(await read_until(client, AudioStop)) == twice


@pytest.mark.asyncio
async def test_an_unknown_voice_is_an_error_and_the_connection_goes_on(client: AsyncTcpClient) -> None:
    await client.write_event(Synthesize(text="你好", voice=SynthesizeVoice(name="nobody")).event())
    error = Error.from_event((await read_until(client, Error))[-1])
    assert error.code == "invalid-voice"
    await client.write_event(Synthesize(text="你好", voice=TONE).event())
    assert sound(await read_until(client, AudioStop))


@pytest.mark.parametrize(
    "event",
    [
        Event(type="synthesize", data={}), Event(type="synthesize", data={"text": None}),
        Event(type="synthesize", data={"text": "。"}), Event(type="synthesize-chunk", data={"text": "x"}),
        Event(type="synthesize", data={"text": "字" * 30_000}),
    ],
)  # fmt: skip
@pytest.mark.asyncio
async def test_a_bad_event_is_answered_with_an_error(client: AsyncTcpClient, event: Event) -> None:
    await client.write_event(event)
    assert (await read_until(client, Error))[-1]
