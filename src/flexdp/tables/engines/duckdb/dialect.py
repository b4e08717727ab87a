"""DuckDB: its SQL, and how its cells are read: declared types as declared, texts by strict patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from flexdp._core.calendar import FIRST_DATETIME, LAST_DATETIME, MICROS_PER_DAY
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.sql.dialect import Dialect, Lookup
from flexdp.tables.sql.query import Reading
from flexdp.tables.where.literals import ESCAPE, in_sql
from flexdp.tables.written import (
    BOOLEAN,
    DATE,
    DATETIME,
    INTEGER,
    MONTHS,
    NUMBER,
    WRITTEN,
    ZONED_DATETIME,
    DateFormat,
    Written,
)  # fmt: skip

__all__ = ["DUCKDB", "declared", "read_cell"]


class _DuckDB(Dialect):
    name = "duckdb"
    double_type = "DOUBLE"
    text_type = "VARCHAR"
    wide_type = "HUGEINT"
    fence = ""
    clamps_after = True
    trusts_statistics = True

    def double(self, value: float | Fraction) -> str:
        digits = repr(float(value))
        return digits if "e" in digits else digits + "e0"

    def as_double(self, expression: str, *, wide: bool = False) -> str:
        """Convert to a double; wide integers through their text, because DuckDB rounds them twice otherwise."""
        return f"CAST({f'CAST({expression} AS VARCHAR)' if wide else expression} AS DOUBLE)"

    def opaque(self, expression: str) -> str:
        """Add a random zero, about which no statistics exist.

        DuckDB trusts Parquet statistics in filters and in everything it computes. Most writers leave NaN out of them,
        so that NaN would pass every test.
        """
        return f"{expression} + 0 * random()"

    def lookup(self, name: str, values: Sequence[str]) -> Lookup:
        table = f"(SELECT [{', '.join(values)}] AS {name}) AS of_{name}"
        return Lookup(lambda place: f"{name}[{place} + 1]", f", {table}")

    def finite(self, expression: str) -> str:
        """Subtract the number from itself, and compare with zero.

        Statistics, which leave NaN out, decide comparisons and isnan, also of abs(x), of sums and differences, and
        whether x - x is small, but not whether it is zero; a test fails if a version of DuckDB ever infers it. A count
        without groups is taken from statistics even so, and must not be filtered by it. A random zero, as in
        :meth:`opaque`, would cost half of a count.
        """
        return f"({expression}) - ({expression}) = 0e0"

    def like(self, text: str, pattern: Sequence[str | None]) -> str:
        written, escaped = in_sql(pattern)
        escape = f" ESCAPE '{ESCAPE}'" if escaped else ""  # without one, matching is faster
        return f"{self.binary(f'({text})')} LIKE {self.text(written)}{escape}"

    def is_short(self, text: str) -> str:
        return f"strlen({text}) <= {LONGEST_TEXT}"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:  # noqa: ARG002
        return f"({expression}) // {divisor}"


DUCKDB = _DuckDB()


_KINDS: dict[str, Kind] = {
    "FLOAT": "number", "DOUBLE": "number", "VARCHAR": "text", "UUID": "text", "DATE": "date", "BOOLEAN": "boolean",
}  # fmt: skip
_NARROW = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_UNSIGNED = "UHUGEINT"  # the only type of integers that exceed HUGEINT
_WIDE = {"UBIGINT", "HUGEINT", _UNSIGNED}
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "INT96"}
_NANOSECONDS = {"TIMESTAMP_NS", "TIMESTAMPTZ_NS", "INT96"}
_ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMPTZ_NS"}
_WHOLE_DECIMAL = r"-?[0-9]{0,37}(\.0*)?"
_DECIMAL = re.compile(r"DECIMAL\(([0-9]+),([0-9]+)\)")
_EXACT_DIGITS = 15  # any double holds so many, and one division by a power of ten rounds once
_TICKS = re.compile(r"(date64|timestamp)\[(s|ms|us|ns)(, tz=.*)?\]")  # Arrow's types that come as plain integers
_FIRST_OF_1900 = "'69'"  # years of two digits from here on are of the last century, as Python reads them
_MICROS_IN = {"s": 10**6, "ms": 10**3, "us": 1}


def declared(name: str | None, type_name: str, engine_name: str = "") -> Column:
    """Return a column as a DuckDB type declares it."""
    word = type_name.upper()
    kind, wide = _kind(word)
    stamp, zoned = word in _TIMESTAMPS or word in _ZONED, word in _ZONED
    ticks = _TICKS.fullmatch(type_name)
    if ticks:
        stamp, zoned = ticks.group(1) == "timestamp", ticks.group(3) is not None
        kind = "datetime" if stamp else "date"
    return Column(
        name=name, type_name=type_name, kind=kind, wide=wide, timestamp=stamp, zoned=zoned, engine_name=engine_name
    )


def _kind(name: str) -> tuple[Kind | None, bool]:
    """Return the kind of a DuckDB type, None if it has none, and True if its integers may exceed 64 bits."""
    if name in _NARROW | _WIDE:
        return "integer", name in _WIDE
    if name.startswith("DECIMAL(") and name.endswith(")"):
        return ("integer", True) if name.endswith(",0)") else ("number", False)
    if name.startswith("ENUM") and not name.endswith("[]"):
        return "text", False
    return "datetime" if name in _TIMESTAMPS | _ZONED else _KINDS.get(name), False


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    ticks = _TICKS.fullmatch(column.type_name)
    if ticks:
        return Reading(_ticks(cell, ticks.group(2), kind, whole_days=ticks.group(1) == "date64"))
    if column.timestamp:
        return _datetime(cell, column, kind)
    if column.undeclared and column.dated and kind == "datetime":
        strict = replace(column, dated=False)
        stamp, day = (read_cell(cell, strict, each).value for each in ("datetime", "date"))
        return Reading(stamp if column.written.dates else f"coalesce({stamp}, ({day}) * {MICROS_PER_DAY})")
    if column.undeclared:
        text = _zoned_text(cell, column.written) if column.zoned else _text_as(kind, cell, column.written)
        return Reading(text, kind == "integer")
    if kind == column.kind:
        if kind == "date":
            return Reading(_days(cell), day=cell, apart=(_days_since_1970(cell), _within_years(cell)))
        if kind == "number":
            decimal = _DECIMAL.fullmatch(column.type_name.upper())
            return Reading(_rounded(cell, int(decimal.group(2))) if decimal else f"CAST({cell} AS DOUBLE)")
        # TRY_CAST, so that no cell of a type wider than 128 bits can raise; ENUM and UUID become texts.
        target = {"integer": "HUGEINT" if column.wide else None, "text": "VARCHAR"}.get(kind)
        return Reading(f"TRY_CAST({cell} AS {target})" if target else cell, column.wide)
    if kind == "number" and column.kind == "integer":
        unsigned = column.type_name.upper() == _UNSIGNED
        return Reading(_rounded(cell, 0, unsigned=unsigned) if column.wide else f"CAST({cell} AS DOUBLE)")
    if kind == "datetime" and column.kind == "date":
        return Reading(f"{_days(cell)} * {MICROS_PER_DAY}")
    if kind == "integer" and column.kind == "number":  # only whole numbers that fit
        if column.type_name.upper().startswith("DECIMAL"):  # exactly, not through a double
            digits = f"CAST({cell} AS VARCHAR)"
            head = f"TRY_CAST(split_part({digits}, '.', 1) AS HUGEINT)"  # '.00' has none
            whole = f"regexp_full_match({digits}, '{_WHOLE_DECIMAL}')"
            return Reading(f"CASE WHEN {whole} THEN coalesce({head}, 0) END", True)
        value, limit = f"({DUCKDB.opaque(f'CAST({cell} AS DOUBLE)')})", DUCKDB.double(1e37)
        fits = f"{value} BETWEEN -{limit} AND {limit} AND {value} = floor({value})"
        return Reading(f"CASE WHEN {fits} THEN TRY_CAST({value} AS HUGEINT) END", True)
    return Reading(_text_as(kind, f"CAST({cell} AS VARCHAR)", column.written), kind == "integer")


def _rounded(cell: str, digits: int, *, unsigned: bool = False) -> str:
    """Convert a decimal to the nearest double; a long one through its text, since DuckDB rounds it twice otherwise."""
    text = f"CAST(CAST({cell} AS VARCHAR) AS DOUBLE)"
    if digits > _EXACT_DIGITS:
        return text
    limit = 10 ** (_EXACT_DIGITS - digits)
    # A limit with a sign has a signed type: a cell that does not fit into it would raise.
    compared = f"TRY_CAST({cell} AS HUGEINT)" if unsigned else cell
    return f"CASE WHEN {compared} BETWEEN -{limit} AND {limit} THEN CAST({cell} AS DOUBLE) ELSE {text} END"


def _days(date: str) -> str:
    return f"CASE WHEN {_within_years(date)} THEN {_days_since_1970(date)} END"


def _within_years(date: str) -> str:
    return f"{date} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"


def _days_since_1970(date: str) -> str:
    """Return the days since 1970-01-01; NULL for infinite dates."""
    return f"datediff('day', DATE '1970-01-01', {date})"


def _datetime(cell: str, column: Column, kind: Kind) -> Reading:
    """Return microseconds, or days for a date; both are rounded down, before 1970 too."""
    if column.type_name.upper() in _NANOSECONDS:
        micros = DUCKDB.floored(f"epoch_ns({cell})", 1000)
    else:
        stamp = cell if column.zoned or column.type_name.upper() == "TIMESTAMP" else f"TRY_CAST({cell} AS TIMESTAMP)"
        # An infinite timestamp has a number, too, outside the years that are read.
        micros = f"epoch_us({stamp})"
    inside = f"CASE WHEN {micros} BETWEEN {FIRST_DATETIME} AND {LAST_DATETIME} THEN {micros} END"
    return Reading(inside if kind == "datetime" else DUCKDB.floored(f"({inside})", MICROS_PER_DAY))


def _ticks(cell: str, unit: str, kind: Kind, *, whole_days: bool) -> str:
    """As :func:`_datetime`, of integers that count seconds or fractions of them, tested before they are multiplied."""
    micros = DUCKDB.floored(cell, 1000)  # nanoseconds in 64 bits stay within the years that are read
    if unit != "ns":
        each = _MICROS_IN[unit]
        inside = f"{cell} BETWEEN {-(-FIRST_DATETIME // each)} AND {LAST_DATETIME // each}"
        micros = f"CASE WHEN {inside} THEN {cell} * {each} END"
    if kind == "datetime" and not whole_days:
        return micros
    days = DUCKDB.floored(f"({micros})", MICROS_PER_DAY)
    return f"({days}) * {MICROS_PER_DAY}" if kind == "datetime" else days


def _zoned_text(cell: str, written: Written) -> str:
    """Return a datetime written with its offset from UTC, as microseconds in UTC."""
    if written.dates is not None:
        return _written_datetime(cell, written.dates, zoned=True)
    found = f"regexp_extract({cell}, '{ZONED_DATETIME}', ['stamp', 'sign', 'hours', 'minutes'])"
    stamp = f"epoch_us(TRY_CAST({found}.stamp AS TIMESTAMP))"
    hours, minutes = (f"coalesce(TRY_CAST({found}.{name} AS BIGINT), 0)" for name in ("hours", "minutes"))
    offset = f"(CASE {found}.sign WHEN '-' THEN -1 ELSE 1 END) * ({hours} * 60 + {minutes}) * 60000000"
    micros = f"({stamp} - {offset})"
    inside = f"{micros} BETWEEN {FIRST_DATETIME} AND {LAST_DATETIME}"
    return _matched(cell, ZONED_DATETIME, f"CASE WHEN {inside} THEN {micros} END")


def _matched(cell: str, pattern: str, value: str) -> str:
    """Return ``value`` where the text matches and is not too long."""
    return f"CASE WHEN {DUCKDB.is_short(cell)} AND regexp_full_match({cell}, '{pattern}') THEN {value} END"


def _text_as(kind: Kind, cell: str, written: Written) -> str:
    if written.dates is not None and kind in ("date", "datetime"):
        as_day = kind == "date"
        return _written_day(cell, written.dates) if as_day else _written_datetime(cell, written.dates, zoned=False)
    if kind in ("number", "integer") and replace(written, dates=None) != WRITTEN:
        return (_written_number if kind == "number" else _written_integer)(cell, written)
    if kind == "number":
        return _matched(cell, NUMBER, f"TRY_CAST({cell} AS DOUBLE)")
    if kind == "integer":
        return _matched(cell, INTEGER, f"TRY_CAST(split_part({cell}, '.', 1) AS HUGEINT)")
    if kind == "date":
        return _matched(cell, DATE, _days(f"TRY_CAST(trim({cell}, ' \t') AS DATE)"))
    if kind == "datetime":
        return _matched(cell, DATETIME, f"epoch_us(TRY_CAST(trim({cell}, ' \t') AS TIMESTAMP))")
    if kind == "boolean":
        return _matched(cell, BOOLEAN, f"lower(trim({cell}, ' \t')) = 'true'")
    return cell


# A text cell written in a declared way, with other marks and signs or dates in other formats, is matched in full first;
# else it is NULL. What matches is put together again, from the parts that the pattern captured, in the one form that
# engine casts without a choice.


def _written_number(cell: str, written: Written) -> str:
    """Return a number as a double."""
    return _of_digits(cell, written.number, written.marks, "DOUBLE")


def _written_integer(cell: str, written: Written) -> str:
    """Return a whole number as an integer of 128 bits."""
    return _of_digits(cell, written.integer, written.marks, "HUGEINT")


def _written_day(cell: str, dates: DateFormat) -> str:
    """Return the days since 1970-01-01 of a date, or of a datetime as it is written."""
    found = _parts(cell, dates.pattern, dates.parts)
    date = f"TRY_CAST({_iso_day(found, dates.parts)} AS DATE)"
    inside = f"{date} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    return _if_matched(cell, dates.pattern, f"CASE WHEN {inside} THEN datediff('day', DATE '1970-01-01', {date}) END")


def _written_datetime(cell: str, dates: DateFormat, *, zoned: bool) -> str:
    """Return the microseconds since 1970-01-01 of a datetime, in UTC if it is ``zoned``, or of a date at midnight."""
    if not dates.timed:
        return f"{_written_day(cell, dates)} * {MICROS_PER_DAY}"
    found = _parts(cell, dates.pattern, dates.parts)
    stamp = f"TRY_CAST({_iso_day(found, dates.parts)} || ' ' || {_iso_time(found, dates.parts)} AS TIMESTAMP)"
    micros = f"(epoch_us({stamp}){_offset(found) if zoned else ''})"
    inside = f"CASE WHEN {micros} BETWEEN {FIRST_DATETIME} AND {LAST_DATETIME} THEN {micros} END"
    return _if_matched(cell, dates.pattern, inside)


def _of_digits(cell: str, pattern: str, marks: str, kind: str) -> str:
    found = _parts(cell, pattern, ("before", "after", "digits"))
    digits = f"translate({found}.digits, {DUCKDB.text(marks)}, '.')"  # the decimal mark, and no others
    return _if_matched(cell, pattern, f"TRY_CAST({found}.before || {found}.after || {digits} AS {kind})")


def _parts(cell: str, pattern: str, names: tuple[str, ...]) -> str:
    listed = ", ".join(DUCKDB.text(name) for name in names)
    return f"regexp_extract({cell}, {_whole(pattern)}, [{listed}])"


def _if_matched(cell: str, pattern: str, value: str) -> str:
    return f"CASE WHEN {DUCKDB.is_short(cell)} AND regexp_full_match({cell}, {_whole(pattern)}) THEN {value} END"


def _whole(pattern: str) -> str:
    return DUCKDB.text(f"^(?:{pattern})$")


def _iso_day(found: str, parts: tuple[str, ...]) -> str:
    year, month = f"{found}.year", f"lpad({found}.month, 2, '0')"
    if "short_year" in parts:
        short = f"{found}.short_year"
        year = f"CASE WHEN {short} < {_FIRST_OF_1900} THEN '20' ELSE '19' END || {short}"
    if "name" in parts:
        names = " ".join(f"WHEN '{name}' THEN '{place:02}'" for place, name in enumerate(MONTHS, 1))
        month = f"CASE lower({found}.name[1:3]) {names} END"
    return f"({year} || '-' || {month} || '-' || lpad({found}.day, 2, '0'))"


def _iso_time(found: str, parts: tuple[str, ...]) -> str:
    hour = f"lpad({found}.hour, 2, '0')"
    if "half_hour" in parts:
        past = f"CASE WHEN lower({found}.half) = 'pm' THEN 12 ELSE 0 END"
        hour = f"lpad(CAST(TRY_CAST({found}.half_hour AS INTEGER) % 12 + {past} AS VARCHAR), 2, '0')"
    minute, second = (
        f"lpad({found}.{part}, 2, '0')" if part in parts else "'00'" for part in ("minute", "second")
    )  # fmt: skip
    fraction = f" || '.' || rpad({found}.fraction, 6, '0')" if "fraction" in parts else ""
    return f"({hour} || ':' || {minute} || ':' || {second}{fraction})"


def _offset(found: str) -> str:
    """Return the term that takes an offset, written ``Z``, ``+0130`` or ``-01:30``, from a local time."""
    offset = f"{found}.offset"
    hours, minutes = (f"coalesce(TRY_CAST({offset}[{part}] AS BIGINT), 0)" for part in ("2:3", "-2:"))
    return f" - CASE {offset}[1] WHEN 'Z' THEN 0 WHEN '-' THEN -1 ELSE 1 END * ({hours} * 60 + {minutes}) * 60000000"
