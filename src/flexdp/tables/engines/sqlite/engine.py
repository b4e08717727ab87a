"""SQLite: its files, connections and the columns that tables declare."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, UnavailableError
from flexdp.tables.declared import Column
from flexdp.tables.engine import Described, Engine, no_table
from flexdp.tables.engines.sqlite.dialect import OWN, SQLITE
from flexdp.tables.engines.sqlite.session import SqliteSession, is_connection, opened
from flexdp.tables.engines.sqlite.types import declared, read_cell
from flexdp.tables.sql.query import Reading

__all__ = ["Sqlite"]

_NOT_A_DATABASE, _BUSY, _LOCKED = 26, 5, 6  # SQLite's codes of errors
_LONGEST_SHOWN = 160  # characters of a path that a message repeats
_HIDDEN, _COMPUTED = 1, 2  # columns of virtual tables, and columns that are computed when they are read
_WRITTEN = "a function or a collation that somebody has written"
_COLLATIONS = {"BINARY", "NOCASE", "RTRIM"}


class Sqlite(Engine):
    """SQLite, in files and on connections of the sqlite3 module."""

    name = "sqlite"
    dialect = SQLITE
    extensions = (".db", ".sqlite", ".sqlite3")
    module = "sqlite3"
    has_datetimes = False

    def recognises(self, place: object) -> bool:
        return is_connection(place)

    def opened(self, place: Any, *, copies: bool = False) -> AbstractContextManager[SqliteSession]:  # noqa: ARG002
        return opened(place)

    def describe(self, session: SqliteSession, table: str) -> Described:
        schema, dot, rest = table.partition(".")
        for name, among in ((table, ""), (rest, schema)) if dot else ((table, ""),):
            place = f", {SQLITE.text(among)}" if among else ""
            rows = session.fetch(f"SELECT name, type, hidden FROM pragma_table_xinfo({SQLITE.text(name)}{place})")
            if rows:
                quoted = ".".join(SQLITE.identifier(part) for part in (among, name) if part)
                computed = [str(row[0]) for row in rows if row[2] == _COMPUTED]
                return Described(
                    quoted,
                    tuple(declared(row[0], row[1]) for row in rows if row[2] != _HIDDEN),
                    stored=_is_stored(session, name, among),
                    doubtful=dict.fromkeys(computed, _WRITTEN) if computed and _has_own_code(session) else {},
                )
        raise no_table(table, self.names(session))

    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        return read_cell(cell, column, kind)

    def files(self, place: str) -> tuple[str, ...]:
        # Python must not open the file: on closing it, the locks that this process holds on it would be lost.
        if not Path(place).is_file() or not os.access(place, os.R_OK):
            shown = safe_repr(place, _LONGEST_SHOWN)
            raise InputError(
                "source", f": {shown} does not exist or cannot be read", remedy="Check path and permissions."
            )
        return (place,)

    def names(self, session: SqliteSession) -> Sequence[str]:
        where = "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        rows = session.fetch(f"SELECT name FROM sqlite_master WHERE {where} ORDER BY name LIMIT 13")
        return [str(row[0]) for row in rows]

    def refusal(self, place: Any, error: Exception) -> InputError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if isinstance(place, str) and code == _NOT_A_DATABASE:
            return InputError(
                "source",
                f": {safe_repr(place, _LONGEST_SHOWN)} is not an SQLite database",
                remedy="A DuckDB database must be named .duckdb.",
            )
        if code in (_BUSY, _LOCKED):
            return UnavailableError("source", ": another program has locked the database", remedy="Try again later.")
        return InputError(
            "source",
            "cannot be read",
            remedy="Check that the connection is open, and that the file is an SQLite database.",
        )


def _is_stored(session: SqliteSession, name: str, among: str) -> bool:
    """Tell whether a name is that of a stored table: not of a view, a virtual table, or a table of SQLite itself."""
    found = {
        str(row[0]): str(row[1])
        for row in session.fetch(
            f"SELECT schema, type FROM pragma_table_list WHERE name = {SQLITE.text(name)} COLLATE NOCASE"
        )
    }
    if among:
        found = {schema: kind for schema, kind in found.items() if schema.lower() == among.lower()}
    # Where a name alone is given, a temporary table is found first, then one of the main database.
    first = next((schema for schema in ("temp", "main") if schema in found), next(iter(found), ""))
    return found.get(first) == "table" and not name.lower().startswith("sqlite_")


def _has_own_code(session: SqliteSession) -> bool:
    """Tell whether the connection has functions or collations that are not SQLite's own, which a column may use."""
    functions = session.fetch("SELECT DISTINCT name FROM pragma_function_list WHERE NOT builtin")
    collations = session.fetch("SELECT name FROM pragma_collation_list")
    return any(not str(row[0]).startswith(OWN) for row in functions) or any(
        str(row[0]).upper() not in _COLLATIONS for row in collations
    )
