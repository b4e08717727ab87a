"""A count that can be stopped, the one error for whatever goes wrong in it, and what it brings back."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from flexdp.errors import DataError
from flexdp.histogram import object_keys
from flexdp.tables.counting import Counted, Counting

__all__ = ["columns_of", "counted", "counted_together", "run", "run_here", "silenced"]

_T = TypeVar("_T")
_POLL_SECONDS = 0.1
_GRACE_SECONDS = 1.5


def run(work: Callable[[], _T], interrupt: Callable[[], None]) -> _T:
    """Do the work in a thread, so that Ctrl-C reaches us at once; then ``interrupt`` it and wait for its end.

    Every failure becomes the one :class:`DataError`: an engine's own text may quote a cell.
    """
    outcome: list[_T] = []
    done = threading.Event()  # not Thread.join: an interrupted join takes the thread for finished

    def target() -> None:
        try:
            outcome.append(work())
        except BaseException:  # noqa: BLE001  (all failures look alike, also panics, of which nothing may reach stderr)
            outcome.clear()
        finally:
            done.set()

    try:
        threading.Thread(target=target, name="flexdp-count", daemon=True).start()
        while not done.wait(_POLL_SECONDS):
            pass
    except BaseException:
        threading.Thread(target=_insist, args=(interrupt, done), name="flexdp-stop", daemon=True).start()
        done.wait(_GRACE_SECONDS)
        raise
    if not outcome:
        raise DataError
    return outcome[0]


def counted(columns: dict[str, Any], axes: int) -> Counted:
    """The columns of a count query's result."""
    return Counted(tuple(columns[f"b{i}"] for i in range(axes)), columns["records"])


def counted_together(columns: dict[str, Any], countings: Sequence[Counting]) -> list[Counted]:
    """The result of a query that counts several things at once, taken apart; rows of missing values are no bars."""
    out = []
    for p, counting in enumerate(countings):
        parts = [columns[f"c{p}_b{i}"] for i in range(len(counting.axes))]
        mine = np.asarray(columns["whose"] == p)
        for part in parts:
            mine &= ~np.ma.getmaskarray(part)
        out.append(Counted(tuple(np.ma.getdata(part)[mine] for part in parts), np.ma.getdata(columns["records"])[mine]))
    return out


def _insist(interrupt: Callable[[], None], done: threading.Event) -> None:
    """Interrupt until it has had an effect: what has not begun yet cannot be stopped the first time."""
    interrupt()
    while not done.wait(_POLL_SECONDS):
        interrupt()


def run_here(work: Callable[[], _T], interrupt: Callable[[], None]) -> _T:
    """Do the work in the calling thread, for connections that fit no other; Ctrl-C interrupts it all the same."""
    outcome: list[_T] = []
    with _watched(interrupt):
        try:
            outcome.append(work())
        except Exception:  # noqa: BLE001  (all failures after data was touched look alike, on purpose)
            outcome.clear()
    if not outcome:
        raise DataError
    return outcome[0]


@contextmanager
def _watched(interrupt: Callable[[], None]) -> Iterator[None]:
    """While the main thread is inside an engine no Python handler runs, but the system still writes a byte for us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)

    ended = threading.Event()

    def watch() -> None:
        while said := ours.recv(64):
            if signal.SIGINT in said:
                _insist(interrupt, ended)  # a statement that is about to begin is not stopped by the first one

    watcher = threading.Thread(target=watch, name="flexdp-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        theirs.close()
        watcher.join()
        ours.close()


@contextmanager
def silenced(names: Sequence[str], others: Callable[[logging.LogRecord], bool]) -> Iterator[None]:
    """Let these loggers, and those below them, which ask only themselves, write nothing but what ``others`` allows."""
    below = tuple(f"{name}." for name in names)
    found = {*names, *(name for name in list(logging.root.manager.loggerDict) if name.startswith(below))}
    loggers = [logging.getLogger(name) for name in found]
    for logger in loggers:
        logger.addFilter(others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(others)


def columns_of(rows: Sequence[Sequence[Any]], names: Sequence[str], texts: Collection[str]) -> dict[str, Any]:
    """Rows as an engine's driver returns them, turned into named columns; ``texts`` names those that hold texts."""
    cells = zip(*rows, strict=True) if len(rows) else ([] for _ in names)
    return {name: _column(list(part), texts=name in texts) for name, part in zip(names, cells, strict=True)}


def _column(cells: list[Any], *, texts: bool) -> Any:
    missing = [cell is None for cell in cells]
    if texts or any(isinstance(cell, str) for cell in cells):  # integers of any size come as texts, too
        values = object_keys(["" if cell is None else cell for cell in cells])
    else:
        values = np.array([0 if cell is None else cell for cell in cells])
    return np.ma.MaskedArray(values, mask=missing)
