"""Settings that do not do what they seem to: misspelt variables, more workers than the machine carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langdu.configuration import Value
from langdu.doctor.finding import Finding


def judge(values: Iterable[Value], strangers: Mapping[str, str], *, most_workers: int) -> list[Finding]:
    """`strangers`: variables that are almost settings, and what was probably meant; `most_workers`: as many as cores
    and free memory carry."""
    values = list(values)
    found = [
        Finding("warning", "settings", f"{name} is no setting", f"{meant} is probably meant", f"unset {name}")
        for name, meant in strangers.items()
    ]
    for one in values:
        if one.name == "workers" and one.value is not None and one.value > most_workers:
            reason = f"cores and free memory carry {most_workers}; more run out of memory or time"
            command = f"unset {one.where}" if one.origin == "environment" else "langdu config set workers auto"
            found.append(
                Finding("warning", "settings", f"workers is set to {one.value} by {one.where}", reason, command)
            )
    changed = [one.name for one in values if one.origin != "default"]
    what = f"{', '.join(changed)} by file or environment" if changed else "all at their defaults"
    return found or [Finding("ok", "settings", what, "langdu config shows each")]
