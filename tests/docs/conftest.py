"""A desk to try the pages' commands on: the files they speak of, and voices and takes of its own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.text.makers import epub

DOCS = Path(__file__).parents[2] / "docs"
ARTICLE = "今天天气很好。\n"
RAIN = "雨停了。"
SCRIPT = f"旁白：{RAIN}\n\n老人：去看看花吧。\n"
CLIP = 'langdu say "今天的会议改到下午三点。" -o hi.wav'
"""The first command of the pages makes the clip of the others."""
CHAPTERS, PARAGRAPHS = 3, 17
"""Chunk 3.17 is what the pages redo. The same words share one take, so a long book costs what a short one does."""


@dataclass(frozen=True)
class Desk:
    folder: Path
    env: dict[str, str]
    done: dict[str, subprocess.CompletedProcess[str]] = field(default_factory=dict)

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a line of shell, once, as a user does who answers every question with Enter, then yes."""
        if line not in self.done:
            self.done[line] = self._run(line)
        return self.done[line]

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        ours, theirs = os.openpty()
        os.write(ours, b"\ny\n")
        try:
            return subprocess.run(
                ["sh", "-c", line], cwd=self.folder, env=self.env, stdin=theirs, capture_output=True, text=True,
                timeout=240, check=False,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(theirs)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, tiny_base: Path) -> Desk:
    from langdu.settings import settings

    settings.cache_clear()
    folder, data, bin_ = (tmp_path_factory.mktemp(name) for name in ("desk", "data", "bin"))
    for shared in ("models", "cache"):
        (data / shared).symlink_to(settings().data_dir / shared)
    command = bin_ / "langdu"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m langdu "$@"\n', "utf-8")
    command.chmod(0o755)
    env = {
        **os.environ, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}", "LANGDU_DATA_DIR": str(data),
        "XDG_CONFIG_HOME": str(data / "config"),
    }  # fmt: skip
    found = Desk(folder, env)
    _lay_out(folder, tiny_base)
    for line in (
        "langdu voices add grandfather --builtin zm_yunjian",
        "langdu voices add 小明 --builtin zm_yunxi",
        CLIP,
    ):
        done = found.run(line)
        assert done.returncode == 0, done.stderr
    shutil.copy(folder / "hi.wav", folder / "clip.m4a")  # clips are read by content, whatever their suffix
    return found


def _lay_out(folder: Path, checkpoint: Path) -> None:
    for name in ("article.txt", "in.txt", "a.txt", "new.md"):
        (folder / name).write_text(ARTICLE, "utf-8")
    (folder / "old.md").write_text(RAIN, "utf-8")
    (folder / "article.md").write_text(RAIN, "utf-8")
    (folder / "script.md").write_text(SCRIPT, "utf-8")
    cast = re.search(r"```toml\n(\[cast\].*?)```", (DOCS / "book.md").read_text("utf-8"), re.DOTALL)
    assert cast is not None
    (folder / "cast.toml").write_text(cast[1], "utf-8")
    body = f"<p>{RAIN}</p>" * PARAGRAPHS
    pages = {f"{n}.xhtml": f"<h1>雨后</h1>{body}" for n in range(1, CHAPTERS + 1)}
    novel = epub(pages, toc=dict.fromkeys(pages, "雨后"), title="雨后")
    (folder / "novel.epub").write_bytes(novel)
    for name in ("DIR", "ORIGINAL"):
        shutil.copytree(checkpoint, folder / name)
    (folder / "DIR" / "generation_config.json").unlink()
