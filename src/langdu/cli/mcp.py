"""langdu mcp: speech for agents."""

from __future__ import annotations

import click


@click.command("mcp")
def command() -> None:
    """Serve one agent over stdin and stdout (Model Context Protocol).

    The tools are speak, list_voices, stop and make_audiobook. A running service offers the same at /mcp.
    """
    import asyncio

    from langdu.errors import DependencyError
    from langdu.settings import settings

    try:
        import mcp  # noqa: F401

        from langdu.service.mcp import serve_stdio
    except ImportError as error:
        hint = 'Run: pip install "langdu[serve,doors]"'
        raise DependencyError(f"{error.name} is not installed; it speaks to agents.", hint=hint) from None
    asyncio.run(serve_stdio(settings().data_dir / "agents"))
