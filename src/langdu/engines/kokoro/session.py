"""The ONNX session, opened from a cached copy of the optimised graph.

Optimising the int8 graph takes about a second at each start; the result depends on the runtime's version and
the processor, so it is kept under a name made of both and of the model, and is never more than a cache: a
copy that does not load is made anew. The samples are the same either way.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from pathlib import Path
from typing import Any

from langdu.errors import DependencyError, ModelError
from langdu.settings import settings


def open_session(model: Path, threads: int) -> Any:
    """An InferenceSession on the CPU. DependencyError without onnxruntime, ModelError for a damaged file."""
    try:
        import onnxruntime
    except ImportError:
        hint = 'Run: pip install "langdu[kokoro]"'
        raise DependencyError("onnxruntime is not installed; kokoro needs it.", hint=hint) from None
    cached = _cached(model, onnxruntime.__version__)
    if cached.is_file():
        with contextlib.suppress(Exception):
            return _open(onnxruntime, cached, _options(onnxruntime, threads, optimise=False))
    options = _options(onnxruntime, threads, optimise=True)
    temporary = cached.with_name(f"{cached.name}.{os.getpid()}.part")
    with contextlib.suppress(OSError):  # without room for a cache it only starts slower
        cached.parent.mkdir(parents=True, exist_ok=True)
        options.optimized_model_filepath = str(temporary)
    try:
        session = _open(onnxruntime, model, options)
    except Exception as error:  # onnxruntime's own exception classes are not importable by name
        temporary.unlink(missing_ok=True)
        hint = "Run: langdu models remove kokoro && langdu models get kokoro"
        raise ModelError(f"{model} cannot be loaded ({error}).", hint=hint) from None
    with contextlib.suppress(OSError):
        temporary.replace(cached)
    return session


def _open(onnxruntime: Any, path: Path, options: Any) -> Any:
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _options(onnxruntime: Any, threads: int, *, optimise: bool) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def _cached(model: Path, version: str) -> Path:
    facts = model.stat() if model.is_file() else None
    mark = [str(model.resolve()), facts.st_size if facts else 0, facts.st_mtime_ns if facts else 0]
    name = hashlib.sha256(repr([*mark, version, platform.processor(), platform.machine(), _cpu()]).encode())
    return settings().data_dir / "cache" / f"kokoro-{name.hexdigest()[:16]}.onnx"


def _cpu() -> str:
    """The processor's name and features, as far as the system tells."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return "".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))
    return platform.processor()
