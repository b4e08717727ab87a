"""Queries as text, also in the dialects of other engines: those that the tests run, and no others.

Automatic translation into further dialects was seen to change meanings silently.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.clickhouse import types as clickhouse_types
from flexdp.tables.clickhouse.dialect import CLICKHOUSE
from flexdp.tables.counting import Axis, Counting
from flexdp.tables.declared import Column
from flexdp.tables.duckdb import types as duckdb_types
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.mariadb import types as mariadb_types
from flexdp.tables.mariadb.dialect import MARIADB
from flexdp.tables.postgres import types as postgres_types
from flexdp.tables.postgres.dialect import POSTGRES
from flexdp.tables.spark import types as spark_types
from flexdp.tables.spark.dialect import SPARK
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import Reading, count_query, together_query
from flexdp.tables.sql.rank_query import RankQuery, ranked
from flexdp.tables.sqlite import types as sqlite_types
from flexdp.tables.sqlite.dialect import SQLITE
from flexdp.tables.table import Table
from flexdp.tables.where import ReadColumn
from flexdp.tables.where.tree import Node, mapped

__all__ = ["RUN", "query_of", "ranked_in", "shown_in"]

RUN: dict[str, tuple[Dialect, Callable[[str, Column, Kind], Reading]]] = {
    "clickhouse": (CLICKHOUSE, clickhouse_types.read_cell),
    "duckdb": (DUCKDB, duckdb_types.read_cell),
    "mariadb": (MARIADB, mariadb_types.read_cell),
    "postgres": (POSTGRES, postgres_types.read_cell),
    "spark": (SPARK, spark_types.read_cell),
    "sqlite": (SQLITE, sqlite_types.read_cell),
}
_SOURCE = "source"
_T = TypeVar("_T")
_TYPES: dict[str, dict[str, str]] = {
    "clickhouse": {"integer": "Int64", "number": "Float64", "text": "String", "wide": "Int256"},
    "duckdb": {"integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR", "wide": "HUGEINT", "datetime": "TIMESTAMP"},
    "mariadb": {"integer": "bigint(20)", "number": "double", "text": "text", "wide": "decimal(37,0)"},
    "postgres": {"integer": "bigint", "number": "double precision", "text": "text", "wide": "numeric(37,0)"},
    "spark": {"integer": "bigint", "number": "double", "text": "string", "wide": "decimal(37,0)"},
    "sqlite": {},
}


def query_of(table: Table, countings: Sequence[Counting], dialect: object = None) -> str:
    """Return the SQL that counts, without running it.

    Parameters
    ----------
    table
        The table.
    countings
        The counts.
    dialect
        The dialect to show it in; that of the table's own engine by default. In any other, the table is called
        ``source`` and its columns have the types of their kinds.

    Returns
    -------
    str
        The SQL text; of several statements, with semicolons between them.

    Raises
    ------
    InputError
        If the dialect is unknown, or cannot express the count.

    Examples
    --------
    >>> from flexdp.buckets.exact import Exact
    >>> from flexdp.tables import open_table
    >>> table = open_table([3, 1, 3])
    >>> axis = Axis(column=table.column(None), kind="integer", buckets=Exact("integer"))
    >>> print(query_of(table, [Counting(values=(axis,))], "sqlite"))
    SELECT b0, count(*) AS records
    FROM (
      SELECT CAST(v0 AS BIGINT) AS b0
      FROM (SELECT CASE WHEN typeof("value") = 'integer' THEN "value" END AS v0 FROM source) AS t
      WHERE v0 IS NOT NULL
    ) AS k
    GROUP BY b0
    """
    if dialect is not None:
        return shown_in(dialect, lambda name: _written(countings, name))
    together = getattr(table, "together_query", None)
    if len(countings) > 1 and together is not None and all(counting.units is None for counting in countings):
        return str(together(countings))
    return ";\n\n".join(table.query(counting) for counting in countings)


def shown_in(dialect: object, write: Callable[[str], str]) -> str:
    """Return statements in a dialect, over a table ``source`` whose columns have the types of their kinds.

    Parameters
    ----------
    dialect
        The name of a dialect that flexdp runs.
    write
        Writes the statements in a dialect that flexdp runs, by its name.

    Returns
    -------
    str
        The statements, with semicolons between them.

    Raises
    ------
    InputError
        If the dialect is another.
    """
    dialect = plain_scalar(dialect)
    if isinstance(dialect, str) and dialect in RUN:
        return write(dialect)
    near = difflib.get_close_matches(dialect, RUN, n=1) if isinstance(dialect, str) else []
    hint = f"Did you mean {near[0]!r}?" if near else "Queries in others are not tested, so that none is shown."
    listed = f"{', '.join(map(repr, sorted(RUN)[:-1]))} or {sorted(RUN)[-1]!r}"
    raise InputError("dialect", f"must be {listed}", given=safe_repr(dialect), remedy=hint)


def ranked_in(name: str, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
    """Return the statements about ranks in a dialect that flexdp runs, and the query of the copy of ``source``."""
    return ranked(_SOURCE, _plain(counting, name), RUN[name][0], _read_in(name), rows, looked)


def _read_in(name: str) -> Callable[[Column, Kind], Reading]:
    dialect, read_cell = RUN[name]

    def read(column: Column, kind: Kind) -> Reading:
        cell = dialect.identifier(column.name or "value")
        if name == "sqlite" and column.dated and kind == "datetime":  # it has no datetimes, so that these are dates
            return Reading(f"({read_cell(cell, column, 'date').value}) * {MICROS_PER_DAY}")
        return read_cell(cell, column, kind)

    return read


def _written(countings: Sequence[Counting], name: str) -> str:
    dialect, read = RUN[name][0], _read_in(name)
    plain = [_plain(counting, name) for counting in countings]
    if len(plain) > 1 and dialect.has_grouping_sets and all(counting.units is None for counting in plain):
        return together_query(_SOURCE, plain, dialect, read)
    return ";\n\n".join(count_query(_SOURCE, counting, dialect, read) for counting in plain)


def _plain(counting: Counting, name: str) -> Counting:
    """Return the same count over columns of the dialect's own types."""

    def axis(each: Axis) -> Axis:
        return replace(each, column=_declared(each.column, each.kind, name))

    units = counting.units
    return replace(
        counting,
        values=tuple(map(axis, counting.values)),
        groups=tuple(map(axis, counting.groups)),
        units=None if units is None else replace(units, column=_declared(units.column, units.kind, name)),
        where=_over(counting.where, name),
    )


def _over(tree: _T, name: str) -> _T:
    """Return a filter or a derived column over columns of the dialect's own types."""

    def declared(node: Node) -> Node | None:
        return ReadColumn(_declared(node.column, node.kind, name), node.kind) if isinstance(node, ReadColumn) else None

    return mapped(tree, declared)


def _declared(column: Column, kind: Kind, name: str) -> Column:
    if column.derived is not None:
        return replace(column, derived=_over(column.derived, name))
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
        dated=column.dated,
    )
