"""langdu script: what will be said, and every change the reading rules made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from langdu.cli import complete
from langdu.cli.options import ScriptChoices, script_options

if TYPE_CHECKING:
    from langdu.text.model import Document, Script

CHARS_PER_S = {"zh": 4.2, "ja": 6.5, "en": 14.0}
"""Characters a reader says in a second, for the estimate."""


@click.command("script")
@click.argument("file", shell_complete=complete.files)
@click.option("--diff", "other", metavar="FILE", help="Show what differs from this older version.")
@click.option("-v", "--voice", help="The voice of what names no other.", shell_complete=complete.voices)
@script_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(file: str, other: str | None, voice: str | None, choices: ScriptChoices, as_json: bool) -> None:
    """Show what will be said of FILE (- is stdin)."""
    from langdu.cli.io import print_json
    from langdu.settings import settings
    from langdu.text.script import make_script
    from langdu.text.segment import chunk

    options = choices.options(file)

    def script_of(name: str) -> tuple[Document, Script]:
        document = choices.sections(_read(name))
        return document, make_script(document, voice=voice, language=choices.language, options=options)

    document, script = script_of(file)
    for note in document.notes:
        click.echo(note, err=True)
    if other is not None:
        _diff(script_of(other)[1], script, as_json)
        return
    chunks = chunk(script.utterances, choices.cap or settings().chunk_chars, pause_chunk_s=settings().pause_chunk_s)
    if as_json:
        print_json({
            "title": script.title, "author": script.author, "chapters": list(script.chapters),
            "utterances": [
                {"chapter": u.chapter, "paragraph": u.paragraph, "source": u.source, "spoken": u.spoken.strip(),
                 "language": u.language, "voice": u.voice, "pause_after_s": u.pause_after_s,
                 "seconds": round(seconds(u.spoken, u.language), 2), "file": u.origin.file, "page": u.origin.page}
                for u in script.utterances
            ],
            "chunks": [{"spoken": c.spoken.strip(), "utterances": list(c.utterances), "pause_after_s": c.pause_after_s}
                       for c in chunks],
            "warnings": [{"message": w.message, "line": w.line, "column": w.column} for w in script.warnings],
            "rules": [{"rule": c.rule, "before": c.before, "after": c.after} for c in script.changes],
            "notes": list(document.notes),
        })  # fmt: skip
        return
    _print(script, len(chunks))


def seconds(spoken: str, language: str) -> float:
    """About how long a text takes to say."""
    return len(spoken.strip()) / CHARS_PER_S[language]


def _read(name: str) -> Document:
    import sys

    from langdu.text.documents import read_document

    return read_document(sys.stdin.buffer.read(), "stdin") if name == "-" else read_document(name)


def _print(script: Script, chunks: int) -> None:
    chapter = -1
    for utterance in script.utterances:
        if utterance.chapter != chapter:
            chapter = utterance.chapter
            click.secho(f"\n[{chapter + 1}] {script.chapters[chapter] or 'untitled'}", bold=True)
        said = utterance.spoken.strip()
        who = f" {utterance.voice}" if utterance.voice else ""
        click.echo(f"  {utterance.language}{who} {seconds(said, utterance.language):5.1f} s  {said}", nl=False)
        click.echo(f"  (pause {utterance.pause_after_s:g} s)" if utterance.pause_after_s else "")
        if utterance.source != said:
            click.secho(f"       was: {utterance.source}", dim=True)
    if script.changes:
        click.secho("\nRules", bold=True)
    for rule, before, after in dict.fromkeys((c.rule, c.before, c.after) for c in script.changes):
        click.echo(f"  {rule}: {before!r} → {after!r}")
    total = sum(seconds(u.spoken, u.language) + u.pause_after_s for u in script.utterances)
    click.echo(f"\n{len(script.utterances)} utterances, {chunks} chunks, about {total:.0f} s of speech")
    for warning in script.warnings:
        click.echo(f"warning: {warning}", err=True)


def _diff(old: Script, new: Script, as_json: bool) -> None:
    import difflib

    from langdu.cli.io import print_json

    before, after = ([u.spoken.strip() for u in s.utterances] for s in (old, new))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changed = [(before[a:b], after[c:d]) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]
    if as_json:
        print_json({"changed": [{"before": b, "after": a} for b, a in changed]})
        return
    for gone, come in changed:
        for line in gone:
            click.secho(f"- {line}", fg="red")
        for line in come:
            click.secho(f"+ {line}", fg="green")
    click.echo(f"{sum(len(a) for _, a in changed)} of {len(after)} utterances are new or changed", err=True)
