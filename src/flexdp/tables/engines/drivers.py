"""Statements through the cursors of DB-API drivers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from flexdp.tables.session import Rows

__all__ = ["DriverCursors"]


class DriverCursors:
    """The part of a session that runs statements on a driver's connection."""

    def __init__(self, con: Any) -> None:
        self._con = con

    def fetch(self, statement: str) -> Rows:
        """Run a statement and return its rows."""
        cursor = self._con.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def insert(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row of parameters."""
        cursor = self._con.cursor()
        try:
            cursor.executemany(statement, rows)
        finally:
            cursor.close()

    def cancel(self) -> None:
        """Stop a running statement, if the driver has a method for it."""
        stop = getattr(self._con, "interrupt", None) or getattr(self._con, "cancel", None)
        with suppress(Exception):  # nothing is running
            if stop is not None:
                stop()
