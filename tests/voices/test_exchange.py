"""Voices as zip files, voxflow's personas, and the audit."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from langdu.cli.voices import command
from langdu.errors import LangduError, OutputError, VoiceError
from langdu.voices import voxflow
from langdu.voices.audit import audit
from langdu.voices.exchange import export, load, store_clip
from langdu.voices.library import Library
from langdu.voices.persona import BuiltinPersona, ClonePersona, SpeakerPersona
from tests.voices.clips import pcm16, wav


@pytest.fixture
def library(tmp_path: Path) -> Library:
    found = Library(tmp_path / "a" / "personas.json")
    sound = wav(tmp_path / "c.wav", pcm16(np.sin(np.arange(48_000) / 9)), 24_000).read_bytes()
    clip, digest = store_clip(found, sound)
    found.add(
        ClonePersona(name="jxx", clip=clip, clip_sha256=digest, transcript="你好", consent="agreed", language="zh")
    )
    return found


def test_a_clone_travels_with_its_consent_and_sounds_the_same(tmp_path: Path, library: Library) -> None:
    export(library.get("jxx"), tmp_path / "v.zip")
    other = Library(tmp_path / "b" / "personas.json")
    taken = load(tmp_path / "v.zip", other)
    assert isinstance(taken, ClonePersona) and taken.consent == "agreed"
    assert taken.content_hash() == library.get("jxx").content_hash()
    assert taken.clip.parent == other.clips_dir


def test_an_existing_target_is_not_replaced_unasked(tmp_path: Path, library: Library) -> None:
    (tmp_path / "v.zip").write_text("mine")
    with pytest.raises(OutputError):
        export(library.get("jxx"), tmp_path / "v.zip")
    assert (tmp_path / "v.zip").read_text() == "mine"


@pytest.mark.parametrize("fault", ["path", "hash", "size", "name", "truncated", "not a zip"])
def test_a_zip_that_is_not_what_it_says_leaves_nothing_behind(tmp_path: Path, library: Library, fault: str) -> None:
    source = tmp_path / "v.zip"
    export(library.get("jxx"), source)
    with zipfile.ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    if fault == "path":
        files["../../evil"] = b"x"
    if fault == "hash":
        files["clip.wav"] += b"\0"
    if fault == "size":
        files["clip.wav"] = bytes(40 * 2**20)
    if fault == "name":
        manifest = json.loads(files["manifest.json"])
        manifest["persona"]["name"] = "../evil"
        files["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    if fault == "truncated":
        source.write_bytes(source.read_bytes()[:200])
    if fault == "not a zip":
        source.write_text("<html>")
    other = Library(tmp_path / "b" / "personas.json")
    with pytest.raises(VoiceError):
        load(source, other)
    assert not other.path.parent.exists()


def test_voxflow_designs_come_over_and_each_refusal_has_its_reason(tmp_path: Path) -> None:
    root = tmp_path / "vox"
    (root / "configs").mkdir(parents=True)
    (root / "r.json").write_text('{"type": "design", "tone": "明亮清透。", "emotion": "元气"}', "utf-8")
    entries = {
        "a": {"name": "水烟", "ref": "", "instruction": "极致软糯"},
        "b": {"name": "朝朝", "design": "r.json"},
        "c": {"name": "gone", "ref": "assets/temp/gone.wav", "ref_text": "你好"},
        "d": {"name": "out", "ref": "../../etc/x.wav", "ref_text": "你好"},
        "e": "只有名字",
    }
    source = root / "configs" / "personas.json"
    source.write_text(json.dumps(entries), "utf-8")
    library = Library(tmp_path / "l" / "personas.json")
    found = {one.name: one for one in voxflow.load(source, library, consent="yes", checker=None)}
    assert library.get("a").model_dump()["description"] == "极致软糯"
    assert library.get("b").model_dump()["description"] == "明亮清透；元气"
    assert library.get("a").note == "水烟"
    assert "not there" in found["c"].note and "leads out" in found["d"].note and "display name" in found["e"].note


def test_the_audit_says_what_is_used_ignored_and_wrong(library: Library) -> None:
    library.add(
        BuiltinPersona(name="b", voice="zf_xiaobei", language="zh", settings={"speed": 1.1, "temperature": 0.5})
    )
    library.add(SpeakerPersona(name="s", speaker="vivian", instruct="开心", model="qwen3-0.6b-customvoice-8bit"))
    clone = library.get("jxx")
    assert isinstance(clone, ClonePersona)
    clone.clip.unlink()
    rows = {row.name: row for row in audit(library)}
    assert rows["jxx"].uses["clip"] == "missing" and "gone" in rows["jxx"].wrong[0]
    assert (rows["b"].settings_used, rows["b"].settings_ignored) == (["speed"], ["temperature"])
    assert rows["s"].uses["instruction"] == "ignored"


@pytest.mark.parametrize(("clip", "reason"), [(b"<html>", "not a sound file"), (b"", "empty")])
def test_the_audit_opens_the_clips_of_entries_written_by_hand(tmp_path: Path, clip: bytes, reason: str) -> None:
    (tmp_path / "c.wav").write_bytes(clip)
    (tmp_path / "p.json").write_text(
        '{"version": 1, "personas": {"x": {"kind": "clone", "clip": "c.wav", "transcript": "a"}}}'
    )
    [row] = audit(Library(tmp_path / "p.json"))
    assert any(reason in wrong for wrong in row.wrong)
    assert any("consent" in wrong for wrong in row.wrong)


def test_a_clone_without_consent_is_refused_in_a_script(home: Path) -> None:
    result = CliRunner().invoke(command, ["add", "x", "--clone", "c.wav"])
    assert isinstance(result.exception, LangduError) and result.exception.exit_code == 2
    assert "--yes-i-have-consent" in result.exception.hint


def test_an_instruction_on_a_clone_is_refused(home: Path) -> None:
    result = CliRunner().invoke(command, ["add", "x", "--clone", "c.wav", "--instruct", "开心"])
    assert isinstance(result.exception, LangduError) and "--speaker only" in str(result.exception)


def test_audit_exits_with_1_for_a_damaged_file_and_names_the_line(home: Path) -> None:
    (home / "p.json").write_text('{"version": 1, "personas": {\n"x": {"kind": "clone", "clip": "a", "instruct": "y"}}}')
    result = CliRunner().invoke(command, ["audit", str(home / "p.json"), "--json"])
    assert result.exit_code == 1
    [problem] = json.loads(result.stdout)["problems"]
    assert (problem["line"], problem["name"]) == (2, "x") and 'unknown field "instruct"' in problem["reason"]
