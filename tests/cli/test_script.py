"""langdu script: what will be said, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from langdu.cli.script import command
from langdu.errors import DocumentError, TextError


def test_json_has_everything_a_program_needs(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("第一章\n\n比分是3-2。[laugh]\n")
    found = json.loads(CliRunner().invoke(command, [str(file), "--json", "--voice", "zf_xiaoni"]).stdout)
    assert found["chapters"] == ["第一章"]
    last = found["utterances"][-1]
    assert {"chapter": 0, "source": "比分是3-2。", "spoken": "比分是三比二。", "language": "zh", "voice": "zf_xiaoni",
            "pause_after_s": 0.0}.items() <= last.items()  # fmt: skip
    assert [i for c in found["chunks"] for i in c["utterances"]] == [0, 1]
    assert found["rules"] == [{"rule": "score", "before": "3-2", "after": "三比二"}]
    assert found["warnings"] == [{"message": "unknown mark [laugh]", "line": 3, "column": 8}]


def test_the_cap_holds(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("今天的天气非常好，我们决定去公园散步。" * 10)
    found = json.loads(CliRunner().invoke(command, [str(file), "--json", "--cap", "24"]).stdout)
    assert all(len(c["spoken"]) <= 24 for c in found["chunks"])


def test_diff_lists_what_changed(tmp_path: Path) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("第一句。第二句。")
    new.write_text("第一句。新的一句。")
    result = CliRunner().invoke(command, [str(new), "--diff", str(old)])
    assert result.stdout == "- 第二句。\n+ 新的一句。\n"


def test_a_lexicon_beside_the_file_acts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("I like SQL.")
    (tmp_path / "lexicon.toml").write_text('[words]\n"SQL" = "sequel"\n')
    assert "I like sequel." in CliRunner().invoke(command, [str(tmp_path / "a.txt")]).stdout


def test_bad_input_is_the_users(tmp_path: Path) -> None:
    blank = tmp_path / "blank.txt"
    blank.write_text(" \n")
    for name, kind in (("none.txt", DocumentError), ("blank.txt", TextError)):
        with pytest.raises(kind):
            CliRunner().invoke(command, [str(tmp_path / name)], catch_exceptions=False)
