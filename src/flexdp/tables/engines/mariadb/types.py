"""MariaDB's types: the kind that each declares, and the expression that reads a cell.

Dates may be impossible ones (2024-02-31, 2024-00-10, 0000-00-00), depending on the mode in which they were written.
"""

from __future__ import annotations

import re

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.sql.query import Reading

__all__ = ["declared", "read_cell"]

_KINDS: dict[str, Kind] = {  # by patterns
    r"tinyint\(1\)": "boolean",
    r"(tiny|small|medium|big)?int(\([0-9]+\))?( unsigned)?( zerofill)?|year(\([0-9]+\))?": "integer",
    r"(double|float)(\([0-9]+,[0-9]+\))?( unsigned)?( zerofill)?": "number",
    r"(var)?char\([0-9]+\)|(tiny|medium|long)?text|enum\((?s:.*)\)": "text",
    r"date": "date",
    r"(datetime|timestamp)(\([0-6]\))?": "datetime",
}
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)( unsigned)?( zerofill)?")
_NARROW = 18  # digits that any 64-bit integer holds
_WIDEST_CHARACTER = 4  # bytes, in any character set, of a character that UTF-8 writes in one
_EPOCH = 719528  # the number of 1970-01-01


def declared(name: str, type_name: str) -> Column:
    """Return a column as MariaDB declares it."""
    word = type_name.lower()
    decimal = _DECIMAL.fullmatch(word)
    kind = next((kind for pattern, kind in _KINDS.items() if re.fullmatch(pattern, word)), None)
    wide = word.startswith("bigint") and "unsigned" in word
    if decimal:
        kind = "integer" if decimal.group(2) == "0" else "number"
        wide = kind == "integer" and int(decimal.group(1)) > _NARROW
    stamped, zoned = kind == "datetime", kind == "datetime" and word.startswith("timestamp")
    return Column(name=name, type_name=word, kind=kind, wide=wide, timestamp=stamped, zoned=zoned, strict=True)


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if column.timestamp:
        return Reading(_datetime(cell, column, kind))
    if kind == "number":
        return Reading(f"CAST({cell} AS DOUBLE)")
    if kind == "integer":
        return Reading(f"CAST({cell} AS {'DECIMAL(65, 0)' if column.wide else 'SIGNED'})", column.wide)
    if kind in ("date", "datetime"):
        return Reading(_days(cell) if kind == "date" else f"{_days(cell)} * {MICROS_PER_DAY}")
    if kind == "text":  # in bytes: a comparison of texts ignores blanks at the end, and mostly case
        short = f"octet_length({cell}) <= {_WIDEST_CHARACTER * LONGEST_TEXT}"
        return Reading(f"CASE WHEN {short} THEN CAST(CONVERT({cell} USING utf8mb4) AS BINARY) END")
    return Reading(f"CASE WHEN {cell} IN (0, 1) THEN {cell} END")


def _days(cell: str) -> str:
    """Return the days since 1970-01-01; NULL for dates that are not in the calendar."""
    real = f"dayofmonth({cell}) BETWEEN 1 AND dayofmonth(last_day({cell}))"
    real = f"{cell} >= '0001-01-01' AND month({cell}) >= 1 AND {real}"
    return f"CASE WHEN {real} THEN to_days({cell}) - {_EPOCH} END"


def _datetime(cell: str, column: Column, kind: Kind) -> str:
    """Return microseconds, or days for a date; both are rounded down, before 1970 too."""
    if not column.zoned:
        if kind == "date":
            return _days(cell)
        minutes = f"(hour({cell}) * 60 + minute({cell}))"
        return f"{_days(cell)} * {MICROS_PER_DAY} + ({minutes} * 60 + second({cell})) * 1000000 + microsecond({cell})"
    # The number that is stored, whatever the session's time zone; that of 0000-00-00 is 0, and of no other.
    micros = f"CAST(unix_timestamp({cell}) * 1000000 AS SIGNED)"
    shown = micros if kind == "datetime" else f"({micros} DIV {MICROS_PER_DAY})"
    return f"CASE WHEN unix_timestamp({cell}) > 0 THEN {shown} END"
