"""Sentences and chunks on the inputs that broke public products."""

from __future__ import annotations

import itertools

import pytest

from langdu.text.model import Utterance
from langdu.text.script import make_script
from langdu.text.segment import Segment, chunk, pieces, sentences


def chunks(text: str, cap: int, **more: int) -> list[str]:
    return [c.spoken.strip() for c in chunk(make_script(text).utterances, cap, **more)]


def test_chinese_is_cut_after_full_stops_under_the_cap() -> None:
    found = chunks("今天的天气非常好，我们决定去公园散步。" * 60, 160)
    assert all(len(c) <= 160 and c.endswith("。") for c in found)


def test_numbers_and_versions_stay_whole() -> None:
    text = "圆周率约为3.14159，版本号是v2.10.3，比例为0.5。下一句从这里开始。"
    for piece in [p for s in sentences(text) for p in pieces(s, 24)]:
        assert piece[-1] in "，。"
    for c in chunks(text, 24):
        assert c[-1] in "，。", c


def test_abbreviations_do_not_end_sentences() -> None:
    text = "See e.g. Fig. 3 vs. Fig. 4, approx. 5 p.m. etc. Then stop."
    assert [s.strip() for s in sentences(text)] == text.replace(" Then", "\nThen").split("\n")


def test_a_sentence_goes_on_in_lower_case() -> None:
    assert len(sentences('He said "Go!" and went. Yahoo! is a name.')) == 2


def test_quotes_brackets_and_speech_tags_stay_with_their_sentence() -> None:
    text = "他说：“我们走吧。”（众人都笑了。）她没有回答。『真的吗？』他又问。"
    assert sentences(text) == ["他说：“我们走吧。”", "（众人都笑了。）", "她没有回答。", "『真的吗？』他又问。"]


def test_a_url_and_a_file_name_are_one_chunk() -> None:
    text = "打开 https://example.com/a.b?c=1.2&d=3 然后看 README.md。"
    assert sentences(text) == [text]
    assert len(chunks(text, 160)) == 1


@pytest.mark.parametrize("text", ["这是一段完全没有任何标点符号的很长的中文文本" * 20, "word " * 400])
def test_text_without_marks_is_cut_at_words_and_nothing_is_lost(text: str) -> None:
    found = [p for s in sentences(text) for p in pieces(s, 160)]
    assert "".join(found) == text and all(len(p) <= 160 for p in found)
    if text[0] == "w":
        assert all(p.endswith(" ") for p in found)
    else:
        words = ("文本", "标点", "符号", "完全", "任何", "没有", "中文", "一段")
        assert not any(a[-1] + b[0] in words for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("text", ["A" * 900, "QUJD" * 500])
def test_one_endless_token_is_cut_or_skipped_with_a_warning(text: str) -> None:
    script = make_script(text + " 结束。")
    assert all(len(c.spoken) <= 160 for c in chunk(script.utterances, 160))
    assert any("characters" in w.message for w in script.warnings)


def test_no_piece_begins_with_a_combining_mark() -> None:
    assert all(p[0] == "c" for p in pieces("cafe\u0301" * 40, 24))


def test_an_ellipsis_is_a_pause_inside_its_sentence() -> None:
    text = "等等……我想想……不对，那是昨天的事。……好吧。"
    assert len(sentences(text)) == 2
    assert "".join(chunks(text, 160)) == text


def test_nothing_is_lost_over_many_sentences() -> None:
    text = "".join(f"第{i}句话在这里。" for i in range(200))
    assert "".join(sentences(text)) == text
    assert [len(s) < 14 for s in sentences(text)] == [True] * 200


def test_a_paragraph_is_followed_by_a_longer_pause() -> None:
    first, second = make_script("第一段。\n\n第二段。").utterances
    assert first.pause_after_s == 0.35 and second.pause_after_s == 0.0
    assert next(c.pause_after_s for c in chunk((first, second), 160)) == 0.35


def test_the_first_chunk_may_be_kept_short() -> None:
    text = "今天的天气非常好，我们决定去公园散步。大家都很高兴，一直玩到了晚上才回家。"
    found = chunks(text, 160, first_cap=12)
    assert len(found[0]) <= 12 and len(found) == 2


def test_the_engines_own_limit_is_kept() -> None:
    script = [Utterance("x", "今天的天气非常好，我们决定去公园散步。", "zh", 0, 0)]
    found: list[Segment] = chunk(script, 160, fits=lambda text, _language: len(text) <= 7)
    assert all(len(c.spoken) <= 7 for c in found)
    assert "".join(c.spoken for c in found) == script[0].spoken


def test_utterances_of_two_voices_never_share_a_chunk() -> None:
    script = [Utterance("好。", "好。", "zh", 0, 0, voice="a"), Utterance("好。", "好。", "zh", 0, 0, voice="b")]
    assert [c.voice for c in chunk(script, 160)] == ["a", "b"]
