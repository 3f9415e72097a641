"""personas.json: hand-edited, damaged, migrated, written."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langdu.errors import VoiceError
from langdu.voices.library import Library, schema, sha256_of
from langdu.voices.persona import BuiltinPersona, ClonePersona, DesignPersona, SpeakerPersona

GOOD = '"good": {"kind": "design", "description": "沉稳的男声"}'


def library(tmp_path: Path, text: str) -> Library:
    path = tmp_path / "personas.json"
    path.write_text(text, "utf-8")
    return Library(path)


def wrap(*entries: str) -> str:
    return '{\n"version": 1,\n"personas": {\n' + ",\n".join(entries) + "\n}}\n"


def test_a_missing_file_is_an_empty_library_with_the_built_in_voices(tmp_path: Path) -> None:
    empty = Library(tmp_path / "personas.json")
    assert empty.names() == []
    assert empty.get("zf_xiaobei") == BuiltinPersona(name="zf_xiaobei", voice="zf_xiaobei")


def test_every_kind_survives_writing_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "personas.json"
    clip = tmp_path / "clips" / "a.wav"
    personas = [
        BuiltinPersona(name="default", voice="zf_xiaobei", settings={"speed": 1.1}),
        ClonePersona(
            name="老陈", clip=clip, transcript="你好，世界。", transcript_by="asr", consent="yes", language="zh"
        ),
        DesignPersona(name="narrator", description="a calm man", lexicon={"MLX": "M L X"}),
        SpeakerPersona(name="v", speaker="vivian", instruct="开心地", note="for adverts"),
    ]
    for persona in personas:
        Library(path).add(persona)
    assert Library(path).personas() == personas
    assert Library(path).problems == []
    assert json.loads(path.read_text("utf-8"))["personas"]["老陈"]["clip"] == "clips/a.wav"


@pytest.mark.parametrize(
    ("bad", "line", "name", "reason"),
    [
        ('"bad": {"kind": "design", "description": "x", "description": "y"}', 5, "bad", "twice"),
        ('"../bad": {"kind": "design", "description": "x"}', 5, "../bad", "path"),
        ('"ＧＯＯＤ": {"kind": "design", "description": "x"}', 5, "ＧＯＯＤ", 'same as "good"'),
        ('"bad": {"kind": "design", "description": "x", "pitch": 3}', 5, "bad", 'unknown field "pitch"'),
        ('"bad": {"kind": "clone", "clip": "a.wav"}', 5, "bad", "transcript"),
        ('"bad": {"kind": "clone", "clip": "a.wav", "transcript": "  "}', 5, "bad", "blank"),
        ('"bad": {"kind": "clone", "clip": "a.wav", "transcript": ""}', 5, "bad", "transcript"),
        ('"bad": {"kind": "hologram"}', 5, "bad", "hologram"),
        ('"bad": 3', 5, "bad", "object"),
        ('"bad": {"kind": "design", "description": nonsense}', 5, "bad", "Expecting value"),
    ],
)
def test_a_bad_entry_is_named_and_the_good_ones_are_usable(
    tmp_path: Path, bad: str, line: int, name: str, reason: str
) -> None:
    other = '"other": {"kind": "builtin", "voice": "af_heart"}'
    found = library(tmp_path, wrap(GOOD, bad, other))
    assert found.names() == ["good", "other"]
    [problem] = found.problems
    assert (problem.line, problem.name) == (line, name)
    assert reason in problem.reason


def test_half_a_file_keeps_its_first_entries_and_is_never_written_over(tmp_path: Path) -> None:
    text = wrap(GOOD, '"half": {"kind": "design", "descr')[:-5]
    found = library(tmp_path, text)
    assert found.names() == ["good"]
    assert found.problems[0].name == "half"
    with pytest.raises(VoiceError, match="damaged"):
        found.add(DesignPersona(name="new", description="x"))
    assert (tmp_path / "personas.json").read_text("utf-8") == text


def test_a_bom_comments_and_trailing_commas_are_no_damage(tmp_path: Path) -> None:
    found = library(tmp_path, "\ufeff" + wrap("// mine, see http://x\n" + GOOD + ", /* last */"))
    assert (found.names(), found.problems) == (["good"], [])


def test_changing_one_entry_leaves_comments_and_damaged_entries_alone(tmp_path: Path) -> None:
    found = library(tmp_path, wrap("// keep me", GOOD, '"bad": {"kind": "x"}').replace("// keep me,", "// keep me"))
    found.add(DesignPersona(name="new", description="x"))
    found.rename("new", "newer")
    found.remove("good")
    text = (tmp_path / "personas.json").read_text("utf-8")
    assert "// keep me" in text
    assert '"bad": {"kind": "x"}' in text
    assert found.names() == ["newer"]
    assert (tmp_path / "personas.json.bak").exists()


@st.composite
def layouts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A valid file as a person may lay it out, and its names."""
    gap = st.sampled_from(["", " ", "\n", '  // a, {comment} "\n', "/* b */", "\n\t/* , */ // \n"])
    names = draw(st.lists(st.sampled_from(["a", "乙", 'q"uote', "d,}", "// e", "f"]), unique=True, max_size=4))
    parts = []
    for name in names:
        value = json.dumps({"kind": "design", "description": draw(st.sampled_from(["x", "a, }", "// y", '"']))})
        parts.append(draw(gap) + json.dumps(name) + draw(gap) + ":" + draw(gap) + value + draw(gap))
    end = "," if names and draw(st.booleans()) else ""
    return '{"version": 1, "personas": {' + ",".join(parts) + end + draw(gap) + "}" + draw(gap) + "}", names


@given(layouts(), st.data())
def test_any_layout_can_be_edited_and_nothing_else_changes(
    tmp_path_factory: pytest.TempPathFactory, layout: tuple[str, list[str]], data: st.DataObject
) -> None:
    text, names = layout
    names = [name for name in names if "/" not in name]
    found = library(tmp_path_factory.mktemp("l"), text)
    before = {name: found.find(name) for name in names}
    comments = text.count("a, {comment}") + text.count("/* b */")
    found.add(DesignPersona(name="new", description="n"))
    assert found.names() == [*names, "new"]
    after = found.path.read_text("utf-8")
    assert after.count("a, {comment}") + after.count("/* b */") == comments
    gone = data.draw(st.sampled_from([*names, "new"]))
    found.remove(gone)
    left = [name for name in [*names, "new"] if name != gone]
    assert found.names() == left
    assert all(found.find(name) == before[name] for name in left if name != "new")
    assert len(found.problems) == (1 if '"// e"' in text else 0)


def test_what_is_written_is_strict_json(tmp_path: Path) -> None:
    path = tmp_path / "personas.json"
    for name in ("a", "b", "c"):
        Library(path).add(DesignPersona(name=name, description="x"))
    for name in ("c", "a", "b"):
        Library(path).remove(name)
        json.loads(path.read_text("utf-8"))


def test_two_programs_that_add_at_once_both_succeed(tmp_path: Path) -> None:
    path = tmp_path / "personas.json"
    one, two = Library(path), Library(path)
    one.add(DesignPersona(name="one", description="x"))
    two.add(DesignPersona(name="two", description="x"))
    assert Library(path).names() == ["one", "two"]
    with pytest.raises(VoiceError, match="already"):
        one.add(DesignPersona(name="two", description="y"))


@pytest.mark.parametrize("change", ["gone", "another"])
def test_a_clone_whose_clip_is_gone_or_another_is_refused_before_speaking(tmp_path: Path, change: str) -> None:
    clip = tmp_path / "clip.wav"
    clip.write_bytes(b"x")
    found = Library(tmp_path / "personas.json")
    found.add(ClonePersona(name="c", clip=clip, clip_sha256=sha256_of(clip), transcript="你好"))
    assert found.get("c").name == "c"
    clip.unlink() if change == "gone" else clip.write_bytes(b"y")
    with pytest.raises(VoiceError, match=r"clip\.wav"):
        found.get("c")


def test_a_file_without_version_is_migrated_on_the_first_write(tmp_path: Path) -> None:
    found = library(tmp_path, "{" + GOOD + "}")
    assert found.names() == ["good"]
    found.add(DesignPersona(name="new", description="x"))
    assert json.loads((tmp_path / "personas.json").read_text("utf-8"))["version"] == 1
    assert found.names() == ["good", "new"]


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="version 7"):
        library(tmp_path, '{"version": 7, "personas": {}}')


def test_an_unknown_name_lists_near_ones(tmp_path: Path) -> None:
    with pytest.raises(VoiceError, match="zf_xiaobei"):
        library(tmp_path, wrap(GOOD)).get("zf_xiaobe")


@pytest.mark.parametrize("name", ["a/b", "..", " x", "zf_xiaobei", "GOOD", "a\u200bb", "x" * 65, "C:x"])
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    found = library(tmp_path, wrap(GOOD))
    with pytest.raises(VoiceError):
        found.rename("good", name) if name != "GOOD" else found.add(DesignPersona(name=name, description="x"))
    assert found.names() == ["good"]


def test_the_schema_names_each_kind() -> None:
    assert set(schema()["$defs"]) == {"BuiltinPersona", "ClonePersona", "DesignPersona", "SpeakerPersona"}
