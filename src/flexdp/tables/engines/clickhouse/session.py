"""Statements on ClickHouse through the cursor of any driver. There are no transactions: each statement stands alone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flexdp.tables.engines.clickhouse.dialect import CLICKHOUSE
from flexdp.tables.session import Rows, Session

__all__ = ["ClickhouseSession", "is_connection", "opened"]

_WITH_SETTINGS = ("SELECT", "WITH", "CREATE TEMPORARY TABLE", "CREATE OR REPLACE TEMPORARY TABLE")
_LONGEST = 2**23  # characters of a statement: those of two ladders have a quarter of a million


def is_connection(source: object) -> bool:
    """Tell whether an object is a connection of chdb, without importing it."""
    return any(cls.__module__.split(".")[0] == "chdb" and cls.__name__ == "Connection" for cls in type(source).__mro__)


class ClickhouseSession(Session):
    """Statements with the dialect's settings; copies are temporary tables of the connection."""

    dialect = CLICKHOUSE

    def __init__(self, con: Any) -> None:
        self._con = con
        mark = uuid.uuid4().hex
        self.rows, self.looked = f"flexdp_records_{mark}", f"flexdp_looked_{mark}"

    def fetch(self, statement: str) -> Rows:
        if statement.startswith(_WITH_SETTINGS) and not statement.endswith(CLICKHOUSE.ending):
            statement += CLICKHOUSE.ending
        cursor = self._con.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall() or ()]
        finally:
            cursor.close()

    def put(self, rows: Rows, value_type: str) -> None:  # noqa: ARG002
        self.put_as_text(rows, "CREATE OR REPLACE TEMPORARY TABLE")


@contextmanager
def opened(con: Any, *, copies: bool) -> Iterator[ClickhouseSession]:
    """Open a session on the caller's connection; its copies are dropped at the end."""
    session = ClickhouseSession(con)
    if not copies:
        yield session
        return
    longest = int(session.fetch("SELECT value FROM system.settings WHERE name = 'max_query_size'")[0][0])
    session.fetch(f"SET max_query_size = {max(longest, _LONGEST)}")
    try:
        yield session
    finally:
        # Where one fails, the connection is lost, and its temporary tables with it.
        for statement in (
            f"SET max_query_size = {longest}",
            f"DROP TEMPORARY TABLE IF EXISTS {session.rows}",
            f"DROP TEMPORARY TABLE IF EXISTS {session.looked}",
        ):
            with suppress(Exception):
                session.fetch(statement)
