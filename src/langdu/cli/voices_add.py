"""langdu voices add: one of four ways to a persona."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from langdu.quality.transcript import Checker
    from langdu.voices.library import Library
    from langdu.voices.reference import Intake


@click.command("add")
@click.argument("name")
@click.option("--clone", "clip", help="A clip of 3 to 20 s of one speaker.")
@click.option("--text", help="What the clip says, word for word; default: transcribed.")
@click.option("--design", help="A description of the voice.")
@click.option("--speaker", help="A named speaker of a CustomVoice checkpoint.")
@click.option("--instruct", default="", help="How the speaker speaks (with --speaker only).")
@click.option("--builtin", help="A built-in voice.")
@click.option("--lang", "language", type=click.Choice(["zh", "en", "ja"]), help="Default: decided from the clip.")
@click.option("--model", default="", help="Catalogue name of the Qwen3-TTS checkpoint.")
@click.option("--checker", "checker_name", help="Catalogue name of the model that transcribes.")
@click.option("--note", default="", help="A remark of yours.")
@click.option("--yes-i-have-consent", "consent", is_flag=True, help="The speaker has agreed; ask nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def add(
    name: str, clip: str | None, text: str | None, design: str | None, speaker: str | None, instruct: str,
    builtin: str | None, language: str | None, model: str, checker_name: str | None, note: str, consent: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Add a persona called NAME."""
    from langdu.cli.io import print_json
    from langdu.errors import SettingError
    from langdu.voices.builtin import BUILTIN, unknown
    from langdu.voices.library import Library
    from langdu.voices.persona import PERSONA

    if sum(way is not None for way in (clip, design, speaker, builtin)) != 1:
        raise SettingError("Give one of --clone, --design, --speaker, --builtin.")
    if instruct and speaker is None:
        raise SettingError("An instruction has an effect with --speaker only.", hint="A clone speaks as its clip does.")
    if text is not None and clip is None:
        raise SettingError("--text is the transcript of a clip; it goes with --clone.")
    library = Library()
    library.check_new(name)
    if clip is not None:
        result = _clone(library, name, clip, text, language, model, checker_name, note, consent)
        print_json(result) if as_json else click.echo(f"added {name}")
        return
    if builtin is not None and builtin not in BUILTIN:
        raise unknown(builtin, list(BUILTIN))
    value: dict[str, Any] = {"name": name, "language": language, "note": note}
    if builtin is not None:
        value |= {"kind": "builtin", "voice": builtin}
    elif design is not None:
        value |= {"kind": "design", "description": design.strip()}
    else:
        value |= {"kind": "speaker", "speaker": speaker, "instruct": instruct}
    if model and builtin is None:
        value["model"] = model
    try:
        persona = PERSONA.validate_python(value)
    except ValueError:
        raise SettingError("The description is blank.") from None
    library.add(persona)
    print_json(persona.model_dump(mode="json")) if as_json else click.echo(f"added {name}")


def _clone(
    library: Library, name: str, clip: str, text: str | None, language: str | None, model: str,
    checker_name: str | None, note: str, consent: bool,
) -> dict[str, Any]:  # fmt: skip
    from langdu.errors import Cancelled, SettingError
    from langdu.voices.adding import CONSENT, add_clone, consent_now
    from langdu.voices.reference import intake, match

    asks = sys.stdin.isatty() and not consent
    if not asks and not consent:
        hint = "In a script, give --yes-i-have-consent if you have it."
        raise SettingError("A clone needs the consent of its speaker, and there is no terminal to ask on.", hint=hint)
    taken = intake(clip, text=text, language=language, checker=checker(checker_name))
    _show(taken)
    words, by = taken.transcript, taken.transcript_by
    if asks:
        words = click.prompt(
            "What the clip says (Enter takes it as shown)", default=words, show_default=False, err=True
        )
        by = "person"
        if taken.heard:
            match(words, taken.heard, taken.language, Path(clip))
        if not click.confirm(CONSENT, err=True):
            raise Cancelled("Nothing was added: a clone needs the consent of its speaker.")
    persona = add_clone(
        library, name, taken, consent=consent_now(), model=model, transcript=words.strip(), transcript_by=by, note=note
    )
    report = taken.report.as_dict()
    return {"persona": persona.model_dump(mode="json"), "report": report, "warnings": list(taken.warnings)}


def checker(name: str | None) -> Checker | None:
    """The transcriber asked for; the default one only if it is here (without it, a clip needs its transcript)."""
    from langdu.errors import ModelError
    from langdu.models.store import model_dir
    from langdu.quality.transcript import Checker
    from langdu.settings import settings

    chosen = name or settings().checker
    try:
        model_dir(chosen)
    except ModelError:
        if name is not None:
            raise
        return None
    return Checker(chosen)


def _show(taken: Intake) -> None:
    report, found = taken.report, taken.report.measures
    noise = "" if found.snr_db is None else f", noise {found.snr_db:.0f} dB below it"
    lines = [
        f"clip:       {report.seconds:.1f} s at {report.rate_hz} Hz; kept {report.start_s:.1f} to {report.end_s:.1f} s",
        f"voice:      {found.speech_db:.0f} dBFS{noise}; speech {found.speech_share:.0%}",
        f"clipped:    {found.clipped_share:.2%}",
        f"language:   {taken.language}",
        f"transcript: {taken.transcript}" + (" (by machine)" if taken.transcript_by == "asr" else ""),
        *([f"heard:      {taken.heard} (CER {report.cer:.2f})"] if report.cer is not None else []),
        *(f"warning:    {warning}" for warning in taken.warnings),
    ]
    click.echo("\n".join(lines), err=True)
