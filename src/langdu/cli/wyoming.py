"""langdu wyoming: speech for Home Assistant."""

from __future__ import annotations

import click


@click.command("wyoming")
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 for Home Assistant on another machine.")
@click.option("--port", default=10200, show_default=True, type=click.IntRange(0, 65535))
@click.option("--lan", is_flag=True, help="Allow an address other than loopback: the protocol has no password.")
@click.option("--idle", "idle_s", default=600.0, show_default=True, help="Seconds after which a model is unloaded.")
def command(host: str, port: int, lan: bool, idle_s: float) -> None:
    """Serve the Wyoming protocol, streaming included."""
    import asyncio

    from langdu.errors import DependencyError, SettingError
    from langdu.service.hub import Hub, Limits

    try:
        from langdu.service.wyoming import is_loopback, wyoming_server
    except ImportError as error:
        hint = 'Run: pip install "langdu[serve,doors]"'
        raise DependencyError(f"{error.name} is not installed; it speaks to Home Assistant.", hint=hint) from None
    if not is_loopback(host) and not lan:
        hint = "Add --lan if everybody on that network may use it."
        raise SettingError(f"The Wyoming protocol has no password; {host} can be reached by others.", hint=hint)

    async def run() -> None:
        import signal

        hub = Hub(Limits(idle_s=idle_s))
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        try:
            async with wyoming_server(hub, host, port):
                click.echo(f"Wyoming on tcp://{host}:{port}", err=True)
                await ended.wait()
        finally:
            hub.close()

    try:
        asyncio.run(run())
    except OSError as error:
        reason = error.strerror or error
        raise SettingError(f"{host}:{port} cannot be used ({reason}).", hint="Give another --port.") from None
