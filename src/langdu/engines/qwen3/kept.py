"""Arrays kept on disk by content: worked out once, and again when a file is missing or damaged."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

Array = Any
SEPARATOR = bytes(1)


def kept_path(folder: Path, *facts: str | bytes) -> Path:
    """The file in `folder` for what `facts` (all that the arrays depend on) lead to."""
    parts = [fact.encode() if isinstance(fact, str) else fact for fact in facts]
    name = hashlib.sha256(SEPARATOR.join(parts)).hexdigest()
    return folder / f"{name}.safetensors"


def read(path: Path, names: tuple[str, ...]) -> dict[str, Array] | None:
    """The arrays called `names`; None when the file is not there, is damaged or lacks one."""
    import mlx.core as mx

    if not path.is_file():
        return None
    try:
        found: Any = mx.load(str(path))
        arrays = {name: found[name] for name in names}
        mx.eval(list(arrays.values()))  # loading is lazy: a file cut short shows here
    except (RuntimeError, ValueError, KeyError, OSError):
        return None
    return arrays


def write(path: Path, arrays: dict[str, Array]) -> None:
    import mlx.core as mx

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.stem}.{os.getpid()}.part.safetensors")  # MLX insists on the suffix
    try:
        mx.save_safetensors(str(part), arrays)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
