"""What is measured: an engine with its model and a voice, found from what the user named or what is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langdu.bench import voice as voices
from langdu.engines import describe
from langdu.errors import ModelError, SettingError
from langdu.models import store
from langdu.models.files import sha256
from langdu.settings import settings
from langdu.synthesis.runner import EngineSpec
from langdu.synthesis.say import find_persona
from langdu.voices.builtin import BUILTIN
from langdu.voices.listing import language_of
from langdu.voices.persona import BuiltinPersona, Persona


@dataclass(frozen=True, slots=True)
class Target:
    """`label` names it in tables and in comparisons, so it holds nothing that differs between machines."""

    label: str
    spec: EngineSpec
    persona: Persona
    voice: str
    """The voice in words."""
    folder: Path | None = None
    """Its model files; None for the tone, which has none."""
    fixed_length: bool = False
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def language(self) -> str:
        return language_of(self.persona)

    @property
    def batched(self) -> bool:
        """Whether one process says many chunks at a time."""
        return self.spec.engine == "qwen3" or int(self.spec.options.get("slots", 1)) > 1

    @property
    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self._files())

    def with_options(self, **options: str | int | float | bool) -> Target:
        return replace(self, spec=replace(self.spec, options={**self.spec.options, **options}))

    def facts(self) -> dict[str, Any]:
        """Engine, model, voice, size on disk, and a SHA-256 for each file: the manifest's where the store has one."""
        known: dict[str, store.Facts] = {}
        if self.folder is not None and (self.folder / store.MANIFEST).is_file():
            known = store.read_manifest(self.folder).files
        files = {}
        for file in self._files():
            name, size = file.relative_to(self.folder or file.parent).as_posix(), file.stat().st_size
            listed = known.get(name)
            digest = listed.sha256 if listed is not None and listed.size == size and listed.sha256 else sha256(file)
            files[name] = {"size": size, "sha256": digest}
        return {
            "engine": self.spec.engine, "model": self.folder.name if self.folder else self.spec.engine,
            "voice": self.voice, "language": self.language, "size_mb": round(self.size_bytes / 1e6, 1),
            "fixed_length": self.fixed_length, "persona": self.persona.content_hash(),
            "files_sha256": _digest(files), "files": files,
        }  # fmt: skip

    def _files(self) -> list[Path]:
        if self.folder is None:
            return []
        return sorted(f for f in self.folder.rglob("*") if f.is_file() and f.name != store.MANIFEST)


def _digest(files: dict[str, dict[str, Any]]) -> str:
    lines = "".join(f"{facts['sha256']}  {name}\n" for name, facts in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def targets(
    work: Path, *, voice: str | None = None, engine: str = "", models: Sequence[str] = (),
    fixed_length: bool = False, gpu: bool = False,
) -> list[Target]:  # fmt: skip
    """What the user named; without a name, what is installed here and sensible (Qwen3-TTS wants a GPU).

    Raises VoiceError, ModelError or SettingError for a name that does not fit, before anything is loaded.
    """
    if engine == "tone" or voice == "tone":
        return [tone(voice or "tone")]
    if models:
        return [of_model(name, work, voice=voice, engine=engine, fixed_length=fixed_length) for name in models]
    if voice is not None:
        persona = find_persona(voice)
        wanted = "kokoro" if persona.kind == "builtin" else "qwen3"
        if engine not in ("", wanted):
            raise SettingError(f'The voice "{voice}" belongs to the {wanted} engine, not to {engine}.')
        name = "kokoro" if isinstance(persona, BuiltinPersona) else persona.model
        return [of_model(name, work, voice=voice, engine=wanted, fixed_length=fixed_length)]
    found = _installed(engine, gpu=gpu)
    if not found:
        wanted = engine or "any engine"
        raise ModelError(f"There is no model of {wanted} here to measure.", hint="Run: langdu models get kokoro")
    return [of_model(name, work, fixed_length=fixed_length) for name in found]


def _installed(engine: str, *, gpu: bool) -> list[str]:
    found = [one.entry for one in store.installed() if not one.problem]
    names = [entry.name for entry in found if entry.role == "voices" and engine in ("", "kokoro")]
    if gpu or engine == "qwen3":
        originals = "-official"  # PyTorch weights, kept for conversions
        names += [e.name for e in found if e.role == "qwen3" and engine in ("", "qwen3") and originals not in e.name]
    return names


def of_model(
    name: str, work: Path, *, voice: str | None = None, engine: str = "", fixed_length: bool = False
) -> Target:  # fmt: skip
    """A target by the name or folder of its model."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if "/" in name or "\\" in name:
            raise ModelError(f"There is no model folder {name}.", hint="See: langdu models list")
        folder = store.model_dir(name)
    if is_kokoro(folder) if engine == "" else engine == "kokoro":
        return _kokoro(folder, voice, fixed_length=fixed_length)
    spec = EngineSpec("qwen3", str(folder.absolute()))
    if voice is None:
        persona, words = voices.voice_for(folder, work, fixed_length=fixed_length)
        return Target(f"{folder.name} bench", spec, persona, words, folder, fixed_length)
    persona = find_persona(voice)
    if persona.kind == "builtin":
        raise SettingError(
            f'The built-in voice "{voice}" belongs to kokoro; {folder.name} is a Qwen3-TTS model.',
            hint="Name a persona of your library with --voice, or none.",
        )
    words = f"{persona.name} ({persona.kind})"
    persona = voices.fixed(persona) if fixed_length else persona
    return Target(f"{folder.name} {persona.name}", spec, persona, words, folder, fixed_length)


def is_kokoro(folder: Path) -> bool:
    from langdu.engines.kokoro.engine import MODEL_FILE

    return (folder / MODEL_FILE).is_file()


def _kokoro(folder: Path, voice: str | None, *, fixed_length: bool) -> Target:
    if fixed_length:
        raise SettingError("kokoro's takes end where its text ends; their length cannot be fixed.",
                           hint="Leave --fixed-length away.")  # fmt: skip
    name = voice or settings().voice
    persona = find_persona(name)
    if not isinstance(persona, BuiltinPersona):
        raise SettingError(f'"{name}" is a {persona.kind} persona; kokoro has built-in voices only.',
                           hint="Name its Qwen3-TTS model with --model, or a built-in voice.")  # fmt: skip
    language = BUILTIN[persona.voice].language if persona.voice in BUILTIN else "zh"
    managed = folder == store.folder_of("kokoro")
    spec = EngineSpec("kokoro", "" if managed else str(folder.absolute()), {"warm": language})
    describe(spec)
    return Target(f"{folder.name} {persona.name}", spec, persona, f"{persona.name} (built in)", folder)


def tone(name: str = "tone") -> Target:
    """The engine without a model: for trying the bench itself."""
    persona = find_persona(name)
    return Target("tone", EngineSpec("tone"), persona, "a tone")
