"""What Python really imports, of which version and from where; what stands before the installed copies."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sized
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from langdu.doctor.child import Died
from langdu.doctor.finding import Finding, Level


@dataclass(frozen=True, slots=True)
class Part:
    """An extra of the package: what it is for, and its modules with their distributions."""

    extra: str
    purpose: str
    modules: dict[str, str]


PARTS = (
    Part("", "Langdu itself", {"numpy": "numpy", "pydantic": "pydantic", "soundfile": "soundfile", "soxr": "soxr"}),
    Part("kokoro", "the built-in voices", {
        "onnxruntime": "onnxruntime", "misaki": "misaki", "pypinyin": "pypinyin", "g2p_en": "g2p-en",
        "fugashi": "fugashi",
    }),
    Part("text", "reading numbers, dates and documents right", {
        "wetext": "wetext", "cn2an": "cn2an", "rjieba": "rjieba", "num2words": "num2words", "lxml": "lxml",
    }),
    Part("verify", "listening to what was made", {
        "faster_whisper": "faster-whisper", "opencc": "opencc-python-reimplemented", "rapidfuzz": "rapidfuzz",
    }),
    Part("qwen3", "Qwen3-TTS", {
        "mlx": "mlx", "mlx_audio": "mlx-audio", "transformers": "transformers", "tokenizers": "tokenizers",
        "safetensors": "safetensors",
    }),
    Part("documents", "EPUB, PDF and Word", {"ebooklib": "ebooklib", "pypdf": "pypdf", "docx": "python-docx"}),
    Part("book", "books: AAC, chapters, loudness", {"av": "av", "pyloudnorm": "pyloudnorm"}),
    Part("serve", "the HTTP service", {
        "fastapi": "fastapi", "uvicorn": "uvicorn", "python_multipart": "python-multipart",
    }),
    Part("doors", "Home Assistant and agents", {"wyoming": "wyoming", "mcp": "mcp"}),
    Part("cluster", "speaking on several machines", {"distributed": "distributed"}),
)  # fmt: skip


DATA_ONLY = {"g2p_en"}
"""Used for the files it brings and never imported: its code wants packages that Langdu does not need."""


@dataclass(frozen=True, slots=True)
class Package:
    """One module as Python found it. `error`: why it cannot be imported, "" when it can; `missing` when it is
    not there at all."""

    module: str
    distribution: str
    version: str = ""
    path: str = ""
    error: str = ""
    missing: bool = False
    put_first_by: str = ""
    """"PYTHONPATH" or "the current folder", when that is where it comes from."""
    installed: str = ""
    """Version of the installed copy that it stands before; "" without one."""
    wanted: str = ""
    """The version specifier it must meet and does not; "" when it does."""


def look(*, load: bool = True) -> dict[str, Any]:
    """Every module of PARTS, imported (or only found, without `load`), as {"packages": [...]}. Runs in a child."""
    wanted = requirements()
    found = [
        _look(module, distribution, wanted.get(distribution, ""), load)
        for part in PARTS
        for module, distribution in part.modules.items()
    ]
    return {"packages": [asdict(one) for one in found]}


def requirements() -> dict[str, str]:
    """Distribution to the versions Langdu asks for here, by its own metadata; empty in a bare source tree."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    from langdu.models.environment import PACKAGES, REQUIRED

    wanted = {PACKAGES[module]: specifier for module, specifier in REQUIRED.items()}
    try:
        listed = metadata.requires("langdu") or []
    except metadata.PackageNotFoundError:
        listed = []
    for line in listed:
        one = Requirement(line)
        extras = [{"extra": part.extra} for part in PARTS]
        if one.marker is None or any(one.marker.evaluate(extra) for extra in extras):
            wanted.setdefault(canonicalize_name(one.name), str(one.specifier))
    return wanted


def _look(module: str, distribution: str, wanted: str, load: bool) -> Package:
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion

    from langdu.errors import DependencyError
    from langdu.models.environment import look as find
    from langdu.models.environment import put_first_by

    try:
        found = find(module, distribution)
    except DependencyError as error:
        return Package(module, distribution, error=error.message, missing=True)
    fault = _load("mlx.core" if module == "mlx" else module) if load and module not in DATA_ONLY else ""
    try:
        suits = not wanted or SpecifierSet(wanted, prereleases=True).contains(found.version)
    except InvalidVersion:
        suits = False
    by = put_first_by(found)
    return Package(
        module, distribution, found.version, str(found.path), fault, put_first_by=by,
        installed=_installed(distribution, found.path) if by else "", wanted="" if suits else wanted,
    )  # fmt: skip


def _load(module: str) -> str:
    """Import it. Whatever goes wrong inside is the answer, so everything is caught here."""
    try:
        importlib.import_module(module)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def _installed(distribution: str, shadow: Path) -> str:
    """Version of the copy further down Python's path."""
    places = [entry for entry in sys.path if entry and Path(entry).resolve() != shadow.parent.resolve()]
    return next((one.version for one in metadata.distributions(name=distribution, path=places)), "")


def judge(found: Iterable[Package] | Died, *, needed: Iterable[str], qwen3: bool) -> list[Finding]:
    """Findings by part. `needed`: extras without which the default voice cannot speak; `qwen3`: it makes sense here."""
    if isinstance(found, Died):
        what = "The packages cannot be imported together"
        return [Finding("error", "packages", what, found.reason, "pip install --force-reinstall 'langdu[all]'")]
    by_module = {one.module: one for one in found}
    needed = {"", *needed}
    findings: list[Finding] = []
    for part in PARTS:
        here = [by_module[module] for module in part.modules if module in by_module]
        if part.extra == "qwen3" and not qwen3 and all(one.missing for one in here):
            continue
        findings += _part(part, here, "error" if part.extra in needed else "warning")
    return findings


def _part(part: Part, packages: list[Package], bad: Level) -> list[Finding]:
    name = f"packages-{part.extra}" if part.extra else "packages"
    findings = []
    missing = [one.distribution for one in packages if one.missing]
    if missing:
        level: Level = bad if bad == "error" or part.extra in ("verify", "text") else "note"
        command = f"pip install 'langdu[{part.extra}]'" if part.extra else f"pip install {' '.join(missing)}"
        what = f"{', '.join(missing)} {_is(missing)} not installed"
        findings.append(Finding(level, name, what, f"for {part.purpose}", command))
    here = [one for one in packages if not one.missing]
    findings += [_broken(one, name, bad) for one in here if one.error or one.wanted]
    right = [one for one in here if not one.error and not one.wanted]
    findings += _shadows([one for one in right if one.installed], name)
    good = [one for one in right if not one.installed]
    if good:
        folders = sorted({str(Path(one.path).parent) for one in good})
        findings.append(Finding("ok", name, _listed(good), f"{part.purpose}; from {', '.join(folders)}"))
    return findings


def _broken(one: Package, name: str, bad: Level) -> Finding:
    """A package that cannot be imported, or of a version that Langdu does not work with."""
    what = f"{one.distribution} {one.version or 'of an unknown version'} is imported from {one.path}"
    reason = f"it cannot be imported: {one.error}" if one.error else f"Langdu needs {one.distribution} {one.wanted}"
    if one.put_first_by:
        reason += f"; {one.put_first_by} puts it first"
        reason += f", before the installed {one.installed}" if one.installed else ""
    again = f"pip install --force-reinstall '{one.distribution}{one.wanted}'"
    return Finding(bad, name, what, reason, _WAY_OUT.get(one.put_first_by, again))


def _shadows(packages: list[Package], name: str) -> list[Finding]:
    """Right copies that stand before installed ones: one finding for each place they come from."""
    places: dict[tuple[str, Path], list[Package]] = {}
    for one in packages:
        places.setdefault((one.put_first_by, Path(one.path).parent), []).append(one)
    found = []
    for (by, folder), here in places.items():
        what = f"{_listed(here)} {_is(here)} imported from {folder}"
        reason = f"{by} comes first; the installed copies are {', '.join(one.installed for one in here)}"
        found.append(Finding("warning", name, what, reason, _WAY_OUT[by]))
    return found


_WAY_OUT = {"PYTHONPATH": "unset PYTHONPATH", "the current folder": "cd ~"}


def _listed(packages: list[Package]) -> str:
    return ", ".join(f"{one.distribution} {one.version}".strip() for one in packages)


def _is(several: Sized) -> str:
    return "is" if len(several) == 1 else "are"
