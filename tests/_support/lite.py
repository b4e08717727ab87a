"""SQLite databases in memory, each closed after the test that opened it: from Python 3.13 on, others are a warning."""

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
