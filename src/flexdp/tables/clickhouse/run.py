"""Statements on ClickHouse through the cursor of any driver. There are no transactions: each statement is its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flexdp.tables.clickhouse.dialect import CLICKHOUSE
from flexdp.tables.sql.workspace import Ask

__all__ = ["ask_of", "is_connection"]

_WITH_SETTINGS = ("SELECT", "WITH", "CREATE TEMPORARY TABLE", "CREATE OR REPLACE TEMPORARY TABLE")


def is_connection(source: object) -> bool:
    """Tell whether an object is a connection of chdb, without importing it."""
    return any(cls.__module__.split(".")[0] == "chdb" and cls.__name__ == "Connection" for cls in type(source).__mro__)


def ask_of(con: Any) -> Ask:
    """Return the function that runs a statement, with the dialect's settings, and fetches its rows."""

    def ask(statement: str) -> Sequence[Sequence[Any]]:
        if statement.startswith(_WITH_SETTINGS) and not statement.endswith(CLICKHOUSE.ending):
            statement += CLICKHOUSE.ending
        cursor = con.cursor()
        try:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall() or ()]
        finally:
            cursor.close()

    return ask
