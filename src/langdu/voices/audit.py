"""What each persona really uses, what has no effect, and what is missing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from langdu.engines import accepts
from langdu.errors import InputError
from langdu.quality.transcript import Checker
from langdu.voices.builtin import BUILTIN
from langdu.voices.library import Library, sha256_of
from langdu.voices.persona import BuiltinPersona, ClonePersona, Persona, SpeakerPersona
from langdu.voices.runnable import Model, engine_of, model_of

CAPABILITIES = ("clip", "transcript", "description", "instruction", "speaker", "language", "lexicon")
LANGUAGES = ("zh", "en", "ja")
"""What the text front end reads."""


@dataclass(slots=True)
class Row:
    name: str
    kind: str
    engine: str
    model: str
    uses: dict[str, str] = field(default_factory=lambda: dict.fromkeys(CAPABILITIES, ""))
    """Capability: used, ignored, missing, unconfirmed or "" (does not apply)."""
    settings_used: list[str] = field(default_factory=list)
    settings_ignored: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    cannot_run: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def audit(library: Library, checker: Checker | None = None) -> list[Row]:
    """A row for each persona of the library; the file's own problems are in `library.problems`.

    With a checker every clip is listened to, and its transcript compared with what is heard.
    """
    models = functools.lru_cache(maxsize=None)(model_of)  # each model is looked at once, and anew at every audit
    return [_row(persona, checker, models) for persona in library.personas()]


def _row(persona: Persona, checker: Checker | None, models: Callable[[str, str], Model]) -> Row:
    row = Row(persona.name, persona.kind, *engine_of(persona))
    model = models(row.engine, row.model)
    row.cannot_run = model.problem
    if persona.kind == "builtin":
        _builtin(persona, row)
    elif persona.kind == "clone":
        _clone(persona, row, checker)
    elif persona.kind == "design":
        row.uses["description"] = "used"
    else:
        _speaker(persona, row, model)
    if persona.kind != "builtin":
        _variant(row, model)
    _language(persona, row, model)
    _lexicon(persona, row)
    _settings(persona, row)
    return row


def _builtin(persona: BuiltinPersona, row: Row) -> None:
    row.uses["speaker"] = "used" if persona.voice in BUILTIN else "missing"
    if persona.voice not in BUILTIN:
        row.wrong.append(f'there is no built-in voice "{persona.voice}"')


def _clone(persona: ClonePersona, row: Row, checker: Checker | None) -> None:
    row.uses["clip"] = "used" if persona.clip.is_file() else "missing"
    if not persona.clip.is_file():
        row.wrong.append(f"the clip is gone: {persona.clip}")
    elif persona.clip_sha256 and sha256_of(persona.clip) != persona.clip_sha256:
        row.wrong.append(f"the clip has changed since it was checked: {persona.clip}")
    else:
        _listen(persona, row, checker)
    row.uses["transcript"] = "used" if persona.transcript_by == "person" else "unconfirmed"
    if persona.x_vector_only:
        row.uses["transcript"] = "ignored"
    elif persona.transcript_by == "asr":
        row.remarks.append("nobody has confirmed the transcript yet")
    if not persona.consent:
        row.wrong.append("there is no consent on file")


def _listen(persona: ClonePersona, row: Row, checker: Checker | None) -> None:
    from langdu.audio.read import read
    from langdu.text.language import language_of
    from langdu.voices.reference import LONGEST_S, REFUSE_UNDER_S, TAIL_S, match

    try:
        sound, rate_hz = read(persona.clip)
        seconds = len(sound) / rate_hz
        if not REFUSE_UNDER_S <= seconds <= LONGEST_S + 2 * TAIL_S:
            row.wrong.append(f"the clip has {seconds:.1f} s; {REFUSE_UNDER_S:.0f} to {LONGEST_S:.0f} s can be used")
        elif checker is not None:
            language = persona.language or language_of(persona.transcript)
            match(persona.transcript, checker.hear(sound, rate_hz, language).text, language, persona.clip)
    except InputError as error:
        row.wrong.append(error.message.strip())


def _speaker(persona: SpeakerPersona, row: Row, model: Model) -> None:
    known = not model.speakers or persona.speaker.strip().lower() in model.speakers
    row.uses["speaker"] = "used" if known else "missing"
    if not known:
        row.wrong.append(f'{row.model} has no speaker "{persona.speaker}"; it has {", ".join(sorted(model.speakers))}')
    row.uses["instruction"] = "used" if persona.instruct else ""
    if persona.instruct and (model.size == "0b6" or "0.6b" in row.model.casefold()):
        row.uses["instruction"] = "ignored"
        row.wrong.append("the 0.6B CustomVoice checkpoint takes no instruction")


def _variant(row: Row, model: Model) -> None:
    """Whether the checkpoint is of the kind this persona needs: by its files, else by its name."""
    from langdu.engines.qwen3.voice import NEEDS

    named = [kind for kind in NEEDS.values() if kind.replace("_", "") in row.model.casefold().split("-")]
    found = model.kind or (named[0] if named else NEEDS[row.kind])
    if found != NEEDS[row.kind]:
        row.wrong.append(f"a {row.kind} needs a {NEEDS[row.kind]} checkpoint, and {row.model} is {found}")


def _language(persona: Persona, row: Row, model: Model) -> None:
    """A persona's language is that of sentences which do not show their own (digits, names)."""
    if not persona.language:
        return
    row.uses["language"] = "used" if persona.language in LANGUAGES else "ignored"
    if persona.language not in LANGUAGES:
        row.wrong.append(f'texts are not read in "{persona.language}", only in {", ".join(LANGUAGES)}')
    elif model.languages:
        from langdu.engines.qwen3.languages import NAMES

        if NAMES[persona.language] not in model.languages:
            row.wrong.append(f'{row.model} does not speak "{persona.language}"')


def _lexicon(persona: Persona, row: Row) -> None:
    pinyin = [word for word, said in persona.lexicon.items() if said.startswith("[[")]
    row.uses["lexicon"] = "used" if persona.lexicon else ""
    if pinyin and not accepts(row.engine).pinyin:
        row.uses["lexicon"] = "used" if len(pinyin) < len(persona.lexicon) else "ignored"
        row.remarks.append(f"{row.engine} takes no pinyin; it reads as it likes: {', '.join(pinyin)}")


def _settings(persona: Persona, row: Row) -> None:
    taken = accepts(row.engine).settings
    row.settings_used = sorted(set(persona.settings) & set(taken))
    row.settings_ignored = sorted(set(persona.settings) - set(taken))
    if row.settings_ignored:
        row.wrong.append(f"{row.engine} does not know the settings {', '.join(row.settings_ignored)}")
    for name in row.settings_used:
        low, high = taken[name]
        if not low <= persona.settings[name] <= high:
            row.wrong.append(f"{name} of {persona.settings[name]:g} is outside {low:g} to {high:g}")
