"""Spark's types: the kind that each declares, and the expression that reads a cell."""

from __future__ import annotations

import re

from flexdp._core.calendar import FIRST_DATETIME, LAST_DATETIME, MICROS_PER_DAY
from flexdp.buckets.base import Kind
from flexdp.tables.column import Column
from flexdp.tables.engines.spark.dialect import SPARK
from flexdp.tables.sql.query import Reading

__all__ = ["declared", "read_cell"]

_KINDS: dict[str, Kind] = {
    "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer", "float": "number",
    "double": "number", "string": "text", "boolean": "boolean", "date": "date", "timestamp": "datetime",
    "timestamp_ntz": "datetime",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")
_TEXT = re.compile(r"string collate \w+|(var)?char\([0-9]+\)", re.IGNORECASE)
_NARROW = 18  # digits that any 64-bit integer holds


def declared(name: str, type_name: str) -> Column:
    """Return a column as a Spark schema declares it."""
    decimal = _DECIMAL.fullmatch(type_name)
    kind, wide = _KINDS.get(type_name), False
    if decimal:
        kind = "number" if decimal.group(2) != "0" else "integer"
        wide = kind == "integer" and int(decimal.group(1)) > _NARROW
    elif _TEXT.fullmatch(type_name):
        kind = "text"
    return Column(
        name=name, type_name=type_name, kind=kind, wide=wide,
        timestamp=kind == "datetime", zoned=type_name == "timestamp", strict=True,
    )  # fmt: skip


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if column.timestamp:
        return Reading(_datetime(cell, column, kind))
    if kind == "number":
        return Reading(f"CAST({cell} AS DOUBLE)")
    if kind == "integer":
        return Reading(cell if column.wide else f"CAST({cell} AS BIGINT)", column.wide)
    if kind in ("date", "datetime"):
        inside = f"{cell} BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'"
        days = f"CAST(unix_date({cell}) AS BIGINT)"
        return Reading(f"CASE WHEN {inside} THEN {days}{f' * {MICROS_PER_DAY}' if kind == 'datetime' else ''} END")
    if kind == "text":
        collated = column.type_name.lower().startswith("string collate")
        text = f"collate({cell}, 'UTF8_BINARY')" if collated else cell
        # Spark accepts bytes that are not UTF-8 as texts, and distinguishes some that Python would not.
        return Reading(f"CASE WHEN is_valid_utf8({text}) THEN {text} END")
    return Reading(cell)


def _datetime(cell: str, column: Column, kind: Kind) -> str:
    """Return microseconds, or days for a date; both are rounded down, before 1970 too."""
    if column.zoned:
        micros = f"unix_micros({cell})"
        inside = f"{micros} BETWEEN {FIRST_DATETIME} AND {LAST_DATETIME}"
    else:  # from its fields: any other way passes through the session's time zone
        day = f"CAST(unix_date(CAST({cell} AS DATE)) AS BIGINT) * {MICROS_PER_DAY}"
        minutes = f"(hour({cell}) * 60 + minute({cell})) * CAST(60000000 AS BIGINT)"
        micros = f"({day} + {minutes} + CAST(extract(SECOND FROM {cell}) * 1000000 AS BIGINT))"
        first, last = "TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"
        inside = f"{cell} BETWEEN {first} AND {last}"
    return f"CASE WHEN {inside} THEN {micros if kind == 'datetime' else SPARK.floored(micros, MICROS_PER_DAY)} END"
