"""Engines by name. Each lives in its own module, imported only when it is loaded."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from langdu.errors import SettingError

if TYPE_CHECKING:
    from langdu.engines.base import Accepts, Engine, EngineInfo
    from langdu.synthesis.runner import EngineSpec

ENGINES = {
    "kokoro": "langdu.engines.kokoro",
    "qwen3": "langdu.engines.qwen3.engine",
    "tone": "langdu.engines.tone",
}
"""Engine name to the module that defines `load(spec) -> Engine` and `ACCEPTS`; importing it loads no model."""


def load(spec: EngineSpec) -> Engine:
    """Load the engine `spec` names, in this process and thread.

    Raises SettingError for an unknown name, DependencyError when its extra is missing, ModelError when
    its files are, DeviceError or CapacityError when this machine cannot run it.
    """
    engine: Engine = _module(spec.engine).load(spec)
    return engine


def accepts(engine: str) -> Accepts:
    """What the engine of that name takes, whether or not this machine can run it. SettingError for an unknown name."""
    found: Accepts = _module(engine).ACCEPTS
    return found


def _module(engine: str) -> ModuleType:
    if engine not in ENGINES:
        known = ", ".join(name for name in ENGINES if name != "tone")
        raise SettingError(f'There is no engine "{engine}".', hint=f"Known: {known}.")
    return importlib.import_module(ENGINES[engine])


def describe(spec: EngineSpec) -> EngineInfo | None:
    """What `load` would report, without loading; None where the engine cannot say. Same errors as `load`."""
    found = getattr(_module(spec.engine), "describe", None)
    info: EngineInfo | None = found(spec) if found is not None else None
    return info
