"""One HTML page of a result that needs nothing else: tables, charts as PNG inside, and the JSON it was made from."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence

from langdu.bench import charts
from langdu.bench import history as kept
from langdu.bench.figures import Figure
from langdu.bench.machine import named
from langdu.bench.model import FIGURES, Report, Row

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:68rem;padding:0 1rem;color:#1a202c;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem}img{max-width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;white-space:nowrap}
td,th{padding:.25rem .7rem .25rem 0;border-bottom:1px solid #e2e8f0;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.pass{color:#2f855a}.fault{color:#c53030;font-weight:600}small,.note{color:#4a5568}mark{background:#ffe3a3}
"""
SPEED = (
    "load_s", "seconds", "audio_s", "rtf", "first_sound_s", "first_done_s", "throughput", "peak_memory_mb",
    "device_peak_mb", "unloaded_memory_mb", "cer",
)  # fmt: skip
QUALITY = ("cer", "sound_error", "zcr", "zcr_worst", "band_100_500", "band_500_2000", "similarity")


def page(report: Report) -> str:
    """The page, with the trend of this machine's earlier benches where there are any."""
    parts = [
        f"<h1>Langdu bench, {_e(report.date)}</h1><p>{_e(named(report.machine))}",
        f"<br><small>{_e(_versions(report))}</small><br><small><code>{_e(report.command)}</code></small></p>",
        _table("Time and memory", report.rows, SPEED),
        "<p class=note>RTF is seconds of work for a second of sound: lower is better. Medians of the repeats, lowest "
        "to highest in brackets.</p>",
    ]
    if any("zcr" in row.figures for row in report.rows):
        parts.append(_table("Quality", [row for row in report.rows if "zcr" in row.figures], QUALITY))
    parts += [_image(title, data) for title, data in charts.charts(report)]
    lines = kept.trend(kept.kept(report.machine.get("id"))[0])
    lines = {key: points for key, points in lines.items() if len(points) > 1}
    if lines:
        parts.append(_image("Earlier benches on this machine", charts.history(lines, "rtf")))
    if report.notes:
        parts.append("<h2>Notes</h2><ul>" + "".join(f"<li>{_e(note)}</li>" for note in report.notes) + "</ul>")
    parts.append(_targets(report))
    return _whole(f"Langdu bench, {report.date}", parts, report)


def _whole(title: str, parts: Sequence[str], report: Report) -> str:
    # a "<" in a string could end the script element or open another
    data = json.dumps(report.as_dict(), ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_e(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>{"".join(parts)}'
        f'<script type="application/json" id="result">{data}</script></body></html>'
    )


def _table(title: str, rows: Sequence[Row], names: Sequence[str]) -> str:
    names = [name for name in names if any(name in row.figures for row in rows)]
    head = "".join(f"<th>{_e(FIGURES[name].title)}{_unit(name)}</th>" for name in names)
    body = "".join(
        f"<tr><td>{_e(row.suite)}</td><td>{_e(row.target)}</td><td>{_e(row.setup)}</td>"
        + "".join(f"<td class=n>{_cell(name, row.figures.get(name))}</td>" for name in names)
        + f"<td>{_verdict(row)}</td></tr>"
        for row in rows
    )
    return (f"<h2>{_e(title)}</h2><div class=wide><table><tr><th>suite</th><th>what</th><th>how</th>{head}<th></th>"
            f"</tr>{body}</table></div>")  # fmt: skip


def _cell(name: str, figure: Figure | None) -> str:
    if figure is None:
        return ""
    digits = FIGURES[name].digits
    spread = f" <small>({figure.low:,.{digits}f}–{figure.high:,.{digits}f})</small>" if len(figure.values) > 1 else ""
    return f"{figure.median:,.{digits}f}{spread}"


def _verdict(row: Row) -> str:
    if row.passed is None:
        return f"<small>{_e(row.why)}</small>"
    return "<span class=pass>pass</span>" if row.passed else f"<span class=fault>{_e(row.why)}</span>"


def _targets(report: Report) -> str:
    rows = "".join(
        f"<tr><td>{_e(label)}</td><td>{_e(str(facts['voice']))}</td><td class=n>{facts['size_mb']:,.1f}</td>"
        f"<td><code>{_e(str(facts['files_sha256'])[:16])}</code></td></tr>"
        for label, facts in report.targets.items()
    )
    return ("<h2>What was measured</h2><table><tr><th>what</th><th>voice</th><th>MB on disk</th><th>SHA-256 over its"
            f" files</th></tr>{rows}</table>")  # fmt: skip


def _image(title: str, data: bytes) -> str:
    coded = base64.b64encode(data).decode()
    return f'<h2>{_e(title)}</h2><img alt="{_e(title)}" src="data:image/png;base64,{coded}">'


def _versions(report: Report) -> str:
    return ", ".join(f"{name} {version}" for name, version in report.versions.items())


def _unit(name: str) -> str:
    unit = FIGURES[name].unit
    return f", {_e(unit)}" if unit else ""


def _e(text: str) -> str:
    return html.escape(text)
