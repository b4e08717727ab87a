"""ClickHouse's types: the kind that each declares, and the expression that reads a cell.

Every datetime is an instant here, with or without a time zone in its type.
"""

from __future__ import annotations

import re

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp.buckets.base import Kind
from flexdp.tables.column import Column
from flexdp.tables.engines.clickhouse.dialect import CLICKHOUSE
from flexdp.tables.sql.query import Reading

__all__ = ["declared", "read_cell"]

_KINDS: dict[str, Kind] = {
    "Float32": "number", "Float64": "number", "String": "text", "UUID": "text", "Date": "date", "Date32": "date",
    "Bool": "boolean",
}  # fmt: skip
_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)", re.DOTALL)
_NARROW = re.compile(r"Int(8|16|32|64)|UInt(8|16|32)")
_WIDE = re.compile(r"UInt64|U?Int(128|256)")
_DECIMAL = re.compile(r"Decimal\(([0-9]+), ([0-9]+)\)")
_STAMP = re.compile(r"DateTime(?:64\(([0-9])(?:, '.*')?\)|\('.*'\))?")
_NANOSECONDS = "9"
_MICROSECONDS = 6
_NARROW_DIGITS = 18  # that any 64-bit integer holds


def declared(name: str, type_name: str) -> Column:
    """Return a column as ClickHouse declares it."""
    word = type_name
    while wrapped := _WRAPPED.fullmatch(word):
        word = wrapped.group(1)
    decimal, stamp = _DECIMAL.fullmatch(word), _STAMP.fullmatch(word)
    wide = _WIDE.fullmatch(word) is not None
    kind = _KINDS.get(word)
    if decimal:
        kind = "integer" if decimal.group(2) == "0" else "number"
        wide = kind == "integer" and int(decimal.group(1)) > _NARROW_DIGITS
    elif stamp and (int(stamp.group(1) or 0) <= _MICROSECONDS or stamp.group(1) == _NANOSECONDS):
        kind = "datetime"
    elif wide or _NARROW.fullmatch(word):
        kind = "integer"
    elif word.startswith("Enum"):
        kind = "text"
    stamped = kind == "datetime"
    return Column(name=name, type_name=word, kind=kind, wide=wide, timestamp=stamped, zoned=stamped, strict=True)


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if column.timestamp:
        return Reading(_datetime(cell, column))
    if kind == "number":
        exact = column.kind == "number" and not column.type_name.startswith("Decimal")
        # A decimal, and an integer beyond 64 bits, through its text: otherwise it is rounded twice.
        rounded = f"toFloat64({cell})" if exact or not (column.wide or column.kind == "number") else ""
        return Reading(rounded or f"toFloat64(toString({cell}))")
    if kind == "integer":
        return Reading(f"accurateCastOrNull({cell}, '{'Int256' if column.wide else 'Int64'}')", column.wide)
    if kind in ("date", "datetime"):
        days = f"toInt64({cell})"
        return Reading(f"{days} * {MICROS_PER_DAY}" if kind == "datetime" else days)
    if kind == "text":
        text = f"toString({cell})"
        return Reading(f"CASE WHEN isValidUTF8({text}) THEN {text} END")
    return Reading(cell)


def _datetime(cell: str, column: Column) -> str:
    """Return microseconds, rounded down before 1970 too."""
    if "64(9" not in column.type_name:
        return f"toUnixTimestamp64Micro(CAST({cell} AS DateTime64({_MICROSECONDS}, 'UTC')))"
    nanos = f"toUnixTimestamp64Nano({cell})"
    return CLICKHOUSE.floored(nanos, 1000)
