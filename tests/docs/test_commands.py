"""No command in the pages is stale: each is parsed by the real command line, and run where it can be.

Commands run in the order of the pages, in one folder, as one reader would type them; the same line is run once. So
run the module whole. What cannot run here is named below with the reason, and is parsed all the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest

from langdu.settings import Settings
from tests.docs.conftest import Desk
from tests.docs.shown import PAGES, ROOT, Call, Shown, blocks, parse, spans, unknown

Applies = Callable[[Call], Any]


def _qwen3_voices() -> set[str]:
    """Names that the pages give to clones, descriptions and named speakers."""
    calls = [call for shown in blocks() if "langdu voices add" in shown.text for call in shown.calls()]
    return {call.params["name"] for call in calls if call.get("clip") or call.get("design") or call.get("speaker")}


NOT_RUN: dict[str, Applies] = {
    "plays sound": lambda c: c.path == "takes play" or (
        c.path in ("say", "voices preview") and not c.get("output") and c.get("voice") != "?"
    ),
    "runs until it is stopped": lambda c: c.path in ("serve", "mcp", "wyoming", "worker"),
    "needs published Qwen3-TTS weights": lambda c: (
        c.get("voice") in _qwen3_voices()
        or str(c.get("model")).startswith("qwen3") or str(c.get("original")).startswith("qwen3")
        or (c.path == "models get" and c.params["name"].startswith("qwen3"))
    ),
    "tries everything for half a minute, and is tested as a whole elsewhere": lambda c: (
        c.path == "doctor" and not c.params["quick"]
    ),
    "belongs in a start-up file of the user's shell": lambda c: c.path == "completion",
    "measures for minutes": lambda c: c.path.split()[:1] == ["bench"],
    "needs a cluster": lambda c: c.get("cluster"),
    "changes what starts at the user's login": lambda c: (
        c.path in ("service install", "service uninstall") and not c.get("print_")
    ),
    "would delete a model of this machine": lambda c: c.path == "models remove",
    "needs more cores than this machine has": lambda c: (
        c.path in ("say", "book") and c.params["workers"].isdigit() and int(c.params["workers"]) > (os.cpu_count() or 1)
    ),
}  # fmt: skip
"""Reason: which commands it holds for. Everything else runs."""

ENDS_WITH = {
    "voices audit": ({1}, "the clones of the pages lack their model here, and the audit says so"),
    "models check DIR": ({3}, "a file of DIR is missing, for repair to bring back"),
    "doctor": ({0, 1}, "what a machine lacks is for the doctor to say, not for this test"),
}
"""Exit codes other than 0, by the beginning of the command."""

MISTYPED = {"VOICES"}
"""Variables that a page shows as mistakes."""


def reason_not_to_run(shown: Shown) -> str | None:
    calls = shown.calls()
    return next((reason for reason, applies in NOT_RUN.items() if any(applies(call) for call in calls)), None)


def _runnable() -> list[Shown]:
    """Each line once, at the place where it is shown first."""
    seen: dict[str, Shown] = {}
    for shown in blocks():
        key = re.sub(r"\s+", " ", shown.text)
        try:
            if key not in seen and reason_not_to_run(shown) is None:
                seen[key] = shown
        except click.UsageError:
            pass  # the test below names it
    return list(seen.values())


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_as_the_command_line_has_them(page: str) -> None:
    stale = []
    for shown in blocks():
        if shown.page == page:
            try:
                shown.calls()
            except click.UsageError as error:
                stale.append(f"{shown}: {error.format_message()}")
    stale += [f"{span}: {', '.join(names)}" for span in spans() if span.page == page and (names := unknown(span.text))]
    assert stale == []


@pytest.mark.parametrize("page", PAGES)
def test_settings_are_as_the_program_reads_them(page: str) -> None:
    named = set(re.findall(r"\bLANGDU_([A-Z_]*[A-Z])\b", (ROOT / page).read_text("utf-8")))
    assert named - MISTYPED <= {one.name.upper() for one in fields(Settings)}


@pytest.mark.parametrize("words", [["sya", "hello"], ["say", "hello", "--voise", "x"], ["models", "fetch", "kokoro"]])
def test_a_stale_command_is_noticed(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)
    assert unknown(f"langdu {' '.join(words)}")


def test_every_reason_not_to_run_is_needed() -> None:
    used = {reason_not_to_run(shown) for shown in blocks()}
    needed = set(NOT_RUN) - {"needs more cores than this machine has", "measures for minutes"}
    assert needed <= used


@pytest.mark.real
@pytest.mark.parametrize("shown", _runnable(), ids=str)
def test_it_runs(desk: Desk, shown: Shown) -> None:
    done = desk.run(shown.text)
    said = f"{shown.text}\n{done.stdout}\n{done.stderr}"
    good = next((codes for start, (codes, _) in ENDS_WITH.items() if f"langdu {start}" in shown.text), {0})
    assert done.returncode in good, said
    assert "Traceback" not in done.stderr, said
    for call in shown.calls():
        output = call.get("output")
        if output and str(output) != "-":
            _check_file(desk.folder / output)


def _check_file(path: Path) -> None:
    """The file, or one a chapter beside it (`novel 1.mp3`), is there and holds something."""
    found = [path] if path.exists() else list(path.parent.glob(f"{path.stem}*{path.suffix}"))
    assert found and all(one.stat().st_size > 0 for one in found), path
