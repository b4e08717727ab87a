"""Statements on PostgreSQL, in a read-only transaction that is always rolled back and can be cancelled."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from flexdp.errors import InputError, UnavailableError
from flexdp.tables.engines.drivers import DriverCursors
from flexdp.tables.engines.postgres.dialect import POSTGRES
from flexdp.tables.interrupts import silenced
from flexdp.tables.session import Rows, Session

__all__ = ["PostgresSession", "is_connection", "opened"]

# Override the settings of the connection, the role and the database, until the end of the transaction: names and
# literals mean what the query intends, doubles are returned exactly, and notices of a view are suppressed.
_NAMES = (
    "SELECT set_config('search_path', 'pg_catalog, ' || current_setting('search_path'), true), "
    + ", ".join(
        f"set_config('{name}', '{value}', true)"
        for name, value in (
            ("client_encoding", "UTF8"), ("client_min_messages", "error"), ("standard_conforming_strings", "on"),
            ("extra_float_digits", "3"), ("DateStyle", "ISO"), ("TimeZone", "UTC"), ("jit", "off"),
        )
    )
)  # fmt: skip
# Temporary tables need a transaction that can write; it is rolled back all the same.
_READING = ("SET TRANSACTION READ ONLY", _NAMES)


def is_connection(source: object) -> bool:
    """Tell whether an object is a psycopg connection, without importing psycopg."""
    return any(
        cls.__module__.split(".")[0] == "psycopg" and cls.__name__ in ("Connection", "AsyncConnection")
        for cls in type(source).__mro__
    )


class PostgresSession(Session):
    """Statements in one transaction, which is rolled back with its temporary tables."""

    dialect = POSTGRES
    rows, looked = "pg_temp.flexdp_records", "pg_temp.flexdp_looked"

    @abstractmethod
    def insert(self, statement: str, rows: Rows) -> None:
        """Run a statement for each row of parameters."""

    def put(self, rows: Rows, value_type: str) -> None:
        self.put_beside(rows, value_type, self.insert, "%s")
        self.ask(f"ANALYZE {self.looked}")  # or the planner takes it for the longer table: 6 times slower

    def keep(self, name: str, query: str) -> None:
        self.ask(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {query}")
        self.ask(f"ANALYZE {name}")  # without it, a table just made is planned as if it had a thousand rows


class PsycopgSession(PostgresSession):
    """Statements through psycopg, silently."""

    def __init__(self, con: Any) -> None:
        self._con = con

    def fetch(self, statement: str) -> Rows:
        import psycopg

        with _quiet(), psycopg.Cursor(self._con, row_factory=psycopg.rows.tuple_row) as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def insert(self, statement: str, rows: Rows) -> None:
        import psycopg

        with _quiet(), psycopg.Cursor(self._con) as cursor:
            cursor.executemany(statement.encode(), rows)

    def cancel(self) -> None:
        import psycopg

        with suppress(psycopg.Error):  # the connection is closed
            self._con.cancel_safe(timeout=1)


class DriverSession(DriverCursors, PostgresSession):
    """Statements through any other driver."""


@contextmanager
def opened(place: Any, *, copies: bool) -> Iterator[PostgresSession]:
    """Open a session at an address, on the caller's psycopg connection, or on that of another driver.

    A connection of the caller stays in the transaction that it is in.
    """
    if isinstance(place, str):
        con = _connect(place)
        try:
            with _within(con, ("SET TRANSACTION READ WRITE", _NAMES) if copies else _READING) as session:
                yield session
        finally:
            con.close()
    elif is_connection(place):
        _check(place)
        with _within(place, (_NAMES,) if copies else _READING) as session:
            yield session
    else:
        with _in_savepoint(DriverSession(place), place, (_NAMES,) if copies else _READING) as session:
            yield session


@contextmanager
def _within(con: Any, settings: Sequence[str]) -> Iterator[PostgresSession]:
    session = PsycopgSession(con)
    with _quiet(), con.transaction(force_rollback=True):
        for setting in settings:
            session.fetch(setting)
        yield session


@contextmanager
def _in_savepoint(session: DriverSession, con: Any, settings: Sequence[str]) -> Iterator[PostgresSession]:
    """Open a session in a savepoint of the caller's transaction, or with autocommit in a transaction of its own."""
    alone = bool(getattr(con, "autocommit", False))
    session.fetch("BEGIN" if alone else "SAVEPOINT flexdp")
    try:
        for setting in settings:
            session.fetch(setting)
        yield session
    finally:
        for statement in ("ROLLBACK",) if alone else ("ROLLBACK TO SAVEPOINT flexdp", "RELEASE SAVEPOINT flexdp"):
            with suppress(Exception):  # the connection is lost
                session.fetch(statement)


def _check(con: Any) -> None:
    import psycopg

    if not isinstance(con, psycopg.Connection):
        raise InputError("source", "must be a psycopg.Connection", given="an asynchronous one")
    if con.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
        raise InputError("source", "is a connection whose transaction has failed", remedy="Roll it back first.")


def _connect(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise InputError(
            "source", "is a PostgreSQL address, which needs psycopg", remedy="Run pip install 'flexdp[postgres]'."
        ) from None
    con, wrong = None, False
    try:
        con = psycopg.connect(address)
    except psycopg.ProgrammingError:  # its text may repeat the address
        wrong = True
    except psycopg.Error:
        pass  # refused below
    if wrong:
        raise InputError("source", "is not a valid address", remedy="Write postgresql://user@host/database.")
    if con is None:
        raise UnavailableError(
            "source",
            ": cannot connect to the server",
            remedy="Check host, port, database, user and password in the address, and that the server is running.",
        )
    return con


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence psycopg's logs for this thread."""
    mine = threading.get_ident()
    with silenced(["psycopg"], lambda record: record.thread != mine):
        yield
