import base64
import io
import json
import struct
import threading
from pathlib import Path

import av
import httpx
import numpy as np
import pytest
import soundfile
from openai import BadRequestError, OpenAI

from langdu.engines.tone import RATE_HZ, tone
from langdu.service.hub import Limits

from .conftest import Running

LONG = "今天天气很好，我们去公园里走了一整天。" * 12
FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"]


def speak(client: httpx.Client, text: str, **more: object) -> httpx.Response:
    return client.post("/v1/audio/speech", json={"input": text, "voice": "tone", **more})


def seconds(data: bytes, format: str) -> float:
    """Length of what a decoder makes of it."""
    if format == "pcm":
        return len(data) / 2 / RATE_HZ
    with av.open(io.BytesIO(data)) as container:
        frames = list(container.decode(audio=0))
    return sum(frame.samples / frame.sample_rate for frame in frames)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_decodes_to_the_length_that_was_said(client: httpx.Client, format: str) -> None:
    whole = speak(client, LONG, response_format="wav", stream=False)
    expected = soundfile.info(io.BytesIO(whole.content)).duration
    answer = speak(client, LONG, response_format=format, stream=False)
    assert answer.status_code == 200
    assert seconds(answer.content, format) == pytest.approx(expected, abs=0.1)


def test_mp3_is_the_default(client: httpx.Client) -> None:
    answer = speak(client, "你好")
    assert answer.headers["content-type"] == "audio/mpeg"
    with av.open(io.BytesIO(answer.content)) as container:
        assert container.format.name == "mp3"


def test_a_short_wav_has_its_true_size_and_the_sound_of_its_text(client: httpx.Client) -> None:
    answer = speak(client, "你好吗。", response_format="wav")
    assert struct.unpack("<I", answer.content[40:44])[0] == len(answer.content) - 44
    samples, rate = soundfile.read(io.BytesIO(answer.content), dtype="float32")
    assert rate == RATE_HZ
    made = tone("你好吗。")
    lag = np.argmax(np.correlate(samples, made[2000:3000], "valid"))
    assert np.abs(samples[lag : lag + 1000] - made[2000:3000]).max() < 0.001


def test_a_streamed_wav_has_one_header_of_unknown_size(client: httpx.Client) -> None:
    data = speak(client, LONG, response_format="wav").content
    assert data[4:8] == data[40:44] == b"\xff\xff\xff\xff"
    assert data.count(b"RIFF") == data.count(b"WAVEfmt ") == 1


def test_a_stream_begins_before_it_is_done(service: Running) -> None:
    with (
        service.client() as client,
        client.stream("POST", "/v1/audio/speech", json={"input": LONG, "voice": "tone"}) as answer,
    ):
        assert answer.headers["transfer-encoding"] == "chunked"
        assert len(list(answer.iter_raw())) > 2


def test_events_carry_the_same_sound(client: httpx.Client) -> None:
    plain = speak(client, LONG, response_format="pcm").content
    answer = speak(client, LONG, response_format="pcm", stream_format="sse")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert [e["type"] for e in events][-1] == "speech.audio.done"
    assert events[-1]["usage"]["input_tokens"] == len(LONG)
    assert b"".join(base64.b64decode(e["audio"]) for e in events[:-1]) == plain


def test_headers_say_what_made_the_sound(client: httpx.Client) -> None:
    headers = speak(client, "你好").headers
    assert headers["x-langdu-engine"] == headers["x-langdu-model"] == "tone"
    assert headers["x-langdu-device"] == "cpu"
    assert float(headers["x-langdu-audio-seconds"]) > 0
    assert headers["x-langdu-request-id"]


def test_speed_shortens_the_sound(client: httpx.Client) -> None:
    slow = speak(client, "今天天气很好", response_format="pcm", speed=1.0).content
    fast = speak(client, "今天天气很好", response_format="pcm", speed=2.0).content
    assert len(slow) == pytest.approx(2 * len(fast), rel=0.15)


def test_instructions_a_voice_cannot_follow_are_refused(client: httpx.Client) -> None:
    answer = speak(client, "你好", instructions="高兴地说")
    assert answer.status_code == 400
    assert "instructions" in answer.json()["error"]["message"]


def test_a_lenient_client_is_warned_instead(client: httpx.Client) -> None:
    wish = {"input": "你好", "voice": "tone", "instructions": "高兴地说"}
    answer = client.post("/v1/audio/speech", json=wish, headers={"X-Langdu-Lenient": "true"})
    assert answer.status_code == 200
    assert answer.headers["x-langdu-warning"] == "instructions were not used"


def test_an_unknown_voice_is_an_error_never_another_voice(client: httpx.Client) -> None:
    answer = speak(client, "你好", voice="alloy")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid-voice"


def test_a_model_that_is_not_the_voices_is_refused(client: httpx.Client) -> None:
    assert speak(client, "你好", model="qwen3").status_code == 400


@pytest.mark.parametrize(
    "wish",
    [
        {"input": ""}, {"input": "   \n"}, {"input": "。。。"}, {"input": None}, {}, {"input": 5}, [], "text",
        {"input": "你好", "speed": 9}, {"input": "你好", "speed": "fast"}, {"input": "你好", "response_format": "exe"},
        {"input": "你好", "voice": {"id": ""}}, {"input": "你好", "voice": "../../etc/passwd"},
        {"input": "你好", "file": "/etc/passwd"}, {"input": "字" * 60_000}, {"input": "你好", "seed": -1},
        {"input": "你好", "voice": "tone", "stream_format": "x"}, {"input": "你好", "language": "xx"},
    ],
)  # fmt: skip
def test_bad_requests_have_openais_shape(client: httpx.Client, wish: object) -> None:
    answer = client.post("/v1/audio/speech", json=wish)
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert answer.json()["error"]["message"]


def test_openais_own_client_works_unchanged(service: Running, tmp_path: Path) -> None:
    with OpenAI(base_url=f"{service.url}/v1", api_key="unused", max_retries=0) as openai:
        with openai.audio.speech.with_streaming_response.create(
            model="tts-1", voice="tone", input=LONG, response_format="wav"
        ) as answer:
            answer.stream_to_file(tmp_path / "x.wav")
        whole = openai.audio.speech.create(model="gpt-4o-mini-tts", voice="tone", input="你好").content
        names = [model.id for model in openai.models.list()]
        with pytest.raises(BadRequestError, match="no voice"):
            openai.audio.speech.create(model="tts-1", voice="nobody", input="你好")
    assert seconds((tmp_path / "x.wav").read_bytes(), "wav") > 5
    assert seconds(whole, "mp3") > 0.05
    assert "tts-1" in names and "kokoro" in names


def test_voices_have_names_and_languages(client: httpx.Client) -> None:
    rows = client.get("/v1/audio/voices").json()["voices"]
    assert any(row["id"] == "zf_xiaobei" and row["engine"] == "kokoro" for row in rows)


def test_one_model_by_name(client: httpx.Client) -> None:
    assert client.get("/v1/models/kokoro").json()["id"] == "kokoro"
    assert client.get("/v1/models/nothing").status_code == 404


def test_many_at_once_get_their_own_sound(service: Running) -> None:
    texts = ["字" * (5 + number) for number in range(24)]
    found: dict[str, float] = {}

    def ask(text: str) -> None:
        with service.client(headers={"X-Langdu-Client": str(len(text) % 3)}) as client:
            found[text] = len(speak(client, text, response_format="pcm").content) / 2 / RATE_HZ

    threads = [threading.Thread(target=ask, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ordered = [found[text] for text in texts]
    assert ordered == sorted(ordered)
    assert len(set(ordered)) == len(texts)


def test_a_full_queue_answers_429_with_retry_after(tmp_path: Path) -> None:
    with Running(tmp_path, limits=Limits(queue=1, workers=1)) as small:
        answers: list[httpx.Response] = []

        def ask() -> None:
            with small.client() as client:
                answers.append(speak(client, LONG))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused and all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert {answer.status_code for answer in answers} == {200, 429}


def test_health_ready_and_metrics(client: httpx.Client) -> None:
    speak(client, "你好")
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/ready").status_code in (200, 503)
    assert 'langdu_responses_total{route="/v1/audio/speech",status="200"}' in client.get("/metrics").text


def test_a_script_shows_what_will_be_said(client: httpx.Client) -> None:
    lines = client.post("/v1/script", json={"input": "他有3个苹果。"}).json()["lines"]
    assert lines[0]["changed"] and "三" in lines[0]["spoken"]
