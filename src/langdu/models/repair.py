"""Mend a Qwen3-TTS folder: what the weights themselves tell, and what the original folder still has.

Nothing is lost: a file that is replaced moves to a backup folder beside the model (beside, because files
inside would count as the model's). The weights of the model proper are never replaced: the original's are of
another precision, and passing them off as these would be a substitution.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langdu.errors import CapacityError, ModelError
from langdu.models import check_qwen3
from langdu.models.check import Finding, check
from langdu.models.quantization import infer
from langdu.models.store import MANIFEST, Facts, read_manifest, write_manifest


@dataclass(slots=True)
class Repair:
    """What was done. `left`: what the check after it still finds."""

    folder: Path
    mended: list[str] = field(default_factory=list)
    backup: Path | None = None
    left: list[Finding] = field(default_factory=list)

    def put(self, name: str, write: Callable[[Path], object], what: str) -> None:
        """Write the file `name` anew and move what was there to the backup."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.new")
        try:
            write(new)
            if target.exists():
                self.backup = self.backup or _free_name(self.folder)
                _keep(target, self.backup / name)
            new.replace(target)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise CapacityError(
                f"{target} cannot be written ({error.strerror or error}).", hint="Free some space, or check its owner."
            ) from None
        self.mended.append(f"{name}: {what}")


def repair(folder: Path, original: Path | None = None) -> Repair:
    """Mend what can be mended in `folder`, with files of `original` where that is given, and check again.

    `original`: the folder `folder` was converted from, or any whole folder of the same variant and size.
    Raises ModelError when `folder` is no Qwen3-TTS model or `original` does not belong to it.
    """
    found = check(folder, hashes=False)
    if not check_qwen3.looks_like(folder):
        raise ModelError(
            f"{folder} is not a Qwen3-TTS folder; only those are repaired.",
            hint="Run: langdu models remove NAME && langdu models get NAME",
        )
    done = Repair(folder)
    if original is not None:
        if not original.is_dir() or original.resolve() == folder.resolve():
            raise ModelError(f"{original} is not another model folder.", hint="Name the folder of the original model.")
        _from_original(done, found, original)
    _quantization_block(done)
    if done.mended:
        _renew_manifest(folder, done)
    done.left = check(folder)
    return done


def _from_original(done: Repair, found: list[Finding], original: Path) -> None:
    files = list(dict.fromkeys(finding.file for finding in found if finding.mend == "original"))
    codec = f"{check_qwen3.CODEC}/"
    if any(file.startswith(codec) for file in files):  # its configuration and weights belong together
        files = [file for file in files if not file.startswith(codec)]
        inside = sorted((original / codec).iterdir()) if (original / codec).is_dir() else []
        files += [f"{codec}{path.name}" for path in inside if path.is_file() and not path.name.startswith(".")] or [
            codec
        ]
    for file in files:  # before anything is written
        _whole(original, codec if file.startswith(codec) else file)
    if "config.json" in files:
        config = _matching_config(done.folder, original)
        done.put("config.json", lambda path: _write_json(path, config), "brought from the original")
    for file in files:
        if file != "config.json":
            _copy(done, original, file)


def _keep(file: Path, kept: Path) -> None:
    """Put `file` into the backup too (no bytes are copied where the disk can link); the first version wins."""
    if kept.exists():
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, kept, follow_symlinks=True)
    except OSError:
        shutil.copy2(file, kept)


def _copy(done: Repair, original: Path, name: str) -> None:
    """Bring one file, unless it is already the same."""
    source, target = original / name, done.folder / name
    same = target.is_file() and target.stat().st_size == source.stat().st_size
    if not (same and target.read_bytes() == source.read_bytes()):
        done.put(name, lambda path: shutil.copyfile(source, path), "brought from the original")


def _whole(original: Path, file: str) -> None:
    """ModelError when `file` (or a file below the folder `file`) is missing or damaged in the original too."""
    faults = [one for one in check_qwen3.check(original) if one.file == file or one.file.startswith(f"{file}")]
    if faults or not (original / file).exists():
        reason = str(faults[0]) if faults else f"{file}: is missing"
        raise ModelError(f"The original folder {original} cannot help: {reason}.", hint="Name a whole original folder.")


def _matching_config(folder: Path, original: Path) -> dict[str, Any]:
    """The original's configuration, once it is sure that it describes the weights in `folder`."""
    _whole(original, "config.json")
    config = check_qwen3.read_json(original / "config.json")
    config.pop("quantization", None)
    config.pop("quantization_config", None)
    tensors, faults = check_qwen3.weights(folder)
    differs = faults or list(check_qwen3.against_weights(config, tensors))
    if differs:
        raise ModelError(
            f"The original folder {original} is of another model: {differs[0]}.",
            hint="Take the original of the same size and variant.",
        )
    return config


def _quantization_block(done: Repair) -> None:
    """Make config.json's quantization what the shapes of the scales say."""
    tensors, faults = check_qwen3.weights(done.folder)
    if faults:
        return  # the check after this names them
    try:
        config = check_qwen3.read_json(done.folder / "config.json")
        found = infer(tensors)
    except ModelError:
        return
    old = check_qwen3.quantization(config)
    if (found is None and old is None) or (found and old and check_qwen3.agrees(old, found)):
        return
    for key in ("quantization", "quantization_config"):
        config.pop(key, None)
        if found:
            config[key] = found.block()
    what = f"quantization set to {found.bits} bit, groups of {found.group_size}" if found else "quantization removed"
    done.put("config.json", lambda path: _write_json(path, config), what)


def _renew_manifest(folder: Path, done: Repair) -> None:
    """Files that were mended count as the model's own from now on."""
    from langdu.models.catalog import ModelFile
    from langdu.models.files import sha256

    if not (folder / MANIFEST).is_file():
        return
    try:
        manifest = read_manifest(folder)
    except ModelError:
        return
    files = dict(manifest.files)
    for name in {line.partition(": ")[0] for line in done.mended}:
        files[name] = Facts((folder / name).stat().st_size, sha256(folder / name))
    listed = [ModelFile(name, facts.size, facts.sha256) for name, facts in files.items()]
    source = manifest.source if manifest.source.endswith(" (repaired)") else f"{manifest.source} (repaired)"
    write_manifest(folder, manifest.name, manifest.licence, source, listed)


def _free_name(folder: Path) -> Path:
    for number in range(1, 1000):
        path = folder.with_name(f"{folder.name}.backup-{number}")
        if not path.exists():
            return path
    raise CapacityError(f"{folder.parent} holds 999 backups of {folder.name}.", hint="Delete those you do not need.")


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
