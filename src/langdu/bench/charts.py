"""Charts of a result, drawn from its JSON alone: RTF, scaling against the ideal line, memory, history.

matplotlib's object interface is used throughout: no global state, no display.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langdu.bench.history import Point
from langdu.bench.model import FIGURES, Report, Row
from langdu.errors import DependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

DPI = 120
WIDTH_IN = 9.0
BLUE, ORANGE, GREY, GREEN = "#2b6cb0", "#dd6b20", "#a0aec0", "#2f855a"
COLOURS = (BLUE, ORANGE, GREEN, "#805ad5", "#b83280", "#4a5568")
FONTS = ("DejaVu Sans", "PingFang SC", "Noto Sans CJK SC", "Noto Sans SC", "Microsoft YaHei", "WenQuanYi Micro Hei")
"""Persona names may be Chinese; the first that are installed are used."""


def check_installed() -> None:
    """DependencyError without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DependencyError("matplotlib is not installed; it draws the charts.",
                              hint="Run: pip install 'langdu[charts]'")  # fmt: skip


def charts(report: Report) -> Iterator[tuple[str, bytes]]:
    """(title, PNG) of every chart the report has rows for."""
    for title, draw in (("RTF by configuration", rtf), ("Scaling", scaling), ("Memory", memory)):
        drawing = draw(report)
        if drawing is not None:
            yield title, png(drawing)


def rtf(report: Report) -> Drawing | None:
    """A bar for each row's median RTF, its spread as a whisker, and real time as a line where it is near."""
    rows = [row for row in report.rows if "rtf" in row.figures]
    if not rows:
        return None
    drawing, axes = _new(0.36 * len(rows) + 1.2)
    names = list(dict.fromkeys(row.target for row in rows))
    for at, row in enumerate(rows):
        figure = row.figures["rtf"]
        error = [[figure.median - figure.low], [figure.high - figure.median]]
        colour = COLOURS[names.index(row.target) % len(COLOURS)]
        axes.barh(
            at, figure.median, xerr=error, color=colour, height=0.66, error_kw={"ecolor": "#1a202c", "capsize": 2}
        )
        axes.annotate(
            f"{figure.median:.3f}", (figure.high, at), (5, 0), textcoords="offset points", va="center", size=8
        )
    axes.set_yticks(range(len(rows)), [_label(row, names) for row in rows], size=8)
    axes.invert_yaxis()
    highest = max(row.figures["rtf"].high for row in rows)
    axes.set_xlim(0, highest * 1.14)
    if highest > 0.6:
        axes.axvline(1.0, color=GREY, linestyle="--", linewidth=1)
        if highest * 1.14 < 1:
            axes.set_xlim(0, 1.05)
    axes.set_xlabel("RTF: seconds of work for a second of sound (lower is better)")
    if len(names) > 1:
        _legend(drawing, {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names)})
    return _titled(drawing, axes, f"RTF by configuration{_alone(names)}")


def scaling(report: Report) -> Drawing | None:
    """Sound made in a second over workers or slots, each against the line it would follow without any loss."""
    rows = [row for row in report.rows_of("scale") if "throughput" in row.figures]
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.target, row.facts["of"]), []).append(row)
    lines = {key: found for key, found in lines.items() if len(found) > 1}
    if not lines:
        return None
    drawing, axes = _new(4.6)
    for (target, of), found in lines.items():
        colour = COLOURS[list(lines).index((target, of)) % len(COLOURS)]
        counts = [row.facts["count"] for row in found]
        figures = [row.figures["throughput"] for row in found]
        middle = [figure.median for figure in figures]
        error = [[f.median - f.low for f in figures], [f.high - f.median for f in figures]]
        axes.errorbar(counts, middle, yerr=error, color=colour, marker="o", capsize=3,
                      label=f"{_ascii(target)}, {of}")  # fmt: skip
        axes.plot(counts, [middle[0] * n / counts[0] for n in counts], color=colour, linestyle=":", linewidth=1)
        gain = f"{middle[-1] / middle[0]:.2f}x of {counts[-1] / counts[0]:g}x"
        axes.annotate(gain, (counts[-1], middle[-1]), (-14, 6), textcoords="offset points", ha="right", size=8,
                      color=colour)  # fmt: skip
    ticks = sorted({row.facts["count"] for found in lines.values() for row in found})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("workers or slots")
    axes.set_ylabel("seconds of sound in a second")
    axes.plot([], [], color=GREY, linestyle=":", label="ideal")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    return _titled(drawing, axes, "Scaling against the ideal line")


def memory(report: Report) -> Drawing | None:
    """Resident peak of each row, and beside it what MLX held on a GPU."""
    rows = [row for row in report.rows if "peak_memory_mb" in row.figures]
    if not rows:
        return None
    drawing, axes = _new(0.42 * len(rows) + 1.2)
    names = list(dict.fromkeys(row.target for row in rows))
    highest = 0.0
    for at, row in enumerate(rows):
        bars = [("peak_memory_mb", "resident, all workers", BLUE), ("device_peak_mb", "GPU, all workers", ORANGE)]
        bars = [bar for bar in bars if bar[0] in row.figures]
        for place, (name, _, colour) in enumerate(bars):
            value, height = row.figures[name].median / 1024, 0.66 / len(bars)
            y = at + (place - (len(bars) - 1) / 2) * height
            axes.barh(y, value, color=colour, height=height)
            axes.annotate(f"{value:.2f}", (value, y), (4, 0), textcoords="offset points", va="center", size=7)
            highest = max(highest, value)
    axes.set_yticks(range(len(rows)), [_label(row, names) for row in rows], size=8)
    axes.invert_yaxis()
    axes.set_xlim(0, highest * 1.12)
    axes.set_xlabel("peak memory, GiB (lower is better)")
    shown = {"resident, all workers": BLUE}
    if any("device_peak_mb" in row.figures for row in rows):
        shown["GPU, all workers"] = ORANGE
    _legend(drawing, shown)
    return _titled(drawing, axes, f"Peak memory{_alone(names)}")


def history(lines: Mapping[tuple[str, str, str], Sequence[Point]], name: str) -> bytes:
    """PNG: one line for each configuration over the benches kept, in their order."""
    drawing, axes = _new(4.8)
    dates = sorted({point.date for points in lines.values() for point in points})
    for at, (key, points) in enumerate(lines.items()):
        figures = [point.row.figures[name] for point in points]
        x = [dates.index(point.date) for point in points]
        error = [[f.median - f.low for f in figures], [f.high - f.median for f in figures]]
        style = "-" if at < len(COLOURS) else "--"
        axes.errorbar(x, [f.median for f in figures], yerr=error, marker="o", markersize=4, capsize=2, linestyle=style,
                      color=COLOURS[at % len(COLOURS)], label=_ascii(", ".join(key)))  # fmt: skip
    shown = dates if len(dates) <= 12 else [dates[round(i * (len(dates) - 1) / 11)] for i in range(12)]
    axes.set_xticks([dates.index(date) for date in shown], [date[:16].replace("T", "\n") for date in shown], size=7)
    kind = FIGURES[name]
    better = {True: " (lower is better)", False: " (higher is better)", None: ""}[kind.lower]
    axes.set_ylabel(f"{kind.title}{f', {kind.unit}' if kind.unit else ''}{better}")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if lines:
        axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2)
    return png(_titled(drawing, axes, f"{kind.title} over the benches kept"))


def overview(report: Report) -> bytes:
    """All charts of a report below one another, as one PNG."""
    import numpy as np
    from matplotlib import image
    from matplotlib.figure import Figure

    found = [image.imread(io.BytesIO(data), format="png")[..., :3] for _, data in charts(report)]
    if not found:
        drawing, axes = _new(2)
        axes.axis("off")
        return png(_titled(drawing, axes, "Nothing in this result can be drawn"))
    width = max(one.shape[1] for one in found)
    padded = [np.pad(one, ((0, 0), (0, width - one.shape[1]), (0, 0)), constant_values=1.0) for one in found]
    whole = np.concatenate(padded)
    drawing = Figure(figsize=(width / DPI, whole.shape[0] / DPI), dpi=DPI)
    drawing.figimage(whole)
    return png(drawing, tight=False)


def png(drawing: Drawing, *, tight: bool = True) -> bytes:
    buffer = io.BytesIO()
    drawing.savefig(buffer, format="png", dpi=DPI, facecolor="white", bbox_inches="tight" if tight else None)
    return buffer.getvalue()


def _new(height_in: float) -> tuple[Drawing, Axes]:
    check_installed()
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    installed = _fonts()
    rcParams["font.family"] = [name for name in FONTS if name in installed]
    drawing = Figure(figsize=(WIDTH_IN, height_in), dpi=DPI, layout="constrained")
    axes = drawing.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return drawing, axes


def _titled(drawing: Drawing, axes: Axes, title: str) -> Drawing:
    axes.set_title(title, loc="left", size=12, weight="bold")
    return drawing


def _legend(drawing: Drawing, colours: Mapping[str, str]) -> None:
    """Below the axes, where no bar can be."""
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=_ascii(name)) for name, colour in colours.items()]
    drawing.legend(handles=handles, frameon=False, fontsize=8, loc="outside lower center", ncols=3)


def _alone(names: Sequence[str]) -> str:
    """The only target, for a title."""
    return f": {_ascii(names[0])}" if len(names) == 1 else ""


def _label(row: Row, names: Sequence[str]) -> str:
    target = f"{row.target}, " if len(names) > 1 else ""
    return _ascii(f"{row.suite}: {target}{row.setup}")


def _fonts() -> set[str]:
    from matplotlib import font_manager

    return set(font_manager.get_font_names())


def _ascii(text: str) -> str:
    """As it is where a font has its characters; else with question marks, and no empty boxes."""
    return text if text.isascii() or _fonts() & set(FONTS[1:]) else text.encode("ascii", "replace").decode()


__all__: Sequence[Any] = ["charts", "check_installed", "history", "memory", "overview", "rtf", "scaling"]
