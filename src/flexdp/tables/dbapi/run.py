"""Statements through a DB-API cursor, in a savepoint or a transaction that is rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from flexdp.tables.postgres.run import COPYING, SETTINGS, Session
from flexdp.tables.sql.workspace import Ask, Many

__all__ = ["ask_of", "cancel_of", "many_of", "postgres_session"]


def ask_of(con: Any) -> Ask:
    """Return the function that runs a statement and fetches all rows, by methods that every driver has."""

    def ask(statement: str) -> Sequence[Sequence[Any]]:
        cursor = con.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    return ask


def many_of(con: Any) -> Many:
    """Return the function that runs a statement for each row of parameters."""

    def many(statement: str, rows: Sequence[Sequence[Any]]) -> None:
        cursor = con.cursor()
        try:
            cursor.executemany(statement, rows)
        finally:
            cursor.close()

    return many


def cancel_of(con: Any) -> Callable[[], None]:
    """Return the function that stops a running statement, if the driver has one."""
    stop = getattr(con, "interrupt", None) or getattr(con, "cancel", None)

    def cancel() -> None:
        with suppress(Exception):  # nothing is running
            if stop is not None:
                stop()

    return cancel


def postgres_session(con: Any) -> Session:
    """Return a session on PostgreSQL through any driver: in a savepoint, or with autocommit in its own transaction."""
    ask = ask_of(con)

    @contextmanager
    def opened(settings: Sequence[str]) -> Iterator[Ask]:
        alone = bool(getattr(con, "autocommit", False))
        ask("BEGIN" if alone else "SAVEPOINT flexdp")
        try:
            for setting in settings:
                ask(setting)
            yield ask
        finally:
            for statement in ("ROLLBACK",) if alone else ("ROLLBACK TO SAVEPOINT flexdp", "RELEASE SAVEPOINT flexdp"):
                with suppress(Exception):  # the connection is lost
                    ask(statement)

    return Session(lambda: opened(SETTINGS), lambda: opened(COPYING), many_of(con), cancel_of(con))
