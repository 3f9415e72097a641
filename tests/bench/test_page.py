"""The page stands alone, shows what the JSON holds, and lets nothing of a name through as markup."""

from __future__ import annotations

import json
import re

import pytest

from langdu.bench import page
from tests.bench.results import report, row, scale_rows

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("LANGDU_DATA_DIR", str(tmp_path))


def test_nothing_is_loaded_from_elsewhere():
    made = page.page(report(row(), *scale_rows()))
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", made)
    assert made.count("data:image/png;base64,") == 3


def test_the_result_itself_is_inside():
    made = report(row(), notes=("stopped before 4 workers: 2 cores",))
    found = re.search(r'<script type="application/json" id="result">(.*?)</script>', page.page(made), re.DOTALL)
    assert json.loads(found[1]) == json.loads(made.to_json())


def test_a_table_has_the_median_and_the_spread():
    assert "0.200 <small>(0.190–0.210)</small>" in page.page(report(row()))


def test_names_are_text():
    evil = "</script><script>alert(1)</script>"
    made = page.page(report(row(target=evil, passed=False, why=evil)))
    assert "<script>alert" not in made
