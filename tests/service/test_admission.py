import pytest

from langdu.errors import BusyError
from langdu.service.admission import BACKGROUND_TURN, WINDOW, Line, Ticket
from langdu.synthesis.model import Chunk
from langdu.synthesis.runner import EngineSpec
from langdu.voices.persona import BuiltinPersona

PERSONA = BuiltinPersona(name="tone", voice="tone")


def ticket(name: str, client: str, *, chunks: int = 1, characters: int = 10, **options: object) -> Ticket:
    made = tuple(Chunk(i, 0, i + 1, "字" * characters, "zh", PERSONA, 0.0) for i in range(chunks))
    return Ticket(name, client, EngineSpec("tone"), made, lambda _delivery: None, **options)  # type: ignore[arg-type]


def order(line: Line, turns: int) -> list[str]:
    """Who gets the next turns when every chunk is taken by its client at once."""
    found = []
    for _ in range(turns):
        picked = line.next(lambda _ticket: True)
        if picked is None:
            break
        picked[0].taken += 1
        found.append(picked[0].id)
    return found


def test_one_client_gets_its_chunks_in_order() -> None:
    line = Line(4)
    line.enter(ticket("a", "x", chunks=3))
    assert [picked[1] for _ in range(3) if (picked := line.next(lambda _t: True))] == [0, 1, 2]


def test_a_client_with_many_requests_does_not_keep_another_waiting() -> None:
    line = Line(20)
    for number in range(9):
        line.enter(ticket(f"greedy{number}", "greedy"))
    line.enter(ticket("modest", "modest"))
    assert "modest" in order(line, 2)


def test_turns_are_shared_by_characters_not_by_requests() -> None:
    line = Line(4)
    line.enter(ticket("long", "a", chunks=4, characters=40))
    line.enter(ticket("short", "b", chunks=8, characters=10))
    assert order(line, 6).count("short") == 4


def test_a_newcomer_is_not_owed_turns_for_the_time_it_was_away() -> None:
    line = Line(4)
    line.enter(ticket("old", "a", chunks=20))
    order(line, 10)
    line.enter(ticket("new", "b", chunks=20))
    assert order(line, 6).count("new") <= 4


def test_short_work_goes_before_a_job() -> None:
    line = Line(4)
    line.enter(ticket("book", "job", chunks=50, background=True))
    assert order(line, 2) == ["book", "book"]
    line.enter(ticket("short", "x"))
    assert order(line, 1) == ["short"]


def test_a_job_is_not_starved_by_a_stream_of_short_work() -> None:
    line = Line(100)
    line.enter(ticket("book", "job", chunks=50, background=True))
    line.enter(ticket("talk", "x", chunks=50))
    assert order(line, BACKGROUND_TURN + 2).count("book") == 1


def test_no_more_is_made_than_its_client_takes() -> None:
    line = Line(4)
    line.enter(ticket("slow", "x", chunks=50))
    handed = 0
    while line.next(lambda _t: True):
        handed += 1
    assert handed == WINDOW


def test_a_full_line_refuses_and_says_when_to_come_back() -> None:
    line = Line(2)
    line.enter(ticket("a", "x"))
    line.enter(ticket("b", "x"))
    with pytest.raises(BusyError) as caught:
        line.enter(ticket("c", "y"))
    assert caught.value.retry_after_s >= 1


def test_jobs_do_not_take_places_in_the_line() -> None:
    line = Line(1)
    line.enter(ticket("book", "job", background=True))
    line.enter(ticket("a", "x"))
    assert len(line) == 2


def test_a_chunk_whose_worker_died_goes_first() -> None:
    line = Line(4)
    lost = ticket("a", "x", chunks=3)
    line.enter(lost)
    line.next(lambda _t: True)
    lost.again.append(0)
    picked = line.next(lambda _t: True)
    assert picked is not None and picked[1] == 0


def test_a_ticket_past_its_deadline_is_overdue() -> None:
    line = Line(4)
    line.enter(ticket("late", "x", deadline=10.0))
    line.enter(ticket("fine", "x", deadline=20.0))
    assert [t.id for t in line.overdue(15.0)] == ["late"]
