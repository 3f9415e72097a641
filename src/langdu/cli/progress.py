"""Progress on a terminal; nothing where stderr is a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langdu.models.store import Progress


@contextmanager
def chunks_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Calls `(done, total)` move a bar with the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def told(what: str) -> Iterator[Callable[[str], None]]:
    """Calls with a word or two show what is under way, on a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda now: None
        return
    with console.status(what) as status:
        yield lambda now: status.update(f"{what}: {now}")


@contextmanager
def download_bar() -> Iterator[Callable[[Progress], None]]:
    """Rate and time left of each file that is fetched."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda progress: None
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    tasks: dict[str, object] = {}
    with Bar(*columns, console=console, transient=True) as bar:

        def report(progress: Progress) -> None:
            if progress.file not in tasks:
                tasks[progress.file] = bar.add_task(progress.file, total=progress.total or None)
            bar.update(tasks[progress.file], completed=progress.done, total=progress.total or None)  # type: ignore[arg-type]

        yield report
