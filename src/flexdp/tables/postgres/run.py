"""One statement on PostgreSQL: in a transaction that can only read, is always rolled back and can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from flexdp.errors import InputError
from flexdp.tables.interrupts import silenced
from flexdp.tables.sql.served_table import Ask

__all__ = ["SETTINGS", "Session", "caller_session", "is_connection", "own_session"]

# Whatever the connection, the role or the database say: names and literals mean what the query means by them, doubles
# come back exactly, and a view that has something to say keeps it to itself. Gone with the transaction.
SETTINGS = (
    "SET TRANSACTION READ ONLY",
    "SELECT set_config('search_path', 'pg_catalog, ' || current_setting('search_path'), true), "
    + ", ".join(
        f"set_config('{name}', '{value}', true)"
        for name, value in (
            ("client_encoding", "UTF8"), ("client_min_messages", "error"), ("standard_conforming_strings", "on"),
            ("extra_float_digits", "3"), ("DateStyle", "ISO"), ("TimeZone", "UTC"), ("jit", "off"),
        )
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Session:
    """How to ask a server: within ``opened``, one statement after another; ``cancel`` stops the one that runs."""

    opened: Callable[[], AbstractContextManager[Ask]] = field(repr=False)
    cancel: Callable[[], None] = field(repr=False)


def is_connection(source: object) -> bool:
    """Whether an object is a connection of psycopg, without loading it."""
    return any(
        cls.__module__.split(".")[0] == "psycopg" and cls.__name__ in ("Connection", "AsyncConnection")
        for cls in type(source).__mro__
    )


def caller_session(con: Any) -> Session:
    """On the caller's connection, which is in the same transaction afterwards as before."""
    import psycopg

    if not isinstance(con, psycopg.Connection):
        raise InputError("source must be a psycopg.Connection; an asynchronous one cannot be waited for here.")
    if con.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
        raise InputError("source is a connection whose transaction has failed; roll it back first.")
    return Session(lambda: _opened(con), lambda: _cancel(con))


def own_session(address: str) -> Session:
    """On a connection of our own, made anew each time. The address may hold a password and is never repeated."""
    current: list[Any] = []

    @contextmanager
    def opened() -> Iterator[Ask]:
        con = _connect(address)
        current[:] = [con]
        try:
            with _opened(con) as ask:
                yield ask
        finally:
            current.clear()
            con.close()

    return Session(opened, lambda: _cancel(*current))


def _connect(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise InputError("source is a PostgreSQL address, which needs psycopg; install flexdp[postgres].") from None
    con = None
    with suppress(psycopg.Error):  # its text may repeat the address
        con = psycopg.connect(address)
    if con is None:
        raise InputError(
            "source cannot be connected to. Check host, port, database, user and password of the address, "
            "and that the server runs."
        )
    return con


@contextmanager
def _opened(con: Any) -> Iterator[Ask]:
    import psycopg

    def ask(statement: str) -> Any:
        with psycopg.Cursor(con, row_factory=psycopg.rows.tuple_row) as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    with _quiet(), con.transaction(force_rollback=True):
        for setting in SETTINGS:
            ask(setting)
        yield ask


def _cancel(con: Any = None) -> None:
    import psycopg

    if con is not None:
        with suppress(psycopg.Error):  # gone already
            con.cancel_safe(timeout=1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let psycopg write nothing to its logs about what happens in this thread."""
    mine = threading.get_ident()
    with silenced(["psycopg"], lambda record: record.thread != mine):
        yield
