"""`flexdp web` on the command line."""

from __future__ import annotations

from typing import Any

import click

from flexdp._core.domains import integer
from flexdp.errors import InputError

__all__ = ["web_command"]

_LAST_PORT = 65535


@click.command("web")
@click.option("--port", default="8731", show_default=True, metavar="P", help="Port on this machine; 0: any free one.")
@click.pass_obj
def web_command(run: Any, /, port: str) -> int:
    """Plan a release on a page in your browser: on this machine only, without data. Ctrl-C ends it."""
    number = integer("port", port, at_least=0)
    if number > _LAST_PORT:
        raise InputError(f"port must be at most {_LAST_PORT}; got {number}. Leave it out, or give 0.")
    try:
        from flexdp.web.server import listen, serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise InputError("web needs starlette and uvicorn: run pip install 'flexdp[web]'.") from None
    run.kept = "the page is closed."
    with listen(number) as listener:
        click.echo(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        click.echo("Open this address in a browser on this machine. Ctrl-C ends it.", err=True)
        try:
            serve(listener)
        except KeyboardInterrupt:  # the ordinary way to end it
            return 0
    return 0
