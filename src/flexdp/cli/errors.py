"""The guard around every command: whatever happens becomes one line on standard error and a documented exit code.

====  =====================================================================
code  meaning
====  =====================================================================
0     success
1     an unexpected failure, named by its kind only: a traceback may quote a record
2     invalid input, or output that could not be written
4     nothing survived
129   terminated by SIGHUP
130   interrupted
143   terminated by SIGTERM
====  =====================================================================
"""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from flexdp._core.text import visible
from flexdp.cli.wording import speller
from flexdp.errors import FlexdpError, InputError, P

__all__ = ["BAD_INPUT", "NOTHING_SURVIVED", "UNEXPECTED", "Commands", "Run", "guarded", "run_and_exit"]

UNEXPECTED = 1
BAD_INPUT = 2
NOTHING_SURVIVED = 4

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@dataclass
class Run:
    """State of one run of the command line, for the message that ends it."""

    spent: bool = False
    kept: str = ""  # after an interruption: what became of the work, where it is not a release
    spell: Callable[[P], str] = str  # parameters, as options of the command that runs

    @property
    def cost(self) -> str:
        """Cost of a failure, as a clause."""
        if self.kept:
            return self.kept
        return "the budget of this release is spent" if self.spent else "nothing was released"


class Commands(click.Group):
    """A group that loads a command when it is called, and notes how it spells parameters."""

    def __init__(self, *args: Any, names: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._names = tuple(names)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands, in the order of the help."""
        return sorted(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command; None if there is none of this name."""
        if cmd_name not in self._names:
            return None
        found: click.Command = getattr(import_module(f"flexdp.cli.{cmd_name}"), cmd_name)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, and remember its options for error messages."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            ctx.ensure_object(Run).spell = speller(command.params)
        return name, command, rest


class _Terminated(BaseException):
    """A signal that ends the process, raised so that the process can tidy up first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise _Terminated(number)


def run_and_exit(group: click.Group) -> NoReturn:
    """Run the command that was typed, and exit with its code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115  (closed by the caller: nobody to tell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without Greek letters is no reason to fail
    code = guarded(group)
    if any(thread.name == "flexdp-count" for thread in threading.enumerate()):
        os._exit(code)  # a read that nothing can wake must not keep the process
    sys.exit(code)


def guarded(group: click.Group) -> int:
    """Run the command that was typed, and return its exit code whatever happens in it."""
    run = Run()
    try:
        if sys.stdout is None:
            raise click.ClickException("standard output is closed, so nothing can be printed.")
        code = group.main(standalone_mode=False, obj=run)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as refusal:
        return _complain(refusal.format_message(), BAD_INPUT)
    except InputError as refusal:
        return _complain(refusal.message(run.spell), BAD_INPUT)
    except FlexdpError as refusal:
        return _complain(str(refusal), BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        return _complain(f"interrupted; {run.cost}.", 128 + signal.SIGINT)
    except _Terminated as ended:
        return _complain(f"terminated by a signal; {run.cost}.", ended.code)
    except (BrokenPipeError, SystemExit):  # the reader of our output has closed the pipe; click leaves that way too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as failure:  # noqa: BLE001  (its text may hold a record)
        if isinstance(failure, OSError) and (run.spent or failure.errno in _FULL):
            return _complain(f"could not write the output; {run.cost}.", BAD_INPUT)
        return _complain(f"an unexpected {type(failure).__name__} stopped flexdp; {run.cost}.", UNEXPECTED)
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int) -> int:
    """Print the message on one line; words longer than a line are cut out."""
    line = re.sub(r"\s*\n\s*", " ", message.strip())
    click.echo("Error: " + visible(re.sub(r"\S{200,}", "…", line)), err=True)
    return code
