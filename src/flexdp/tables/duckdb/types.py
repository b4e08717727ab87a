"""What DuckDB's types declare, and how a cell of each is read."""

from __future__ import annotations

import re

from flexdp.buckets.base import FIRST_MOMENT, LAST_MOMENT, Kind
from flexdp.tables.declared import Column
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.sql.query import Reading

__all__ = ["declared", "read_cell"]

_NARROW = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "INT96"}
_NANOSECONDS = {"TIMESTAMP_NS", "TIMESTAMPTZ_NS", "INT96"}
_ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMPTZ_NS"}
_NUMBER = r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?[ \t]*"
_INTEGER = r"[ \t]*[+-]?[0-9]{1,37}[ \t]*"
_WHOLE_DECIMAL = r"-?[0-9]{0,37}(\.0*)?"
_BOOLEAN = r"[ \t]*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])[ \t]*"
_DATE = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*"
_MOMENT = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?[ \t]*"
_ZONED_MOMENT = (
    r"[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?) ?"
    r"(?:Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)[ \t]*"
)
_DECIMAL = re.compile(r"DECIMAL\(([0-9]+),([0-9]+)\)")
_EXACT_DIGITS = 15  # that any double holds, and one division by a power of ten rounds once
_DAY_ZERO = "DATE '1970-01-01'"
_DAY = 86400 * 10**6
_TICKS = re.compile(r"(date64|timestamp)\[(s|ms|us|ns)(, tz=.*)?\]")  # Arrow's words for what comes as plain integers
_MICROS_IN = {"s": 10**6, "ms": 10**3, "us": 1}


def declared(name: str | None, type_name: str, engine_name: str = "") -> Column:
    """A column as a DuckDB type declares it."""
    word = type_name.upper()
    kind, wide = _kind(word)
    stamp, zoned = word in _TIMESTAMPS or word in _ZONED, word in _ZONED
    ticks = _TICKS.fullmatch(type_name)
    if ticks:
        stamp, zoned = ticks.group(1) == "timestamp", ticks.group(3) is not None
        kind = "datetime" if stamp else "date"
    return Column(
        name=name,
        type_name=type_name,
        kind=kind,
        wide=wide,
        timestamp=stamp,
        zoned=zoned,
        engine_name=engine_name,
    )


def _kind(name: str) -> tuple[Kind | None, bool]:
    """The kind of a DuckDB type, None where it is none of ours; and whether integers exceed 64 bits."""
    if name in _NARROW:
        return "integer", False
    if name in _WIDE:
        return "integer", True
    if name.startswith("DECIMAL(") and name.endswith(")"):
        return ("integer", True) if name.endswith(",0)") else ("number", False)
    if name in ("FLOAT", "DOUBLE"):
        return "number", False
    if name in ("VARCHAR", "UUID") or (name.startswith("ENUM") and not name.endswith("[]")):
        return "text", False
    if name == "DATE":
        return "date", False
    if name in _TIMESTAMPS or name in _ZONED:
        return "datetime", False
    if name == "BOOLEAN":
        return "boolean", False
    return None, False


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """The expression that reads a cell as ``kind``, NULL where it is not one."""
    ticks = _TICKS.fullmatch(column.type_name)
    if ticks:
        return Reading(_ticks(cell, ticks.group(2), kind, whole_days=ticks.group(1) == "date64"))
    if column.timestamp:
        return _moment(cell, column, kind)
    if column.undeclared:
        return Reading(_zoned_text(cell) if column.zoned else _text_as(kind, cell), kind == "integer")
    if kind == column.kind:
        if kind == "date":
            return Reading(_days(cell))
        if kind == "number":
            decimal = _DECIMAL.fullmatch(column.type_name.upper())
            return Reading(_rounded(cell, int(decimal.group(2))) if decimal else f"CAST({cell} AS DOUBLE)")
        # A type wider than 128 bits is tried, so that no cell can raise; texts of other types become texts.
        target = {"integer": "HUGEINT" if column.wide else None, "text": "VARCHAR"}.get(kind)
        return Reading(f"TRY_CAST({cell} AS {target})" if target else cell, column.wide)
    if kind == "number" and column.kind == "integer":
        return Reading(_rounded(cell, 0) if column.wide else f"CAST({cell} AS DOUBLE)")
    if kind == "datetime" and column.kind == "date":
        return Reading(f"{_days(cell)} * {_DAY}")
    if kind == "integer" and column.kind == "number":  # whole doubles only, and only those that fit
        if column.type_name.upper().startswith("DECIMAL"):  # exactly, not through a double
            digits = f"CAST({cell} AS VARCHAR)"
            head = f"TRY_CAST(split_part({digits}, '.', 1) AS HUGEINT)"  # none in '.00'
            whole = f"regexp_full_match({digits}, '{_WHOLE_DECIMAL}')"
            return Reading(f"CASE WHEN {whole} THEN coalesce({head}, 0) END", True)
        value, limit = f"({DUCKDB.honest(f'CAST({cell} AS DOUBLE)')})", DUCKDB.double(1e37)
        fits = f"{value} BETWEEN -{limit} AND {limit} AND {value} = floor({value})"
        return Reading(f"CASE WHEN {fits} THEN TRY_CAST({value} AS HUGEINT) END", True)
    return Reading(_text_as(kind, f"CAST({cell} AS VARCHAR)"), kind == "integer")


def _rounded(cell: str, digits: int) -> str:
    """A decimal as the nearest double. DuckDB rounds long ones twice, unless it reads them from their text."""
    text = f"CAST(CAST({cell} AS VARCHAR) AS DOUBLE)"
    if digits > _EXACT_DIGITS:
        return text
    limit = 10 ** (_EXACT_DIGITS - digits)
    return f"CASE WHEN {cell} BETWEEN -{limit} AND {limit} THEN CAST({cell} AS DOUBLE) ELSE {text} END"


def _days(date: str) -> str:
    inside = f"{date} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    return f"CASE WHEN {inside} THEN datediff('day', {_DAY_ZERO}, {date}) END"


def _moment(cell: str, column: Column, kind: Kind) -> Reading:
    """Whole microseconds; as a date, whole days. Both are rounded down, also before 1970."""
    if column.type_name.upper() in _NANOSECONDS:
        micros = _floored(f"epoch_ns({cell})", 1000)
    else:
        stamp = cell if column.zoned or column.type_name.upper() == "TIMESTAMP" else f"TRY_CAST({cell} AS TIMESTAMP)"
        # An infinite moment has a number, too: it lies outside the years that are read.
        micros = f"epoch_us({stamp})"
    inside = f"CASE WHEN {micros} BETWEEN {FIRST_MOMENT} AND {LAST_MOMENT} THEN {micros} END"
    return Reading(inside if kind == "datetime" else _floored(f"({inside})", _DAY))


def _ticks(cell: str, unit: str, kind: Kind, *, whole_days: bool) -> str:
    """Integers that count seconds or parts of them, tested before they are multiplied; as :func:`_moment`."""
    micros = _floored(cell, 1000)  # of nanoseconds, 64 bits do not reach beyond the years that are read
    if unit != "ns":
        each = _MICROS_IN[unit]
        inside = f"{cell} BETWEEN {-(-FIRST_MOMENT // each)} AND {LAST_MOMENT // each}"
        micros = f"CASE WHEN {inside} THEN {cell} * {each} END"
    if kind == "datetime" and not whole_days:
        return micros
    days = _floored(f"({micros})", _DAY)
    return f"({days}) * {_DAY}" if kind == "datetime" else days


def _floored(ticks: str, divisor: int) -> str:
    return f"CASE WHEN {ticks} >= 0 THEN {ticks} // {divisor} ELSE -1 - (-1 - {ticks}) // {divisor} END"


def _zoned_text(cell: str) -> str:
    """A moment with its offset from UTC, in microseconds of UTC."""
    written = f"regexp_extract({cell}, '{_ZONED_MOMENT}', ['stamp', 'sign', 'hours', 'minutes'])"
    stamp = f"epoch_us(TRY_CAST({written}.stamp AS TIMESTAMP))"
    hours, minutes = (f"coalesce(TRY_CAST({written}.{name} AS BIGINT), 0)" for name in ("hours", "minutes"))
    offset = f"(CASE {written}.sign WHEN '-' THEN -1 ELSE 1 END) * ({hours} * 60 + {minutes}) * 60000000"
    micros = f"({stamp} - {offset})"
    inside = f"{micros} BETWEEN {FIRST_MOMENT} AND {LAST_MOMENT}"
    return _matched(cell, _ZONED_MOMENT, f"CASE WHEN {inside} THEN {micros} END")


def _matched(cell: str, pattern: str, value: str) -> str:
    """What is read of a text that matches, and is no longer than others may be."""
    return f"CASE WHEN {DUCKDB.is_short(cell)} AND regexp_full_match({cell}, '{pattern}') THEN {value} END"


def _text_as(kind: Kind, cell: str) -> str:
    if kind == "number":
        return _matched(cell, _NUMBER, f"TRY_CAST({cell} AS DOUBLE)")
    if kind == "integer":
        return _matched(cell, _INTEGER, f"TRY_CAST({cell} AS HUGEINT)")
    if kind == "date":
        return _matched(cell, _DATE, _days(f"TRY_CAST(trim({cell}, ' \t') AS DATE)"))
    if kind == "datetime":
        return _matched(cell, _MOMENT, f"epoch_us(TRY_CAST(trim({cell}, ' \t') AS TIMESTAMP))")
    if kind == "boolean":
        return _matched(cell, _BOOLEAN, f"lower(trim({cell}, ' \t')) = 'true'")
    return cell
