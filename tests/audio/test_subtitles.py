"""Cues: chunk times exact, words where they were heard, files that players accept."""

from __future__ import annotations

import itertools

import pytest

from langdu.audio.subtitles import Cue, HeardWord, cues, srt, vtt, word_starts


def heard(*words: tuple[str, float, float]) -> list[HeardWord]:
    return [HeardWord(*word) for word in words]


def test_cues_fill_their_chunk_exactly() -> None:
    text = "他买了一张票。" * 12
    found = cues(text, "zh", 3.25, 30.5)
    assert found[0].start_s == 3.25
    assert found[-1].end_s == 30.5
    assert all(a.end_s == b.start_s for a, b in itertools.pairwise(found))
    assert "".join(cue.text for cue in found) == text


def test_words_begin_where_they_were_heard() -> None:
    starts = word_starts(
        "今天 good morning", 10.0, 14.0, heard(("今天", 10.2, 10.8), ("good", 11.0, 11.5), ("morning", 12.0, 12.9))
    )
    assert starts == [("今", 10.0), ("天", pytest.approx(10.5)), ("good", 11.0), ("morning", 12.0)]


def test_words_not_heard_lie_between_their_neighbours() -> None:
    starts = dict(word_starts("甲乙丙丁", 0.0, 4.0, heard(("甲", 0.0, 1.0), ("丁", 3.0, 4.0))))
    assert starts["甲"] < starts["乙"] < starts["丙"] < starts["丁"] == 3.0


def test_a_cue_begins_with_its_first_word() -> None:
    text = "天亮了。" + "鸟儿在树上叫个不停，" * 4 + "人们都醒了。"
    words = [HeardWord(character, 1.0 + 0.2 * at, 1.2 + 0.2 * at) for at, character in enumerate(text)]
    found = cues(text, "zh", 1.0, 12.0, words)
    second = found[1]
    assert second.start_s == pytest.approx(1.0 + 0.2 * text.index(second.text))


def test_the_text_as_written_is_shown() -> None:
    assert cues("三点见。", "zh", 0.0, 1.0, shown=[("三点见。", "3点见。")]) == [Cue("3点见。", 0.0, 1.0)]


def test_each_sentence_is_shown_as_written_at_the_time_it_is_said() -> None:
    said = ["他三点来。", "一共五十个人。"]
    words = [HeardWord(character, 1.0 * at, 1.0 * at + 1) for at, character in enumerate("".join(said))]
    found = cues("".join(said), "zh", 0.0, 12.0, words, [(said[0], "他3点来。"), (said[1], said[1])])
    assert [(cue.text, cue.start_s) for cue in found] == [("他3点来。", 0.0), (said[1], 5.0)]
    assert [bool(cue.words) for cue in found] == [False, True]


def test_a_long_sentence_written_otherwise_than_said_is_cut_by_its_share() -> None:
    said, written = "他买了二十张票，" * 12, "他买了20张票，" * 12
    found = cues(said, "zh", 0.0, 96.0, shown=[(said, written)])
    assert "".join(cue.text for cue in found) == written
    assert all(cue.end_s - cue.start_s == pytest.approx(96 * len(cue.text) / len(written), rel=0.1) for cue in found)


def test_srt_is_numbered_and_uses_commas() -> None:
    text = srt([Cue("甲", 0.0, 1.5), Cue("a --> b\n\nc", 3661.0, 3662.25)])
    assert text == "1\n00:00:00,000 --> 00:00:01,500\n甲\n\n2\n01:01:01,000 --> 01:01:02,250\na → b c\n"


def test_vtt_escapes_and_stamps_rising_times_inside_the_cue() -> None:
    cue = Cue("a<b&c d", 1.0, 3.0, (("a", 1.0), ("b", 1.5), ("c", 1.5), ("d", 2.0)))
    assert vtt([cue]) == ("WEBVTT\n\n00:00:01.000 --> 00:00:03.000\na&lt;<00:00:01.500>b&amp;c <00:00:02.000>d\n")
