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
from flexdp.tables.column import Column, one_of
from flexdp.tables.counting import Axis, Counting
from flexdp.tables.engine import Engine
from flexdp.tables.engines.registry import ENGINES
from flexdp.tables.source import Source
from flexdp.tables.sql.query import Reading, count_query, together_query
from flexdp.tables.sql.rank_query import RankQuery, ranked
from flexdp.tables.where import ReadColumn
from flexdp.tables.where.tree import Node, mapped

__all__ = ["query_of", "ranked_in", "shown_in"]

_SOURCE = "source"
_T = TypeVar("_T")


def query_of(source: Source, countings: Sequence[Counting], dialect: object = None) -> str:
    """Return the SQL that counts, without running it.

    Parameters
    ----------
    source
        The source.
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
    >>> source = open_table([3, 1, 3])
    >>> axis = Axis(column=source.column(None), kind="integer", buckets=Exact("integer"))
    >>> print(query_of(source, [Counting(values=(axis,))], "sqlite"))
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
    return source.query(countings)


def shown_in(dialect: object, write: Callable[[Engine], str]) -> str:
    """Return statements in a dialect, over a table ``source`` whose columns have the types of their kinds.

    Parameters
    ----------
    dialect
        The name of a dialect that flexdp runs.
    write
        Writes the statements in the dialect of an engine.

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
    known = {engine.name: engine for engine in ENGINES}
    if isinstance(dialect, str) and dialect in known:
        return write(known[dialect])
    near = difflib.get_close_matches(dialect, known, n=1) if isinstance(dialect, str) else []
    hint = f"Did you mean {near[0]!r}?" if near else "Queries in other dialects are not tested, so none is shown."
    raise InputError("dialect", f"must be {one_of(sorted(known))}", given=safe_repr(dialect), remedy=hint)


def ranked_in(engine: Engine, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
    """Return the statements about ranks in the dialect of an engine, and the query of the copy of ``source``."""
    return ranked(_SOURCE, _plain(counting, engine), engine.dialect, _read_in(engine), rows, looked)


def _read_in(engine: Engine) -> Callable[[Column, Kind], Reading]:
    def read(column: Column, kind: Kind) -> Reading:
        cell = engine.dialect.identifier(column.name or "value")
        if column.dated and kind == "datetime" and not engine.has_datetimes:  # so that these are dates
            return Reading(f"({engine.read_cell(cell, column, 'date').value}) * {MICROS_PER_DAY}")
        return engine.read_cell(cell, column, kind)

    return read


def _written(countings: Sequence[Counting], engine: Engine) -> str:
    dialect, read = engine.dialect, _read_in(engine)
    plain = [_plain(counting, engine) for counting in countings]
    if len(plain) > 1 and dialect.has_grouping_sets and all(counting.units is None for counting in plain):
        return together_query(_SOURCE, plain, dialect, read)
    return ";\n\n".join(count_query(_SOURCE, counting, dialect, read) for counting in plain)


def _plain(counting: Counting, engine: Engine) -> Counting:
    """Return the same count over columns of the engine's own types."""

    def axis(each: Axis) -> Axis:
        return replace(each, column=_declared(each.column, each.kind, engine))

    units = counting.units
    return replace(
        counting,
        values=tuple(map(axis, counting.values)),
        groups=tuple(map(axis, counting.groups)),
        units=None if units is None else replace(units, column=_declared(units.column, units.kind, engine)),
        where=_over(counting.where, engine),
    )


def _over(tree: _T, engine: Engine) -> _T:
    """Return a filter or a derived column over columns of the engine's own types."""

    def declared(node: Node) -> Node | None:
        if not isinstance(node, ReadColumn):
            return None
        return ReadColumn(_declared(node.column, node.kind, engine), node.kind)

    return mapped(tree, declared)


def _declared(column: Column, kind: Kind, engine: Engine) -> Column:
    if column.derived is not None:
        return replace(column, derived=_over(column.derived, engine))
    stored = column.kind or kind
    wide = column.wide and engine.dialect.wide_type is not None
    return Column(
        name=column.name,
        type_name=engine.types.get("wide" if wide else stored, stored),
        kind=stored,
        wide=wide,
        timestamp=column.timestamp or stored == "datetime",
        zoned=column.zoned,
        dated=column.dated,
    )
