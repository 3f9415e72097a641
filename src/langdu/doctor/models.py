"""Model folders: each one checked as `langdu models check` does, and what unfinished downloads left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from langdu.doctor.finding import Finding, Level, gigabytes
from langdu.models.check import Finding as Fault


@dataclass(frozen=True, slots=True)
class Checked:
    name: str
    """Catalogue name, or a folder that a persona names."""
    path: str
    size: int
    faults: tuple[Fault, ...]


def look(extra: Iterable[str], *, hashes: bool, step: Callable[[str], None]) -> list[Checked]:
    """Every model of the store, and the folders among `extra` (models that personas name)."""
    from langdu.errors import ModelError
    from langdu.models.catalog import CATALOG
    from langdu.models.check import check
    from langdu.models.store import installed

    found = []
    folders = {model.entry.name: (model.path, model.size) for model in installed()}
    for name in extra:
        folder = Path(name).expanduser()
        if name not in CATALOG and folder.is_dir():
            folders[name] = (folder, weights_bytes(folder))
    for name, (path, size) in folders.items():
        step(f"model {name}")
        try:
            faults = tuple(check(path, hashes=hashes))
        except ModelError as error:
            faults = (Fault("unknown", f"{path.name}/", error.message, "fetch"),)
        found.append(Checked(name, str(path), size, faults))
    return found


def weights_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.safetensors"))


def partials(models_dir: Path) -> list[tuple[str, int]]:
    """Models whose download broke off: name and bytes that have come."""
    from langdu.models.catalog import CATALOG

    found = []
    for folder in sorted(models_dir.glob(".*.partial")):
        name = folder.name[1:].removesuffix(".partial")
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if name in CATALOG and size:
            found.append((name, size))
    return found


def judge(
    found: Iterable[Checked], broken_off: Iterable[tuple[str, int]], *, needed: Iterable[str], wanted: Iterable[str]
) -> list[Finding]:
    """`needed`: models without which the default voice cannot speak; `wanted`: those that personas or checking use."""
    from langdu.models.catalog import CATALOG

    found, needed = list(found), list(needed)
    findings = []
    here = {one.name for one in found}
    for name in dict.fromkeys([*needed, *wanted]):
        if name not in here:
            level: Level = "error" if name in needed else "warning"
            large = f", {gigabytes(CATALOG[name].size)}" if name in CATALOG else ""
            what = f"{name} is not on this machine"
            purpose = "the default voice needs it" if name in needed else "listening to takes needs it"
            command = f"langdu models get {name}" if name in CATALOG else "langdu models list"
            findings.append(Finding(level, "models", what, purpose + large, command))
    for one in found:
        findings += _faults(one)
    for name, size in broken_off:
        if name not in here:
            reason = f"{gigabytes(size)} have come; it goes on from there"
            findings.append(
                Finding("note", "models", f"The download of {name} broke off", reason, f"langdu models get {name}")
            )
    return findings


def _faults(one: Checked) -> list[Finding]:
    if not one.faults:
        return [Finding("ok", "models", f"{one.name} is whole, {gigabytes(one.size)}", one.path)]
    kinds = {fault.mend for fault in one.faults}
    # What "fetch" mends is the bytes themselves: fetching anew mends the rest with it.
    mend = "fetch" if "fetch" in kinds else "original" if "original" in kinds else "repair"
    command = {
        "fetch": f"langdu models remove {one.name} && langdu models get {one.name}",
        "original": f"langdu models repair {one.name} --from {_original(one.name)}",
        "repair": f"langdu models repair {one.name}",
    }[mend]
    listed = "; ".join(str(fault) for fault in one.faults[:3])
    more = f"; and {len(one.faults) - 3} more" if len(one.faults) > 3 else ""
    return [Finding("error", "models", f"{one.name} is not whole", f"{listed}{more}", command)]


def _original(name: str) -> str:
    """The official model a Qwen3-TTS conversion was made from."""
    parts = name.split("-")
    return "-".join([*parts[:3], "official"]) if name.startswith("qwen3-") and len(parts) == 4 else "ORIGINAL"
