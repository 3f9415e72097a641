"""Sound out: the device `say` plays on, and every file format, each tried by writing one."""

from __future__ import annotations

from typing import Any

from langdu.doctor.child import Died
from langdu.doctor.finding import Finding
from langdu.doctor.machine import Hardware

RATE_HZ = 24_000
SECONDS = 0.25
TO_FILE = 'langdu say "你好，世界。" -o hello.wav'


def look_output() -> dict[str, Any]:
    """The default output: {"name", "rate_hz"}, or {"error", "hint", "code"}. Runs in a child process."""
    from langdu.audio.play import check_output
    from langdu.errors import MachineError

    try:
        check_output()
    except MachineError as error:
        return {"error": error.message, "hint": error.hint, "code": error.code}
    import sounddevice

    device = sounddevice.query_devices(kind="output")
    return {"name": str(device["name"]), "rate_hz": float(device["default_samplerate"])}


def look_codecs() -> dict[str, Any]:
    """Format to "" or to why it cannot be written: a quarter second is written and read again. Runs in a child."""
    import tempfile
    from pathlib import Path

    import numpy as np

    from langdu.audio.encode import AAC_FORMATS, FORMATS, Writer
    from langdu.errors import LangduError

    tone = (0.5 * np.sin(2 * np.pi * 440 * np.arange(int(RATE_HZ * SECONDS)) / RATE_HZ)).astype(np.float32)
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in (*FORMATS, *AAC_FORMATS):
            target = Path(folder) / f"tone.{name}"
            try:
                with Writer(target, RATE_HZ) as writer:
                    writer.write(tone)
                found[name] = _unlike(target, name)
            except LangduError as error:
                found[name] = error.message
    return found


def _unlike(path: Any, name: str) -> str:
    """Why the written file does not hold the tone; empty when it does."""
    import numpy as np

    sound: Any
    if name == "pcm":
        sound, rate_hz = np.fromfile(path, "<i2").astype(np.float32) / 32768, RATE_HZ
    else:
        from langdu.audio.read import read

        sound, rate_hz = read(path)
    # Lossy formats pad with some frames of 20 to 60 ms.
    if not SECONDS <= len(sound) / rate_hz <= SECONDS + 0.2:
        return f"{len(sound) / rate_hz:.2f} s came back, not {SECONDS} s"
    loudness = float(np.sqrt(np.mean(sound[: int(SECONDS * rate_hz)] ** 2)))
    return "" if 0.2 < loudness < 0.5 else f"the tone came back with an rms of {loudness:.2f}, not 0.35"


def judge_output(machine: Hardware, found: dict[str, Any] | Died) -> Finding:
    if isinstance(found, Died):
        return Finding("warning", "output", "The sound output cannot be asked", found.reason, TO_FILE)
    if "error" not in found:
        return Finding("ok", "output", f"{found['name']}, {found['rate_hz']:.0f} Hz")
    if found["code"] == "missing-dependency":
        reason = "only needed to play; files can be written"
        return Finding("note", "output", found["error"], reason, "pip install 'langdu[play]'")
    if "PortAudio is missing" in found["error"]:
        install = "brew install portaudio" if machine.system == "Darwin" else "sudo apt install libportaudio2"
        return Finding("note", "output", "PortAudio is missing", "say cannot play; files can be written", install)
    return Finding("note", "output", found["error"], "say cannot play; files can be written", TO_FILE)


def judge_codecs(found: dict[str, Any] | Died) -> list[Finding]:
    if isinstance(found, Died):
        command = "pip install --force-reinstall soundfile av"
        return [Finding("error", "codecs", "Sound files cannot be written", found.reason, command)]
    good = [name for name, wrong in found.items() if not wrong]
    broken = {name: wrong for name, wrong in found.items() if wrong}
    findings = [Finding("ok", "codecs", ", ".join(good), "written and read again; no ffmpeg needed")] if good else []
    for reason in dict.fromkeys(broken.values()):
        names = ", ".join(name for name, wrong in broken.items() if wrong == reason)
        missing = "not installed" in reason
        command = "pip install 'langdu[book]'" if missing else "pip install --force-reinstall soundfile av"
        level = "note" if missing else "error" if "wav" in names else "warning"
        findings.append(Finding(level, "codecs", f"{names} cannot be written", reason, command))  # type: ignore[arg-type]
    return findings
