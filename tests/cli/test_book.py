"""langdu book and langdu takes as a user types them (tone engine)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
TEXT = "# 第一章\n\n天亮得很早。\n\n他推开窗子。\n\n# 第二章\n\n街上已经有人了。\n"


@pytest.fixture
def book(langdu: Run, tmp_path: Path) -> Callable[..., Any]:
    (tmp_path / "b.md").write_text(TEXT, "utf-8")
    environment = {"LANGDU_DATA_DIR": str(tmp_path / "data")}

    def run(*arguments: str) -> Any:
        return langdu(*arguments, cwd=tmp_path, env=environment)

    return run


def made(book: Callable[..., Any], *more: str) -> Any:
    return book("book", "b.md", "-o", "b.m4b", "--voice", "tone", "--no-check", *more)


def test_events_are_json_lines_and_the_last_is_the_summary(book: Callable[..., Any], tmp_path: Path) -> None:
    done = made(book, "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0] == {"event": "plan", "chunks": 5, "chapters": 2}
    last = events[-1]
    assert (last["event"], last["chunks"], last["said"], last["reused"], last["faults"]) == ("summary", 5, 5, 0, [])
    assert (tmp_path / last["output"]).is_file()


def test_takes_are_listed_rejected_redone_and_accepted(book: Callable[..., Any]) -> None:
    made(book)
    assert "街上已经有人了" in book("takes", "list").stdout
    assert book("takes", "redo", "1.2", "--seed", "5", "--no-check").returncode == 0
    takes = json.loads(book("takes", "list", "1.2", "--json").stdout)["chunks"][0]["takes"]
    assert [(take["seed"], take["used"]) for take in takes] == [(0, False), (5, True)]
    assert book("takes", "accept", "1.2", "1").returncode == 0
    assert book("takes", "reject", "1.2").returncode == 0
    takes = json.loads(book("takes", "list", "1.2", "--json").stdout)["chunks"][0]["takes"]
    assert [(take["state"], take["used"]) for take in takes] == [("rejected", False), ("made", True)]
    summary = json.loads(made(book, "--json").stdout.splitlines()[-1])
    assert (summary["said"], summary["reused"]) == (0, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("book", "b.md", "-o", "b.xyz"), "no known suffix"),
        (("book", "gone.md", "-o", "b.m4b"), "gone.md"),
        (("book", "b.md", "-o", "gone/b.m4b"), "does not exist"),
        (("book", "b.md", "-o", "-"), "cannot go to stdout"),
        (("book", "b.md", "-o", "b.m4b", "--voice", "tone", "--loudness", "radio"), "podcast, broadcast, acx, none"),
        (("book", "b.md", "-o", "b.m4b", "--voice", "tone", "--from", "3"), "it has 2"),
        (("book", "b.md", "-o", "b.m4b", "--voice", "nobody"), "nobody"),
        (("book", "b.md", "-o", "b.m4b", "--voice", "tone", "--no-check", "--workers", "0"), "at least one worker"),
        (("takes", "list"), "No book was made yet"),
        (("takes", "prune"), "which takes may go"),
    ],
)
def test_a_mistake_is_one_clear_line(book: Callable[..., Any], tmp_path: Path, arguments: Any, message: str) -> None:
    done = book(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"b.md", "data", "b.m4b.langdu.json"}
