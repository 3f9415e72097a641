"""The suites by name, in the order they run, each a function from one target to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from langdu.bench.context import Context
from langdu.bench.model import Row
from langdu.bench.suites.burst import burst
from langdu.bench.suites.cold import cold
from langdu.bench.suites.memory import memory
from langdu.bench.suites.precision import precision
from langdu.bench.suites.quality import quality
from langdu.bench.suites.scale import scale
from langdu.bench.suites.texts import long, short
from langdu.bench.target import Target

Suite = Callable[[Context, Target], Iterator[Row]]

SUITES: dict[str, tuple[Suite, str]] = {
    "short": (short, "30 characters, warm: first sound and end"),
    "long": (long, "822 characters, warm, as `langdu say` would do it"),
    "cold": (cold, "30 characters by a fresh process: first sound and end"),
    "burst": (burst, "3 and 8 requests at once"),
    "scale": (scale, "1, 2, 4, 8, … workers or slots, until memory or cores end"),
    "precision": (precision, "bf16, 8, 6 and 4 bit of the same model, where present"),
    "memory": (memory, "peak, and what is left after idle unload"),
    "quality": (quality, "transcript, zero crossings, bands, speaker"),
}
