"""The command line: one command a file, with shared options, error handling and output.

This module imports next to nothing, so that a signal or a lack of memory during the imports ends in one line, too.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

__all__ = ["cli", "main"]


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _ended_early)
    failure = ""
    try:
        from flexdp.cli.app import cli
        from flexdp.cli.errors import run_and_exit
    except (ImportError, MemoryError, OSError) as error:  # numpy's message is a page long
        failure = type(error).__name__
    if failure:
        _say(f"flexdp or a package that it needs could not be loaded ({failure}); nothing was released.")
        os._exit(1)
    run_and_exit(cli)


def _ended_early(number: int, _frame: FrameType | None) -> None:
    """End at once: nothing has been opened yet that would have to be tidied up."""
    _say(f"{'interrupted' if number == signal.SIGINT else 'terminated by a signal'}; nothing was released.")
    os._exit(128 + number)


def _say(message: str) -> None:
    if sys.stderr is not None:
        os.write(2, f"Error: {message}\n".encode())


def __getattr__(name: str) -> Any:
    if name == "cli":
        from flexdp.cli.app import cli

        return cli
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
