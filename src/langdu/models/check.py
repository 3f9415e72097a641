"""Everything wrong with a model folder, named before anything is loaded.

Reads configurations, headers and (where the store's manifest lists them) hashes; needs no MLX. Each finding
says what mends it: `repair` can do it alone, `original` needs the folder the model was made from, `fetch`
means the bytes themselves are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from langdu.errors import ModelError
from langdu.models.store import MANIFEST, Report, read_manifest

Mend = Literal["repair", "original", "fetch"]


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    """Stable, kebab-case."""
    file: str
    """Relative to the folder; a trailing slash marks a folder."""
    message: str
    mend: Mend

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


def check(folder: Path, *, hashes: bool = True, report: Report | None = None) -> list[Finding]:
    """What is wrong with the model in `folder`; an empty list when nothing is.

    `hashes` compares every file with the manifest's SHA-256, where there is a manifest. Raises ModelError
    when `folder` is not a folder or holds no model this product knows.
    """
    from langdu.models import check_qwen3

    if not folder.is_dir():
        raise ModelError(f"{folder} is not a folder.", hint="Name a model folder, or a model: langdu models list")
    managed = (folder / MANIFEST).is_file()
    qwen3 = check_qwen3.looks_like(folder)
    findings = check_qwen3.check(folder) if qwen3 else []
    if managed:
        said = {finding.file for finding in findings}
        within = tuple(file for file in said if file.endswith("/"))
        listed = _against_manifest(folder, hashes, report)
        findings += [one for one in listed if one.file not in said and not one.file.startswith(within)]
    elif not qwen3:
        raise ModelError(
            f"{folder} holds no model Langdu knows.", hint="A Qwen3-TTS folder has config.json and *.safetensors."
        )
    return findings


def _against_manifest(folder: Path, hashes: bool, report: Report | None) -> list[Finding]:
    from langdu.models.files import sha256
    from langdu.models.store import Progress

    try:
        manifest = read_manifest(folder)
    except ModelError as error:
        return [Finding("manifest-damaged", MANIFEST, error.message, "fetch")]
    findings: list[Finding] = []
    tell: Callable[[Progress], None] = report or (lambda progress: None)
    for done, (name, facts) in enumerate(manifest.files.items()):
        tell(Progress("hashes", done, len(manifest.files)))
        path = folder / name
        if not path.is_file():
            findings.append(Finding("file-missing", name, "is missing", "fetch"))
        elif (size := path.stat().st_size) != facts.size:
            findings.append(Finding("file-damaged", name, f"has {size} bytes, not {facts.size}", "fetch"))
        elif hashes and facts.sha256 and sha256(path) != facts.sha256:
            findings.append(Finding("file-changed", name, "is not what was fetched: its SHA-256 differs", "fetch"))
    return findings
