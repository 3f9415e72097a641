"""Every error Langdu raises on purpose.

    LangduError                      (exit code 3 unless said otherwise)
    ├── InputError                   2  the user's input: text, file, name, setting
    │   ├── TextError                   nothing to say, text that cannot be read
    │   ├── DocumentError               a document that is missing, damaged or of an unknown kind
    │   ├── VoiceError                  an unknown voice, a persona that is not usable as it stands
    │   ├── ClipError             a reference clip that cannot be used
    │   ├── SettingError                a value out of range, options that exclude each other
    │   └── OutputError                 a target that cannot be written, an unknown format
    ├── MachineError                 3  the environment
    │   ├── DependencyError             an extra that is not installed, a wrong version in the way
    │   ├── DeviceError                 no Metal/CUDA, another device than asked for, no audio output
    │   ├── CapacityError               memory, cores, disk: the message carries the numbers
    │   │   ├── BusyError                   the queue is full; come back after `retry_after_s`
    │   │   └── DeadlineError               not done within the time its request allowed
    │   └── NetworkError                hub, mirror or registry not reachable, a download that broke off
    ├── ModelError                   3  model files that are missing, damaged or of another variant
    ├── EngineError                  3  an engine that failed while speaking
    │   └── WorkerError                 a worker process that died or stopped answering
    ├── FaultsFound                  1  the thing was made, but with faults; they are listed
    └── Cancelled                  130  the user stopped it

A message says what was wrong, with which input; `hint` says what to do next. Both are for people: one
sentence each, no traceback. Programs look at the class, at `exit_code` and at `code` (stable, kebab-case).
"""

from __future__ import annotations

__all__ = [
    "BusyError",
    "Cancelled",
    "CapacityError",
    "ClipError",
    "DeadlineError",
    "DependencyError",
    "DeviceError",
    "DocumentError",
    "EngineError",
    "FaultsFound",
    "InputError",
    "LangduError",
    "MachineError",
    "ModelError",
    "NetworkError",
    "OutputError",
    "SettingError",
    "TextError",
    "VoiceError",
    "WorkerError",
]  # fmt: skip


class LangduError(Exception):
    """Root of the tree. `message`: what was wrong, with which input. `hint`: what to do next."""

    exit_code = 3
    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.hint)


def _rebuild(kind: type[LangduError], message: str, hint: str) -> LangduError:
    return kind(message, hint=hint)


class InputError(LangduError):
    exit_code = 2
    code = "invalid-input"


class TextError(InputError):
    code = "invalid-text"


class DocumentError(InputError):
    code = "invalid-document"


class VoiceError(InputError):
    code = "invalid-voice"


class ClipError(InputError):
    code = "invalid-reference"


class SettingError(InputError):
    code = "invalid-setting"


class OutputError(InputError):
    code = "invalid-output"


class MachineError(LangduError):
    code = "machine"


class DependencyError(MachineError):
    code = "missing-dependency"


class DeviceError(MachineError):
    code = "device"


class CapacityError(MachineError):
    code = "capacity"


class BusyError(CapacityError):
    code = "busy"
    retry_after_s = 1


class DeadlineError(CapacityError):
    code = "deadline"


class NetworkError(MachineError):
    code = "network"


class ModelError(LangduError):
    code = "model"


class EngineError(LangduError):
    code = "engine"


class WorkerError(EngineError):
    code = "worker"


class FaultsFound(LangduError):
    exit_code = 1
    code = "faults"


class Cancelled(LangduError):
    exit_code = 130
    code = "cancelled"


def by_code(code: str, message: str, hint: str = "") -> LangduError:
    """The error a worker process or a remote reported by its `code`; an unknown code gives the root class."""
    kinds: list[type[LangduError]] = [LangduError]
    for kind in kinds:
        if kind.code == code:
            return kind(message, hint=hint)
        kinds.extend(kind.__subclasses__())
    return LangduError(message, hint=hint)
