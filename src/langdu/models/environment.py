"""Which packages Python would import for Qwen3-TTS, and whether they are the ones it was tested with.

A PYTHONPATH left over from another project puts its own transformers or mlx before the installed ones; the
model then fails deep inside, or speaks wrongly. Looking costs milliseconds: nothing is imported.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from langdu.errors import DependencyError

PACKAGES = {"mlx": "mlx", "mlx_audio": "mlx-audio", "transformers": "transformers"}
"""Module to distribution."""
REQUIRED = {"mlx": ">=0.32.4,<0.33", "mlx_audio": "==0.6.2", "transformers": ">=5.14.0"}
"""As pyproject.toml and mlx-audio 0.6.2 ask for."""


@dataclass(frozen=True, slots=True)
class Found:
    """What `import module` would bring. `version` is empty when the copy does not tell."""

    module: str
    version: str
    path: Path

    @property
    def suits(self) -> bool:
        from packaging.specifiers import SpecifierSet
        from packaging.version import InvalidVersion

        try:
            return SpecifierSet(REQUIRED.get(self.module, ""), prereleases=True).contains(self.version)
        except InvalidVersion:
            return False


def check_environment() -> tuple[Found, ...]:
    """The packages Qwen3-TTS would run with.

    Raises DependencyError for one that is missing, or of another version: with the version, the path it
    would come from, and what put that path there.
    """
    found = tuple(look(module) for module in PACKAGES)
    for one in found:
        if not one.suits:
            version = one.version or "of an unknown version"
            raise DependencyError(
                f"Python would import {one.module} {version} from {one.path}; Qwen3-TTS needs "
                f"{one.module} {REQUIRED[one.module]}.",
                hint=remedy(one),
            )
    return found


def look(module: str, distribution: str = "") -> Found:
    """Where `module` comes from now, or came from when it is imported already. DependencyError without it.

    `distribution`: its name in a package registry, for modules other than those of Qwen3-TTS.
    """
    distribution = distribution or PACKAGES[module]
    loaded = sys.modules.get(module)
    try:
        spec = getattr(loaded, "__spec__", None) or importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise DependencyError(f"{distribution} is not installed.", hint="Run: pip install 'langdu[qwen3]'")
    if spec.submodule_search_locations:
        path = _portion(module, [Path(where) for where in spec.submodule_search_locations])
    else:
        path = Path(str(spec.origin))
    return Found(module, _version(distribution, path), path)


def _portion(module: str, places: list[Path]) -> Path:
    """The folder that counts: mlx is spread over several (a namespace), its core lies in one."""
    return next((place for place in places if any(place.glob("core.*"))), places[0]) if module == "mlx" else places[0]


def _version(name: str, path: Path) -> str:
    """From the metadata beside the module, else from a `__version__ = "…"` in its source, else ""."""
    for distribution in metadata.distributions(name=name, path=[str(path.parent)]):
        return distribution.version
    sources = [path / "version.py", path / "_version.py", path / "__init__.py"] if path.is_dir() else [path]
    for source in sources:
        text = source.read_text(encoding="utf-8", errors="replace") if source.is_file() else ""
        if match := re.search(r"""^__version__\s*=\s*["']([^"']+)["']""", text, re.MULTILINE):
            return match[1]
    return ""


def put_first_by(found: Found) -> str:
    """What put the copy before the installed ones: "PYTHONPATH", "the current folder" or ""."""
    parent = found.path.parent.resolve()
    if parent in [Path(entry).resolve() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]:
        return "PYTHONPATH"
    return "the current folder" if parent == Path.cwd() else ""


def remedy(found: Found) -> str:
    by = put_first_by(found)
    if by == "PYTHONPATH":
        return f"PYTHONPATH puts it first: unset it, or take {found.path.parent.resolve()} out."
    if by:
        return "It lies in the current folder: start from another one."
    return f"Run: {sys.executable} -m pip install '{PACKAGES[found.module]}{REQUIRED[found.module]}'"
