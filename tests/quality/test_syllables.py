import pytest

from langdu.quality.syllables import count_syllables


@pytest.mark.parametrize(
    ("text", "language", "syllables"),
    [
        ("今天下雨。", "zh", 4),
        ("一共50元", "zh", 5),
        ("我用Python写", "zh", 5),
        ("The train leaves at seven", "en", 6),
        ("beautiful old houses", "en", 6),
        ("TTS", "en", 3),
        ("今日は", "ja", 5),
        ("しゅみ", "ja", 2),
        ("……", "zh", 0),
    ],
)
def test_syllables_as_they_are_said(text: str, language: str, syllables: int) -> None:
    assert count_syllables(text, language) == syllables
