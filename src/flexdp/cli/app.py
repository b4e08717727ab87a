"""The command line: results on standard output, everything else on standard error."""

from __future__ import annotations

import click

from flexdp.cli.errors import Commands
from flexdp.version import __version__

__all__ = ["cli"]

# Each command is a function of the same name in a module of the same name, loaded when it is called.
_COMMANDS = (
    "release",
    "summary",
    "init",
    "check",
    "query",
    "report",
    "plan",
    "lab",
    "audit",
    "verify",
    "demo",
    "ledger",
    "web",
)


_CODES = (
    "Exit codes: 0 success; 1 unexpected failure; 2 invalid input; 3 budget refused; 4 nothing survived; "
    "5 violation found; 6 source unavailable, try again; 130 interrupted."
)


@click.group(
    cls=Commands,
    names=_COMMANDS,
    epilog=_CODES,
    context_settings={"auto_envvar_prefix": "FLEXDP", "help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="flexdp")
def cli() -> None:
    """Publish columns of a table with differential privacy that leaves records out instead of adding noise."""
