"""The guard around every command: whatever happens becomes one line on standard error and a documented exit code.

====  =====================================================================
code  meaning
====  =====================================================================
0     success
1     an unexpected failure, named by its kind only: a traceback may quote a record
2     invalid input, output that could not be written, or a damaged ledger
3     the budget in the ledger does not suffice; nothing was read
4     nothing survived
5     a violation was found, or a ledger or a release was changed (flexdp ledger verify, flexdp verify)
6     the source or the ledger is out of reach, locked, or could not be read or written to its end: try again
129   terminated by SIGHUP
130   interrupted
143   terminated by SIGTERM
====  =====================================================================

With ``--json`` that line is a JSON object, and with ``--quiet`` it is all that standard error holds.
"""

from __future__ import annotations

import _thread
import difflib
import errno
import io
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO

import click

from flexdp._core.text import visible
from flexdp.cli.examples import with_examples
from flexdp.cli.wording import speller
from flexdp.errors import BudgetError, DataError, FlexdpError, InputError, LedgerError, P, UnavailableError, spelled

__all__ = [
    "BAD_INPUT",
    "BUDGET_REFUSED",
    "NOTHING_SURVIVED",
    "UNAVAILABLE",
    "UNEXPECTED",
    "VIOLATION",
    "Commands",
    "Run",
    "guarded",
    "run_and_exit",
    "violation",
]

UNEXPECTED = 1
BAD_INPUT = 2
BUDGET_REFUSED = 3
NOTHING_SURVIVED = 4
VIOLATION = 5
UNAVAILABLE = 6

_MODULES = {"summary": "release"}  # commands that share a module with another
_EXAMPLES = {"epsilon": P("epsilon", 1), "delta": P("delta", "1e-6")}
_MOMENT = 0.02  # seconds, after which a callback has ended
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@dataclass
class Run:
    """State of one run of the command line, for the message that ends it."""

    spent: bool = False
    kept: str = ""  # after an interruption: what became of the work, where it is not a release
    spell: Callable[[P], str] = str  # parameters, as options of the command that runs
    as_json: bool = False  # print the message as JSON
    heard: TextIO = field(default_factory=lambda: sys.stderr)  # where it goes, also with --quiet

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
        found: click.Command = getattr(import_module(f"flexdp.cli.{_MODULES.get(cmd_name, cmd_name)}"), cmd_name)
        if not any(parameter.name == "quiet" for parameter in found.params):
            found.params.append(_quiet())
        return with_examples(cmd_name, found)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, and remember its options for error messages."""
        near = difflib.get_close_matches(args[0], self._names, n=1)
        if near and args[0] not in self._names and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]}?")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            run = ctx.ensure_object(Run)
            run.spell = speller(command.params)
            run.as_json = "--json" in rest  # already now: the rest may be wrong
        return name, command, rest


class Subcommands(click.Group):
    """Commands of a command; each is silenced by ``--quiet`` and spells parameters in its own way."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of this name."""
        found = super().get_command(ctx, cmd_name)
        if found is not None and not any(parameter.name == "quiet" for parameter in found.params):
            found.params.append(_quiet())
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, and remember its options for error messages."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            ctx.ensure_object(Run).spell = speller(command.params)
        return name, command, rest


def _quiet() -> click.Option:
    return click.Option(
        ["--quiet", "-q"],
        is_flag=True,
        expose_value=False,
        callback=_silence,
        help="Print no notes, warnings or progress on standard error; errors are printed.",
    )


def _silence(context: click.Context, _parameter: click.Parameter, quiet: bool) -> None:
    """Drop what a command writes to standard error; the message that ends it is written after that."""
    if quiet:
        context.with_resource(redirect_stderr(_Nowhere()))


class _Nowhere(io.TextIOBase):
    """A stream that drops what is written; there is nothing to close if the rest of the command line is wrong."""

    def write(self, text: str) -> int:
        """Drop a text."""
        return len(text)


class _Terminated(BaseException):
    """A signal that ends the process, raised so that the process can tidy up first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


_received: list[int] = []  # signals; an extension that one is raised in may turn it into another exception


def _terminate(number: int, _frame: FrameType | None) -> None:
    _received.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise _Terminated(number)


def run_and_exit(group: click.Group) -> NoReturn:
    """Run the command that was typed, and exit with its code."""
    sys.unraisablehook = _not_raised
    ours = [
        getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)
    ]  # not all on Windows
    ours = [number for number in ours if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    for number in ours:
        signal.signal(number, _terminate)
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115  (closed by the caller: nobody to tell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without Greek letters is no reason to fail
    try:
        code = guarded(group)
    except (KeyboardInterrupt, _Terminated):  # a second one, while the first was being reported
        code = 128 + signal.SIGINT
    for number in ours:
        signal.signal(number, signal.SIG_DFL)  # what is left takes no time, and a traceback would say nothing
    if any(thread.name == "flexdp-count" for thread in threading.enumerate()):
        os._exit(code)  # a read that nothing can wake must not keep the process
    sys.exit(code)


def _not_raised(failure: sys.UnraisableHookArgs) -> None:
    """Raise a signal that arrived inside a callback again, outside of it; other failures there are not shown.

    Their text may quote a record, and whatever they prevented fails by itself.
    """
    number = signal.SIGINT if isinstance(failure.exc_value, KeyboardInterrupt) else None
    if isinstance(failure.exc_value, _Terminated):
        number = signal.Signals(failure.exc_value.code - 128)
    if number is not None:
        again = threading.Timer(_MOMENT, _thread.interrupt_main, (number,))
        again.daemon = True
        again.start()


def guarded(group: click.Group) -> int:
    """Run the command that was typed, and return its exit code whatever happens in it."""
    run = Run(as_json="--json" in sys.argv[2:])  # already now: commands are loaded when they are called
    try:
        if sys.stdout is None:
            raise click.ClickException("standard output is closed, so nothing can be printed.")
        code = group.main(standalone_mode=False, obj=run)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as bare:
        return _complained(bare.format_message(), BAD_INPUT)
    except click.ClickException as refusal:
        return _complain(run, f"{refusal.format_message()}{_example(refusal, run)}", BAD_INPUT, "UsageError")
    except InputError as refusal:
        code = UNAVAILABLE if isinstance(refusal, UnavailableError) else BAD_INPUT
        return _complain(run, refusal.message(run.spell), code, type(refusal).__name__, refusal.parameter)
    except BudgetError as refusal:
        return _complain(run, str(refusal), BUDGET_REFUSED, "BudgetError")
    except LedgerError as refusal:
        return _complain(run, f"{refusal}.", UNAVAILABLE if refusal.retry else BAD_INPUT, "LedgerError")
    except FlexdpError as refusal:
        if _received:
            return _complain(run, *_ended_by(run, _received[0]))
        code = UNAVAILABLE if isinstance(refusal, DataError) else BAD_INPUT
        return _complain(run, str(refusal), code, type(refusal).__name__)
    except (click.Abort, KeyboardInterrupt):
        return _complain(run, *_ended_by(run, signal.SIGINT))
    except _Terminated as ended:
        return _complain(run, *_ended_by(run, ended.code - 128))
    except (BrokenPipeError, SystemExit):  # the reader of our output has closed the pipe; click leaves that way too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as failure:  # noqa: BLE001  (its text may hold a record)
        kind = type(failure).__name__
        if _received:
            return _complain(run, *_ended_by(run, _received[0]))
        if isinstance(failure, OSError) and (run.spent or failure.errno in _FULL):
            return _complain(run, f"could not write the output; {run.cost}.", BAD_INPUT, kind)
        return _complain(run, f"an unexpected {kind} stopped flexdp; {run.cost}.", UNEXPECTED, kind)
    return code if isinstance(code, int) else 0


def _example(refusal: click.ClickException, run: Run) -> str:
    """A budget that is missing, as it may be written."""
    missing = refusal.param if isinstance(refusal, click.MissingParameter) else None
    written = _EXAMPLES.get((missing.name if missing is not None else None) or "")
    return "" if written is None else f" For example {spelled((written,), run.spell)}."


def violation(run: Run, message: str) -> int:
    """Print what was found on standard error, in the form of an error, and return the exit code."""
    return _complain(run, message, VIOLATION, "Violation")


def _ended_by(run: Run, number: int) -> tuple[str, int, str]:
    """Message, exit code and kind of an end by a signal."""
    if number == signal.SIGINT:
        return f"interrupted; {run.cost}.", 128 + number, "Interrupted"
    return f"terminated by a signal; {run.cost}.", 128 + number, "Terminated"


def _complain(run: Run, message: str, code: int, kind: str, parameter: str | None = None) -> int:
    """Print the message on one line; words longer than a line are cut out."""
    sys.stderr = run.heard  # the context of a command line that could not be parsed does not give it back
    line = visible(re.sub(r"\S{200,}", "…", re.sub(r"\s*\n\s*", " ", message.strip())))
    error = {"code": code, "kind": kind, "parameter": parameter, "message": line, "spent": run.spent}
    return _complained(json.dumps({"error": error}) if run.as_json else f"Error: {line}", code)


def _complained(text: str, code: int) -> int:
    """Print a text on standard error; if that is full or closed, the code alone must tell."""
    try:
        click.echo(text, err=True)
        sys.stderr.flush()
    except OSError:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  (what is left in the old one would fail again)
    return code
