"""The error tree: codes are unique, survive a process boundary, and map to the promised exit codes."""

import pickle

import langdu.errors as errors
from langdu.errors import InputError, LangduError, MachineError, WorkerError, by_code

KINDS = [getattr(errors, name) for name in errors.__all__]


def test_every_code_names_one_class() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)


def test_an_error_is_rebuilt_from_its_code() -> None:
    for kind in KINDS:
        rebuilt = by_code(kind.code, "what", "next")
        assert type(rebuilt) is kind
        assert str(rebuilt) == "what next"


def test_an_unknown_code_is_still_an_error() -> None:
    assert type(by_code("no-such-code", "what")) is LangduError


def test_exit_codes_follow_the_branch() -> None:
    assert InputError("x").exit_code == 2
    assert MachineError("x").exit_code == 3
    assert WorkerError("x").exit_code == 3


def test_hint_survives_copying() -> None:
    copy = pickle.loads(pickle.dumps(InputError("what", hint="next")))
    assert (copy.message, copy.hint) == ("what", "next")
