"""The documentation site builds offline without a warning, and nothing in it points into the void.

mkdocs --strict fails on a page outside the nav and on a dead link or anchor between pages. The rest is here:
what mkdocs does not look at (READMEs, files of the repository that pages name, Markdown that its parser took
for plain text).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "README.zh.md", *PAGES]
names = [path.name for path in TEXTS]


class Page(HTMLParser):
    """What a built page loads, where it links, its anchors, and its paragraphs."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.paragraphs: list[str] = []
        self._within = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found["href"])
        elif "src" in found:
            self.loads.append(found["src"])
        elif tag == "a" and "href" in found:
            self.links.append(found["href"])
        if "id" in found:
            self.anchors.add(found["id"])
        if tag == "p":
            self._within = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = self._within and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._within:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """The built pages. A warning of mkdocs ends the build."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "true"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path: Page(path) for path in out.glob("*.html") if path.name != "404.html"}


def test_every_page_is_built(site: dict[Path, Page]) -> None:
    assert {path.stem for path in site} == {path.stem for path in PAGES}


def test_links_and_anchors_of_the_built_pages_lead_somewhere(site: dict[Path, Page]) -> None:
    dead = []
    for path, page in site.items():
        for link in page.links:
            target, _, anchor = unquote(link).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            there = (path.parent / target).resolve() if target else path
            found = site.get(there)
            if not there.exists() or (anchor and (found is None or anchor not in found.anchors)):
                dead.append(f"{path.name}: {link}")
    assert dead == []


def test_a_page_loads_nothing_from_elsewhere(site: dict[Path, Page]) -> None:
    for path, page in site.items():
        for load in page.loads:
            assert not re.match(r"(https?:)?//", load), f"{path.name} loads {load}"
            assert load.startswith("data:") or (path.parent / load.partition("?")[0]).is_file(), f"{path.name}: {load}"


def test_lists_and_tables_are_not_taken_for_text(site: dict[Path, Page]) -> None:
    """GitHub begins a list or table right after a line of text; the site's parser needs a blank line there."""
    swallowed = [
        f"{path.name}: {line}"
        for path, page in site.items()
        for paragraph in page.paragraphs
        for line in paragraph.splitlines()
        if re.match(r"([-*|]|\d+\.) ", line) or line.startswith("```")
    ]
    assert swallowed == []


def test_the_search_knows_chinese_words(site: dict[Path, Page]) -> None:
    index = json.loads((next(iter(site)).parent / "search" / "search_index.json").read_text("utf-8"))
    assert "\u200b" in index["config"]["separator"] or r"\u200b" in index["config"]["separator"]
    words = {word for entry in index["docs"] for word in re.split(r"[\s\u200b]+", entry["title"] + entry["text"])}
    assert {"克隆", "内存", "下载"} <= words


@pytest.mark.parametrize("path", TEXTS, ids=names)
def test_links_of_the_sources_lead_to_files(path: Path) -> None:
    """As a reader of the repository follows them; READMEs are not part of the site."""
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", path.read_text("utf-8"))
    dead = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert dead == []


@pytest.mark.parametrize("path", TEXTS, ids=names)
def test_files_of_the_repository_that_a_page_names_exist(path: Path) -> None:
    named = re.findall(r"(?<![\w/.])(?:benchmarks|examples|tests|tools|src)/[\w./-]*\w", path.read_text("utf-8"))
    gone = sorted({name for name in named if not (ROOT / name).exists()})
    assert gone == []
