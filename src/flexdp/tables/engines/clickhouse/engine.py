"""ClickHouse: its tables and views and the columns that they declare."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, ClassVar

from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.engine import Described, Engine, no_table
from flexdp.tables.engines.clickhouse.dialect import CLICKHOUSE, declared, read_cell
from flexdp.tables.engines.clickhouse.session import ClickhouseSession, is_connection, opened
from flexdp.tables.sql.query import Reading

__all__ = ["Clickhouse", "computed_columns"]

_STORED = ("MergeTree", "ReplicatedMergeTree", "SharedMergeTree", "Memory", "Log", "StripeLog", "TinyLog")
_OLDEST = 26  # the first two numbers of a version are the year and the month


class Clickhouse(Engine):
    """ClickHouse, on connections of chdb or another driver."""

    name = "clickhouse"
    dialect = CLICKHOUSE
    may_refuse_copies = True
    types: ClassVar[Mapping[str, str]] = {"integer": "Int64", "number": "Float64", "text": "String", "wide": "Int256"}

    def recognises(self, place: object) -> bool:
        return is_connection(place)

    def opened(self, place: Any, *, copies: bool = False) -> AbstractContextManager[ClickhouseSession]:
        return opened(place, copies=copies)

    def describe(self, session: ClickhouseSession, table: str) -> Described:
        """Describe a table or view, in the current database or one named."""
        version, database = session.fetch("SELECT version(), currentDatabase()")[0]
        if int(str(version).partition(".")[0]) < _OLDEST:
            raise InputError("source", f"must be ClickHouse {_OLDEST} or later: no other version is tested")
        schema, dot, rest = table.partition(".")
        for parts in ((database, table), (schema, rest)) if dot and rest else ((database, table),):
            name = ".".join(map(CLICKHOUSE.identifier, parts))
            rows = None
            with suppress(Exception):  # there is no such table, or the connection is lost, which shows below
                rows = session.fetch(f"DESCRIBE TABLE {name}")
            if rows:
                stored = [row for row in rows if str(row[2]) != "ALIAS"]  # computed when read, perhaps from other rows
                return Described(
                    name,
                    tuple(declared(str(row[0]), str(row[1])) for row in stored),
                    stored=_is_stored(session, name),
                    computed=frozenset(computed_columns(rows)),
                )
        session.fetch("SELECT 1")
        raise no_table(table)

    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        return read_cell(cell, column, kind)

    def refusal(self, place: Any, error: Exception) -> InputError:  # noqa: ARG002
        return InputError(
            "source",
            ": the declared columns cannot be read",
            remedy="Check that the connection is open, and that its user may change settings (readonly = 0 or 2).",
        )


def _is_stored(session: ClickhouseSession, name: str) -> bool:
    """Tell whether the rows of a table are kept as they were written."""
    engines = "', '".join(_STORED)
    others = session.fetch(f"SELECT database, name FROM system.tables WHERE engine NOT IN ('{engines}')")
    return name not in {f"{CLICKHOUSE.identifier(row[0])}.{CLICKHOUSE.identifier(row[1])}" for row in others}


_CONSTANT = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|'[^'\\]*'|NULL|true|false", re.IGNORECASE)


def computed_columns(rows: Sequence[Sequence[Any]]) -> set[str]:
    """Return the columns with an expression that is more than a constant, by the rows of DESCRIBE TABLE."""
    return {str(row[0]) for row in rows if row[2] and not _CONSTANT.fullmatch(str(row[3]))}
