"""One persona in a zip: `manifest.json` (the persona, its consent, SHA-256 of the clip) and `clip.wav`."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from langdu.errors import OutputError, VoiceError
from langdu.voices.library import Library, write_atomic
from langdu.voices.persona import PERSONA, ClonePersona, Persona

FORMAT, VERSION = "langdu-voice", 1
MANIFEST, CLIP = "manifest.json", "clip.wav"
LIMITS = {MANIFEST: 256 * 1024, CLIP: 32 * 1024 * 1024}
"""Bytes after unpacking. A processed clip of 20 s has 1 MB."""
STAMP = (1980, 1, 1, 0, 0, 0)


def store_clip(library: Library, data: bytes) -> tuple[Path, str]:
    """Keep a clip under the hash of its bytes; names given by people never become paths. (path, SHA-256)"""
    digest = hashlib.sha256(data).hexdigest()
    library.clips_dir.mkdir(parents=True, exist_ok=True)
    path = library.clips_dir / f"{digest[:32]}.wav"
    if not path.exists():
        write_atomic(path, data)
    return path, digest


def export(persona: Persona, target: Path, *, force: bool = False) -> None:
    """Write the zip. OutputError when the target exists (without `force`), VoiceError when the clip is gone."""
    if target.exists() and not force:
        raise OutputError(f"{target} exists already.", hint="Give --force to replace it.")
    if not target.parent.is_dir():
        raise OutputError(f"The folder {target.parent} is not there.")
    value: dict[str, Any] = persona.model_dump(mode="json", exclude_defaults=True) | {"kind": persona.kind}
    manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "persona": value}
    files: dict[str, bytes] = {}
    if isinstance(persona, ClonePersona):
        if not persona.clip.is_file():
            raise VoiceError(f'The clip of "{persona.name}" is gone: {persona.clip}.')
        files[CLIP] = persona.clip.read_bytes()
        value["clip"] = CLIP
        manifest["sha256"] = {CLIP: hashlib.sha256(files[CLIP]).hexdigest()}
    files = {MANIFEST: json.dumps(manifest, ensure_ascii=False, indent=1).encode(), **files}
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), data, zipfile.ZIP_DEFLATED)
    write_atomic(target, memory.getvalue())


def load(source: Path, library: Library, *, name: str | None = None) -> Persona:
    """Add the persona of a zip to the library, under its own name or `name`. VoiceError says what is wrong."""
    files = _files(source)
    try:
        manifest = json.loads(files[MANIFEST])
        if manifest["format"] != FORMAT or manifest["version"] != VERSION:
            raise VoiceError(f"{source} is a voice of another format or version.")
        persona = PERSONA.validate_python(manifest["persona"] | ({"name": name} if name else {}))
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise VoiceError(f"{source} has a manifest that cannot be used ({first}).") from None
    library.check_new(persona.name)
    if isinstance(persona, ClonePersona):
        if CLIP not in files:
            raise VoiceError(f"{source} holds no {CLIP}.")
        announced = manifest.get("sha256", {}).get(CLIP)
        if hashlib.sha256(files[CLIP]).hexdigest() != announced:
            raise VoiceError(f"{source}: {CLIP} is not what the manifest announces (SHA-256).", hint="Export it anew.")
        _check_wav(source, files[CLIP])
        path, digest = store_clip(library, files[CLIP])
        persona = persona.model_copy(update={"clip": path, "clip_sha256": digest})
    library.add(persona)
    return persona


def _files(source: Path) -> dict[str, bytes]:
    """The members this format knows, by their exact names; any other member is a reason to refuse."""
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            strange = [name for name in names if name not in LIMITS]
            if strange or len(set(names)) != len(names) or MANIFEST not in names:
                raise VoiceError(f"{source} is not a voice: it holds {', '.join(map(repr, strange or names))[:200]}.")
            found = {}
            for member in members:
                limit = LIMITS[member.filename]
                with archive.open(member) as file:
                    data = file.read(limit + 1)
                if len(data) > limit:
                    raise VoiceError(f"{source}: {member.filename} is larger than {limit // 1024} KB.")
                found[member.filename] = data
            return found
    except FileNotFoundError:
        raise VoiceError(f"{source} is not there.") from None
    except (OSError, zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise VoiceError(f"{source} is not a whole zip file ({error}).") from None


def _check_wav(source: Path, data: bytes) -> None:
    import soundfile

    try:
        facts = soundfile.info(io.BytesIO(data))
    except soundfile.LibsndfileError:
        raise VoiceError(f"{source}: {CLIP} is not a sound file.") from None
    if facts.samplerate != 24_000 or facts.channels != 1:
        raise VoiceError(f"{source}: {CLIP} is not 24 kHz mono.")
