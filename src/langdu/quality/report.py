"""The report of a book: JSON for programs, and one HTML page that needs nothing else.

The page has plots of level, speed and error rate along the book, and for each doubtful chunk its waveform, its
text as written and as heard, its findings, and the sound itself (Opus inside the page).
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from langdu.audio.av_encode import AvEncoder
from langdu.engines.base import Audio, EngineInfo
from langdu.quality.syllables import count_syllables
from langdu.voices.library import write_atomic

MOST_SOUNDS = 60
"""Sounds put into the page; more would make it too large to open. The text of all is there."""
WAVE_POINTS = 400
PLOT_LEFT, PLOT_WIDTH = 50, 840
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.6rem} h2{font-size:1.2rem;margin-top:2rem} table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #ddd;vertical-align:top} th{font-weight:600}
.num{font-variant-numeric:tabular-nums} .fault{color:#b00020} .doubt{color:#8a5a00}
svg{width:100%;height:auto;display:block} .plot circle{fill:#3b6ea5} .plot .bad{fill:#d9480f} .plot path{stroke:#ccc}
section{border:1px solid #ddd;border-radius:8px;padding:1rem;margin:1rem 0} ins{background:#ffe3a3;text-decoration:none}
audio{width:100%} .axis{font-size:10px;fill:#666} @media(prefers-color-scheme:dark){body{background:#181818;color:#eee}
td,th,section{border-color:#444} .axis{fill:#aaa} ins{background:#6b4e00} .fault{color:#ff8a8a} .doubt{color:#ffca6b}}
"""


class KeptTake(Protocol):
    """What the report asks of a kept take; synthesis.takes.Kept is one."""

    @property
    def verdict(self) -> dict[str, Any] | None: ...
    @property
    def outcome(self) -> str: ...
    @property
    def audio_seconds(self) -> float: ...


class Sounds(Protocol):
    def load(self, kept: Any) -> Audio | None: ...


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    chapters: Sequence[str]
    lines: Sequence[Any]
    """synthesis.volumes.Line of every chunk, in order."""
    summary: dict[str, Any]
    files: Sequence[dict[str, Any]]
    engines: Sequence[EngineInfo]

    def as_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "summary": self.summary,
            "files": list(self.files),
            "engines": [info.as_dict() for info in self.engines],
            "chunks": [_facts(line) for line in self.lines],
        }


def write_report(output: Path, report: Report, sounds: Sounds) -> None:
    """`NAME.report.json` and `NAME.report.html` beside the output."""
    facts = report.as_dict()
    data = json.dumps(facts, ensure_ascii=False, indent=1) + "\n"
    write_atomic(output.with_suffix(".report.json"), data.encode(), shared=True)
    write_atomic(output.with_suffix(".report.html"), page(report, facts, sounds).encode(), shared=True)


def _facts(line: Any) -> dict[str, Any]:
    chunk, kept = line.chunk, line.kept
    verdict = kept.verdict or {}
    signal = verdict.get("signal") or {}
    active_s = signal.get("active_s") or kept.audio_seconds
    syllables = count_syllables(chunk.text, chunk.language)
    return {
        "chunk": chunk.name, "file": line.file, "start_s": round(line.placed.start_s, 3),
        "end_s": round(line.placed.end_s, 3), "text": chunk.text, "language": chunk.language,
        "voice": chunk.persona.name, "outcome": kept.outcome, "state": kept.state, "attempt": kept.attempt,
        "seed": kept.seed, "cer": verdict.get("cer"), "sound_error": verdict.get("sound_error"),
        "heard": verdict.get("heard"), "marked": verdict.get("marked"),
        "findings": verdict.get("findings", []), "lufs": signal.get("loudness_lufs"),
        "gain_db": round(line.placed.gain_db, 2),
        "syllables_per_s": round(syllables / active_s, 2) if active_s else None,
        "similarity": verdict.get("similarity"),
    }  # fmt: skip


def page(report: Report, facts: dict[str, Any], sounds: Sounds) -> str:
    chunks, summary = facts["chunks"], report.summary
    rows = [
        ("chunks", f"{summary['chunks']} ({summary['said']} said, {summary['reused']} reused)"),
        ("sound", _clock(summary["audio_seconds"])),
        ("time", f"{_clock(summary['seconds'])}, RTF {summary['rtf']:.2f} (lower is better)"),
        ("loudness", f"{summary['lufs']:.1f} LUFS, true peak {summary['true_peak_db']:.1f} dBTP"),
        ("faults", str(len(summary["faults"]))),
        ("inconclusive", str(summary["inconclusive"])),
        ("against the profile", "; ".join(summary["problems"]) or "fits"),
        *(("engine", f"{i.engine} {i.model} {i.precision} on {i.device}, revision {i.revision}")
          for i in report.engines),
    ]  # fmt: skip
    table = "".join(f"<tr><th>{_e(name)}</th><td class=num>{_e(value)}</td></tr>" for name, value in rows)
    plots = "".join(
        f"<h2>{_e(title)}</h2>{plot(chunks, key)}"
        for title, key in (
            ("Level of each chunk before matching, LUFS", "lufs"),
            ("Speed, syllables a second", "syllables_per_s"),
            ("Character error rate by the checker, as written (CER, lower is better)", "cer"),
            ("The same by sound, homophones counting as right: what verdicts go by", "sound_error"),
        )
    )
    doubtful = [(line, fact) for line, fact in zip(report.lines, chunks, strict=True) if _doubtful(fact)]
    parts = [_doubt(line, fact, sounds if at < MOST_SOUNDS else None) for at, (line, fact) in enumerate(doubtful)]
    body = "".join(parts) or "<p>Nothing doubtful: every chunk was heard as written.</p>"
    if not any(chunk["outcome"] != "unheard" for chunk in chunks):
        body = "<p>The chunks were not checked.</p>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_e(report.title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{_e(report.title)}</h1><table>{table}</table>{plots}<h2>Doubtful chunks</h2>{body}</body></html>"
    )


def _doubtful(fact: dict[str, Any]) -> bool:
    return fact["outcome"] in ("fault", "inconclusive")


def _doubt(line: Any, fact: dict[str, Any], sounds: Sounds | None) -> str:
    audio = sounds.load(line.kept) if sounds is not None else None
    findings = "".join(
        f'<li class="{_e(f["level"])}">{_e(f["name"])}: {_e(f["message"])}</li>' for f in fact["findings"]
    )
    sound = ""
    if audio is not None and len(audio):
        data = base64.b64encode(_opus(audio, line.kept.rate_hz)).decode()
        sound = f'{waveform(audio)}<audio controls preload="none" src="data:audio/ogg;base64,{data}"></audio>'
    heard = fact["marked"] or fact["heard"] or "—"
    marked = _e(heard).replace("[", "<ins>[").replace("]", "]</ins>")
    accepted = ", accepted by hand" if fact["state"] == "accepted" else ""
    return (
        f"<section><strong>{_e(fact['chunk'])}</strong> at {_clock(fact['start_s'])} in {_e(fact['file'])}, "
        f"{_e(fact['voice'])}, {_e(fact['outcome'])}{accepted}<ul>{findings}</ul>"
        f"<p>written: {_e(fact['text'])}</p><p>heard: {marked}</p>{sound}</section>"
    )


def _opus(audio: Audio, rate_hz: int) -> bytes:
    encoder = AvEncoder("opus", rate_hz, bit_rate=24_000)
    return encoder.encode(audio) + encoder.finish()


def waveform(audio: Audio) -> str:
    """Highest and lowest sample of each of 400 stretches, as SVG."""
    parts = np.array_split(audio, min(WAVE_POINTS, len(audio)))
    top = " ".join(f"{x},{50 - 48 * min(1.0, float(part.max())):.1f}" for x, part in enumerate(parts))
    low = " ".join(f"{x},{50 - 48 * max(-1.0, float(part.min())):.1f}" for x, part in reversed(list(enumerate(parts))))
    return (
        f'<svg viewBox="0 0 {len(parts)} 100" preserveAspectRatio="none" style="height:80px">'
        f'<polygon points="{top} {low}" fill="#3b6ea5"/></svg>'
    )


def plot(chunks: Sequence[dict[str, Any]], key: str) -> str:
    """A figure for each chunk along the book, as SVG: range at the left, chapters below, doubtful chunks marked.

    Pointing at a dot shows its chunk and figure.
    """
    known = [chunk[key] for chunk in chunks if chunk[key] is not None]
    if not known:
        return "<p>Not measured.</p>"
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    step = PLOT_WIDTH / max(1, len(chunks) - 1)
    dots, marks, chapter = [], [], ""
    for at, chunk in enumerate(chunks):
        x = PLOT_LEFT + step * at
        number = chunk["chunk"].split(".")[0]
        if number != chapter:
            chapter = number
            marks.append(f'<path d="M{x:.1f} 8V112"/><text class="axis" x="{x + 2:.1f}" y="124">{_e(number)}</text>')
        if chunk[key] is not None:
            y, kind = 110 - 100 * (chunk[key] - low) / span, ' class="bad"' if _doubtful(chunk) else ""
            title = f"<title>{_e(chunk['chunk'])}: {chunk[key]:.2f}</title>"
            dots.append(f'<circle{kind} cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>')
    return (
        f'<svg class="plot" viewBox="0 0 900 128"><text class="axis" x="0" y="14">{high:.2f}</text>'
        f'<text class="axis" x="0" y="112">{low:.2f}</text>{"".join(marks)}{"".join(dots)}</svg>'
    )


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _e(text: str) -> str:
    return html.escape(text)


__all__ = ["Report", "page", "plot", "waveform", "write_report"]
