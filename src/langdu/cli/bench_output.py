"""How bench results look on a terminal, and the files they are written to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from langdu.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from langdu.bench.ab import Outcome
    from langdu.bench.compare import Compared
    from langdu.bench.history import Point
    from langdu.bench.model import Report, Row

SUFFIXES = (".json", ".html", ".png")
MARKS = {True: "pass", False: "[red]FAULT[/red]", None: "–"}
CHANGES = {"better": "[green]better[/green]", "worse": "[red]WORSE[/red]"}


def check_outputs(outputs: Sequence[str], *, suffixes: Sequence[str] = SUFFIXES) -> None:
    """OutputError before the work for a file that could not be written after it."""
    for output in outputs:
        path = Path(output)
        if path.suffix not in suffixes:
            raise OutputError(f"{output} has none of the suffixes {', '.join(suffixes)}.")
        if not path.absolute().parent.is_dir():
            raise OutputError(f"The folder of {output} does not exist.")
        if path.suffix != ".json":
            from langdu.bench.charts import check_installed

            check_installed()


def write_outputs(report: Report, outputs: Sequence[str]) -> None:
    from langdu.voices.library import write_atomic

    for output in outputs:
        path = Path(output).absolute()
        if path.suffix == ".json":
            write_atomic(path, report.to_json())
        else:
            from langdu.bench import charts, page

            data = charts.overview(report) if path.suffix == ".png" else page.page(report).encode()
            write_atomic(path, data)


def print_report(report: Report) -> None:
    """One table of all rows, the quality figures in another, and the notes."""
    from langdu.bench.machine import named

    table, quality = speed_table(report), quality_table(report.rows)
    console = _wide_enough(table)
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    console.print(f"{named(report.machine)}\n[dim]{versions}[/dim]\n", highlight=False)
    console.print(table)
    console.print("[dim]RTF: seconds of work for a second of sound; lower is better. Medians, and the spread of the "
                  "repeats in brackets. CER as the checker heard it.[/dim]\n", highlight=False)  # fmt: skip
    if any("zcr" in row.figures for row in report.rows):
        console.print(quality)
        console.print("[dim]Zero crossings a sample at 24 kHz: 0.06 to 0.2 is healthy, above 0.3 crackle. The share of "
                      "energy in two bands is for comparing, no verdict.[/dim]\n", highlight=False)  # fmt: skip
    for row in report.rows:
        if row.why:
            console.print(f"{row.suite}, {row.target}, {row.setup}: {row.why}", highlight=False, markup=False)
    for note in report.notes:
        console.print(note, highlight=False, markup=False)


def _wide_enough(table: Table) -> Console:
    """A console on which no figure of the table is cut: a narrow terminal wraps the line itself."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    needed = Measurement.get(console, console.options.update(max_width=1000), table).maximum
    return Console(width=max(console.width, needed))


COLUMNS = (
    ("load s", "load_s", 1), ("seconds", "seconds", 2), ("sound s", "audio_s", 1), ("RTF", "rtf", 3),
    ("first s", "first_sound_s", 2), ("memory MB", "peak_memory_mb", 0), ("GPU MB", "device_peak_mb", 0),
    ("CER", "cer", 3),
)  # fmt: skip


def speed_table(report: Report) -> Table:
    """Columns that no row fills are left out."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("suite", "what", "how"):
        table.add_column(name, no_wrap=True)
    shown = [column for column in COLUMNS if any(column[1] in row.figures for row in report.rows)]
    for name in ("MB on disk", *(column[0] for column in shown), ""):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.rows:
        size = row.facts.get("size_mb", report.targets.get(row.target, {}).get("size_mb", 0))
        cells = [_cell(row, name, digits) for _, name, digits in shown]
        table.add_row(row.suite, row.target, row.setup, f"{size:,.0f}" if size else "", *cells, MARKS[row.passed])
    return table


def quality_table(rows: Sequence[Row]) -> Table:
    from rich.table import Table

    from langdu.bench.model import FIGURES

    names = ("cer", "sound_error", "zcr", "zcr_worst", "band_100_500", "band_500_2000", "similarity")
    table = Table("quality", box=None, pad_edge=False)
    for name in names:
        table.add_column(FIGURES[name].title, justify="right")
    for row in rows:
        if "zcr" in row.figures:
            table.add_row(row.target, *(_cell(row, name, 3) for name in names))
    return table


def _cell(row: Row, name: str, digits: int) -> str:
    figure = row.figures.get(name)
    if figure is None:
        return ""
    text = f"{figure.median:,.{digits}f}"
    if name == "rtf" and len(figure.values) > 1:
        text += f" ({figure.low:,.{digits}f}–{figure.high:,.{digits}f})"
    return text


def print_compared(found: Compared, *, everything: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from langdu.bench.model import FIGURES, printed

    console = Console()
    table = Table("suite", "what", "how", "figure", box=None, pad_edge=False)
    for name in ("before", "after", "after/before", ""):
        table.add_column(name, justify="right")
    shown = [line for line in found.lines if everything or line.change in ("better", "worse", "different")]
    for line in shown:
        ratio = "" if line.ratio is None else f"{line.ratio:.3f}"
        values = (printed(line.figure, line.before), printed(line.figure, line.after))
        title = FIGURES[line.figure].title
        table.add_row(line.suite, line.target, line.setup, title, *values, ratio, CHANGES.get(line.change, line.change))
    for condition in found.conditions:
        console.print(condition, highlight=False, markup=False)
    if shown:
        console.print(table)
    once = sum(line.change == "one value" for line in found.lines)
    same = sum(line.change == "same" for line in found.lines)
    console.print(f"{len(found.lines)} figures compared: {same} within the spread, {once} taken only once (no spread).",
                  highlight=False)  # fmt: skip
    for note in (*found.verdicts, *(f"only before: {key}" for key in found.only_before),
                 *(f"only after: {key}" for key in found.only_after)):  # fmt: skip
        console.print(note, highlight=False, markup=False)


def print_ab(found: Outcome) -> None:
    """Both sides' figures, the ratio, and the transcripts with the differing characters marked."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table("", "what", box=None, pad_edge=False)
    for name in ("on disk", "load s", "seconds", "sound s", "RTF", "memory MB", "GPU MB", "CER", ""):
        table.add_column(name, justify="right")
    for name, side in (("A", found.a), ("B", found.b)):
        cer = side.judged.figures().get("cer")
        size = side.target.size_bytes / 1e6
        table.add_row(
            name, side.target.label, f"{size:,.0f} MB" if size else "", f"{side.load_s:.1f}",
            f"{side.seconds.median:.2f}", f"{side.audio_s.median:.1f}",
            f"{side.rtf.median:.3f} ({side.rtf.low:.3f}–{side.rtf.high:.3f})",
            f"{side.peak_memory_mb:,.0f}", f"{side.device_peak_mb:,.0f}" if side.device_peak_mb else "",
            f"{cer.median:.3f}" if cer else "", MARKS[side.judged.passed],
        )  # fmt: skip
    console.print(table)
    ratio = found.ratio
    claim = {"a": "A is faster in every round", "b": "B is faster in every round",
             "neither": "no difference beyond the spread"}[found.faster]  # fmt: skip
    if len(ratio.values) == 1:
        claim = "one round only: no spread, so no claim"
    console.print(f"\nRTF of A over B: {ratio.median:.3f} ({ratio.low:.3f}–{ratio.high:.3f} over {len(ratio.values)} "
                  f"rounds, in turns): {claim}.", highlight=False)  # fmt: skip
    if not found.both_loaded:
        console.print("There was no room for both at once: each was loaded anew for its turn.", highlight=False)
    if found.same_clip is not None:
        console.print(f"Both clone {'the same clip' if found.same_clip else 'DIFFERENT clips'}.", highlight=False)
    for name, side in (("A", found.a), ("B", found.b)):
        if side.judged.why:
            console.print(f"{name}: {side.judged.why}", highlight=False, markup=False)
        if side.judged.heard:
            console.print(f"\n{name} against the text, [written→heard] where they differ:", markup=False)
            for marked in side.judged.facts()["marked"]:
                line = Text(marked)
                line.highlight_regex(r"\[[^\]]*→[^\]]*\]", "bold yellow")
                console.print(line)
    words = {True: "Equal: both transcripts are the same to the character.",
             False: f"NOT equal. B against A, [A→B]: {found.differ}",
             None: "Whether the words are the same was not measured."}[found.equal]  # fmt: skip
    console.print("\n" + words, highlight=False, markup=False)


def print_trend(lines: dict[tuple[str, str, str], list[Point]], figure: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from langdu.bench.figures import beyond_spread
    from langdu.bench.model import FIGURES, printed

    console = Console()
    if not lines:
        console.print("No bench with this figure is kept for this machine. Run: langdu bench", highlight=False)
        return
    table = Table("suite", "what", "how", "date", "langdu", box=None, pad_edge=False)
    table.add_column(FIGURES[figure].title, justify="right")
    table.add_column("against the one before", justify="right")
    for key, points in lines.items():
        for at, point in enumerate(points):
            now = point.row.figures[figure]
            change = ""
            if at:
                before = points[at - 1].row.figures[figure]
                beyond = "beyond the spread" if beyond_spread(before, now) else "within the spread"
                change = f"{now.median / before.median - 1:+.1%}, {beyond}" if before.median else ""
            table.add_row(
                *(key if not at else ("", "", "")), point.date, point.langdu, printed(figure, now.median), change
            )
    console.print(table)


def write_trend(lines: dict[tuple[str, str, str], list[Point]], figure: str, path: Path) -> None:
    from langdu.bench import charts
    from langdu.voices.library import write_atomic

    write_atomic(path.absolute(), charts.history(lines, figure))
