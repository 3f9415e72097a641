"""langdu worker: a process that says chunks for `langdu book --cluster`."""

from __future__ import annotations

from typing import Any

import click


@click.command("worker")
@click.argument("scheduler")
@click.option("--engine", default="kokoro", show_default=True, help="kokoro or qwen3.")
@click.option("--model", default="", help="Catalogue name or folder of the engine's model.")
@click.option("--workers", default=1, show_default=True, help="Processes to start; each loads the engine.")
@click.option("--force", is_flag=True, help="Start more than this machine carries.")
def command(scheduler: str, engine: str, model: str, workers: int, force: bool) -> None:
    """Join the Dask cluster at SCHEDULER (tcp://host:8786) until it ends or Ctrl-C."""
    from langdu import engines
    from langdu.synthesis.capacity import choose_workers
    from langdu.synthesis.runner import EngineSpec

    count = choose_workers(workers, engine=engine, chunks=workers, force=force)
    if engine not in engines.ENGINES:
        from langdu.errors import SettingError

        raise SettingError(f'There is no engine "{engine}".', hint="Known: kokoro, qwen3.")
    info = engines.describe(EngineSpec(engine, model))  # a missing model is said now
    if info is not None:
        click.echo(f"{info.engine} {info.model} {info.precision}, revision {info.revision}", err=True)
    _serve(scheduler, engine, count)


def _serve(scheduler: str, engine: str, count: int) -> None:
    import asyncio

    from langdu.errors import DependencyError, NetworkError
    from langdu.synthesis.cluster import CONNECT_S, resource

    try:
        from distributed import Nanny
    except ImportError:
        hint = 'Run: pip install "langdu[cluster]"'
        raise DependencyError("Dask's distributed is not installed.", hint=hint) from None

    async def serve() -> None:
        offered = {resource(engine): 1}
        nannies: list[Any] = [
            Nanny(scheduler, nthreads=1, resources=offered, memory_limit=0, dashboard_address=None)
            for _ in range(count)
        ]
        try:
            await asyncio.wait_for(asyncio.gather(*nannies), CONNECT_S)
        except (OSError, ValueError, TimeoutError) as error:
            hint = "Start one: dask scheduler --host 127.0.0.1"
            raise NetworkError(f"No Dask scheduler answers at {scheduler} ({error}).", hint=hint) from None
        click.echo(f"{count} worker(s) at {scheduler}; Ctrl-C ends them.", err=True)
        await asyncio.gather(*(nanny.finished() for nanny in nannies))

    asyncio.run(serve())
