"""Formats are tried by writing them; an output that is missing is said with what still works."""

from __future__ import annotations

from langdu.doctor.child import Died, ask
from langdu.doctor.sound import judge_codecs, judge_output
from tests.doctor.machines import SERVER, mac


def test_every_format_is_written_and_read_again_without_ffmpeg() -> None:
    found = ask("codecs", timeout_s=60)
    assert not isinstance(found, Died), found
    assert found == dict.fromkeys(("wav", "flac", "mp3", "ogg", "opus", "pcm", "m4a", "m4b", "aac"), "")
    (finding,) = judge_codecs(found)
    assert finding.level == "ok"


def test_formats_that_need_a_package_name_it_once() -> None:
    ok, note = judge_codecs({"wav": "", "m4a": "PyAV is not installed; x", "m4b": "PyAV is not installed; x"})
    assert (ok.what, note.level, note.what) == ("wav", "note", "m4a, m4b cannot be written")
    assert note.command == "pip install 'langdu[book]'"


def test_a_broken_wav_is_an_error_and_a_broken_mp3_a_warning() -> None:
    assert [one.level for one in judge_codecs({"wav": "no", "mp3": "bad encoder"})] == ["error", "warning"]


def test_no_output_is_a_note_with_the_way_to_a_file() -> None:
    found = judge_output(SERVER, {"error": "No sound output (none).", "hint": "", "code": "device"})
    assert (found.level, found.command) == ("note", 'langdu say "你好，世界。" -o hello.wav')


def test_a_missing_portaudio_is_installed_as_the_system_does_it() -> None:
    missing = {"error": "PortAudio is missing; it plays the sound.", "hint": "", "code": "device"}
    assert judge_output(SERVER, missing).command == "sudo apt install libportaudio2"
    assert judge_output(mac(18, 9), missing).command == "brew install portaudio"


def test_a_missing_package_names_its_extra() -> None:
    missing = {"error": "sounddevice is not installed; it plays the sound.", "hint": "", "code": "missing-dependency"}
    assert judge_output(SERVER, missing).command == "pip install 'langdu[play]'"


def test_the_device_that_plays_is_named() -> None:
    assert (
        judge_output(SERVER, {"name": "MacBook Pro Speakers", "rate_hz": 48000.0}).what
        == "MacBook Pro Speakers, 48000 Hz"
    )
