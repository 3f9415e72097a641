import queue
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from langdu.engines.tone import tone
from langdu.errors import CapacityError, DeadlineError, EngineError, LangduError, ModelError, WorkerError
from langdu.service.admission import Delivery, Ticket
from langdu.service.hub import Hub, Limits
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.runner import EngineSpec
from langdu.voices.persona import BuiltinPersona

PERSONA = BuiltinPersona(name="tone", voice="tone")
Start = Callable[..., Hub]


@pytest.fixture
def start() -> Iterator[Start]:
    hubs: list[Hub] = []

    def make(**limits: object) -> Hub:
        hubs.append(Hub(Limits(**{"workers": 1, "memory_mb": 4000, **limits})))  # type: ignore[arg-type]
        return hubs[-1]

    yield make
    for hub in hubs:
        hub.close()


class Client:
    """Puts texts to a hub and reads what comes."""

    def __init__(self, hub: Hub, *texts: str, name: str = "c", spec: EngineSpec | None = None, **options: object):
        self.hub, self.inbox = hub, queue.Queue[Delivery]()
        chunks = tuple(Chunk(i, 0, i + 1, text, "zh", PERSONA, 0.0) for i, text in enumerate(texts))
        spec = spec or EngineSpec("tone")
        self.ticket = Ticket(f"{name}{id(self)}", name, spec, chunks, self.inbox.put, **options)  # type: ignore[arg-type]
        hub.submit(self.ticket)

    def take(self) -> Take:
        found = self.inbox.get(timeout=20).what
        if isinstance(found, LangduError):
            raise found
        assert isinstance(found, Take)
        self.hub.taken(self.ticket)
        return found


def workers(hub: Hub) -> list[dict[str, object]]:
    found = hub.status()["workers"]
    assert isinstance(found, list)
    return found


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def test_nothing_is_loaded_before_it_is_asked_for(start: Start) -> None:
    assert workers(start()) == []


def test_a_chunk_comes_back_as_its_own_sound(start: Start) -> None:
    take = Client(start(), "你好").take()
    assert take.audio.tobytes() == tone("你好").tobytes()
    assert take.engine.engine == "tone"


def test_an_idle_model_ends_its_process(start: Start) -> None:
    hub = start(idle_s=0.2)
    Client(hub, "你好").take()
    pid = int(str(workers(hub)[0]["pid"])) if workers(hub) else 0
    assert until(lambda: not workers(hub))
    assert not pid or until(lambda: not psutil.pid_exists(pid))


def test_it_is_loaded_again_when_it_is_wanted_again(start: Start) -> None:
    hub = start(idle_s=0.2)
    Client(hub, "你好").take()
    assert until(lambda: not workers(hub))
    assert len(Client(hub, "再见").take().audio)
    assert hub.loads == 2


def test_the_least_recently_used_model_makes_room(start: Start) -> None:
    hub = start(models=1)
    Client(hub, "一").take()
    Client(hub, "二", spec=EngineSpec("tone", options={"limit": 5})).take()
    assert len(workers(hub)) == 1
    assert hub.unloads == 1


def test_a_model_that_is_busy_is_not_unloaded_for_another(start: Start) -> None:
    hub = start(models=1)
    slow = Client(hub, "一二三四五六七八九十", spec=EngineSpec("tone", options={"delay_s": 0.05}))
    assert until(lambda: bool(workers(hub)) and workers(hub)[0]["busy"] == 1)
    other = Client(hub, "二")
    assert len(slow.take().audio)
    assert len(other.take().audio)
    assert hub.deaths == 0


def test_an_engine_that_does_not_fit_is_refused_with_the_numbers(start: Start) -> None:
    with pytest.raises(CapacityError, match="120 MB"):
        Client(start(memory_mb=50), "你好").take()


def test_a_serial_engine_gets_more_processes_as_work_waits(start: Start) -> None:
    hub = start(workers=2)
    client = Client(hub, *["一二三四五六七八九十"] * 6, spec=EngineSpec("tone", options={"delay_s": 0.1}))
    assert until(lambda: len(workers(hub)) == 2)
    for _ in range(6):
        client.take()


def test_a_short_request_waits_for_one_chunk_of_a_job_at_most(start: Start) -> None:
    hub = start()
    spec = EngineSpec("tone", options={"delay_s": 0.02})
    job = Client(hub, *["一二三四五六七八九十"] * 8, name="job", spec=spec, background=True)
    job.take()
    short = Client(hub, "短", name="short", spec=spec)
    short.take()
    assert job.inbox.qsize() <= 2


def test_a_worker_that_dies_is_replaced_and_its_chunk_said_again(start: Start, tmp_path: object) -> None:
    hub = start()
    spec = EngineSpec("tone", options={"crash_on": "二", "crash_once": f"{tmp_path}/crashed"})
    client = Client(hub, "一", "二", "三", spec=spec)
    assert sorted(len(client.take().audio) for _ in range(3)) == sorted(len(tone(t)) for t in "一二三")
    assert hub.deaths == 1


def test_a_chunk_that_kills_its_worker_twice_is_an_error(start: Start) -> None:
    with pytest.raises(WorkerError):
        Client(start(), "二", spec=EngineSpec("tone", options={"crash_on": "二"})).take()


def test_a_worker_that_hangs_is_killed(start: Start) -> None:
    hub = start(hang_s=1.0)
    with pytest.raises(WorkerError):
        Client(hub, "二", spec=EngineSpec("tone", options={"hang_on": "二"})).take()
    assert hub.deaths == 2


def test_a_text_that_fails_does_not_harm_another_client(start: Start) -> None:
    hub = start()
    spec = EngineSpec("tone", options={"fail_on": "坏"})
    bad, good = Client(hub, "坏", spec=spec), Client(hub, "好", spec=spec)
    with pytest.raises(EngineError):
        bad.take()
    assert len(good.take().audio)


def test_a_deadline_ends_a_request(start: Start) -> None:
    hub = start()
    slow = Client(hub, "一" * 100, spec=EngineSpec("tone", options={"delay_s": 0.1}), deadline=time.monotonic() + 1.0)
    with pytest.raises(DeadlineError):
        slow.take()
    assert until(lambda: not workers(hub) or workers(hub)[0]["busy"] == 0)


def test_a_client_that_goes_away_frees_its_row(start: Start) -> None:
    hub = start()
    client = Client(hub, "一" * 500, "二", spec=EngineSpec("tone", options={"delay_s": 0.1}))
    assert until(lambda: bool(workers(hub)) and workers(hub)[0]["busy"] == 1)
    hub.cancel(client.ticket)
    assert until(lambda: workers(hub)[0]["busy"] == 0, 5)
    assert client.inbox.empty()


def test_a_model_that_is_not_there_is_the_clients_error(start: Start) -> None:
    with pytest.raises((ModelError, LangduError)):
        Client(start(), "你好", spec=EngineSpec("qwen3", "no-such-model")).take()


def test_batched_requests_share_one_process(start: Start) -> None:
    hub = start(workers=2)
    spec = EngineSpec("tone", options={"slots": 4, "delay_s": 0.01})
    clients = [Client(hub, "一二三", name=f"c{n}", spec=spec) for n in range(4)]
    for client in clients:
        client.take()
    assert hub.loads == 1


def test_closing_leaves_no_process_and_tells_those_who_wait() -> None:
    hub = Hub(Limits(workers=1))
    client = Client(hub, "一" * 500, spec=EngineSpec("tone", options={"delay_s": 0.1}))
    assert until(lambda: bool(workers(hub)) and bool(workers(hub)[0]["busy"]))
    pid = int(str(workers(hub)[0]["pid"]))
    hub.close()
    with pytest.raises(CapacityError):
        client.take()
    assert not psutil.pid_exists(pid)
