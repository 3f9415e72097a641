"""Reference intake on real speech in every awkward wrapping."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from langdu.errors import ClipError, ModelError
from langdu.quality.transcript import Checker, resample
from langdu.voices.reference import RATE_HZ, intake
from tests.voices.clips import GUID, encoded, pcm16, pcm24, wav

TEXT = "今天天气很好，我们一起去公园散步。"


@pytest.fixture(scope="module")
def speech() -> np.ndarray:
    """About four seconds of Mandarin at 24 kHz."""
    from langdu.synthesis.say import Saying, SayRequest

    try:
        with Saying(SayRequest(TEXT, "zf_xiaobei", workers=1)) as saying:
            return np.concatenate(list(saying.blocks()))
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def checker() -> Checker:
    from langdu.models.store import model_dir

    try:
        model_dir("whisper-base")
    except ModelError as error:
        pytest.skip(str(error))
    return Checker()


WRAPPINGS = {
    "24bit": lambda p, s: wav(p, pcm24(resample(s, 24_000, 48_000)), 48_000, bits=24),
    "extensible": lambda p, s: wav(
        p, pcm24(s), 24_000, fmt=65534, bits=24, extra=b"\x16\x00\x18\x00\x04\x00\x00\x00" + GUID
    ),
    "float32": lambda p, s: wav(p, s.astype("<f4").tobytes(), 24_000, fmt=3, bits=32, extra=b"\0\0"),
    "ffffffff": lambda p, s: wav(p, pcm16(s), 24_000, declared=0xFFFFFFFF),
    "7fffffff": lambda p, s: wav(p, pcm16(s), 24_000, declared=0x7FFFFFFF),
    "left only": lambda p, s: wav(p, pcm16(np.stack([s, 0 * s], 1).ravel()), 24_000, channels=2),
    "opposite phase": lambda p, s: wav(p, pcm16(np.stack([s, -s], 1).ravel()), 24_000, channels=2),
    "flac": lambda p, s: soundfile.write(p, s, 24_000, format="FLAC") or p,
    "aiff": lambda p, s: soundfile.write(p, s, 24_000, format="AIFF") or p,
    "ogg": lambda p, s: soundfile.write(p, s, 24_000, format="OGG") or p,
    "mp3": lambda p, s: encoded(p, s, 24_000, "mp3", "libmp3lame"),
    "opus": lambda p, s: encoded(p, s, 24_000, "ogg", "libopus"),
    "m4a": lambda p, s: encoded(p, s, 24_000, "ipod", "aac"),
}


@pytest.mark.real
@pytest.mark.parametrize("kind", WRAPPINGS)
def test_any_file_is_read_by_content_at_full_level(tmp_path: Path, speech: np.ndarray, kind: str) -> None:
    path = WRAPPINGS[kind](tmp_path / "空格 名字.WAV", speech)
    before = path.read_bytes()
    found = intake(path, text=TEXT)
    assert found.report.seconds == pytest.approx(len(speech) / 24_000, abs=0.15)
    plain = intake(wav(tmp_path / "plain", pcm16(speech), 24_000), text=TEXT)
    assert found.report.measures.speech_db == pytest.approx(plain.report.measures.speech_db, abs=1.0)
    assert not np.any(found.audio[-RATE_HZ // 2 :])
    assert path.read_bytes() == before


@pytest.mark.real
def test_faults_that_can_be_lived_with_are_warned_with_a_figure(tmp_path: Path, speech: np.ndarray) -> None:
    def warned(path: Path) -> str:
        return " ".join(intake(path, text=TEXT).warnings)

    peak = np.abs(speech).max()
    assert "clipped" in warned(wav(tmp_path / "a", pcm16(8 * speech / peak), 24_000))
    assert "8000 Hz" in warned(wav(tmp_path / "b", pcm16(resample(speech, 24_000, 8_000)), 8_000))
    eight = (np.clip(speech / peak, -1, 1) * 127 + 128).astype(np.uint8).tobytes()
    assert "8 bits" in warned(wav(tmp_path / "c", eight, 24_000, bits=8))
    data = pcm16(speech)
    cut = " ".join(_try(wav(tmp_path / "d", data[: len(data) * 3 // 4 | 1], 24_000, declared=len(data))))
    assert "25%" in cut


def _try(path: Path) -> tuple[str, ...]:
    try:
        return intake(path, text=TEXT).warnings
    except ClipError as error:
        # A cut in mid-word with an earlier pause needs the checker to cut the transcript too.
        return intake(path, text=TEXT, checker=Checker()).warnings if "trimmed" in str(error) else (str(error),)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda p: p.write_bytes(b""), "empty"),
        (lambda p: p.write_bytes(b"<!doctype html><title>404</title>"), "not a sound file"),
        (lambda p: wav(p, b"", 24_000), "no sound"),
        (lambda p: wav(p, pcm16(np.zeros(96_000)), 24_000), "no speech"),
        (lambda p: wav(p, pcm16(np.random.default_rng(0).normal(0, 0.1, 96_000)), 24_000), "no speech"),
        (lambda p: wav(p, pcm16(np.ones(7_200)), 24_000), "0.30 s"),
        (lambda p: None, "not there"),
    ],
)
def test_what_is_no_clip_is_refused_by_name_in_one_line(tmp_path: Path, make: object, reason: str) -> None:
    path = tmp_path / "clip.wav"
    make(path)  # type: ignore[operator]
    with pytest.raises(ClipError, match=reason) as refused:
        intake(path, text=TEXT)
    assert "clip.wav" in refused.value.message and "\n" not in str(refused.value)


@pytest.mark.real
def test_a_transcript_is_made_compared_and_marked(tmp_path: Path, speech: np.ndarray, checker: Checker) -> None:
    path = wav(tmp_path / "a.wav", pcm16(speech), 24_000)
    heard = intake(path, checker=checker)
    assert (heard.transcript_by, heard.language) == ("asr", "zh")
    given = intake(path, text=TEXT, checker=checker)
    assert given.transcript_by == "person" and given.report.cer is not None and given.report.cer <= 0.2
    with pytest.raises(ClipError, match=r"(?s)given: 今天天气.*heard: 今天"):
        intake(path, text="今天天气", checker=checker)


@pytest.mark.real
def test_three_minutes_are_trimmed_with_their_transcript(tmp_path: Path, speech: np.ndarray, checker: Checker) -> None:
    gap = np.zeros(12_000, np.float32)
    once = np.concatenate([speech, gap])
    times = 180 * 24_000 // len(once)
    path = wav(tmp_path / "long.wav", pcm16(np.tile(once, times)), 24_000)
    found = intake(path, text=TEXT * times, checker=checker)
    assert 3 <= found.report.end_s - found.report.start_s <= 20
    assert len(found.transcript) < 6 * len(TEXT)


def test_a_blank_transcript_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClipError, match="blank"):
        intake(tmp_path / "a.wav", text="  ")
