"""The same words in other spellings are the same; other words are not."""

import pytest

from langdu.quality.compare import compare


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("五十", "50"),
        ("臺灣的夏天", "台湾的夏天"),
        ("OK，好的", "okay 好的"),
        ("嗯，是的", "恩是的"),
        ("她来了吗？", "他来了嘛"),
        ("二零二四年三月十五日", "2024年3月15日"),
        ("下午三点半", "下午3:30"),
        ("百分之五十", "50%"),
        ("一万两千元", "12000元"),
        ("十二点", "12点"),
        ("我用Python写PPT。", "我用 python 写 ppt"),
        ("ＡＢＣ，第１名", "abc第一名"),
        ("电话是13800138000", "电话是一三八零零一三八零零零"),
    ],
)
def test_chinese_spellings_of_the_same_words(written: str, heard: str) -> None:
    assert compare(written, heard, "zh").cer == 0


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("OK, let's go.", "Okay, lets go"),
        ("three point five percent", "3.5%"),
        ("It's eight o'clock, Dr. Smith.", "its 8 oclock doctor smith"),
        ("Twenty-five people", "25 people"),
        ("The GREY cat’s colour", "the gray cats color"),
    ],
)
def test_english_spellings_of_the_same_words(written: str, heard: str) -> None:
    assert compare(written, heard, "en").wer == 0


def test_rates_are_edits_over_the_written_length() -> None:
    found = compare("今天天气很好", "今天天气不好", "zh")
    assert found.cer == pytest.approx(1 / 6)
    assert found.wer is None
    assert compare("a quick fox", "a quick dog", "en").wer == pytest.approx(1 / 3)


def test_homophones_are_wrong_characters_but_right_sounds() -> None:
    found = compare("火车晚点了", "或车完点了", "zh")
    assert found.cer == pytest.approx(2 / 5)
    assert found.sound_error == 0


def test_a_near_sound_is_a_little_wrong_and_another_word_is_wrong() -> None:
    assert 0 < compare("下课铃响了", "下课林响了", "zh").sound_error < 0.1
    assert compare("下课铃响了", "吃苹果好吗", "zh").sound_error > 0.6


def test_a_latin_word_inside_chinese_is_one_token() -> None:
    found = compare("打开Google地图", "打开古歌地图", "zh")
    assert found.marked() in ("打开[∅→古][google→歌]地图", "打开[google→古][∅→歌]地图")


def test_the_alignment_marks_what_differs() -> None:
    assert compare("今天很好", "今天好", "zh").marked() == "今天[很→∅]好"
    assert compare("see you there", "see you their now", "en").marked().startswith("see you [")


def test_nothing_heard_is_all_wrong() -> None:
    assert compare("你好", "", "zh").cer == 1
