"""langdu verify: what a listener hears in a file, against what should be in it."""

from __future__ import annotations

from typing import Any

import click

from langdu.cli import complete


@click.command("verify")
@click.argument("sound", shell_complete=complete.files)
@click.option("--text", help="What the file should say.")
@click.option("-f", "--file", help="A file with that text (- is stdin).")
@click.option(
    "--lang", "--language", "language", type=click.Choice(["zh", "en", "ja"]), help="Default: decided from the text."
)
@click.option("--threshold", type=float, help="Highest CER that passes; default: the setting cer_threshold.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    sound: str, text: str | None, file: str | None, language: Any, threshold: float | None, as_json: bool
) -> None:
    """Transcribe SOUND and compare it with its text. Exit code 1 above the threshold."""
    from langdu.audio.read import read
    from langdu.cli.io import print_json, text_argument
    from langdu.errors import SettingError, TextError
    from langdu.quality.transcript import Checker
    from langdu.quality.verify import verify_audio
    from langdu.settings import settings
    from langdu.text.language import language_of
    from langdu.text.segment import sayable

    if threshold is not None and not 0 <= threshold < float("inf"):
        raise SettingError(f"--threshold {threshold} is not a rate: 0 is without a mistake, 1 is all wrong.")
    written = text_argument(text, file)
    if not sayable(written):
        raise TextError("There is nothing in the text to compare with.")
    audio, rate_hz = read(sound)
    limit = settings().cer_threshold if threshold is None else threshold
    found = verify_audio(audio, rate_hz, written, language or language_of(written), Checker(), limit=limit)
    if as_json:
        print_json(found)
    else:
        click.echo(f"heard:  {found['heard'] or '(nothing)'}")
        click.echo(f"marked: {found['marked']}")
        wer = "" if found["wer"] is None else f", WER {found['wer']:.3f}"
        click.echo(f"CER {found['cer']:.3f}{wer}; passes up to {limit:.2f}: {'yes' if found['passed'] else 'NO'}")
    if not found["passed"]:
        raise SystemExit(1)
