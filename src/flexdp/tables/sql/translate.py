"""The query in other words: how another engine would count the same, for people to read.

The dialects that tests run are written by ``query.py`` itself. Others are translated by sqlglot, which was seen to
change meanings without a word: they are shown, never run, and say so.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace

from flexdp._core.extras import extra
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.counting import Axis, Counting, Table
from flexdp.tables.declared import Column
from flexdp.tables.duckdb import types as duckdb_types
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.postgres import types as postgres_types
from flexdp.tables.postgres.dialect import POSTGRES
from flexdp.tables.spark import types as spark_types
from flexdp.tables.spark.dialect import SPARK
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import Reading, count_query, together_query
from flexdp.tables.sqlite import types as sqlite_types
from flexdp.tables.sqlite.dialect import SQLITE

__all__ = ["RUN", "query_of"]

RUN: dict[str, tuple[Dialect, Callable[[str, Column, Kind], Reading]]] = {
    "duckdb": (DUCKDB, duckdb_types.read_cell),
    "postgres": (POSTGRES, postgres_types.read_cell),
    "spark": (SPARK, spark_types.read_cell),
    "sqlite": (SQLITE, sqlite_types.read_cell),
}
_SOURCE = "source"
_NEVER_RUN = "-- Translated from PostgreSQL and never run: to be read, not relied on.\n"
_TYPES: dict[str, dict[str, str]] = {
    "duckdb": {"integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR", "wide": "HUGEINT", "datetime": "TIMESTAMP"},
    "postgres": {"integer": "bigint", "number": "double precision", "text": "text", "wide": "numeric(37,0)"},
    "spark": {"integer": "bigint", "number": "double", "text": "string", "wide": "decimal(37,0)"},
    "sqlite": {},
}


def query_of(table: Table, countings: Sequence[Counting], dialect: str | None = None) -> str:
    """The SQL text that would count; it runs nothing."""
    if dialect is not None:
        return _shown(countings, dialect)
    together = getattr(table, "together_query", None)
    if len(countings) > 1 and together is not None and all(counting.units is None for counting in countings):
        return str(together(countings))
    return ";\n\n".join(table.query(counting) for counting in countings)


def _shown(countings: Sequence[Counting], dialect: object) -> str:
    """The counts in the words of a dialect, over a table ``source`` whose columns have the types of their kinds."""
    dialect = plain_scalar(dialect)
    if isinstance(dialect, str) and dialect in RUN:
        return _written(countings, dialect)
    with extra("sql", "sqlglot", "showing a query in a dialect that flexdp does not run"):
        import sqlglot

    known = sorted(name for name in sqlglot.Dialect.classes if name)
    if not isinstance(dialect, str) or dialect not in known:
        near = difflib.get_close_matches(dialect, [*RUN, *known], n=1) if isinstance(dialect, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else f" Known are {', '.join(sorted(RUN))}, and those of sqlglot."
        raise InputError(f"dialect {safe_repr(dialect)} is not known.{hint}")
    try:
        translated = sqlglot.transpile(
            _written(countings, "postgres"),
            read="postgres",
            write=dialect,
            unsupported_level=sqlglot.ErrorLevel.RAISE,
            pretty=True,
        )
    except sqlglot.errors.SqlglotError:
        translated = []
    if not translated:
        raise InputError(
            f"dialect {safe_repr(dialect)} has no words for this count; look at dialect='postgres' instead."
        )
    return _NEVER_RUN + ";\n\n".join(translated)


def _written(countings: Sequence[Counting], name: str) -> str:
    dialect, read_cell = RUN[name]
    plain = [_plain(counting, name) for counting in countings]

    def read(column: Column, kind: Kind) -> Reading:
        return read_cell(dialect.identifier(column.name or "value"), column, kind)

    if len(plain) > 1 and dialect.has_grouping_sets and all(counting.units is None for counting in plain):
        return together_query(_SOURCE, plain, dialect, read)
    return ";\n\n".join(count_query(_SOURCE, counting, dialect, read) for counting in plain)


def _plain(counting: Counting, name: str) -> Counting:
    """The same count over columns of the dialect's own types."""

    def axis(each: Axis) -> Axis:
        return replace(each, column=_declared(each.column, each.kind, name))

    units = counting.units
    return replace(
        counting,
        values=tuple(map(axis, counting.values)),
        groups=tuple(map(axis, counting.groups)),
        units=None if units is None else replace(units, column=_declared(units.column, units.kind, name)),
    )


def _declared(column: Column, kind: Kind, name: str) -> Column:
    stored = column.kind or kind
    wide = column.wide and name != "sqlite"
    word = _TYPES[name].get("wide" if wide else stored, stored)
    return Column(
        name=column.name,
        type_name=word,
        kind=stored,
        wide=wide,
        timestamp=column.timestamp or stored == "datetime",
        zoned=column.zoned,
    )
