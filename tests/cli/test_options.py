"""What decides the words of a text is asked in the same way by every command that reads one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from langdu.cli.book import command as book
from langdu.cli.say import command as say
from langdu.cli.script import command as script

Run = Callable[..., Any]
SHARED = {
    "language",
    "cap",
    "say_url",
    "say_email",
    "say_emoji",
    "say_table",
    "say_code",
    "dialogue",
    "lexicon",
    "everything",
}


@pytest.mark.parametrize("command", [script, say, book])
def test_every_command_that_reads_a_text_has_the_same_options(command: click.Command) -> None:
    assert {parameter.name for parameter in command.params} >= SHARED


def spoken(folder: Path, text: str, *options: str, name: str = "a.md") -> list[str]:
    (folder / name).write_text(text, "utf-8")
    found = CliRunner().invoke(script, [str(folder / name), "--json", *options], catch_exceptions=False)
    return [utterance["spoken"] for utterance in json.loads(found.stdout)["utterances"]]


TEXT = "写给 me@a.org 看。\n\n| 名 | 值 |\n|---|---|\n| 甲 | 乙 |\n\n```py\nprint(1)\n```\n\n好👍🏽。\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["写给 me at a点org 看。", "名，值。", "甲，乙。", "好。"]),
        (("--email", "word"), ["写给邮箱地址看。", "名，值。", "甲，乙。", "好。"]),
        (("--email", "skip", "--table", "skip"), ["写给看。", "好。"]),
        (("--table", "word"), ["写给 me at a点org 看。", "此处有一张表格。", "好。"]),
        (("--code", "word", "--table", "skip"), ["写给 me at a点org 看。", "此处有一段代码。", "好。"]),
        (("--code", "read", "--table", "skip"), ["写给 me at a点org 看。", "print(one)", "好。"]),
        (("--emoji", "read", "--table", "skip"), ["写给 me at a点org 看。", "好拇指向上。"]),
        (("--emoji", "name", "--table", "skip"), ["写给 me at a点org 看。", "好表情拇指向上。"]),
    ],
)
def test_policies(tmp_path: Path, options: tuple[str, ...], expected: list[str]) -> None:
    assert spoken(tmp_path, TEXT, *options) == expected


def test_what_a_policy_left_out_is_among_the_changes(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TEXT, "utf-8")
    rules = json.loads(CliRunner().invoke(script, [str(tmp_path / "a.md"), "--json"]).stdout)["rules"]
    assert {"rule": "code", "before": "print(1)\n", "after": ""} in rules


def test_a_setting_is_the_default_of_its_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGDU_SAY_URL", "word")
    assert spoken(tmp_path, "打开 https://a.org/b 看。", name="a.txt") == ["打开链接看。"]
    assert spoken(tmp_path, "打开 https://a.org/b 看。", "--url", "skip", name="a.txt") == ["打开看。"]


def test_say_follows_the_cap_the_dialogue_and_the_lexicon(langdu: Run, tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text('[words]\n"甲" = "乙"\n', "utf-8")
    long = "今天的天气非常好，我们决定去公园散步。" * 3
    arguments = ("-o", str(tmp_path / "a.wav"), "-v", "tone", "--json")
    facts = json.loads(langdu("say", long, *arguments, "--cap", "20").stdout)
    assert facts["chunks"] == 3
    # Who is no persona is no speaker: the line is read as it stands, and that is said.
    done = langdu("say", "无此人：你好。", *arguments, "--dialogue")
    assert done.returncode == 0 and "no one is called 无此人; it is read as text" in done.stderr
    done = langdu("say", "甲。", *arguments, "--lexicon", str(tmp_path / "none.toml"))
    assert done.returncode == 2 and "none.toml" in done.stderr
    assert langdu("say", "甲。", *arguments, "--lexicon", str(tmp_path / "words.toml")).returncode == 0


def test_book_follows_the_cap_and_the_language(langdu: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("今天的天气非常好，我们决定去公园散步。" * 3, "utf-8")
    done = langdu(
        "book", "a.txt", "-o", "a.mp3", "-v", "tone", "--no-check", "--json", "--cap", "20", "--lang", "zh",
        cwd=tmp_path, env={"LANGDU_DATA_DIR": str(tmp_path / "data")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["chunks"] == 3
