"""Counts that Ctrl-C can stop, that fail with one and the same error, and that log nothing."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from flexdp._core.faults import concealed
from flexdp._core.forks import check_fork, inside_release
from flexdp.errors import DataError

__all__ = ["POLL_SECONDS", "run", "run_here", "signals_held", "silenced", "stoppable"]

_T = TypeVar("_T")
POLL_SECONDS = 0.1
_GRACE_SECONDS = 1.5
_STOPPED: ContextVar[threading.Event | None] = ContextVar("_STOPPED", default=None)


def run(work: Callable[[], _T], interrupt: Callable[[], None]) -> _T:
    """Do the work in a thread, so that Ctrl-C arrives at once; then call ``interrupt`` and wait for the end.

    Every failure becomes the same :class:`DataError`: an engine's own message may quote a cell.
    """
    check_fork()
    outcome: list[_T] = []
    failures: list[BaseException] = []
    done = threading.Event()  # not Thread.join: after an interrupted join the thread counts as finished

    def inside() -> _T:
        with inside_release():
            return work()

    def target() -> None:
        try:
            outcome.append(concealed(inside, concealing=BaseException))  # panics too, and nothing may reach stderr
        except BaseException as failure:  # noqa: BLE001  (raised where the work was asked for)
            failures.append(failure)
        finally:
            done.set()

    stopped = _STOPPED.get()
    try:
        threading.Thread(target=target, name="flexdp-count", daemon=True).start()
        while not done.wait(POLL_SECONDS):
            if stopped is not None and stopped.is_set():
                raise DataError
    except BaseException:
        threading.Thread(target=_insist, args=(interrupt, done), name="flexdp-stop", daemon=True).start()
        done.wait(_GRACE_SECONDS)
        raise
    if failures:
        raise failures.pop()
    return outcome[0]


@contextmanager
def stoppable(stopped: threading.Event) -> Iterator[None]:
    """Let an event stop what :func:`run` does in the block, as Ctrl-C does in the main thread, where it arrives."""
    token = _STOPPED.set(stopped)
    try:
        yield
    finally:
        _STOPPED.reset(token)


@contextmanager
def signals_held() -> Iterator[None]:
    """Let signals that end the process wait until the block has ended.

    Blocking them in this thread would not do: the system then delivers them to any other thread of the process, such
    as one that a library has started, and Python calls their handlers in this one all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: handler for number in numbers if (handler := signal.getsignal(number)) is not None}
    arrived: list[int] = []
    for number in before:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)


def _insist(interrupt: Callable[[], None], done: threading.Event) -> None:
    """Interrupt until it has an effect: a statement that has not begun yet is not stopped by the first attempt."""
    stopped = False
    while not stopped:
        with suppress(Exception):  # a connection that was closed in the meantime has nothing left to stop
            interrupt()
        stopped = done.wait(POLL_SECONDS)


def run_here(work: Callable[[], _T], interrupt: Callable[[], None]) -> _T:
    """Do the work in the calling thread, for connections bound to it; Ctrl-C interrupts it all the same."""
    with inside_release(), _watched(interrupt):
        return concealed(work)


@contextmanager
def _watched(interrupt: Callable[[], None]) -> Iterator[None]:
    """Watch for Ctrl-C: inside an engine no Python signal handler runs, but the wakeup file descriptor is written."""
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
                _insist(interrupt, ended)

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
    """Let these loggers and their children, which do not inherit filters, write only what ``others`` accepts."""
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
