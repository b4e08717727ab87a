"""The one query that touches records, as DuckDB SQL: read a cell, test it, find its bucket, count.

Whatever a record holds, the query neither fails nor lets it decide anything but its own bar. Values are tested
before they are rounded or cast; the engine gets decisions it can make exactly (comparison, IEEE arithmetic on
doubles, integer division), never ones that differ between engines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flexdp.buckets import (
    LARGEST_DOUBLE,
    LARGEST_INTEGER,
    SMALLEST_NORMAL,
    Buckets,
    Edges,
    Exact,
    Kind,
    LogWidth,
    Width,
)
from flexdp.tables.columns import Column

__all__ = ["column_query", "count_query", "identifier", "text"]

_NUMBER = r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?[ \t]*"
_INTEGER = r"[ \t]*[+-]?[0-9]{1,37}[ \t]*"
_WHOLE_DECIMAL = r"-?[0-9]{0,37}(\.0*)?"
_DATE = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*"
_SURE = 1e-6  # how far a logarithm must be from a whole number to be believed without comparing


def identifier(name: str) -> str:
    """A quoted column or table name."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A quoted string literal."""
    return "'" + value.replace("'", "''") + "'"


def double(value: float | Fraction) -> str:
    """A literal that DuckDB reads as exactly this double."""
    digits = repr(float(value))
    return digits if "e" in digits else digits + "e0"


def column_query(source: str, cell: str, column: Column, kind: Kind, buckets: Buckets) -> str:
    """The whole query for one column: read the cell as ``kind``, then count by bucket."""
    value, wide = _value(kind, cell, column)
    return count_query(source, value, buckets=buckets, wide=wide)


def _value(kind: Kind, cell: str, column: Column) -> tuple[str, bool]:
    """The expression that reads a cell as ``kind``, NULL where it is not one; and whether integers exceed 64 bits."""
    if column.type_name.upper() == "TIMESTAMP_NS":  # whose own cast to a day rounds towards 1970
        ticks, day = f"epoch_ns({cell})", 86400 * 10**9
        days = f"CASE WHEN {ticks} >= 0 THEN {ticks} // {day} ELSE -1 - (-1 - {ticks}) // {day} END"
        return f"DATE '1970-01-01' + CAST({days} AS INTEGER)", False
    if column.timestamp:
        return f"TRY_CAST({cell} AS DATE)", False
    if column.undeclared:
        return _text_as(kind, cell), kind == "integer"
    if kind == column.kind:
        # A type wider than 128 bits is tried, so that no cell can raise; texts of other types become texts.
        target = {"integer": "HUGEINT" if column.wide else None, "text": "VARCHAR"}.get(kind)
        return (f"TRY_CAST({cell} AS {target})" if target else cell), column.wide
    if kind == "number" and column.kind == "integer":
        return f"CAST({cell} AS DOUBLE)", False
    if kind == "integer" and column.kind == "number":  # whole doubles only, and only those that fit
        if column.type_name.upper().startswith("DECIMAL"):  # exactly, not through a double
            digits = f"CAST({cell} AS VARCHAR)"
            head = f"TRY_CAST(split_part({digits}, '.', 1) AS HUGEINT)"  # none in '.00'
            return f"CASE WHEN regexp_full_match({digits}, '{_WHOLE_DECIMAL}') THEN coalesce({head}, 0) END", True
        whole, limit = f"CAST({cell} AS DOUBLE)", double(1e37)
        fits = f"{whole} BETWEEN -{limit} AND {limit} AND {whole} = floor({whole})"
        return f"CASE WHEN {fits} THEN TRY_CAST({whole} AS HUGEINT) END", True
    return _text_as(kind, f"CAST({cell} AS VARCHAR)"), kind == "integer"


def _text_as(kind: Kind, cell: str) -> str:
    if kind == "number":
        return f"CASE WHEN regexp_full_match({cell}, '{_NUMBER}') THEN TRY_CAST({cell} AS DOUBLE) END"
    if kind == "integer":
        return f"CASE WHEN regexp_full_match({cell}, '{_INTEGER}') THEN TRY_CAST({cell} AS HUGEINT) END"
    if kind == "date":
        return f"CASE WHEN regexp_full_match({cell}, '{_DATE}') THEN TRY_CAST(trim({cell}, ' \t') AS DATE) END"
    return cell


def count_query(source: str, value: str, *, buckets: Buckets, wide: bool = False) -> str:
    """How many records lie in each bucket: columns ``bucket`` and ``records``, one row per non-empty bucket.

    ``source`` is a FROM clause, ``value`` an expression over it that is already of the buckets' kind, ``wide``
    whether integers may exceed 64 bits (their bucket then comes back as text).
    """
    if buckets.kind == "text":  # by bytes, whatever collation the column or the connection has
        return _grouped('v COLLATE "C"', f"SELECT {value} AS v FROM {source}", "v IS NOT NULL")
    if buckets.kind == "boolean":
        return _grouped("v", f"SELECT {value} AS v FROM {source}", "v IS NOT NULL")
    if buckets.kind == "date":
        days = f"SELECT datediff('day', DATE '1970-01-01', v) AS v FROM ({_readable_dates(source, value)})"
        return _integers(days, buckets, wide=False)
    if isinstance(buckets, LogWidth):
        return _logarithmic(f"SELECT CAST({value} AS DOUBLE) AS v FROM {source}", buckets)
    if buckets.kind == "integer":
        return _integers(f"SELECT {value} AS v FROM {source}", buckets, wide)
    return _doubles(f"SELECT CAST({value} AS DOUBLE) AS v FROM {source}", buckets)


def _grouped(key: str, rows: str, where: str) -> str:
    return f"SELECT {key} AS bucket, count(*) AS records\nFROM (\n  {rows}\n)\nWHERE {where}\nGROUP BY bucket"


def _readable_dates(source: str, value: str) -> str:
    return f"SELECT v FROM (SELECT {value} AS v FROM {source}) WHERE v BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"


def _doubles(rows: str, buckets: Exact | Width | Edges) -> str:
    finite = f"v BETWEEN {double(-LARGEST_DOUBLE)} AND {double(LARGEST_DOUBLE)}"
    if isinstance(buckets, Width) and buckets.bounds is None:
        reach = double(buckets.reach)
        return _grouped(f"floor(v / {double(buckets.width)})", rows, f"v BETWEEN -{reach} AND {reach}")
    where, clamped = finite, "v"
    if buckets.bounds is not None:
        low, high = (double(bound) for bound in buckets.bounds)
        if buckets.outside == "drop":
            where = f"v BETWEEN {low} AND {high}"
        elif isinstance(buckets, Exact):
            clamped = f"greatest(least(v, {high}), {low})"
    if isinstance(buckets, Edges):
        return _grouped(_search("v", [double(edge) for edge in buckets.edges[1:-1]]), rows, where)
    if isinstance(buckets, Exact):
        return _grouped(clamped, rows, where)
    # Clamping each row would cost as much again as counting: clamp the buckets, of which there are few.
    inner = _grouped(f"floor((v - {double(buckets.origin)}) / {double(buckets.width)})", rows, where)
    last = double((buckets.count or 1) - 1)
    return (
        f"SELECT greatest(least(bucket, {last}), 0e0) AS bucket, sum(records)::BIGINT AS records\n"
        f"FROM (\n{inner}\n)\nGROUP BY ALL"
    )


def _integers(rows: str, buckets: Buckets, wide: bool) -> str:
    """Integer arithmetic throughout: 64 bits where everything fits, else 128."""
    where = f"v BETWEEN {-LARGEST_INTEGER} AND {LARGEST_INTEGER}" if wide else "v IS NOT NULL"
    value = "v"
    if buckets.bounds is not None:
        lower, upper = (int(bound) for bound in buckets.bounds)
        wide = wide or max(abs(lower), abs(upper)) >= 2**62
        if buckets.outside == "drop":
            where += f" AND v BETWEEN {lower} AND {upper}"
        else:
            value = f"greatest(least(v, {upper}), {lower})"
    if isinstance(buckets, Edges):
        return _grouped(_search("v", [str(int(edge)) for edge in buckets.edges[1:-1]]), rows, where)
    if isinstance(buckets, Width):
        width = int(buckets.width)
        wide = wide or width >= 2**63
        if buckets.bounds is not None:
            value = f"({_integer(value, wide)} - {int(buckets.origin)}) // {width}"
        elif width > 1:
            cell = _integer("v", wide)
            value = f"CASE WHEN v >= 0 THEN {cell} // {width} ELSE -1 - (-1 - {cell}) // {width} END"
    key = f"CAST({value} AS VARCHAR)" if wide else f"CAST({value} AS BIGINT)"
    return _grouped(key, rows, where)


def _integer(cell: str, wide: bool) -> str:
    return f"CAST({cell} AS {'HUGEINT' if wide else 'BIGINT'})"


def _search(value: str, cuts: Sequence[str]) -> str:
    """How many of the ascending cuts are ≤ value, as a balanced tree of comparisons."""

    def between(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high) // 2
        return f"CASE WHEN {value} < {cuts[middle]} THEN {between(low, middle)} ELSE {between(middle + 1, high)} END"

    return between(0, len(cuts))


def _logarithmic(rows: str, buckets: LogWidth) -> str:
    """The logarithm only suggests a bucket; near an edge, the edge itself decides."""
    fine = len(buckets.fine)
    where, value = f"v BETWEEN {double(-LARGEST_DOUBLE)} AND {double(LARGEST_DOUBLE)}", "v"
    if buckets.bounds is not None:
        low, high = (double(bound) for bound in buckets.bounds)
        if buckets.outside == "drop":
            where = f"v BETWEEN {low} AND {high}"
        else:
            value = f"greatest(least(v, {high}), {low})"
    last = len(buckets.ladder) - 2

    def edge(k: str) -> str:
        return f"coarse[({k}) // {fine} + 1] * fine[({k}) % {fine} + 1]"

    slope, start = 1 / math.log(buckets.ratio), math.log(SMALLEST_NORMAL)
    tables = (
        f"(SELECT [{', '.join(map(double, buckets.coarse))}] AS coarse, "
        f"[{', '.join(map(double, buckets.fine))}] AS fine)"
    )
    guess = (
        f"SELECT v, abs(v) AS size, "
        f"CASE WHEN abs(v) >= {double(SMALLEST_NORMAL)} "
        f"THEN (ln(abs(v)) - {double(start)}) * {double(slope)} ELSE 0.5e0 END AS position\n"
        f"  FROM (SELECT {value} AS v FROM ({rows}) WHERE {where})"
    )
    rung = (
        f"CASE WHEN position - k BETWEEN {_SURE!r} AND {1 - _SURE!r} THEN k "
        f"WHEN k < {last} AND size >= {edge('k + 1')} THEN k + 1 WHEN size < {edge('k')} THEN k - 1 ELSE k END"
    )
    sign = f"CASE WHEN size < {double(SMALLEST_NORMAL)} THEN 0 WHEN v < 0 THEN -1 - rung ELSE 1 + rung END"
    return (
        f"SELECT CAST({sign} AS BIGINT) AS bucket, count(*) AS records\nFROM (\n"
        f"  SELECT v, size, {rung} AS rung\n  FROM (\n"
        f"  SELECT v, size, position, CAST(greatest(least(floor(position), {double(last)}), 0e0) AS INTEGER) AS k\n"
        f"  FROM (\n  {guess}\n  )), {tables}\n)\nGROUP BY bucket"
    )
