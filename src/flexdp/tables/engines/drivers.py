"""Statements through the cursors of DB-API drivers, and through SQLAlchemy.

SQLAlchemy is not imported: its connections and engines are recognised, bring their own methods, and give the driver's
own connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError, UnavailableError
from flexdp.tables.engine import Pool
from flexdp.tables.session import Rows

__all__ = ["DriverCursors", "EnginePool", "from_sqlalchemy"]


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


_ENGINES = {
    "postgresql": "postgres",
    "mariadb": "mariadb",
    "mysql": "mariadb",  # its dialect for both; the server says what it is
    "sqlite": "sqlite",
}


def from_sqlalchemy(source: Any) -> tuple[str, Any] | None:
    """Return the name of the engine behind a connection or an engine of SQLAlchemy, and the place; None for others.

    The place is the driver's own connection, in the transaction that it is in, or a pool of such connections.
    """
    names = [cls.__name__ for cls in type(source).__mro__ if cls.__module__.split(".")[0] == "sqlalchemy"]
    if not {"Engine", "Connection", "AsyncEngine", "AsyncConnection"}.intersection(names):
        return None
    if {"AsyncEngine", "AsyncConnection"}.intersection(names) or source.dialect.is_async:
        raise InputError("source", "must be a synchronous engine or connection", given=safe_repr(source))
    found = _ENGINES.get(source.dialect.name)
    if found is None:
        raise InputError(
            "source",
            f": flexdp does not count on {safe_repr(source.dialect.name)}",
            remedy=f"SQLAlchemy may be connected to {', '.join(_ENGINES)}.",
        )
    if "Engine" in names:
        return found, EnginePool(source)
    if source.closed:
        raise InputError("source", "is a connection that has been closed", remedy="Open a new one.")
    return found, source.connection.driver_connection


class EnginePool(Pool):
    """An engine of SQLAlchemy: each session borrows a connection of its pool, and returns it."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    @contextmanager
    def lent(self) -> Iterator[Any]:
        con = None
        with suppress(Exception):  # its message may repeat the address
            con = self._engine.raw_connection()
        if con is None:
            raise UnavailableError(
                "source",
                ": the engine cannot connect",
                remedy="Check its address and that the server is running, then try again.",
            )
        try:
            yield con.driver_connection
        finally:
            con.close()  # which returns it to the pool
