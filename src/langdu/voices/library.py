"""The user's personas: `personas.json` and a folder of clips beside it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from langdu.errors import VoiceError
from langdu.voices.builtin import BUILTIN, unknown
from langdu.voices.entries import VERSION, Entry, Problem, Scan, cut, insert, scan
from langdu.voices.names import fault, fold
from langdu.voices.persona import PERSONA, ClonePersona, Persona

MAX_BYTES = 16 * 1024 * 1024
CLIPS = "clips"


class Library:
    """Read at once; each change is written at once. A missing file is an empty library.

    Damage is listed in `problems` (line, name, reason); the good entries are usable all the same. Raises
    VoiceError for a file of a newer version or one that cannot be read at all.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        from langdu.settings import settings

        self.path = (settings().voices_dir / "personas.json" if path is None else Path(path)).absolute()
        self.problems: list[Problem] = []
        self._personas: dict[str, Persona] = {}
        self._load()

    @property
    def clips_dir(self) -> Path:
        return self.path.parent / CLIPS

    def names(self) -> list[str]:
        return list(self._personas)

    def personas(self) -> list[Persona]:
        return list(self._personas.values())

    def get(self, name: str) -> Persona:
        """As `find`, for speaking: VoiceError also for a clone whose clip is gone or is another one by now."""
        persona = self.find(name)
        if isinstance(persona, ClonePersona):
            if not persona.clip.is_file():
                raise VoiceError(f'The clip of "{name}" is gone: {persona.clip}.', hint="Put it back, or add it again.")
            if persona.clip_sha256 and sha256_of(persona.clip) != persona.clip_sha256:
                hint = "Add it again, so that the clip is checked and its transcript compared."
                raise VoiceError(f'The clip of "{name}" is not the one that was checked: {persona.clip}.', hint=hint)
        return persona

    def find(self, name: str) -> Persona:
        """The persona of that name, else the built-in voice of that name. VoiceError lists near names."""
        if name in self._personas:
            return self._personas[name]
        wanted = fold(name)
        for known, persona in self._personas.items():
            if fold(known) == wanted:
                return persona
        for problem in self.problems:
            if problem.name and fold(problem.name) == wanted:
                raise VoiceError(f'The persona "{name}" is damaged: {self.path}, {problem}.', hint="Mend that line.")
        if name in BUILTIN:
            return BUILTIN[name].persona()
        raise unknown(name, [*self._personas, *BUILTIN])

    def add(self, persona: Persona) -> None:
        """Write a new persona. VoiceError when the name is taken or cannot be used."""
        with self._locked():
            self.check_new(persona.name)
            text, found = self._writable()
            self._write(insert(text, found, f"{_key(persona.name)}: {self._dump(persona)}"))

    def remove(self, name: str) -> Persona:
        """Take a persona out. Its clip file stays unless no other persona uses it."""
        with self._locked():
            persona = self._own(name)
            text, found = self._writable()
            self._write(cut(text, next(entry for entry in found.entries if entry.name == persona.name)))
        if isinstance(persona, ClonePersona) and persona.clip.parent == self.clips_dir:
            users = [p for p in self._personas.values() if isinstance(p, ClonePersona) and p.clip == persona.clip]
            if not users:
                persona.clip.unlink(missing_ok=True)
        return persona

    def rename(self, old: str, new: str) -> None:
        with self._locked():
            persona = self._own(old)
            if fold(old) != fold(new):
                self.check_new(new)
            elif wrong := fault(new):
                raise VoiceError(f'"{new}" cannot be a persona: {wrong}.')
            self._replace(persona.name, persona.model_copy(update={"name": new}))

    def update(self, persona: Persona) -> None:
        """Put `persona` in place of the one of the same name."""
        with self._locked():
            self._replace(self._own(persona.name).name, persona)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time changes the file; what others wrote before is read first."""
        import fcntl

        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (self.path.parent / f".{self.path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._load()
            yield

    def _replace(self, old: str, persona: Persona) -> None:
        text, found = self._writable()
        entry = next(entry for entry in found.entries if entry.name == old)
        self._write(text[: entry.start] + f"{_key(persona.name)}: {self._dump(persona)}" + text[entry.end :])

    def _own(self, name: str) -> Persona:
        persona = self.find(name)
        if persona.name not in self._personas:
            raise VoiceError(f'"{name}" is a built-in voice; it cannot be changed.')
        return persona

    def check_new(self, name: str) -> None:
        """VoiceError when a new persona cannot have that name."""
        wrong = fault(name)
        if wrong:
            raise VoiceError(f'"{name}" cannot be a persona: {wrong}.')
        taken = {fold(known): known for known in (*self._personas, *(p.name for p in self.problems if p.name))}
        if fold(name) in taken:
            raise VoiceError(
                f'There is a persona "{taken[fold(name)]}" already.', hint="Remove it or take another name."
            )
        if fold(name) in BUILTIN:
            raise VoiceError(f'"{name}" is the name of a built-in voice.', hint="Take another name.")

    def _load(self) -> None:
        self.problems, self._personas = [], {}
        if not self.path.exists():
            return
        found = scan(self._text())
        if found.version > VERSION:
            hint = "Update Langdu, or restore personas.json.bak."
            raise VoiceError(f"{self.path} is of version {found.version}; this Langdu knows {VERSION}.", hint=hint)
        self.problems.extend(found.problems)
        seen: dict[str, str] = {}
        for entry in found.entries:
            reason = fault(entry.name)
            if not reason and fold(entry.name) in seen:
                reason = f'the name is the same as "{seen[fold(entry.name)]}"'
            if not reason:
                seen[fold(entry.name)] = entry.name
                reason = self._take(entry)
            if reason:
                self.problems.append(Problem(entry.line, entry.name, reason))
        self.problems.sort(key=lambda problem: problem.line)

    def _take(self, entry: Entry) -> str:
        value = {key: item for key, item in entry.value.items() if not key.startswith("//")}
        if value.setdefault("name", entry.name) != entry.name:
            return f'its name field says "{value["name"]}"'
        try:
            persona = PERSONA.validate_python(value)
        except ValidationError as error:
            return "; ".join(_reason(dict(item)) for item in error.errors())
        if isinstance(persona, ClonePersona):
            clip = persona.clip if persona.clip.is_absolute() else self.path.parent / persona.clip
            persona = persona.model_copy(update={"clip": clip})
        self._personas[entry.name] = persona
        return ""

    def _text(self) -> str:
        try:
            if self.path.stat().st_size > MAX_BYTES:
                raise VoiceError(f"{self.path} is larger than {MAX_BYTES // 2**20} MB.", hint="Is it a persona file?")
            return self.path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise VoiceError(f"{self.path} cannot be read ({error.strerror}).") from None
        except UnicodeDecodeError as error:
            raise VoiceError(f"{self.path} is not UTF-8 (byte {error.start}).", hint="Save it as UTF-8.") from None

    def _writable(self) -> tuple[str, Scan]:
        """The text to change and where things are. A file of version 0 is brought to the current version."""
        empty = f'{{\n "version": {VERSION},\n "personas": {{\n }}\n}}\n'
        text = self._text() if self.path.exists() else empty
        found = scan(text)
        if found.version == 0 and not self.problems:
            rows = ",\n".join(f"  {_key(p.name)}: {self._dump(p)}" for p in self._personas.values())
            text = f'{{\n "version": {VERSION},\n "personas": {{\n{rows}\n }}\n}}\n'
            found = scan(text)
        if found.close is None or found.version == 0:
            first = self.problems[0] if self.problems else Problem(1, "", "no personas")
            raise VoiceError(f"{self.path} is damaged and was left as it is: {first}.", hint="Mend it by hand first.")
        return text, found

    def _dump(self, persona: Persona) -> str:
        value: dict[str, Any] = persona.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
        value = {"kind": persona.kind, **value}
        if isinstance(persona, ClonePersona) and persona.clip.is_relative_to(self.path.parent):
            value["clip"] = persona.clip.relative_to(self.path.parent).as_posix()
        return json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\n  ")

    def _write(self, text: str) -> None:
        """Check the new text, keep the old file as personas.json.bak, then put the new one in place."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            shutil.copy2(self.path, self.path.with_name(self.path.name + ".bak"))
        write_atomic(self.path, text.encode())
        self._load()


def write_atomic(path: Path, data: bytes, *, shared: bool = False) -> None:
    """Write a file so that a reader, or a crash, sees the old or the new one and nothing between.

    For the user alone to read, or `shared`: for whom the user's other files are.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            if shared:
                mask = os.umask(0)
                os.umask(mask)
                Path(name).chmod(0o666 & ~mask)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def schema() -> dict[str, Any]:
    """JSON Schema of personas.json, for editors."""
    one = PERSONA.json_schema(ref_template="#/$defs/{model}")
    definitions = one.pop("$defs")
    for definition in definitions.values():
        definition["required"] = [name for name in definition.get("required", []) if name != "name"] + ["kind"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Langdu personas",
        "type": "object",
        "properties": {
            "version": {"const": VERSION},
            "personas": {"type": "object", "additionalProperties": one},
        },
        "required": ["version", "personas"],
        "$defs": definitions,
    }


def _reason(error: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"][1:] or error["loc"])
    if error["type"] == "extra_forbidden":
        return f'unknown field "{place}"'
    if error["type"].startswith("union_tag"):
        given = error["ctx"].get("tag")
        said = f'kind "{given}" is unknown' if given else 'the field "kind" is missing'
        return f"{said} (builtin, clone, design or speaker)"
    return f"{place}: {error['msg']}" if place else str(error["msg"])


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
