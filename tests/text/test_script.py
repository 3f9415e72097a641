"""From a text with marks, markup and noise to what is said, by whom, with which pauses."""

from __future__ import annotations

import pytest

from langdu.errors import TextError
from langdu.text.lexicon import Lexicon
from langdu.text.model import Script
from langdu.text.script import ScriptOptions, make_script
from langdu.text.segment import chunk


def said(script: Script) -> list[str]:
    return [u.spoken.strip() for u in script.utterances]


def test_known_marks_act_and_unknown_ones_are_reported_with_their_place() -> None:
    script = make_script("好的。\n\n[pause:0.5s]你好[laugh]世界[")
    assert "".join(said(script)).startswith("好的。你好世界")
    assert script.utterances[0].pause_after_s == pytest.approx(0.85)
    assert [(w.message, w.line, w.column) for w in script.warnings] == [("unknown mark [laugh]", 3, 15)]


def test_a_mark_is_never_cut() -> None:
    script = make_script("你好" * 30 + "[pause:0.5s]" + "世界" * 30)
    assert all("[" not in c.spoken for c in chunk(script.utterances, 10))


def test_invisible_characters_go_first() -> None:
    assert said(make_script("你\u200b好\u200b世\ufeff界。a\xadb\u2060c，第\u00a03\u00a0章")) == [
        "你好世界。",
        "abc，第三章",
    ]


@pytest.mark.parametrize(
    ("policy", "expected"), [("drop", "好的。"), ("read", "好的拇指向上。"), ("name", "好的表情拇指向上。")]
)
def test_emoji_are_dropped_or_named(policy: str, expected: str) -> None:
    options = ScriptOptions(emoji=policy)  # type: ignore[arg-type]
    assert said(make_script("好的👍🏽。", options=options)) == [expected]


def test_markdown_in_a_message_is_read_as_a_person_would() -> None:
    text = (
        "# 标题\n\n**重点**：见 [文档](https://example.com) 👍🏽\n\n| 名 | 值 |\n|---|---|\n| a | 1 |\n\n"
        "```py\nprint(1)\n```\n┌──┐"
    )
    script = make_script(text)
    assert said(script) == ["标题", "重点：见文档", "名，值。", "a, one."]
    assert script.utterances[0].pause_after_s == 0.6


def test_a_url_is_said_by_the_users_choice() -> None:
    text = "打开 https://example.com/a.b?c=1.2&d=3 看看。"
    spoken = {p: said(make_script(text, options=ScriptOptions(url=p)))[0] for p in ("domain", "word", "skip")}  # type: ignore[arg-type]
    assert spoken == {"domain": "打开 example点com 看看。", "word": "打开链接看看。", "skip": "打开看看。"}


def test_voices_hold_until_the_next_mark_and_dialogue_is_opt_in() -> None:
    script = make_script("[voice:小明]你好。\n\n再见。[voice:]好的。")
    assert [u.voice for u in script.utterances] == ["小明", "小明", None]
    text = "小明：你好。\n\n小红：再见。"
    assert [u.voice for u in make_script(text).utterances] == [None, None]
    found = make_script(text, options=ScriptOptions(dialogue=True))
    assert [(u.voice, u.spoken) for u in found.utterances] == [("小明", "你好。"), ("小红", "再见。")]


def test_the_lexicon_takes_the_longest_match_and_whole_words() -> None:
    words = Lexicon({"SQL": "sequel", "重庆": "[[chong2 qing4]]", "重庆火锅": "火锅"})
    script = make_script("I like SQL, not SQLite. 我在重庆吃重庆火锅。", options=ScriptOptions(lexicon=words))
    assert said(script) == ["I like sequel, not SQLite.", "我在[[重庆|chong2 qing4]]吃火锅。"]
    assert [c.before for c in script.changes if c.rule == "lexicon"] == ["SQL", "重庆", "重庆火锅"]


def test_ssml_acts() -> None:
    script = make_script(
        '<speak>你好<break time="500ms"/>世界。<sub alias="万维网联盟">W3C</sub>说'
        '<voice name="小明">好。</voice><say-as interpret-as="characters">NBA</say-as></speak>'
    )
    assert said(script) == ["你好", "世界。", "万维网联盟说", "好。", "N B A"]
    assert [u.voice for u in script.utterances] == [None, None, None, "小明", None]
    assert script.utterances[0].pause_after_s == pytest.approx(0.75)


def test_unknown_ssml_is_reported_and_its_text_said() -> None:
    script = make_script('<speak>你好<amazon:effect name="whispered" xmlns:amazon="x">世界</amazon:effect>。</speak>')
    assert "".join(said(script)) == "你好世界。" and "effect" in script.warnings[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<speak>你好<break></speak>", "line 1, column"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><speak>&a;</speak>', "document type"),
    ],
)
def test_broken_or_hostile_ssml_is_refused(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        make_script(text)


def test_changes_name_the_rule() -> None:
    changes = make_script("比分是3-2，我用C#。").changes
    assert [(c.rule, c.before, c.after) for c in changes] == [("name", "C#", "C sharp"), ("score", "3-2", "三比二")]


def test_utterances_know_where_they_come_from() -> None:
    origin = make_script("第一句。第二句。\n\n第三句。").utterances[1].origin
    assert (origin.paragraph, origin.start, origin.end) == (0, 4, 8)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["a.b", "e\u0301", "[laugh]好", "1,", "a@", "http://", "<b>x"])
def test_hostile_repetition_ends(unit: str) -> None:
    """Each of these took minutes or more while the time grew with the square of the length."""
    script = make_script("开始。" + unit * 20_000)
    assert all(len(c.spoken) <= 160 for c in chunk(script.utterances, 160))


def test_of_known_speakers_others_are_text_and_that_is_said_once() -> None:
    text = "老人：你来了。\n\n注意：前面有车。\n\n注意：后面也有。"
    found = make_script(text, options=ScriptOptions(dialogue=True, speakers={"老人"}))
    assert [(u.voice, u.source) for u in found.utterances] == [
        ("老人", "你来了。"), (None, "注意：前面有车。"), (None, "注意：后面也有。"),
    ]  # fmt: skip
    assert [(w.message, w.line) for w in found.warnings] == [("no one is called 注意; it is read as text", 3)]


def test_each_voice_has_its_own_lexicon_before_that_of_the_text() -> None:
    own: dict[str | None, dict[str, str]] = {None: {}, "老人": {"SQL": "西口"}}
    options = ScriptOptions(dialogue=True, lexicon=Lexicon({"SQL": "sequel"}), words_of=lambda name: own[name])
    found = make_script("老人：学 SQL 吧。\n\n学 SQL 吧。", options=options)
    assert ["西口" in u.spoken for u in found.utterances] == [True, False]
    assert "sequel" in found.utterances[1].spoken
