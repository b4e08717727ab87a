"""What must hold of every input, whatever it is: a value or a refusal of ours, in bounded time and memory."""

from __future__ import annotations

import contextlib
import re
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flexdp.errors import BudgetError, DataError, FlexdpError, InputError, LedgerError

__all__ = ["Finding", "Outcome", "bounded", "demand", "outcome_of", "place_of"]

MOST_SECONDS = 5.0  # of processor time for one input
MOST_MEMORY = 500  # megabytes that one input may add
LONGEST_MESSAGE = 700
KNOWN = (InputError, BudgetError, DataError, LedgerError)

Outcome = tuple[str, str]  # the kind of a refusal and its message; both empty for a value


class Finding(AssertionError):  # noqa: N818  (the word of the field)
    """An input that breaks a promise."""


def demand(holds: object, what: str) -> None:
    """Report a finding unless something holds; unlike assert, under every option of the interpreter."""
    if not holds:
        raise Finding(what)


def outcome_of(call: Callable[[], Any], *, heard: bool = False) -> tuple[Any, Outcome]:
    """Return what a call gives, or None with the refusal it ends in, which must be a known one with all its fields.

    Warnings, which tell how columns are read, are dropped, unless the caller has arranged for them to be ``heard``.
    """
    with contextlib.nullcontext() if heard else warnings.catch_warnings():
        if not heard:
            warnings.simplefilter("ignore")
        try:
            return call(), ("", "")
        except FlexdpError as refusal:
            return None, (type(refusal).__name__, _message_of(refusal))


def _message_of(refusal: FlexdpError) -> str:
    """Return the message of a refusal, after looking at its form."""
    message = str(refusal)
    demand(isinstance(refusal, KNOWN), f"an unknown kind {type(refusal)}")
    demand("\n" not in message and message.isprintable(), f"a message that is not one line: {message!r}")
    demand(0 < len(message) <= LONGEST_MESSAGE, f"a message of {len(message)} characters: {message[:200]!r}")
    demand("Traceback" not in message and "Error:" not in message, f"another program's words: {message!r}")
    if isinstance(refusal, InputError):
        demand(refusal.parameter and isinstance(refusal.parameter, str), "a refusal that names no parameter")
        demand(refusal.rule, "a refusal that names no rule")
        demand(refusal.given is None or isinstance(refusal.given, str), "what was given is no text")
    demand(refusal.__cause__ is None, "a refusal that shows its cause")
    return message


def bounded(run: Callable[[bytes], None], data: bytes) -> None:
    """Run a target on one input, within the limits of processor time and memory."""
    before, started = _memory_before(), time.process_time()
    run(data)
    spent, grown = time.process_time() - started, _peak() - before
    demand(spent <= MOST_SECONDS, f"took {spent:.1f} s of processor time")
    demand(grown <= MOST_MEMORY, f"took {grown:.0f} MB of memory")


def _memory_before() -> float:
    """Forget the largest amount of memory so far, where the system can, and return what is in use, in megabytes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    """The largest amount of memory since then, in megabytes."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found is not None:
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / (1024 if sys.platform == "darwin" else 1)


def place_of(error: BaseException) -> str:
    """Return the kind of a failure and the last line of flexdp, or of the target, that it passed: one name a fault."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.name != "demand"]
    if isinstance(error, Finding):
        return f"{re.sub('[0-9.]+', '…', str(error))[:80]} at line {frames[-1].lineno}"
    own = [frame for frame in frames if "/flexdp/" in frame.filename.replace("\\", "/")]
    last = (own or frames)[-1]
    return f"{type(error).__name__} at {last.filename.rpartition('/flexdp/')[2]}:{last.lineno}"
