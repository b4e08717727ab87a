"""The one place where whatever goes wrong with private data becomes one error, whose message never varies.

The type and the text of an exception may depend on a record, so none leaves :func:`concealed`. That hides mistakes in
our own code, too. flexdp's tests set a hook here (:func:`watch_in_tests`), which raises what is no fault of data.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from flexdp.errors import DataError

__all__ = ["FaultError", "concealed", "noticing", "watch_in_tests"]

_T = TypeVar("_T")
_Hook = Callable[[BaseException], None]
_hooks: list[_Hook] = []  # at most one, in the process that set it
_unseen: list[BaseException] = []  # which an engine turned into others before the hook could see them


class FaultError(Exception):
    """A fault of data that we found ourselves; always concealed, so it may be raised while another is handled."""


def concealed(
    work: Callable[[], _T],
    *,
    passing: tuple[type[BaseException], ...] = (),
    concealing: type[BaseException] = Exception,
) -> _T:
    """Do private work; whatever goes wrong is the one error.

    Parameters
    ----------
    work
        What to do.
    passing
        Exceptions that hold no record and are raised as they are.
    concealing
        The exceptions that become the error; all others are raised.

    Returns
    -------
    object
        What the work returns.

    Raises
    ------
    DataError
        If anything goes wrong.
    """
    out: list[_T] = []
    try:
        with np.errstate(all="ignore"):  # a warning would reveal a cell: a signalling NaN, a number too large
            out.append(work())
    except passing:
        raise
    except concealing as error:
        for hook in _hooks:
            earlier, _unseen[:] = list(_unseen), []
            for each in (*earlier, error):
                hook(each)
    if not out:
        raise DataError  # outside the handler, so that no chain of causes leads back to the record
    return out[0]


def noticing(parts: Iterator[_T]) -> Iterator[_T]:
    """Iterate over what an engine reads, which turns whatever is raised here into an error of its own.

    The hook sees what was raised before that error is concealed. Without a hook, nothing is kept.

    Parameters
    ----------
    parts
        What the engine reads.

    Yields
    ------
    object
        Each part.
    """
    try:
        yield from parts
    except Exception as error:
        if _hooks:
            _unseen.append(error)
        raise


def watch_in_tests(hook: _Hook | None) -> None:
    """Let a hook see each exception before it is concealed; it may raise one. For flexdp's own tests.

    Parameters
    ----------
    hook
        Called with the exception; None takes the hook away.

    Raises
    ------
    RuntimeError
        In a child process: what a test starts runs as it does for users.
    """
    if multiprocessing.parent_process() is not None:
        raise RuntimeError("no hook is set in a child process")
    _unseen.clear()
    _hooks[:] = [] if hook is None else [hook]


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_hooks.clear)
