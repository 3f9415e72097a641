"""Whether this machine can speak a persona, and if not, why: packages, model files, what the checkpoint is.

Reads configurations and headers only; neither MLX nor a weight is loaded.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langdu.errors import LangduError
from langdu.models.check import check
from langdu.models.store import model_dir
from langdu.voices.persona import Persona


@dataclass(frozen=True, slots=True)
class Model:
    """A persona's model as it lies on this machine. `problem` is empty where it can be used."""

    problem: str = ""
    kind: str = ""
    """"base", "voice_design", "custom_voice"; "" where there is no checkpoint to ask."""
    size: str = ""
    speakers: tuple[str, ...] = ()
    languages: tuple[str, ...] = field(default=())


def model_of(engine: str, name: str) -> Model:
    """The model `name` (of the catalogue, or a folder) for `engine`."""
    package = {"kokoro": "onnxruntime", "qwen3": "mlx"}[engine]
    if importlib.util.find_spec(package) is None:
        return Model(f'{package} is not installed (pip install "langdu[{engine}]")')
    try:
        if engine == "qwen3":
            from langdu.models.environment import check_environment

            check_environment()
        folder = Path(name).expanduser()
        folder = folder if folder.is_dir() else model_dir(name)
        found = check(folder, hashes=False)
    except LangduError as error:
        return Model(str(error))
    if found:
        return Model(f"the model {name} is broken: {'; '.join(map(str, found[:3]))} (langdu models check {name})")
    return Model() if engine == "kokoro" else _checkpoint(folder)


def _checkpoint(folder: Path) -> Model:
    config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    talker: dict[str, Any] = config.get("talker_config") or {}
    return Model(
        "", str(config.get("tts_model_type", "")), str(config.get("tts_model_size", "")),
        tuple(talker.get("spk_id") or ()), tuple(talker.get("codec_language_id") or ()),
    )  # fmt: skip


def engine_of(persona: Persona) -> tuple[str, str]:
    """Name of the engine that speaks a persona, and of its model."""
    return ("kokoro", "kokoro") if persona.kind == "builtin" else ("qwen3", persona.model)
