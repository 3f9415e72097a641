"""The page on the service has every route of the service, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from langdu.service.app import create_app
from tests.docs.shown import ROOT


def test_the_page_lists_the_routes_that_there_are(tmp_path: Path) -> None:
    schema = create_app(folder=tmp_path, mcp=False).openapi()
    there = {f"{method.upper()} {_unnamed(path)}" for path, methods in schema["paths"].items() for method in methods}
    page = (ROOT / "docs" / "service.md").read_text("utf-8")
    shown = {_unnamed(route) for route in re.findall(r"`((?:GET|POST|DELETE|PUT) /[^`\s]*)`", page)}
    assert shown == there


def _unnamed(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)
