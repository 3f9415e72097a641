"""The whole way with real models: the built-in voice speaks, Whisper listens."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.real
Run = Callable[..., subprocess.CompletedProcess[str]]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "voice", "limit"), [("short.zh.txt", "zf_xiaobei", 0.06), ("mixed.txt", "zf_xiaobei", 0.2)]
)
def test_mandarin_is_understood(langdu: Run, tmp_path: Path, name: str, voice: str, limit: float) -> None:
    target = tmp_path / "out.wav"
    done = langdu("say", "-f", str(EXAMPLES / name), "-o", str(target), "-v", voice, "--verify", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["engine"] == "kokoro"
    assert facts["verify"]["cer"] <= limit, facts["verify"]


def test_english_is_understood_and_chosen_by_the_text(langdu: Run, tmp_path: Path) -> None:
    text = (EXAMPLES / "page.en.txt").read_text().split("\n\n")[0]
    done = langdu("say", text, "-o", str(tmp_path / "out.wav"), "--verify", "--json")
    facts = json.loads(done.stdout)
    assert facts["voice"] == "af_heart"
    assert facts["verify"]["wer"] <= 0.05, facts["verify"]


def test_japanese_is_understood(langdu: Run, tmp_path: Path) -> None:
    text = "今日はとても良い天気ですね。明日の朝、公園で会いましょう。"
    done = langdu("say", text, "-o", str(tmp_path / "out.wav"), "--verify", "--json")
    facts = json.loads(done.stdout)
    assert facts["voice"] == "jf_alpha"
    assert facts["verify"]["cer"] <= 0.2, facts["verify"]


def test_the_wrong_words_are_not_taken_for_the_right_ones(langdu: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.wav"
    langdu("say", "今天的会议改到下午三点。", "-o", str(target))
    assert langdu("verify", str(target), "--text", "今天的会议改到下午三点。").returncode == 0
    wrong = langdu("verify", str(target), "--text", "我们明天早上去爬山吧。")
    assert wrong.returncode == 1
    assert "→" in wrong.stdout


def test_the_same_text_gives_the_same_samples_whatever_the_workers(langdu: Run, tmp_path: Path) -> None:
    import soundfile

    text = "今天天气很好。\n\n我们去公园散步。"
    sounds = []
    for workers in ("1", "2"):
        target = tmp_path / f"{workers}.wav"
        assert langdu("say", text, "-o", str(target), "--workers", workers).returncode == 0
        sounds.append(soundfile.read(target)[0])
    np.testing.assert_array_equal(*sounds)


def test_joins_are_without_clicks_and_as_long_as_planned(langdu: Run, tmp_path: Path) -> None:
    from langdu.audio.read import read

    target = tmp_path / "out.wav"
    langdu("say", "第一段说完了。\n\n第二段开始了。", "-o", str(target), "--workers", "1")
    audio, rate = read(target)
    quiet = np.flatnonzero(np.abs(audio) < 1e-4)
    runs = np.split(quiet, np.flatnonzero(np.diff(quiet) > 1) + 1)
    pause = max(len(run) for run in runs) / rate
    assert 0.3 < pause < 0.55
