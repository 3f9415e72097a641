"""What must hold for any text: mixed scripts, marks, digits, emoji, controls, right-to-left."""

from __future__ import annotations

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langdu.errors import TextError
from langdu.text.clean import clean
from langdu.text.model import Utterance
from langdu.text.script import make_script
from langdu.text.segment import LEADING, TOKEN, chunk, pieces, sayable, sentences

ATOMS = st.one_of(
    st.sampled_from([
        "今天", "天气", "我们", "。", "，", "！", "？", "……", "——", "“", "”", "（", "）", "『", "』", "、", "；",
        "\n", "\n\n", " ", "hello", "World", "e.g.", "p.m.", ". ", ", ", "3.14159", "v2.10.3", "1,000", "¥12.50",
        "https://example.com/a.b?c=1&d=3", "a.b@c.org", "README.md", "C++", "GPT-4", "👍🏽", "👨‍👩‍👧", "🇨🇳", "①", "½", "㎏",
        "cafe\u0301", "e\u0301", "שלום", "مرحبا", "かな", "ｶﾞ", "한국", "\u200b", "\ufeff", "\x07", "\u202e", "[pause]",
        "[laugh]", "[", "]", "│", "***", "เด็ก", "नमस्ते",
    ]),
    st.text(max_size=4),
)  # fmt: skip
TEXTS = st.lists(ATOMS, max_size=60).map("".join)
CAPS = st.integers(min_value=8, max_value=160)
many = settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(TEXTS)
def test_sentences_give_back_the_paragraph(text: str) -> None:
    assert "".join(sentences(text)) == text


@many
@given(TEXTS, CAPS)
def test_pieces_give_back_the_text_and_none_is_over_the_cap(text: str, cap: int) -> None:
    found = pieces(text, cap)
    assert "".join(found) == text
    assert all(0 < len(piece) <= cap for piece in found) or not text


@many
@given(TEXTS, CAPS)
def test_no_piece_begins_inside_a_token_or_a_grapheme_or_with_a_closing_mark(text: str, cap: int) -> None:
    tokens = [m.span() for m in TOKEN.finditer(text)]
    graphemes = {m.start() for m in regex.finditer(r"\X", text)}
    longest_cluster = max((len(m[0]) for m in regex.finditer(r"\X", text)), default=0)
    at = 0
    for piece in pieces(text, cap)[:-1]:
        at += len(piece)
        around = [(a, b) for a, b in tokens if a < at < b]
        # A token (with the marks that hang on it) longer than the cap must be cut somewhere.
        assert not around or _glued(text, *around[0]) > cap, text[around[0][0] : around[0][1]]
        assert at in graphemes or longest_cluster > cap
        if text[at] in LEADING:
            before = at - len(piece)
            assert not _could_cut_earlier(text, before, at, tokens, graphemes), piece


def _glued(text: str, start: int, end: int) -> int:
    """Length of a token and the closing marks after it, which cannot begin a piece."""
    while end < len(text) and text[end] in LEADING:
        end += 1
    return end - start


def _could_cut_earlier(text: str, start: int, at: int, tokens: list[tuple[int, int]], graphemes: set[int]) -> bool:
    return any(
        place in graphemes and text[place] not in LEADING and not any(a < place < b for a, b in tokens)
        for place in range(start + 1, at)
    )


@many
@given(TEXTS, CAPS, st.one_of(st.none(), st.integers(min_value=4, max_value=40)))
def test_chunks_say_the_script_exactly_and_nothing_unsayable(text: str, cap: int, first_cap: int | None) -> None:
    try:
        script = make_script(text)
    except TextError:
        return
    chunks = chunk(script.utterances, cap, first_cap=first_cap)
    # Only a run of marks longer than the cap may go: it is silence.
    said, written = ("".join(part) for part in ((c.spoken for c in chunks), (u.spoken for u in script.utterances)))
    assert said == written or regex.findall(r"[\p{L}\p{N}\p{M}]", said) == regex.findall(r"[\p{L}\p{N}\p{M}]", written)
    assert all(len(c.spoken) <= cap for c in chunks)
    assert all(sayable(c.spoken) for c in chunks), [c.spoken for c in chunks]
    assert [i for c in chunks for i in c.utterances] == sorted(i for c in chunks for i in c.utterances)


@many
@given(TEXTS)
def test_clean_text_has_no_invisible_characters_and_cleaning_twice_changes_nothing(text: str) -> None:
    once = clean(text)[0]
    assert not regex.search(r"[\p{Cf}\p{Cs}\u00a0]", once)
    assert clean(once)[0] == once


@many
@given(st.lists(st.sampled_from(["今天", "天气", "很好", "，", "去公园"]), min_size=1, max_size=80).map("".join), CAPS)
def test_no_short_tail_when_a_balanced_cut_exists(text: str, cap: int) -> None:
    text = "今" + text.replace("，，", "，")
    script = [Utterance(text, text, "zh", 0, 0)]
    lengths = [len(c.spoken) for c in chunk(script, cap)]
    if len(lengths) > 1:
        assert lengths[-1] > 3 or lengths[-2] + lengths[-1] <= 8, lengths


@pytest.mark.parametrize("text", ["", "   \n ", "\ufeff", "\u200b", "……！！！？？？", "——", "***", "[pause]", "👍"])
def test_nothing_sayable_is_the_users_mistake(text: str) -> None:
    with pytest.raises(TextError, match="nothing to say"):
        make_script(text)
