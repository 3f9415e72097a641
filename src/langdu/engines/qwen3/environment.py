"""Whether the libraries Python would import are the ones that were installed and tested, looked at before loading.

A folder on PYTHONPATH can put an older mlx or mlx-audio in front of the installed one; the failure then shows
far away, as a missing attribute or as noise. transformers is not looked at: nothing here imports it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
from pathlib import Path

from langdu.errors import DependencyError

TESTED = {
    "mlx": ("mlx", "0.32.", "0.32.4"),
    "mlx_audio": ("mlx-audio", "0.6.2", "0.6.2"),
    "tokenizers": ("tokenizers", "0.", ""),
}
"""Module to (distribution, prefix its version must have, version to install)."""


def check() -> None:
    """Raises DependencyError naming the module, where it was found and what was expected."""
    for module, (distribution, prefix, wanted) in TESTED.items():
        install = f"Install it with: pip install 'langdu[qwen3]' ({distribution}{' ' + wanted if wanted else ''})."
        spec = importlib.util.find_spec(module)
        if spec is None:
            raise DependencyError(f"{distribution} is not installed.", hint=install)
        try:
            found = importlib.metadata.distribution(distribution)
        except importlib.metadata.PackageNotFoundError:
            raise DependencyError(f"{_place(spec)} holds a {module} that pip did not install.", hint=install) from None
        if not found.version.startswith(prefix):
            raise DependencyError(
                f"{_place(spec)} holds {distribution} {found.version}; Langdu is tested with {wanted or prefix}.",
                hint=f"{install} Look at PYTHONPATH first.",
            )
        expected = Path(str(found.locate_file(module))).resolve()
        if _place(spec) != expected:
            raise DependencyError(
                f"Python would import {module} from {_place(spec)}, not the installed one in {expected}.",
                hint="Take that folder off PYTHONPATH.",
            )


def _place(spec: importlib.machinery.ModuleSpec) -> Path:
    """The folder (or file) a module would be imported from."""
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin or "").resolve()
