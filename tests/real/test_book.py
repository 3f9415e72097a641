"""A short book with the built-in voice, heard by the checker: nothing is said twice, words have their times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.real


def test_a_book_is_spoken_heard_and_resumed(langdu: Callable[..., Any], tmp_path: Path) -> None:
    from langdu.models.store import model_dir

    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models").symlink_to(model_dir("kokoro").parent)
    text = "# 早晨\n\n天亮得很早，院子里的梧桐落了一地叶子。\n\n他买了三个包子，慢慢地走到河边。\n"
    (tmp_path / "b.md").write_text(text, "utf-8")

    def run() -> dict[str, Any]:
        done = langdu(
            "book", "b.md", "-o", "b.m4b", "--json", cwd=tmp_path, env={"LANGDU_DATA_DIR": str(tmp_path / "data")}
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    first = run()
    assert (first["said"], first["faults"], first["problems"]) == (3, [], [])
    stamps = re.findall(r"<00:00:(\d\d\.\d{3})>", (tmp_path / "b.vtt").read_text("utf-8"))
    assert len(stamps) > 20
    (tmp_path / "b.md").write_text(text.replace("三个", "五个"), "utf-8")
    second = run()
    assert (second["said"], second["reused"]) == (1, 2)
