"""A result survives its file, and a file that is none says so."""

from __future__ import annotations

import json

import pytest

from langdu.bench.model import FIGURES, printed, read
from langdu.errors import DocumentError
from tests.bench.results import report, row


def test_a_report_is_read_back_as_it_was_written(tmp_path):
    path = tmp_path / "a.json"
    made = report(row(facts={"heard": "你好"}), row("long", passed=None, why="not heard"), notes=("a note",))
    path.write_bytes(made.to_json())
    assert read(path) == made


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"format": 99}', '{"format": 1}', "not json", '{"format": 1, "rows": 3}', "[" * 100_000],
    ids=["empty", "list", "object", "newer", "no rows", "text", "wrong type", "deep"],
)
def test_anything_else_is_refused_by_name(tmp_path, content):
    path = tmp_path / "b.json"
    path.write_text(content)
    with pytest.raises(DocumentError, match=r"b\.json holds no bench result"):
        read(path)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(DocumentError, match="not there"):
        read(tmp_path / "c.json")


def test_a_figure_without_values_does_not_pass(tmp_path):
    facts = report(row()).as_dict()
    facts["rows"][0]["figures"]["rtf"]["values"] = []
    path = tmp_path / "d.json"
    path.write_text(json.dumps(facts))
    with pytest.raises(DocumentError):
        read(path)


def test_every_figure_is_printed_with_its_unit():
    assert printed("peak_memory_mb", 1234.4) == "1,234 MB"
    assert printed("rtf", 0.12345) == "0.123"
    assert all(printed(name, 1.0) for name in FIGURES)
