"""SQL that reads a text cell written in a declared way: numbers with other marks and signs, dates in other formats.

A cell is matched in full first; what does not match is NULL. What matches is put together again in the one form that
the engine casts without a choice, from the parts that the pattern captured.
"""

from __future__ import annotations

from flexdp._core.calendar import FIRST_DATETIME, LAST_DATETIME, MICROS_PER_DAY
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.written import MONTHS, DateFormat, Written

__all__ = ["written_datetime", "written_day", "written_integer", "written_number"]

_FIRST_OF_1900 = "'69'"  # years of two digits from here on are of the last century, as Python reads them


def written_number(cell: str, written: Written) -> str:
    """Return a number as a double."""
    return _of_digits(cell, written.number, written.marks, "DOUBLE")


def written_integer(cell: str, written: Written) -> str:
    """Return a whole number as an integer of 128 bits."""
    return _of_digits(cell, written.integer, written.marks, "HUGEINT")


def written_day(cell: str, dates: DateFormat) -> str:
    """Return the days since 1970-01-01 of a date, or of a datetime as it is written."""
    found = _parts(cell, dates.pattern, dates.parts)
    date = f"TRY_CAST({_iso_day(found, dates.parts)} AS DATE)"
    inside = f"{date} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    return _if_matched(cell, dates.pattern, f"CASE WHEN {inside} THEN datediff('day', DATE '1970-01-01', {date}) END")


def written_datetime(cell: str, dates: DateFormat, *, zoned: bool) -> str:
    """Return the microseconds since 1970-01-01 of a datetime, in UTC if it is ``zoned``, or of a date at midnight."""
    if not dates.timed:
        return f"{written_day(cell, dates)} * {MICROS_PER_DAY}"
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
