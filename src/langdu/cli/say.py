"""langdu say: the sound of a text, played as it is made or written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from langdu.cli import complete
from langdu.cli.options import ScriptChoices, script_options

if TYPE_CHECKING:
    from langdu.synthesis.say import Facts, SayRequest


@click.command("say")
@click.argument("text", required=False)
@click.option("-f", "--file", help="Read the text from a file (- is stdin).", shell_complete=complete.files)
@click.option("-o", "--output", help="Write a file instead of playing (- is stdout).", shell_complete=complete.files)
@click.option("--format", "format_", help="wav, mp3, flac, opus, ogg, m4a, aac or pcm; default: by the suffix.")
@click.option("-v", "--voice", help="A persona or a built-in voice; ? lists them.", shell_complete=complete.voices)
@script_options
@click.option("--workers", default="auto", show_default=True, help="Processes, or auto: as many as help.")
@click.option("--force", is_flag=True, help="Start more workers than the machine carries.")
@click.option("--speed", default=1.0, show_default=True, help="0.25 to 4, where the engine can.")
@click.option("--seed", default=0, help="For engines that sample.")
@click.option("--engine", type=click.Choice(["kokoro", "qwen3"]), help="Default: the voice's own.")
@click.option(
    "--model", default="", help="Catalogue name or folder of the engine's model.", shell_complete=complete.models
)
@click.option("--verify", is_flag=True, help="Listen to the result and compare it with the text.")
@click.option("--json", "as_json", is_flag=True, help="Print the facts of the run as one JSON object.")
def command(
    text: str | None, file: str | None, output: str | None, format_: str | None, voice: str | None,
    choices: ScriptChoices, workers: str, force: bool, speed: float, seed: int, engine: str | None, model: str,
    verify: bool, as_json: bool,
) -> None:  # fmt: skip
    """Say TEXT. Without -o it plays, starting with the first chunk while later ones are made."""
    if voice == "?":
        list_voices(as_json)
        return
    from langdu.synthesis import process

    process.spare()  # its imports run beside ours
    try:
        _say(text, file, output, format_, voice, choices, workers, force, speed, seed, engine, model, verify, as_json)
    finally:
        process.drop_spares()


def _say(
    text: str | None, file: str | None, output: str | None, format_: str | None, voice: str | None,
    choices: ScriptChoices, workers: str, force: bool, speed: float, seed: int, engine: str | None, model: str,
    verify: bool, as_json: bool,
) -> None:  # fmt: skip
    from langdu.cli.io import print_json, source_argument
    from langdu.synthesis.say import SayRequest

    source = source_argument(text, file)
    request = SayRequest(
        source if isinstance(source, str) else choices.sections(source), voice, choices.language, _workers(workers),
        force, speed, seed, live=output is None, engine=engine or "", model=model, options=choices.options(file),
        cap=choices.cap,
    )  # fmt: skip
    facts, verdict = run(request, output, format_, verify=verify, talkative=output != "-" or as_json)
    result = facts.as_dict() | ({"verify": verdict} if verdict is not None else {})
    if as_json:
        print_json(result) if output != "-" else click.echo(_one_line(result), err=True)
    elif output != "-":
        _print(facts, verdict)
    if facts.faults or (verdict is not None and not verdict["passed"]):
        raise SystemExit(1)


def run(
    request: SayRequest, output: str | None, format_: str | None, *, verify: bool, talkative: bool
) -> tuple[Facts, dict[str, Any] | None]:
    from langdu.audio.encode import Writer, format_of
    from langdu.audio.play import Player, check_output
    from langdu.cli.progress import chunks_bar
    from langdu.models.store import model_dir
    from langdu.synthesis.say import Saying

    if output is None:
        check_output()
    else:
        format_of(output, format_)
    checker = None
    with chunks_bar("speaking") as bar, Saying(request, on_take=bar) as saying:
        if verify:
            from langdu.quality.transcript import Checker

            model_dir(Checker.MODEL)  # missing: said before the work, not after it
            checker = Checker()
        for warning in saying.facts.warnings:
            click.echo(f"warning: {warning}", err=True)
        rate_hz = saying.sample_rate_hz()
        sink: Any = Player(rate_hz) if output is None else Writer(output, rate_hz, format=format_)
        with sink:
            for block in saying.blocks():
                sink.write(block)
        facts = saying.finish(output or "played")
        verdict = None
        if checker is not None:
            from langdu.quality.verify import verify_takes

            verdict = verify_takes(saying.plan, dict(saying.takes), checker)
    return facts, verdict


def _workers(asked: str) -> int | None:
    from langdu.errors import SettingError

    if asked == "auto":
        return None
    try:
        return int(asked)
    except ValueError:
        raise SettingError(f'--workers "{asked}" is neither a number nor auto.') from None


def _one_line(result: dict[str, Any]) -> str:
    import json

    return json.dumps(result, ensure_ascii=False)


def _print(facts: Facts, verdict: dict[str, Any] | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    rows = [
        ("file", facts.output),
        ("voice", f"{facts.voice} ({facts.engine}, {facts.model} {facts.precision} on {facts.device})"),
        ("sound", f"{facts.audio_seconds:.1f} s in {facts.chunks} chunks"),
        ("time", f"{facts.seconds:.1f} s with {facts.workers} workers (loading {facts.load_seconds:.1f} s)"),
        ("RTF", f"{facts.rtf:.2f} (seconds of work per second of sound; lower is better)"),
        ("memory", f"{facts.peak_memory_mb:.0f} MB peak, all workers"),
    ]
    if verdict is not None:
        wer = f", WER {verdict['wer']:.3f}" if verdict["wer"] is not None else ""
        rows.append(
            ("heard", f"{'as written' if verdict['passed'] else 'NOT as written'}: CER {verdict['cer']:.3f}{wer}")
        )
    rows.extend(("fault", f"{fault['chunk']}: {fault['fault']}") for fault in facts.faults)
    for name, value in rows:
        table.add_row(f"[bold]{name}[/bold]", value)
    Console(stderr=True).print(table)


def list_voices(as_json: bool) -> None:
    """Name, language, gender, engine, licence of every voice that can be used here."""
    from langdu.cli.io import print_json
    from langdu.voices.listing import rows

    found = rows()
    if as_json:
        print_json({"voices": found})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "language", "gender", "engine", "licence", box=None, pad_edge=False)
    for row in found:
        table.add_row(*(row[key] for key in ("name", "language", "gender", "engine", "licence")))
    Console().print(table)
