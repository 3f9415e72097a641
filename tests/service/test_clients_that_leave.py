"""A client that goes away, or is out of time, gives its place and its worker back, whatever its answer was to be."""

import contextlib
import time
from collections.abc import Callable, Iterator

import httpx
import psutil
import pytest

from langdu.service.hub import Limits

from .conftest import Running

LONG = "今天天气很好，我们去公园里走了一整天。" * 12
WISH = {"input": LONG, "voice": "tone"}


def until(condition: Callable[[], bool], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with one worker, which is loaded."""
    with Running(tmp_path_factory.mktemp("one"), limits=Limits(workers=1)) as running, running.client() as client:
        client.post("/v1/audio/speech", json={"input": "你好", "voice": "tone"}).raise_for_status()
        yield running


@contextlib.contextmanager
def held(service: Running) -> Iterator[None]:
    """The worker stands still meanwhile, as one does that is busy with something long."""
    with service.client() as client:
        worker = psutil.Process(client.get("/v1/status").json()["workers"][0]["pid"])
    worker.suspend()
    try:
        yield
    finally:
        worker.resume()


def queued(service: Running) -> int:
    with service.client() as client:
        return int(client.get("/v1/status").json()["queued"])


def busy(service: Running) -> int:
    with service.client() as client:
        return int(client.get("/v1/status").json()["workers"][0]["busy"])


@pytest.mark.parametrize(
    "wish",
    [{"stream": False}, {}, {"stream_format": "sse"}, {"input": "你好吗"}],
    ids=["whole", "stream", "sse", "short"],
)
def test_who_hangs_up_before_the_first_sound_leaves_the_line(one: Running, wish: dict[str, object]) -> None:
    with held(one):
        with one.client() as client, pytest.raises(httpx.ReadTimeout):
            client.post("/v1/audio/speech", json={**WISH, **wish}, timeout=0.5)
        assert until(lambda: queued(one) == 0)
    assert until(lambda: busy(one) == 0)


def test_who_hangs_up_in_mid_stream_leaves_the_line(one: Running) -> None:
    text = LONG * 60  # more than sockets hold, so that the service is still making it
    with (
        one.client() as client,
        client.stream("POST", "/v1/audio/speech", json={**WISH, "input": text, "response_format": "wav"}) as answer,
    ):
        next(answer.iter_raw())
    assert until(lambda: queued(one) == 0 and busy(one) == 0)


def test_who_comes_next_is_served(one: Running) -> None:
    with one.client() as client:
        assert client.post("/v1/audio/speech", json=WISH).status_code == 200


def test_a_request_out_of_time_is_told_so(one: Running) -> None:
    with held(one), one.client() as client:
        answer = client.post("/v1/audio/speech", json=WISH, headers={"X-Langdu-Deadline": "0.3"})
        assert answer.status_code == 504
        assert answer.json()["error"]["code"] == "deadline"
        assert queued(one) == 0


@pytest.mark.parametrize("deadline", ["0", "-1", "nan", "soon", "1e9"])
def test_a_deadline_that_is_none_is_refused(one: Running, deadline: str) -> None:
    with one.client() as client:
        answer = client.post("/v1/audio/speech", json=WISH, headers={"X-Langdu-Deadline": deadline})
    assert answer.status_code == 400
