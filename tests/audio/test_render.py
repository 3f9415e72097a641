"""From takes to a file: levels matched, chapters where they are, the profile met after encoding."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyloudnorm
import pytest

from langdu.audio.loudness import PROFILES
from langdu.audio.read import read
from langdu.audio.render import Renderer, Tuning, levels_of, tuned

RATE = 24_000


def take(level_db: float, seconds: float = 3.0) -> np.ndarray:
    rng = np.random.default_rng(3)
    t = np.arange(int(seconds * RATE)) / RATE
    voice = np.sin(2 * np.pi * 180 * t) * (1 + 0.5 * np.sin(2 * np.pi * 4 * t)) + 0.05 * rng.standard_normal(len(t))
    sound = voice / np.sqrt(np.mean(voice**2)) * 10 ** (level_db / 20)
    silence = np.zeros(RATE // 2, np.float32)
    return np.concatenate([silence, sound.astype(np.float32), silence])


def test_takes_at_different_levels_come_out_alike_and_under_the_ceiling(tmp_path: Path) -> None:
    with Renderer(tmp_path / "a.wav", RATE, PROFILES["podcast"]) as renderer:
        placed = [renderer.add(take(level), RATE, 0.35) for level in (-12, -24, -18)]
    audio, _ = read(tmp_path / "a.wav")
    meter = pyloudnorm.Meter(RATE)
    found = [meter.integrated_loudness(audio[int(p.start_s * RATE) : int(p.end_s * RATE)]) for p in placed]
    assert max(found) - min(found) < 1.0
    assert levels_of(tmp_path / "a.wav").true_peak_db < -1.0


@pytest.mark.parametrize("suffix", ["m4b", "mp3", "opus"])
def test_the_encoded_file_meets_its_profile(tmp_path: Path, suffix: str) -> None:
    with Renderer(tmp_path / f"a.{suffix}", RATE, PROFILES["broadcast"]) as renderer:
        for _ in range(4):
            renderer.add(take(-14), RATE, 0.25)
    assert PROFILES["broadcast"].problems(levels_of(tmp_path / f"a.{suffix}")) == []


def test_acx_has_its_rate_its_rms_and_silence_around(tmp_path: Path) -> None:
    target = tmp_path / "a.mp3"
    with Renderer(target, RATE, PROFILES["acx"]) as renderer:
        placed = [renderer.add(take(-10), RATE, 0.35) for _ in range(3)]
    assert PROFILES["acx"].problems(levels_of(target)) == []
    audio, rate = read(target)
    assert rate == 44_100
    assert placed[0].start_s == pytest.approx(0.75, abs=0.001)
    assert len(audio) / rate - placed[-1].end_s == pytest.approx(2.0, abs=0.1)


def test_the_planned_places_are_where_the_sound_is(tmp_path: Path) -> None:
    with Renderer(tmp_path / "a.wav", RATE, PROFILES["none"]) as renderer:
        placed = [renderer.add(take(-18, 1.0), RATE, 0.5) for _ in range(3)]
    audio, _ = read(tmp_path / "a.wav")
    for left, right in itertools.pairwise(placed):
        pause = audio[round(left.end_s * RATE) : round(right.start_s * RATE)]
        assert len(pause) == RATE // 2
        assert not pause.any()
    assert len(audio) == round(placed[-1].end_s * RATE)
    assert placed[0].trimmed_s == pytest.approx(0.46, abs=0.011)


def test_chapters_follow_one_another_and_one_without_sound_is_dropped(tmp_path: Path) -> None:
    with Renderer(tmp_path / "a.m4b", RATE, PROFILES["none"]) as renderer:
        renderer.chapter("一")
        renderer.add(take(-18), RATE, 1.2)
        renderer.chapter("空")
        renderer.chapter("三")
        second = renderer.add(take(-18), RATE, 1.2)
        marks = renderer.marks()
    assert [mark.title for mark in marks] == ["一", "三"]
    assert marks[0].start_s == 0
    assert marks[0].end_s == marks[1].start_s == pytest.approx(second.start_s)


def test_a_second_pass_corrects_what_the_first_missed() -> None:
    from langdu.audio.loudness import Levels

    levels = Levels(-20.0, -0.5, -0.6, -21.0, -90.0, 60.0)
    assert tuned(PROFILES["podcast"], levels, Tuning()) == Tuning(1.0, pytest.approx(-0.8))


def test_an_encoder_that_fails_leaves_no_file_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from langdu.audio.encode import Writer
    from langdu.errors import OutputError

    def full(self: Writer, block: object) -> None:
        raise OutputError("disk full")

    monkeypatch.setattr(Writer, "write", full)
    with (
        pytest.raises(OutputError, match="disk full"),
        Renderer(tmp_path / "a.wav", RATE, PROFILES["none"]) as renderer,
    ):
        for _ in range(20):
            renderer.add(take(-18), RATE, 0.25)
    assert list(tmp_path.iterdir()) == []
