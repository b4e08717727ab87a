"""Identical requests of several threads run one after another, so that the second finds what the first has stored."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_at_a_time"]


class _Turns:
    """Locks by request, each kept as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.locks: dict[tuple[str, ...], tuple[threading.RLock, int]] = {}

    def join(self, key: tuple[str, ...]) -> threading.RLock:
        """Return the lock of a request, which is then kept until :meth:`leave`."""
        with self.guard:
            lock, waiting = self.locks.get(key, (threading.RLock(), 0))
            self.locks[key] = (lock, waiting + 1)
        return lock

    def leave(self, key: tuple[str, ...]) -> None:
        """Drop the lock of a request if nobody else wants it."""
        with self.guard:
            lock, waiting = self.locks.pop(key, (threading.RLock(), 1))
            if waiting > 1:
                self.locks[key] = (lock, waiting - 1)


_turns = _Turns()


def _anew() -> None:
    """Forget the locks of the parent process, whose threads do not exist here."""
    global _turns
    _turns = _Turns()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_anew)


@contextmanager
def one_at_a_time(*key: str) -> Iterator[None]:
    """Wait until no other thread of this process is at work on the same request.

    >>> with one_at_a_time("ledger", "data set", "request"):
    ...     pass
    """
    turns = _turns
    lock = turns.join(key)
    try:
        with lock:
            yield
    finally:
        turns.leave(key)
