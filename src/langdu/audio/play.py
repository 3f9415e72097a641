"""The default output of this machine. PortAudio is only touched here, and only when something is played."""

from __future__ import annotations

from types import ModuleType, TracebackType
from typing import Any

from langdu.engines.base import Audio
from langdu.errors import DependencyError, DeviceError


class Player:
    """Plays blocks as they come. `write` blocks while the device is still busy with what it has."""

    def __init__(self, sample_rate_hz: int) -> None:
        device = _sounddevice()
        try:
            self._stream: Any = device.OutputStream(samplerate=sample_rate_hz, channels=1, dtype="float32")
            self._stream.start()
        except device.PortAudioError as error:
            raise DeviceError(f"No sound output ({error}).", hint="Write a file instead: -o FILE.wav") from None

    def write(self, block: Audio) -> None:
        self._stream.write(block.reshape(-1, 1))

    def __enter__(self) -> Player:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:
            self._stream.stop()  # plays out what is buffered
        else:
            self._stream.abort()
        self._stream.close()


def check_output() -> None:
    """Raises before anything is made when this machine cannot play."""
    device = _sounddevice()
    try:
        device.check_output_settings()
    except (device.PortAudioError, ValueError) as error:
        raise DeviceError(f"No sound output ({error}).", hint="Write a file instead: -o FILE.wav") from None


def _sounddevice() -> ModuleType:
    try:
        import sounddevice
    except ImportError:
        hint = 'Run: pip install "langdu[play]", or write a file: -o FILE.wav'
        raise DependencyError("sounddevice is not installed; it plays the sound.", hint=hint) from None
    except OSError:
        hint = "Install PortAudio (Debian: libportaudio2), or write a file: -o FILE.wav"
        raise DeviceError("PortAudio is missing; it plays the sound.", hint=hint) from None
    found: ModuleType = sounddevice
    return found
