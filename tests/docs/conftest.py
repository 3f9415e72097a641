"""A desk to try the pages' commands on: the files they speak of, and voices and takes of its own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.text.makers import epub

ARTICLE = "今天天气很好。我们下午三点去公园。\n"
SCRIPT = "旁白：雨停了。\n\n老人：去看看花吧。\n"
CAST = '[cast]\n旁白 = "zf_xiaobei"\n老人 = "grandfather"\n'
CLIP = "大家好，欢迎来到今天的节目。"
CHAPTERS = 5
PARAGRAPHS = 17
"""Chunk 3.17 is what the pages redo. All have the same words, so one take serves them all."""


@dataclass(frozen=True)
class Desk:
    folder: Path
    env: dict[str, str]

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a line of shell as a user does who answers every question with Enter, then yes."""
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
def desk(tmp_path_factory: pytest.TempPathFactory, tiny_base: Path) -> Iterator[Desk]:
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
        f"langdu say {CLIP} -o clip.m4a",
    ):
        done = found.run(line)
        assert done.returncode == 0, done.stderr
    yield found


def _lay_out(folder: Path, checkpoint: Path) -> None:
    for name in ("article.txt", "in.txt", "a.txt", "article.md"):
        (folder / name).write_text(ARTICLE, "utf-8")
    (folder / "old.md").write_text(ARTICLE, "utf-8")
    (folder / "new.md").write_text(ARTICLE.replace("三点", "四点"), "utf-8")
    (folder / "script.md").write_text(SCRIPT, "utf-8")
    (folder / "cast.toml").write_text(CAST, "utf-8")
    body = "<p>雨停了。</p>" * PARAGRAPHS
    pages = {f"{n}.xhtml": f"<h1>第{n}章</h1>{body}" for n in range(1, CHAPTERS + 1)}
    novel = epub(pages, toc={name: f"第{name[0]}章" for name in pages}, title="雨后")
    (folder / "novel.epub").write_bytes(novel)
    for name in ("DIR", "ORIGINAL"):
        shutil.copytree(checkpoint, folder / name)
    (folder / "DIR" / "generation_config.json").unlink()
