"""Settings that do not do what they seem to."""

from __future__ import annotations

from langdu.configuration import Value
from langdu.doctor.configured import judge

DEFAULT = Value("workers", None, "default", "")


def test_defaults_are_fine() -> None:
    (found,) = judge([DEFAULT], {}, most_workers=2)
    assert (found.level, found.what) == ("ok", "all at their defaults")


def test_more_workers_than_the_machine_carries_are_taken_back_where_they_were_set() -> None:
    (by_file,) = judge([Value("workers", 18, "file", "/c/config.toml")], {}, most_workers=4)
    (by_variable,) = judge([Value("workers", 18, "environment", "LANGDU_WORKERS")], {}, most_workers=4)
    assert (by_file.level, by_file.command) == ("warning", "langdu config set workers auto")
    assert by_variable.command == "unset LANGDU_WORKERS"
    assert "carry 4" in by_variable.reason
    assert judge([Value("workers", 4, "file", "/c/config.toml")], {}, most_workers=4)[0].level == "ok"


def test_a_misspelt_variable_is_named_with_what_was_meant() -> None:
    (found,) = judge([DEFAULT], {"LANGDU_VOICES": "LANGDU_VOICE"}, most_workers=2)
    assert (found.what, found.reason) == ("LANGDU_VOICES is no setting", "LANGDU_VOICE is probably meant")
