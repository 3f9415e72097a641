"""Verdicts on real speech of the built-in voices, whole and damaged, and `langdu verify` on a file of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from langdu.audio.join import sound_span
from langdu.engines.base import Audio
from langdu.quality.speaker import embed
from langdu.quality.transcript import Checker
from langdu.quality.verdict import Reference, Verdict, judge
from langdu.synthesis.making import Ear
from langdu.synthesis.model import Chunk, Take
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import EngineSpec, Job
from langdu.synthesis.say import find_persona
from langdu.voices.persona import DesignPersona

pytestmark = pytest.mark.real
Run = Callable[..., subprocess.CompletedProcess[str]]

FIRST, LAST = "昨天晚上下了一场大雨。", "今天早上的空气特别新鲜。"
LINES = {
    "two": (FIRST + LAST, "zf_xiaobei"),
    "last": (LAST, "zf_xiaobei"),
    "fifty": ("一共五十个台湾来的客人，他说 OK。", "zf_xiaobei"),
    "thrice": (FIRST + LAST + LAST, "zf_xiaobei"),
    "man": (FIRST + LAST, "zm_yunxi"),
    "six": ("今天天气很好", "zf_xiaobei"),
    "well": ("嗯，我知道了，你先回去吧。", "zf_xiaobei"),
}


@dataclass(frozen=True)
class Said:
    chunk: Chunk
    take: Take


@pytest.fixture(scope="module")
def said() -> Iterator[dict[str, Said]]:
    chunks = [
        Chunk(n, 0, n + 1, text, "zh", find_persona(voice), 0.15) for n, (text, voice) in enumerate(LINES.values())
    ]
    pool = Pool(EngineSpec("kokoro", options={"warm": "zh"}), 2, personas=[chunks[0].persona, chunks[-1].persona])
    names = list(LINES)
    try:
        found = {}
        for outcome in pool.run(Job(chunk) for chunk in chunks):
            assert outcome.take is not None, outcome.failed
            found[names[outcome.job.chunk.index]] = Said(outcome.job.chunk, outcome.take)
        yield found
    finally:
        pool.close()


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker(threads=2)


def damaged(said: Said, audio: Audio) -> Take:
    return replace(said.take, audio=np.ascontiguousarray(audio, np.float32))


def last_third_missing(audio: Audio) -> Audio:
    start, end = sound_span(audio, 24_000) or (0, 0)
    return audio[: start + (end - start) * 2 // 3]


def hole(audio: Audio) -> Audio:
    middle = len(audio) // 2
    return np.concatenate([audio[:middle], np.zeros(60_000, np.float32), audio[middle:]])


def fifth_clipped(audio: Audio) -> Audio:
    start, end = sound_span(audio, 24_000) or (0, 0)
    ceiling = float(np.quantile(np.abs(audio[start:end]), 0.8))
    return np.clip(audio, -ceiling, ceiling)


@pytest.mark.parametrize("name", ["two", "last", "man", "thrice"])
def test_healthy_speech_passes(said: dict[str, Said], checker: Checker, name: str) -> None:
    verdict = judge(said[name].chunk, said[name].take, checker=checker)
    assert verdict.outcome == "pass", verdict.findings


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        (hole, "hole"),
        (lambda audio: audio * 0, "silent"),
        (lambda audio: audio + 0.1, "dc offset"),
        (fifth_clipped, "clipped"),
        (lambda audio: soxr.resample(audio, 24_000, 96_000), "too long"),
        (last_third_missing, "end missing"),
    ],
    ids=["hole of 2.5 s", "zeros", "DC", "a fifth clipped", "four times as long", "last third missing"],
)
def test_damaged_speech_is_caught_by_name(
    said: dict[str, Said], checker: Checker, damage: Callable[[Audio], Audio], name: str
) -> None:
    two = said["two"]
    verdict = judge(two.chunk, damaged(two, damage(two.take.audio)), checker=checker)
    assert name in verdict.faults, verdict.findings


def test_half_a_minute_of_white_noise_for_six_characters_is_caught(said: dict[str, Said], checker: Checker) -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 30 * 24_000)
    verdict = judge(said["six"].chunk, damaged(said["six"], noise), checker=checker)
    assert {"noise", "too long"} <= set(verdict.faults)


def test_the_last_sentence_copied_is_caught(said: dict[str, Said], checker: Checker) -> None:
    two, last = said["two"], said["last"]
    verdict = judge(two.chunk, damaged(two, np.concatenate([two.take.audio, last.take.audio])), checker=checker)
    assert verdict.faults == ("said twice",), verdict.findings


def test_the_last_sentence_said_again_is_caught_though_it_is_no_copy(said: dict[str, Said], checker: Checker) -> None:
    verdict = judge(said["two"].chunk, said["thrice"].take, checker=checker)
    assert verdict.faults == ("said twice",), verdict.findings


def test_other_words_are_caught(said: dict[str, Said], checker: Checker) -> None:
    chunk = replace(said["two"].chunk, text="妈妈做的红烧肉我们全家都很喜欢。小猫躲在沙发下面不出来。")
    assert judge(chunk, said["two"].take, checker=checker).faults == ("wrong words",)


@pytest.mark.parametrize("text", ["一共50个臺灣來的客人，她说okay。", "一共五十个台湾来的客人，他说 OK。"])
def test_other_spellings_of_the_same_words_are_not(said: dict[str, Said], checker: Checker, text: str) -> None:
    chunk = replace(said["fifty"].chunk, text=text)
    verdict = judge(chunk, said["fifty"].take, checker=checker)
    assert verdict.outcome == "pass", verdict.findings


def test_a_filler_written_otherwise_is_not(said: dict[str, Said], checker: Checker) -> None:
    chunk = replace(said["well"].chunk, text="恩，我知道了，你先回去吧。")
    assert judge(chunk, said["well"].take, checker=checker).outcome == "pass"


def test_a_voice_without_a_recording_is_held_against_its_first_good_take(said: dict[str, Said]) -> None:
    persona = DesignPersona(name="设计", description="一位老人")

    def hear(name: str) -> Verdict:
        take = replace(said[name].take, engine=replace(said[name].take.engine, deterministic=False))
        return ear(replace(said[name].chunk, persona=persona), take)[0]

    ear = Ear("whisper-base")
    assert hear("two").similarity is None
    assert hear("thrice").similarity is not None
    other = hear("man")
    assert [(finding.name, finding.level) for finding in other.findings] == [("other voice", "doubt")]
    assert other.outcome == "inconclusive"


def test_another_voice_is_caught_by_its_likeness(said: dict[str, Said]) -> None:
    own = Reference(embed(said["last"].take.audio, 24_000))

    def against(name: str) -> Verdict:
        return judge(said[name].chunk, said[name].take, reference=own)

    assert against("two").outcome == "pass"
    assert against("man").faults == ("other voice",)


def test_silence_and_noise_hear_as_nothing_not_as_the_prompt(checker: Checker) -> None:
    noise = np.random.default_rng(0).normal(0, 0.05, 3 * 24_000).astype(np.float32)
    assert checker.hear(noise, 24_000, "zh").text == ""
    assert checker.hear(np.zeros(72_000, np.float32), 24_000, "zh").text == ""


def test_verify_prints_rates_and_where_the_texts_differ(langdu: Run, said: dict[str, Said], tmp_path: Path) -> None:
    target = tmp_path / "two.wav"
    soundfile.write(target, said["two"].take.audio, 24_000)
    good = langdu("verify", str(target), "--text", FIRST + LAST, "--json")
    assert good.returncode == 0, good.stderr
    facts = json.loads(good.stdout)
    assert facts["passed"] and facts["cer"] <= 0.1 and facts["wer"] is None
    assert "".join(step["written"] for step in facts["alignment"]) == (FIRST + LAST).replace("。", "")
    bad = langdu("verify", str(target), "--text", FIRST + "我们去海边看日出吧。", "--threshold", "0.3")
    assert bad.returncode == 1
    assert "→" in bad.stdout
