"""The command line: one command a file, with shared options, error handling and output.

This module imports next to nothing, so that a signal or a lack of memory during the imports ends in one line, too.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
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
        _say(f"flexdp or a package that it needs could not be loaded ({failure}); nothing was released.", 1, failure)
        os._exit(1)
    run_and_exit(cli)


def _ended_early(number: int, _frame: FrameType | None) -> None:
    """End at once: nothing has been opened yet that would have to be tidied up."""
    if number == signal.SIGINT:
        _say("interrupted; nothing was released.", 128 + number, "Interrupted")
    else:
        _say("terminated by a signal; nothing was released.", 128 + number, "Terminated")
    os._exit(128 + number)


def _say(message: str, code: int, kind: str) -> None:
    """Write the message that ends the process; every part of it is plain ASCII, so that JSON needs no library."""
    line = f"Error: {message}"
    if "--json" in sys.argv[2:]:
        line = (
            f'{{"error": {{"code": {code}, "kind": "{kind}", "parameter": null, "message": "{message}", '
            '"spent": false}}'
        )
    if sys.stderr is not None:
        with suppress(OSError):  # nobody to tell
            os.write(2, f"{line}\n".encode())


def __getattr__(name: str) -> Any:
    if name == "cli":
        from flexdp.cli.app import cli

        return cli
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
