"""Engines by name. Each lives in its own module, imported only when it is loaded."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from langdu.errors import EngineError, SettingError

if TYPE_CHECKING:
    from langdu.engines.base import Engine, EngineInfo
    from langdu.synthesis.runner import EngineSpec

ENGINES = {
    "kokoro": "langdu.engines.kokoro",
    "qwen3": "langdu.engines.qwen3.engine",
    "tone": "langdu.engines.tone",
}
"""Engine name to the module that defines `load(spec) -> Engine`."""


def load(spec: EngineSpec) -> Engine:
    """Load the engine `spec` names, in this process and thread.

    Raises SettingError for an unknown name, DependencyError when its extra is missing, ModelError when
    its files are, DeviceError or CapacityError when this machine cannot run it.
    """
    if spec.engine not in ENGINES:
        known = ", ".join(name for name in ENGINES if name != "tone")
        raise SettingError(f'There is no engine "{spec.engine}".', hint=f"Known: {known}.")
    if importlib.util.find_spec(ENGINES[spec.engine]) is None:
        raise EngineError(f"This version of Langdu has no {spec.engine} engine.", hint="Pick a built-in voice.")
    module = importlib.import_module(ENGINES[spec.engine])
    engine: Engine = module.load(spec)
    return engine


def describe(spec: EngineSpec) -> EngineInfo | None:
    """What `load` would report, without loading; None where the engine cannot say. Same errors as `load`."""
    if spec.engine not in ENGINES or importlib.util.find_spec(ENGINES[spec.engine]) is None:
        return None
    module = importlib.import_module(ENGINES[spec.engine])
    found = getattr(module, "describe", None)
    info: EngineInfo | None = found(spec) if found is not None else None
    return info
