"""SQLite databases in memory, closed after the test that opened them: Python 3.13 and later warn about open ones."""

from __future__ import annotations

import sqlite3

__all__ = ["close_all", "opened"]

_OPEN: list[sqlite3.Connection] = []


def opened() -> sqlite3.Connection:
    """Open a database that ``conftest.py`` closes after the test."""
    _OPEN.append(sqlite3.connect(":memory:"))
    return _OPEN[-1]


def close_all() -> None:
    while _OPEN:
        _OPEN.pop().close()
