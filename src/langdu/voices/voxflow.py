"""Personas of voxflow: {key: {name, ref, ref_text, design, instruction, desc, …}}.

`ref` is a clip and `design` a JSON recipe, both relative to the folder above `configs/`; `ref_text` is the
clip's transcript. A persona with a clip is a clone there, and its instruction has no effect.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langdu.errors import VoiceError
from langdu.quality.transcript import Checker
from langdu.voices.adding import add_clone
from langdu.voices.library import MAX_BYTES, Library
from langdu.voices.persona import DesignPersona
from langdu.voices.reference import intake


@dataclass(frozen=True, slots=True)
class Imported:
    name: str
    kind: str
    """"clone", "design", or "" where it was refused."""
    note: str


def load(source: Path, library: Library, *, consent: str, checker: Checker | None) -> list[Imported]:
    """Bring every entry over; one that cannot be is listed with its reason, and the others go on."""
    from langdu.errors import LangduError

    found = []
    for key, value in entries(source).items():
        try:
            found.append(_one(key, value, source.absolute().parent.parent, library, consent, checker))
        except LangduError as error:
            found.append(Imported(key, "", str(error)))
        except ValueError as error:
            found.append(Imported(key, "", str(error).splitlines()[0]))
    return found


def entries(source: Path) -> dict[str, Any]:
    try:
        if source.stat().st_size > MAX_BYTES:
            raise VoiceError(f"{source} is too large for a persona file.")
        value = json.loads(source.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise VoiceError(f"{source} is not there.") from None
    except (OSError, ValueError) as error:
        raise VoiceError(f"{source} cannot be read as JSON ({error}).") from None
    if not isinstance(value, dict):
        raise VoiceError(f"{source} holds no personas (an object was expected).")
    return value


def _one(
    key: str, value: Any, root: Path, library: Library, consent: str, checker: Checker | None
) -> Imported:  # fmt: skip
    if isinstance(value, str):
        raise VoiceError(f'"{key}" is a display name alone: there is neither clip nor description.')
    if not isinstance(value, dict):
        raise VoiceError(f'"{key}" is no object.')
    words = {
        name: str(value.get(name) or "").strip()
        for name in ("name", "ref", "ref_text", "design", "instruction", "desc")
    }
    if words["ref"]:
        clip = _inside(root, words["ref"])
        if not consent:
            raise VoiceError("A clone needs the speaker's consent.", hint="Give --yes-i-have-consent if you have it.")
        taken = intake(clip, text=words["ref_text"] or None, checker=checker)
        add_clone(library, key, taken, consent=consent, note=words["name"])
        ignored = "its instruction has no effect on a clone and was left out" if words["instruction"] else ""
        return Imported(key, "clone", "; ".join(filter(None, (*taken.warnings, ignored))))
    description = words["instruction"] or words["desc"]
    if words["design"]:
        recipe = entries(_inside(root, words["design"]))
        told = [str(recipe.get(name) or "").strip() for name in ("tone", "emotion", "instruct")]
        description = "；".join(part.strip("。；") for part in told if part) or description
    if not description:
        raise VoiceError(f'"{key}" has neither a clip nor a description.')
    library.add(DesignPersona(name=key, description=description, note=words["name"]))
    return Imported(key, "design", "")


def _inside(root: Path, relative: str) -> Path:
    path = (root / relative).resolve()
    if not path.is_relative_to(root.resolve()):
        raise VoiceError(f"{relative} leads out of {root}.", hint="Add that clip with langdu voices add.")
    return path
