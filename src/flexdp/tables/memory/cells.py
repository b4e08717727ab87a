"""Python objects, which declare no type: each cell is read strictly by itself, and missing if that fails.

A text is read by the pattern of its kind, as in text files, and any other object by its class:

    cell                 "1.50"   1.5    True   "2024-05-01"   date(2024, 5, 1)   Timestamp(…)   whatever raises
    as a number           1.5     1.5    1.0        –                –                 –               –
    as a date              –       –      –       19844            19844             its day           –
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from flexdp._core.calendar import FIRST_DATETIME, LAST_DATETIME, MICROS_PER_DAY, days_since_epoch, micros_since_epoch
from flexdp._core.keys import object_keys
from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.memory.arrays import FORMS, LARGEST_INFERRED, Cells, to_ticks
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
    may_be_typed,
)

__all__ = ["cell_reader", "is_missing", "read_cells"]

ReadCell: TypeAlias = Callable[[Any], Any]  # returns None, or raises, if the cell is not readable
ReadText: TypeAlias = Callable[[str], Any]


def read_cells(cells: Iterable[Any], column: Column, kind: Kind) -> Cells:
    """Read cells one by one as a kind."""
    read, values = cell_reader(column, kind), []
    for cell in cells:
        try:
            values.append(read(cell))
        except Exception:  # noqa: BLE001  (a cell that raises when it is read is missing)
            values.append(None)
    present = np.array([value is not None for value in values], dtype=bool)
    if kind == "text":
        return Cells(object_keys(values), present)
    filled = [0 if value is None else value for value in values]
    try:
        found = np.array(filled, dtype=FORMS[kind])
    except OverflowError:  # wide integers
        found = object_keys(filled)
    return Cells(found, present & np.isfinite(found) if kind == "number" else present)


def cell_reader(column: Column, kind: Kind) -> ReadCell:
    """Return the function that reads a cell of a column as a kind.

    If the dtype was inferred, a cell is read so that any other dtype its column might have had gives the same value:
    booleans, which may come as 1 and 0 or as texts, are these numbers; integers, which may come as doubles, are limited
    in size and may be written like doubles; dates may come as datetimes; texts that may come as numbers, dates or
    booleans are not texts.

    Examples
    --------
    >>> from flexdp.tables.written import Written
    >>> euros = Written(decimal=",", thousands=".", currency=("€",), dates=DateFormat.parse("%d.%m.%Y"))
    >>> column = Column(name=None, type_name="list", kind=None, undeclared=True, written=euros)
    >>> read = cell_reader(column, "number")
    >>> read("1.234,5 €"), read("1.5")
    (1234.5, None)
    >>> cell_reader(column, "date")("2.1.1970")
    1
    """
    if column.presence:
        return lambda cell: None if is_missing(cell) else True
    if column.zoned:
        return _reader([_ZONED], _instant)
    read = _reader(_text_readers(column, kind), _OBJECTS[kind])
    if not column.inferred:
        return read
    if kind == "text":
        return lambda cell: None if (text := read(cell)) is None or may_be_typed(text) else text
    if kind in ("date", "datetime"):
        return lambda cell: None if isinstance(cell, dt.datetime) and cell.tzinfo is not None else read(cell)
    number = _reader([*_text_readers(column, "number"), _TEXTS["boolean"]], lambda cell: _number(_real(cell)))
    if kind == "number":
        return lambda cell: None if (value := number(cell)) is None else float(value)
    if kind == "boolean":
        return lambda cell: {0.0: False, 1.0: True}.get(number(cell))

    def integer(cell: Any) -> int | None:
        value = _integer(number(cell) if isinstance(cell, str) else _real(cell))
        return value if value is not None and abs(value) <= LARGEST_INFERRED else None

    return integer


def _reader(texts: Sequence[ReadText], objects: ReadCell) -> ReadCell:
    """Read texts in the first way that succeeds, and all other objects in another."""

    def read(cell: Any) -> Any:
        if not isinstance(cell, str):
            return objects(cell)
        text = str.__str__(cell)  # the text itself, whatever a subclass says
        for read_text in texts:
            try:
                value = read_text(text)
            except ValueError:  # as of a day that no month has
                continue
            if value is not None:
                return value
        return None

    return read


# ---- texts


def _texts(pattern: str, parse: Callable[[re.Match[str]], Any]) -> ReadText:
    """Read the texts that match a pattern and are not too long."""
    match = re.compile(pattern).fullmatch

    def read(text: str) -> Any:
        found = match(text) if len(text) <= LONGEST_TEXT else None
        if found is None or not (text.isascii() or len(text.encode(errors="replace")) <= LONGEST_TEXT):
            return None
        return parse(found)

    return read


def _text(text: str) -> str | None:
    with suppress(UnicodeEncodeError):  # a lone surrogate cannot be published
        return text if len(text) <= LONGEST_TEXT and len(text.encode()) <= LONGEST_TEXT else None
    return None


def _stamp(text: str) -> int:
    return micros_since_epoch(dt.datetime.fromisoformat(text.strip(" \t")))


def _offset_stamp(found: re.Match[str]) -> int | None:
    stamp, sign, hours, minutes = found.groups()
    offset = (int(hours or 0) * 60 + int(minutes or 0)) * 60_000_000
    return _within_years(_stamp(stamp) + (offset if sign == "-" else -offset))


_ZONED = _texts(ZONED_DATETIME, _offset_stamp)
_TEXTS: dict[Kind, ReadText] = {
    "number": _texts(NUMBER, lambda found: float(found[0])),
    "integer": _texts(INTEGER, lambda found: int(found[0].split(".")[0])),
    "text": _text,
    "boolean": _texts(BOOLEAN, lambda found: found[1].lower() == "true"),
    "date": _texts(DATE, lambda found: days_since_epoch(dt.date.fromisoformat(found[0].strip(" \t")))),
    "datetime": _texts(DATETIME, lambda found: _stamp(found[0])),
}


def _text_readers(column: Column, kind: Kind) -> list[ReadText]:
    """Return the ways in which a text may be written, as declared or as everywhere."""
    written = column.written
    if kind in ("number", "integer") and replace(written, dates=None) != WRITTEN:
        return [_marked(kind, written)]
    plain = [_TEXTS[kind]]
    if kind == "datetime" and (column.dated or column.inferred):
        plain.append(_midnight)
    if kind in ("date", "datetime") and written.dates is not None:  # pandas may hold dates that it writes as everywhere
        return [_formatted(kind, written.dates), *(plain if column.inferred else [])]
    return plain


def _midnight(text: str) -> int | None:
    day = _TEXTS["date"](text)
    return None if day is None else day * MICROS_PER_DAY


def _marked(kind: Kind, written: Written) -> ReadText:
    point, others = written.marks[0], written.marks[1:]
    marks = str.maketrans(point, ".", others)

    def parse(found: re.Match[str]) -> float | int:
        before, after, digits = (part or "" for part in found.groups()[-3:])
        plain = before + after + digits.translate(marks)
        return int(plain) if kind == "integer" else float(plain)

    return _texts(written.number if kind == "number" else written.integer, parse)


_FIRST_OF_1900 = 69  # years of two digits from here on are of the last century, as in files


def _formatted(kind: Kind, dates: DateFormat) -> ReadText:
    def parse(found: re.Match[str]) -> int:
        part = dict(zip(dates.parts, found.groups(), strict=True))
        day = dt.date(_year(part), _month(part), int(part["day"]))
        if kind == "date":
            return days_since_epoch(day)
        if not dates.timed:
            return days_since_epoch(day) * MICROS_PER_DAY
        second, fraction = int(part.get("second", 0)), part.get("fraction", "").ljust(6, "0")
        time = dt.time(_hour(part), int(part.get("minute", 0)), second, int(fraction))
        return micros_since_epoch(dt.datetime.combine(day, time))

    return _texts(dates.pattern, parse)


def _year(part: dict[str, str]) -> int:
    if "year" in part:
        return int(part["year"])
    short = int(part["short_year"])
    return short + (1900 if short >= _FIRST_OF_1900 else 2000)


def _month(part: dict[str, str]) -> int:
    return int(part["month"]) if "month" in part else 1 + MONTHS.index(part["name"][:3].lower())


def _hour(part: dict[str, str]) -> int:
    if "hour" in part:
        return int(part["hour"])
    return int(part["half_hour"]) % 12 + (12 if part["half"].lower() == "pm" else 0)


# ---- other objects


def _number(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, Real | Decimal | np.bool_) else None


def _integer(cell: Any) -> int | None:
    if isinstance(cell, Integral | np.bool_):
        value = int(cell)
        return value if abs(value) <= LARGEST_INTEGER else None
    if not isinstance(cell, Real | Decimal):
        return None
    number: Any = float(cell) if isinstance(cell, np.floating) else cell
    if not -LARGEST_INTEGER <= number <= LARGEST_INTEGER:
        return None
    if isinstance(number, Decimal):  # without computing 10^exponent
        return int(number) if number == number.to_integral_value() else None
    return int(number) if Fraction(number).denominator == 1 else None


def _real(cell: Any) -> Any:
    """Return a complex number that is real as a real one: one complex number may make all of them complex."""
    return cell.real if isinstance(cell, complex | np.complexfloating) and not cell.imag else cell


def _boolean(cell: Any) -> bool | None:
    return bool(cell) if isinstance(cell, bool | np.bool_) else None


def _day(cell: Any) -> int | None:
    if isinstance(cell, np.datetime64):
        return _tick(cell, "date")
    return days_since_epoch(cell) if isinstance(cell, dt.date) and cell == cell else None


def _datetime(cell: Any) -> int | None:
    """Return the microseconds of a datetime without a time zone, or of a day at midnight."""
    if isinstance(cell, np.datetime64):
        return _tick(cell, "datetime")
    if isinstance(cell, dt.datetime):
        return _micros(cell) if cell == cell and cell.tzinfo is None else None
    day = _day(cell)
    return None if day is None else day * MICROS_PER_DAY


def _instant(cell: Any) -> int | None:
    """Return the microseconds, in UTC, of a datetime with a time zone."""
    aware = isinstance(cell, dt.datetime) and cell.tzinfo is not None
    return _within_years(_micros(cell.astimezone(dt.UTC))) if aware else None


def _micros(cell: dt.datetime) -> int:
    """Return the microseconds of a datetime, or of pandas' Timestamp, which has nanoseconds, too."""
    return micros_since_epoch(
        dt.datetime(cell.year, cell.month, cell.day, cell.hour, cell.minute, cell.second, cell.microsecond)
    )


def _within_years(micros: int) -> int | None:
    return micros if FIRST_DATETIME <= micros <= LAST_DATETIME else None


def _tick(cell: np.datetime64, kind: Kind) -> int | None:
    ticks, inside = to_ticks(np.array([cell]), kind)
    return int(ticks[0]) if inside[0] else None


_OBJECTS: dict[Kind, ReadCell] = {
    "number": _number,
    "integer": _integer,
    "text": lambda _cell: None,
    "boolean": _boolean,
    "date": _day,
    "datetime": _datetime,
}


def is_missing(cell: Any) -> bool:
    """Tell whether there is no cell: None, NaN, or NaT or NA of pandas."""
    if cell is None or type(cell).__name__ in ("NaTType", "NAType"):
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, float | complex | np.inexact) and bool(cell != cell)
