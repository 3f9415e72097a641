"""The numbers read without the grammar are read as the grammar would."""

from __future__ import annotations

import pytest

from langdu.text.grammar import _grammar, _plain, read
from langdu.text.model import Change

NUMBERS = [
    "1",
    "2",
    "7",
    "10",
    "11",
    "12",
    "20",
    "22",
    "35",
    "99",
    "100",
    "101",
    "115",
    "200",
    "305",
    "999",
    "1000",
    "1001",
    "1010",
    "1100",
    "1240",
    "2275",
    "12334",
    "28200",
    "2517287",
    "1503",
    "3500",
    "9999",
    "10000",
    "10500",
    "88888",
    "100000",
    "130000",
    "1000000",
]


@pytest.mark.parametrize("frame", ["第{}天", "有{}个人", "{}月", "共{}元", "约{}米高", "{}号", "了{}次"])
def test_plain_numbers_agree_with_the_grammar(frame: str) -> None:
    texts = [frame.format(number) for number in NUMBERS]
    plain = {text: said for text in texts if (said := _plain(text)) is not None}
    assert len(plain) > len(texts) / 2
    assert plain == {text: _grammar("zh").normalize(text) for text in plain}


def test_a_day_is_er_not_liang() -> None:
    assert _plain("在2日") == "在二日"  # the grammar says 两日, which is a duration


def test_years_agree_with_the_grammar() -> None:
    texts = ["在1949年", "2024年", "到2000年底"]
    assert [_plain(text) for text in texts] == [_grammar("zh").normalize(text) for text in texts]


def test_input_that_breaks_the_library_is_read_plainly() -> None:
    changes: list[Change] = []
    assert (
        read("+1 555 123 4567 x", "en", changes)
        == "+one five hundred and fifty five one hundred and twenty three four thousand five hundred and sixty seven x"
    )


def test_text_without_numbers_is_left_alone() -> None:
    text = "今天的天气（很好），他说：“走吧！” It's fine — really."
    assert read(text, "zh", []) == text and read(text, "en", []) == text
