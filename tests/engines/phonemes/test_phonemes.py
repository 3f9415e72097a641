"""Grapheme to phoneme: tones, sandhi, foreign words, unknown words, and nothing outside the alphabet."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langdu.engines.kokoro.split import split
from langdu.engines.kokoro.vocabulary import VOCABULARY
from langdu.engines.phonemes.english import English
from langdu.engines.phonemes.guess import Guesser
from langdu.engines.phonemes.mandarin import Mandarin, syllable
from langdu.engines.phonemes.mixed import Phonemizer


@pytest.fixture(scope="module")
def mandarin() -> Mandarin:
    return Mandarin()


@pytest.fixture(scope="module")
def english() -> English:
    return English()


@pytest.fixture(scope="module")
def phonemizer() -> Phonemizer:
    return Phonemizer()


def test_tones_are_arrows() -> None:
    assert [syllable(f"ma{tone}")[-1] for tone in (1, 2, 3, 4)] == ["→", "↗", "↓", "↘"]
    assert syllable("ma5") == "ma"


def test_a_syllable_outside_the_table_is_not_lost() -> None:
    assert syllable("hng5")


def test_third_tone_sandhi_within_a_word(mandarin: Mandarin) -> None:
    assert mandarin("你好").startswith("ni↗")


def test_a_given_pinyin_wins(mandarin: Mandarin) -> None:
    assert mandarin("[[hang2]]") != mandarin("[[xing2]]")
    assert syllable("hang2") in mandarin("银[[hang2]]")


def test_words_are_known_by_dictionary_ending_shape_or_guess(english: English) -> None:
    assert english.word("Python") == "pˈIθˌɑn"
    assert english.word("servers") == english.word("server") + "z"
    assert english.word("XQZ") == "ˈɛks kjˈu zˈiː"
    assert english.word("DataFrame") == f"{english.word('Data')} {english.word('Frame')}"
    assert english.word("blorfing")


def test_a_lone_capital_a_is_a_letter_and_before_a_word_the_article(english: English) -> None:
    assert english("A") == "ˈA"
    assert english("a dog").startswith("ɐ ")


def test_the_before_a_vowel(english: English) -> None:
    assert english("the end").startswith("ði ")
    assert english("the dog").startswith("ðə ")


def test_the_guess_is_speakable() -> None:
    guessed = Guesser()("quorble")
    assert guessed
    assert set(guessed) <= set(VOCABULARY)
    assert Guesser()("123") == ""


def test_each_script_goes_to_its_own_rules(phonemizer: Phonemizer, english: English) -> None:
    spoken = phonemizer("我用Python写代码。", "zh")
    assert english.word("Python") in spoken
    assert "↓" in spoken


def test_japanese(phonemizer: Phonemizer) -> None:
    assert "teŋkʲi" in phonemizer("今日はいい天気ですね。", "ja")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=40))
def test_no_text_breaks_the_routing(phonemizer: Phonemizer, text: str) -> None:
    for language in ("zh", "en"):
        assert isinstance(phonemizer(text, language), str)


@given(st.text(alphabet="abc.,;! ", max_size=1600), st.integers(20, 500))
def test_split_loses_nothing_and_keeps_the_limit(phonemes: str, limit: int) -> None:
    parts = split(phonemes, limit)
    assert "".join(parts) == phonemes
    assert all(len(part) <= limit for part in parts)
    assert all(parts) or phonemes == ""


def test_split_prefers_the_strongest_mark_near_the_middle() -> None:
    assert split("a" * 9 + ". " + "b" * 9, 12) == ["a" * 9 + ".", " " + "b" * 9]
