"""SQLite: its files, connections and the columns that tables declare."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, UnavailableError
from flexdp.tables.column import Column
from flexdp.tables.engine import LONGEST_PATH, Described, Engine, no_table, readable_file
from flexdp.tables.engines.sqlite.dialect import SQLITE, declared, read_cell
from flexdp.tables.engines.sqlite.session import SqliteSession, is_connection, opened
from flexdp.tables.sql.query import Reading

__all__ = ["Sqlite"]

_NOT_A_DATABASE, _BUSY, _LOCKED = 26, 5, 6  # SQLite's codes of errors
_HIDDEN, _COMPUTED = 1, 2  # columns of virtual tables, and columns that are computed when they are read
# A name alone is found among temporary tables first, then in the main database, then in those attached.
_KINDS = """
SELECT t.type FROM pragma_table_list AS t LEFT JOIN pragma_database_list AS d ON d.name = t.schema
WHERE t.name = {name} COLLATE NOCASE AND ({schema} = '' OR t.schema = {schema} COLLATE NOCASE)
ORDER BY t.schema <> 'temp', d.seq LIMIT 1
"""


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
                kinds = session.fetch(_KINDS.format(name=SQLITE.text(name), schema=SQLITE.text(among)))
                return Described(
                    quoted,
                    tuple(declared(row[0], row[1]) for row in rows if row[2] != _HIDDEN),
                    # Tables of SQLite itself count the rows of others.
                    stored=kinds == [["table"]] and not name.lower().startswith("sqlite_"),
                    computed=frozenset(str(row[0]) for row in rows if row[2] == _COMPUTED),
                )
        raise no_table(table, self.names(session))

    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        return read_cell(cell, column, kind)

    def files(self, place: str) -> tuple[str, ...]:
        return readable_file(place)

    def names(self, session: SqliteSession) -> Sequence[str]:
        where = "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        rows = session.fetch(f"SELECT name FROM sqlite_master WHERE {where} ORDER BY name LIMIT 13")
        return [str(row[0]) for row in rows]

    def refusal(self, place: Any, error: Exception) -> InputError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if isinstance(place, str) and code == _NOT_A_DATABASE:
            return InputError(
                "source",
                f": {safe_repr(place, LONGEST_PATH)} is not an SQLite database",
                remedy="A DuckDB database must be named .duckdb.",
            )
        if code in (_BUSY, _LOCKED):
            return UnavailableError("source", ": another program has locked the database", remedy="Try again later.")
        return InputError(
            "source",
            "cannot be read",
            remedy="Check that the connection is open, and that the file is an SQLite database.",
        )
