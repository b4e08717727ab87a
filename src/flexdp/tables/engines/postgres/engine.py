"""PostgreSQL: its addresses, connections, tables and views, and the columns that they declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.engine import Described, Engine, no_table, not_permitted
from flexdp.tables.engines.postgres.dialect import POSTGRES, declared, read_cell
from flexdp.tables.engines.postgres.rows import check_stored, check_view
from flexdp.tables.engines.postgres.session import PostgresSession, is_connection, opened
from flexdp.tables.records import checked
from flexdp.tables.sql.query import Reading

__all__ = ["Postgres"]

_OLDEST = 140000
_DENIED = "42501"  # the code of a privilege that is missing


class Postgres(Engine):
    """PostgreSQL, at addresses and on connections of psycopg or another driver."""

    name = "postgres"
    dialect = POSTGRES
    may_refuse_copies = True
    schemes = ("postgresql://", "postgres://")
    types: ClassVar[Mapping[str, str]] = {
        "integer": "bigint",
        "number": "double precision",
        "text": "text",
        "wide": "numeric(37,0)",
    }

    def recognises(self, place: object) -> bool:
        return is_connection(place)

    def opened(self, place: Any, *, copies: bool = False) -> AbstractContextManager[PostgresSession]:
        return opened(place, copies=copies)

    def describe(self, session: PostgresSession, table: str) -> Described:
        """Describe a table or view, found by the connection's search path."""
        settings = "SELECT current_setting('server_version_num'), current_setting('server_encoding')"
        version, encoding = session.fetch(settings)[0]
        if int(version) < _OLDEST:
            raise InputError("source", "must be PostgreSQL 14 or later: older versions do not return datetimes exactly")
        if encoding != "UTF8":
            raise InputError(
                "source", "must be a database encoded in UTF8: in others, a single text may fail to convert"
            )
        schema, dot, rest = table.partition(".")
        for parts in ((table,), (schema, rest)) if dot and rest else ((table,),):
            literal = POSTGRES.text(".".join(POSTGRES.identifier(part) for part in parts))
            rows = session.fetch(_COLUMNS.replace("$name", literal))
            if rows:
                name = f"{POSTGRES.identifier(rows[0][0])}.{POSTGRES.identifier(rows[0][1])}"
                stored = not session.fetch(_DEFINED.replace("$name", POSTGRES.text(name)))
                return Described(name, tuple(declared(*row[2:]) for row in rows), stored)
        raise no_table(table, self.names(session))

    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        return read_cell(cell, column, kind)

    def hold(self, session: PostgresSession, name: str) -> None:
        session.fetch(f"SELECT 1 FROM {name} LIMIT 0")

    def admit(self, session: PostgresSession, found: Described, *, vouched: bool) -> None:
        if vouched:
            return
        literal = POSTGRES.text(found.name)
        checked(lambda: check_stored(session.fetch, literal))
        checked(lambda: check_view(session.fetch, found.name, literal, _readable(session, found)))

    def unread(self, session: PostgresSession, found: Described) -> frozenset[str]:
        """Ask for grants, which tell all about a stored table, and select no row of a view.

        Nothing is locked by asking for grants.
        """
        if not found.stored:
            _select_nothing(session, found.name, _readable(session, found))
        return _denied(session, found.name)

    def names(self, session: PostgresSession) -> Sequence[str]:
        return [str(row[0]) for row in session.fetch(_NAMES)]

    def refusal(self, place: Any, error: Exception) -> InputError:  # noqa: ARG002
        return InputError(
            "source",
            ": the declared columns cannot be read",
            remedy="Check that the connection is open, and may read pg_catalog and use the schema of the table.",
        )


def _denied(session: PostgresSession, name: str) -> frozenset[str]:
    return frozenset(str(row[0]) for row in session.fetch(_UNREAD.replace("$name", POSTGRES.text(name))))


def _readable(session: PostgresSession, found: Described) -> list[str]:
    denied = _denied(session, found.name)
    return [POSTGRES.identifier(each.name) for each in found.columns if each.name and each.name not in denied]


def _select_nothing(session: PostgresSession, name: str, readable: Sequence[str]) -> None:
    """Refuse a view of what the role may not read, and rows that it may not see, by selecting no row."""
    if not readable:
        raise not_permitted(name)
    denied = False
    try:
        session.fetch(f"SELECT {', '.join(readable)} FROM {name} WHERE 1 = 0")
    except Exception as error:
        denied = _DENIED in (getattr(error, "sqlstate", ""), *_codes(error))
        if not denied:
            raise
    if denied:
        raise not_permitted(name, "a part")


def _codes(error: Exception) -> Iterator[object]:
    """Yield the codes of an error, as pg8000 tells them."""
    for each in error.args:
        if isinstance(each, dict):
            yield from each.values()


_NAMES = """
SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS name
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
ORDER BY 1
LIMIT 13
"""

_COLUMNS = """
SELECT n.nspname, c.relname, a.attname,
  CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(t.oid, a.atttypmod) END,
  CAST(CASE WHEN t.typtype = 'd' THEN b.typtype ELSE t.typtype END AS TEXT)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type AS b ON b.oid = t.typbasetype
WHERE c.oid = pg_catalog.to_regclass($name) AND c.relkind IN ('r', 'v', 'm', 'f', 'p')
ORDER BY a.attnum
"""
# A view, or a table with policies for rows: what is read depends on a definition.
_DEFINED = """
SELECT 1 FROM pg_catalog.pg_class
WHERE oid = pg_catalog.to_regclass($name) AND (relkind NOT IN ('r', 'p') OR relrowsecurity)
"""
_UNREAD = """
SELECT a.attname FROM pg_catalog.pg_attribute AS a
WHERE a.attrelid = pg_catalog.to_regclass($name) AND a.attnum > 0 AND NOT a.attisdropped
  AND NOT pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
"""
