"""PostgreSQL: how its cells are read, and its SQL where it differs from the defaults: underflow is an error."""

from __future__ import annotations

import math
import re

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp.buckets.base import LARGEST_DOUBLE, Kind
from flexdp.tables.column import Column
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import Reading

__all__ = ["POSTGRES", "declared", "read_cell"]


class _Postgres(Dialect):
    holds_nul = False

    def over(self, expression: str, divisor: float) -> str:
        plain = super().over(expression, divisor)
        vanishing = _largest_vanishing(divisor)
        if not vanishing:
            return plain
        size = self.double(vanishing)
        return f"CASE WHEN {expression} BETWEEN -{size} AND {size} THEN {self.double(0.0)} ELSE {plain} END"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:
        return f"div({expression}, CAST({divisor} AS NUMERIC))" if wide else super().quotient(expression, divisor)


def _largest_vanishing(divisor: float) -> float:
    """Return the largest double whose quotient by the divisor rounds to zero, or zero if there is none.

    >>> _largest_vanishing(1.5), _largest_vanishing(5.0) / 5.0
    (0.0, 0.0)
    """
    size = divisor * 2.0**-1074 / 2  # its quotient is at most half of the smallest double
    while size and size / divisor:
        size = math.nextafter(size, 0.0)
    while math.nextafter(size, math.inf) / divisor == 0.0:
        size = math.nextafter(size, math.inf)
    return size


POSTGRES = _Postgres()


_KINDS: dict[str, Kind] = {
    "smallint": "integer", "integer": "integer", "bigint": "integer", "real": "number", "double precision": "number",
    "numeric": "number", "text": "text", "uuid": "text", "name": "text", "boolean": "boolean", "date": "date",
    "timestamp without time zone": "datetime", "timestamp with time zone": "datetime",
}  # fmt: skip
_TEXT = re.compile(r"character( varying)?(\([0-9]+\))?")
_STAMP = re.compile(r"timestamp(?:\([0-6]\))? (with|without) time zone")
_NUMERIC = re.compile(r"numeric\([0-9]+,(-?[0-9]+)\)")
_LARGEST = str(int(LARGEST_DOUBLE))
_SMALLEST = f"0.{'0' * 299}1"  # smaller ones fail to convert to a double


def declared(name: str, type_name: str, letter: str) -> Column:
    """Return a column as PostgreSQL declares it; ``letter`` distinguishes base types, enumerations and others."""
    stamp, numeric = _STAMP.fullmatch(type_name), _NUMERIC.fullmatch(type_name)
    kind = _KINDS.get(type_name)
    wide = numeric is not None and int(numeric.group(1)) <= 0
    if stamp or numeric:
        kind = "datetime" if stamp else "integer" if wide else "number"
    elif letter == "e" or _TEXT.fullmatch(type_name):
        kind = "text"
    zoned = stamp is not None and stamp.group(1) == "with"
    return Column(
        name=name, type_name=type_name, kind=kind if letter in ("b", "e") else None, wide=wide,
        timestamp=stamp is not None, zoned=zoned, strict=True,
    )  # fmt: skip


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if column.timestamp:
        return Reading(_datetime(cell, column, kind))
    if kind == "number":
        double = f"CAST({cell} AS DOUBLE PRECISION)"
        if not column.type_name.startswith("numeric"):
            return Reading(double)
        # Beyond the largest double: left out, like infinities. Tiny: zero.
        size = f"abs(CAST({cell} AS NUMERIC))"
        zero = POSTGRES.double(0.0)
        return Reading(f"CASE WHEN {size} < {_SMALLEST} THEN {zero} WHEN {size} <= {_LARGEST} THEN {double} END")
    if kind == "integer":
        return Reading(f"CAST({cell} AS {'NUMERIC' if column.wide else 'BIGINT'})", column.wide)
    if kind == "text":
        return Reading(f"CAST({cell} AS TEXT)")
    if kind in ("date", "datetime"):
        day = f"CAST({cell} AS DATE)"
        inside = f"{day} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
        days = f"CAST({day} - DATE '1970-01-01' AS BIGINT)"
        return Reading(f"CASE WHEN {inside} THEN {days}{f' * {MICROS_PER_DAY}' if kind == 'datetime' else ''} END")
    return Reading(f"CAST({cell} AS BOOLEAN)")


def _datetime(cell: str, column: Column, kind: Kind) -> str:
    """Return microseconds, or days for a date; both are rounded down, before 1970 too."""
    word, zone = ("TIMESTAMPTZ", "+00") if column.zoned else ("TIMESTAMP", "")
    first, last = f"{word} '0001-01-01 00:00:00{zone}'", f"{word} '9999-12-31 23:59:59.999999{zone}'"
    micros = f"CAST(EXTRACT(EPOCH FROM {cell}) * 1000000 AS BIGINT)"
    inside = f"{cell} BETWEEN {first} AND {last}"
    return f"CASE WHEN {inside} THEN {micros if kind == 'datetime' else POSTGRES.floored(micros, MICROS_PER_DAY)} END"
