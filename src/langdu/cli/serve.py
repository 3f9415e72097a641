"""langdu serve: the HTTP service and the studio."""

from __future__ import annotations

import click


@click.command("serve")
@click.option("--host", help="Address to listen on; anything but loopback needs a token.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="[default: 8880]")
@click.option("--open", "open_", is_flag=True, help="Open the studio in the browser.")
@click.option("--allow-host", multiple=True, help="A further host name clients may use, as behind a proxy.")
@click.option("--workers", type=click.IntRange(1), help="Processes for one serial engine; default: as many as help.")
@click.option("--idle", "idle_s", default=600.0, show_default=True, help="Seconds after which a model is unloaded.")
@click.option("--models", default=2, show_default=True, type=click.IntRange(1), help="Models resident at once.")
@click.option("--memory", "memory_mb", default=0, type=click.IntRange(0), help="MB for all models; 0: what is free.")
@click.option("--queue", default=64, show_default=True, type=click.IntRange(1), help="Requests that may wait.")
@click.option("--log-folder", type=click.Path(file_okay=False), help="Write logs there, rotated, instead of stderr.")
def command(
    host: str | None, port: int | None, open_: bool, allow_host: tuple[str, ...], workers: int | None, idle_s: float,
    models: int, memory_mb: int, queue: int, log_folder: str | None,
) -> None:  # fmt: skip
    """Serve speech over HTTP, as OpenAI's clients know it, with a studio in the browser.

    The token for addresses other than loopback is LANGDU_TOKEN: never an option, which others could see.
    """
    from langdu.errors import DependencyError

    try:
        from langdu.service.running import serve
    except ImportError as error:
        raise DependencyError(
            f"{error.name} is not installed; it is part of the service.",
            hint='Run: pip install "langdu[serve,doors,book]"',
        ) from None
    from langdu.service.guard import Policy
    from langdu.service.hub import Limits
    from langdu.settings import settings

    chosen = settings()
    policy = Policy(host or chosen.host, chosen.token, allow_host)
    limits = Limits(queue, workers or chosen.workers or 0, models, memory_mb, idle_s)
    serve(policy, limits, chosen.port if port is None else port, open_page=open_, log_folder=log_folder)
