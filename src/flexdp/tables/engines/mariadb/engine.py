"""MariaDB: its addresses, connections, tables and views, and the columns that they declare."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, ClassVar

from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P
from flexdp.tables.column import Column
from flexdp.tables.engine import Described, Engine, no_table
from flexdp.tables.engines.mariadb.dialect import MARIADB, declared, read_cell
from flexdp.tables.engines.mariadb.session import MariadbSession, is_connection, opened
from flexdp.tables.records import not_records
from flexdp.tables.sql.query import Reading

__all__ = ["Mariadb", "check_stored", "computed_columns"]

_SMALLEST_PACKET = 1 << 20  # bytes; a longer text that is computed would be NULL


class Mariadb(Engine):
    """MariaDB, at addresses and on connections of PyMySQL."""

    name = "mariadb"
    dialect = MARIADB
    may_refuse_copies = True
    schemes = ("mariadb://", "mysql://")
    types: ClassVar[Mapping[str, str]] = {
        "integer": "bigint(20)",
        "number": "double",
        "text": "text",
        "wide": "decimal(37,0)",
    }

    def recognises(self, place: object) -> bool:
        return is_connection(place)

    def opened(self, place: Any, *, copies: bool = False) -> AbstractContextManager[MariadbSession]:
        return opened(place, copies=copies)

    def describe(self, session: MariadbSession, table: str) -> Described:
        """Describe a table or view, in the current database or one named."""
        packet, database = session.fetch("SELECT @@max_allowed_packet, DATABASE()")[0]
        if int(packet) < _SMALLEST_PACKET:
            raise InputError("source", "must have a max_allowed_packet of at least 1M: long texts would be lost")
        schema, dot, rest = table.partition(".")
        for parts in ((database, table), (schema, rest)) if dot and rest else ((database, table),):
            name = ".".join(MARIADB.identifier(part) for part in parts if part)
            rows = None
            with suppress(Exception):  # there is no such table, or the connection is lost, which shows below
                rows = session.fetch(f"SHOW COLUMNS FROM {name}") if parts[0] else None
            if rows:
                columns = tuple(declared(str(row[0]), str(row[1])) for row in rows)
                return Described(name, columns, stored=False, computed=computed_columns(rows))
        session.fetch("SELECT 1")
        raise no_table(table)

    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        return read_cell(cell, column, kind)

    def hold(self, session: MariadbSession, name: str) -> None:
        session.fetch(f"SELECT 1 FROM {name} LIMIT 0")

    def admit(self, session: MariadbSession, found: Described, *, vouched: bool) -> None:
        if vouched:
            return
        written = ""
        with suppress(Exception):  # the user has privileges on some columns only, or the connection is lost
            written = str(session.fetch(f"SHOW CREATE TABLE {found.name}")[0][1])
        if not written:
            session.fetch("SELECT 1")
            raise InputError(
                "source",
                f": the connection may not read the definition of {safe_repr(found.name)}, which may compute columns "
                "from several rows: it has privileges on single columns only, or may not show a view",
                remedy=(
                    "Ask for the SELECT privilege on the whole table (and SHOW VIEW on a view); or set ",
                    P("rows_are_records", True),
                    " if every record yields at most one row and no row depends on more than one record.",
                ),
            )
        check_stored(written)


# Storage engines that keep rows. Others compute them, or take them from elsewhere, perhaps by a query.
_STORED = ("innodb", "aria", "myisam", "memory", "rocksdb", "columnstore", "csv", "archive")
_ENGINE = re.compile(r"\n\) ENGINE=(\w+)")


def check_stored(written: str) -> None:
    """Refuse a view, and a table whose rows are not kept on the server, by what SHOW CREATE TABLE prints."""
    engine = _ENGINE.search(written)
    if not written.startswith(("CREATE TABLE", "CREATE TEMPORARY TABLE")) or engine is None:
        raise not_records()
    if engine.group(1).lower() not in _STORED:
        raise not_records()


def computed_columns(rows: Sequence[Sequence[Any]]) -> frozenset[str]:
    """Return the columns that are computed when they are read, by the rows of SHOW COLUMNS."""
    return frozenset(str(row[0]) for row in rows if "VIRTUAL" in str(row[5]).upper())
