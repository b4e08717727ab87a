"""``flexdp web``: the planning page in a browser."""

from __future__ import annotations

import click

from flexdp._core.domains import integer
from flexdp.cli.errors import Run
from flexdp.errors import InputError

__all__ = ["web"]

_LAST_PORT = 65535


@click.command()
@click.option(
    "--port", default="8731", show_default=True, metavar="P", help="Port on this machine; 0 picks a free one."
)
@click.pass_obj
def web(run: Run, /, port: str) -> int:
    """Plan a release in your browser. The page is served on this machine only and reads no data. Ctrl-C stops it."""
    number = integer("port", port, at_least=0)
    if number > _LAST_PORT:
        raise InputError("port", f"must be at most {_LAST_PORT}", given=str(number), remedy="Leave it out, or give 0.")
    try:
        from flexdp.web.server import listen, serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise InputError("web", "needs starlette and uvicorn", remedy="Run pip install 'flexdp[web]'.") from None
    run.kept = "the page is closed"
    with listen(number) as listener:
        click.echo(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        click.echo("Open this address in a browser on this machine. Press Ctrl-C to stop.", err=True)
        try:
            serve(listener)
        except KeyboardInterrupt:  # the ordinary way to stop it
            return 0
    return 0
