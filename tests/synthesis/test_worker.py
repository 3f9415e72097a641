"""One worker: streaming in order, cancelling, failing, and what crosses the pipe."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from langdu.engines.base import Failed, Piece, Request, Spoken
from langdu.engines.tone import tone
from langdu.errors import ModelError, SettingError
from langdu.synthesis import wire
from langdu.synthesis.runner import EngineSpec
from langdu.synthesis.worker import Worker
from langdu.voices.persona import BuiltinPersona

PERSONA = BuiltinPersona(name="t", voice="tone")


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker(EngineSpec("tone", options={"delay_s": 0.02}))
    yield found
    found.close()


def ask(text: str, number: str = "1", *, stream: bool = False) -> Request:
    return Request(number, text, "zh", "", stream=stream)


def test_pieces_come_in_order_and_make_up_the_whole(worker: Worker) -> None:
    worker.submit(ask("一二三四五", stream=True), PERSONA)
    pieces: list[Piece] = []
    for event in worker.events():
        if isinstance(event, Spoken):
            break
        assert isinstance(event, Piece)
        pieces.append(event)
    assert [piece.index for piece in pieces] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(np.concatenate([p.audio for p in pieces]), tone("一二三四五"))


def test_a_cancelled_request_ends_at_the_next_step_and_the_next_one_is_said(worker: Worker) -> None:
    worker.submit(ask("一" * 500, "long"), PERSONA)
    worker.submit(ask("二", "short"), PERSONA)
    worker.wait_ready()
    worker.cancel("long")
    events = {event.id: event for event in itertools.islice(worker.events(), 2)}
    long, short = events["long"], events["short"]
    assert isinstance(long, Spoken)
    assert long.ending == "cancelled"
    assert isinstance(short, Spoken)
    assert short.ending == "ended"


def test_it_tells_who_it_is_and_what_it_took(worker: Worker) -> None:
    assert worker.wait_ready().engine == "tone"
    assert worker.load_seconds > 0
    worker.submit(ask("一"), PERSONA)
    next(worker.events())
    assert worker.peak_memory_mb > 10


def test_closing_leaves_no_process(worker: Worker) -> None:
    worker.wait_ready()
    worker.close()
    assert not psutil.pid_exists(worker.pid)


def test_the_childs_own_error_is_raised(tmp_path: object) -> None:
    worker = Worker(EngineSpec("none"))
    with pytest.raises(SettingError, match="none"):
        worker.wait_ready()
    worker.close()


def test_a_missing_model_is_named_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path))
    worker = Worker(EngineSpec("kokoro"))
    with pytest.raises(ModelError, match="langdu models get kokoro"):
        worker.wait_ready()
    worker.close()


@pytest.mark.parametrize(
    "event",
    [
        Piece("1", 3, np.arange(5, dtype=np.float32)),
        Failed("2", "engine", "什么", "下一步"),
        Spoken("3", np.ones(4, np.float32), 24000, 7, 0.5, "budget", 12, {"phonemes": 3}),
    ],
)
def test_events_survive_the_wire(event: Piece | Failed | Spoken) -> None:
    pipe = io.BytesIO()
    wire.write(pipe, *wire.event_frame(event))
    pipe.seek(0)
    frame = wire.read(pipe)
    assert frame is not None
    back = wire.event_of(*frame)
    for name in type(event).__dataclass_fields__:
        np.testing.assert_array_equal(getattr(back, name), getattr(event, name))


def test_a_frame_cut_short_is_the_end_not_an_error() -> None:
    pipe = io.BytesIO()
    wire.write(pipe, {"kind": "piece"}, b"12345678")
    assert wire.read(io.BytesIO(pipe.getvalue()[:-3])) is None


def test_what_is_not_a_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="not a frame"):
        wire.read(io.BytesIO(b"\xff" * 64))


def test_the_peak_is_the_workers_own_and_not_its_parents():
    """A process on Linux inherits the peak of the one that started it, if one asks the wrong counter."""
    held = np.ones(100_000_000, np.float32)
    worker = Worker(EngineSpec("tone"))
    try:
        worker.wait_ready()
        assert 10 < worker.peak_memory_mb < held.nbytes / 1e6
    finally:
        worker.kill()
