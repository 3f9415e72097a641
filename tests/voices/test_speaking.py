"""What a persona brings to a run, and the commands that show and change personas."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from langdu.cli.voices import command
from langdu.errors import LangduError, VoiceError
from langdu.synthesis.say import Saying, SayRequest
from langdu.voices.builtin import BUILTIN
from langdu.voices.library import Library
from langdu.voices.persona import BuiltinPersona, ClonePersona


def run(*args: str) -> Any:
    result = CliRunner().invoke(command, list(args))
    if isinstance(result.exception, LangduError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if "--json" in args else result.stdout


def seconds(voice: str, text: str) -> float:
    with Saying(SayRequest(text, voice, engine="tone", workers=1)) as saying:
        return sum(len(block) for block in saying.blocks()) / saying.sample_rate_hz()


def test_a_personas_lexicon_is_read_before_the_text_is_spoken(home: Path) -> None:
    Library().add(BuiltinPersona(name="mine", voice="zf_xiaobei", lexicon={"重庆": "崇庆"}))
    with Saying(SayRequest("我去重庆。", "mine", engine="tone", workers=1)) as saying:
        assert "崇庆" in "".join(utterance.spoken for utterance in saying.script.utterances)


def test_a_personas_speed_is_used(home: Path) -> None:
    Library().add(BuiltinPersona(name="fast", voice="zf_xiaobei", settings={"speed": 2.0}))
    text = "今天天气很好，我们一起去公园散步。"
    assert seconds("fast", text) < 0.7 * seconds("zf_xiaobei", text)


def test_a_clone_without_its_clip_stops_a_run_before_anything_loads(home: Path) -> None:
    Library().add(ClonePersona(name="c", clip=home / "gone.wav", transcript="你好"))
    with pytest.raises(VoiceError, match=r"gone\.wav"):
        Saying(SayRequest("你好", "c"))


def test_the_list_shows_personas_then_built_in_voices_with_their_licence(home: Path) -> None:
    run("add", "mine", "--builtin", "zf_xiaobei", "--note", "for news")
    rows = run("list", "--json")["voices"]
    assert [row["name"] for row in rows] == ["mine", *BUILTIN]
    assert rows[0]["note"] == "for news"
    assert {row["licence"] for row in rows[1:]} == {"Apache-2.0"}
    assert {row["language"] for row in rows[1:]} == {"Mandarin", "English (US)", "English (UK)", "Japanese"}


def test_a_persona_is_shown_renamed_and_removed(home: Path) -> None:
    run("add", "v", "--speaker", "vivian", "--instruct", "开心地", "--lang", "zh")
    run("rename", "v", "薇薇安")
    assert run("show", "薇薇安", "--json")["instruct"] == "开心地"
    run("remove", "薇薇安")
    with pytest.raises(VoiceError):
        run("show", "薇薇安")


def test_a_name_in_use_is_refused_and_the_first_stays(home: Path) -> None:
    run("add", "v", "--design", "first")
    with pytest.raises(VoiceError, match="already"):
        run("add", "V", "--design", "second")
    assert run("show", "v", "--json")["description"] == "first"
