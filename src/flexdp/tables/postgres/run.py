"""Statements on PostgreSQL, in a read-only transaction that is always rolled back and can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flexdp.errors import InputError, UnavailableError
from flexdp.tables.interrupts import silenced
from flexdp.tables.sql.workspace import Ask, Many

__all__ = ["COPYING", "SETTINGS", "Session", "caller_session", "is_connection", "own_session"]

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
SETTINGS = ("SET TRANSACTION READ ONLY", _NAMES)
COPYING = (_NAMES,)  # temporary tables need a transaction that can write; it is rolled back all the same


@dataclass(frozen=True)
class Session:
    """A way to query a server: within ``opened``, one statement after another; ``cancel`` stops the running one.

    Within ``copying``, temporary tables can be made, too, and filled by ``many``.
    """

    opened: Callable[[], AbstractContextManager[Ask]] = field(repr=False)
    copying: Callable[[], AbstractContextManager[Ask]] = field(repr=False)
    many: Many = field(repr=False)
    cancel: Callable[[], None] = field(repr=False)


def is_connection(source: object) -> bool:
    """Tell whether an object is a psycopg connection, without importing psycopg."""
    return any(
        cls.__module__.split(".")[0] == "psycopg" and cls.__name__ in ("Connection", "AsyncConnection")
        for cls in type(source).__mro__
    )


def caller_session(con: Any) -> Session:
    """Return a session on the caller's connection, which stays in the transaction that it is in."""
    import psycopg

    if not isinstance(con, psycopg.Connection):
        raise InputError("source", "must be a psycopg.Connection", given="an asynchronous one")
    if con.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
        raise InputError("source", "is a connection whose transaction has failed", remedy="Roll it back first.")
    return Session(lambda: _opened(con), lambda: _opened(con, COPYING), partial(_insert, con), lambda: _cancel(con))


def own_session(address: str) -> Session:
    """Return a session that connects anew each time. The address may hold a password and is never repeated."""
    current: list[Any] = []

    @contextmanager
    def opened(settings: Sequence[str]) -> Iterator[Ask]:
        con = _connect(address)
        current[:] = [con]
        try:
            with _opened(con, settings) as ask:
                yield ask
        finally:
            current.clear()
            con.close()

    def many(statement: str, rows: Sequence[Sequence[Any]]) -> None:
        _insert(current[0], statement, rows)

    copying = ("SET TRANSACTION READ WRITE", *COPYING)  # whatever the role's default is
    return Session(lambda: opened(SETTINGS), lambda: opened(copying), many, lambda: _cancel(*current))


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
def _opened(con: Any, settings: Sequence[str] = SETTINGS) -> Iterator[Ask]:
    import psycopg

    def ask(statement: str) -> Any:
        with _quiet(), psycopg.Cursor(con, row_factory=psycopg.rows.tuple_row) as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    with _quiet(), con.transaction(force_rollback=True):
        for setting in settings:
            ask(setting)
        yield ask


def _insert(con: Any, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    import psycopg

    with _quiet(), psycopg.Cursor(con) as cursor:
        cursor.executemany(statement.encode(), rows)


def _cancel(con: Any = None) -> None:
    import psycopg

    if con is not None:
        with suppress(psycopg.Error):  # the connection is closed
            con.cancel_safe(timeout=1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence psycopg's logs for this thread."""
    mine = threading.get_ident()
    with silenced(["psycopg"], lambda record: record.thread != mine):
        yield
