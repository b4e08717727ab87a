"""Cells in memory, read as a kind: arrays of one dtype, and Python objects, which declare no type.

What a dtype cannot hold, or does not hold exactly, is missing. Objects are read strictly, one by one: a text by the
pattern of its kind, as in text files, and any other object by its class:

    cell                 "1.50"   1.5    True   "2024-05-01"   date(2024, 5, 1)   Timestamp(…)   whatever raises
    as a number           1.5     1.5    1.0        –                –                 –               –
    as a date              –       –      –       19844            19844             its day           –
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import (
    FIRST_DATETIME,
    FIRST_DAY,
    LAST_DATETIME,
    LAST_DAY,
    MICROS_PER_DAY,
    days_since_epoch,
    micros_since_epoch,
    offsets,
)
from flexdp._core.keys import object_keys
from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.tables.column import Column
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

__all__ = [
    "FORMS",
    "LARGEST_INFERRED",
    "Cells",
    "cell_reader",
    "is_missing",
    "is_there",
    "read_array",
    "read_cells",
    "to_ticks",
    "unexplained",
    "zone_ticks",
]

LARGEST_INFERRED = 2**53 - 1  # larger integers are rounded if one missing cell makes them doubles
_LARGEST_WHOLE_DOUBLE = 1e37
FORMS: dict[Kind, Any] = {
    "number": np.float64, "integer": np.int64, "text": object, "boolean": np.bool_, "date": np.int64,
    "datetime": np.int64,
}  # fmt: skip


class Cells(NamedTuple):
    """The cells of a column read as one kind, in its form, and the mask of those that are readable.

    The forms are doubles, booleans, texts, days and microseconds since 1970. Integers have 64 bits, with or without
    a sign; where those are too short, they are whole doubles or Python's.
    """

    values: NDArray[Any]
    present: NDArray[np.bool_]


@np.errstate(all="ignore")
def read_array(values: NDArray[Any], column: Column, kind: Kind) -> Cells:
    """Read an array as a kind. An inferred dtype reads as any other that its column might have had."""
    held = values.dtype.kind
    if column.presence:
        there = is_there(values)
        return Cells(np.ones(len(values), dtype=bool), there)
    if held == "M" and kind in ("date", "datetime"):
        return to_ticks(values, kind)
    if held in "iuf" and kind == "number":
        doubles = values.astype(np.float64, copy=False)  # extended precision that overflows becomes infinite
        return Cells(doubles, _near(values) if held in "iu" and column.follows else np.isfinite(doubles))
    if held in "iuf" and kind == "integer":
        return _read_integers(values, column)
    if held in "iuf" and kind == "boolean" and column.inferred:  # an integer among booleans makes them 1 and 0
        return Cells(values == 1, (values == 0) | (values == 1))
    if held == "b" and kind == "boolean":
        return Cells(values, np.ones(len(values), dtype=bool))
    return Cells(np.zeros(len(values), dtype=FORMS[kind]), np.zeros(len(values), dtype=bool))


def _read_integers(values: NDArray[Any], column: Column) -> Cells:
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
        limit = LARGEST_INFERRED if column.inferred else _LARGEST_WHOLE_DOUBLE
        whole = (np.abs(values) <= limit) & (values == np.floor(values))
        values = np.where(whole, values, 0)
    else:
        whole = _near(values) if column.inferred else np.ones(len(values), dtype=bool)
    wide = not column.inferred and values.dtype in (np.uint64, np.float64)
    return Cells(values if wide else values.astype(np.int64, copy=False), whole)


def _near(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which integers are exact as doubles."""
    return (values >= -LARGEST_INFERRED) & (values <= LARGEST_INFERRED)


def is_there(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which cells are neither NaN nor NaT."""
    return values == values if values.dtype.kind in "fM" else np.ones(len(values), dtype=bool)


def unexplained(values: NDArray[Any], kind: Kind) -> dict[str, NDArray[np.bool_]]:
    """Return the reasons why cells are not read as a kind, each with its cells; of several the first one holds."""
    tests = {"empty": ~is_there(values)}
    if values.dtype.kind == "f":
        tests["not finite"] = np.isinf(values)
        if kind == "integer":
            tests["fraction"] = values != np.floor(values)
    return tests | {"impossible" if values.dtype.kind == "M" else "other": np.ones(len(values), dtype=bool)}


_PER_DAY = {"h": 24, "m": 1440, "s": 86400, "ms": 86400 * 10**3, "us": 86400 * 10**6, "ns": 86400 * 10**9}
_PER_DAY |= {"ps": 86400 * 10**12, "fs": 86400 * 10**15, "as": 86400 * 10**18}
_DAYS_IN = {"D": 1, "W": 7}
_MOST = 2**63 - 1


def to_ticks(values: NDArray[Any], kind: Kind) -> Cells:
    """Return days or microseconds since the epoch, rounded down, with a mask of those in the years that are read.

    Ticks are compared with the first and the last of those years, computed exactly, before anything is multiplied:
    numpy's own arithmetic and casts overflow silently.
    """
    unit, step = np.datetime_data(values.dtype)
    per_day = 1 if kind == "date" else MICROS_PER_DAY
    if unit in ("Y", "M"):
        per_year = 12 if unit == "M" else 1
        ticks, inside = _ticks_between(values, Fraction(-1969 * per_year, step), Fraction(8030 * per_year, step))
        days = (ticks * step).view(f"datetime64[{unit}]").astype("datetime64[D]").astype(np.int64)
        return Cells(days * per_day, inside)
    first, last = (FIRST_DAY, LAST_DAY) if kind == "date" else (FIRST_DATETIME, LAST_DATETIME)
    tick = Fraction(step * per_day * _DAYS_IN.get(unit, 1), _PER_DAY.get(unit, 1))  # in the unit that is returned
    ticks, inside = _ticks_between(values, first / tick, (last + 1) / tick)
    if tick.denominator > _MOST:  # all possible ticks lie within one unit
        return Cells(np.where(ticks < 0, -1, 0), inside)
    if tick.numerator == 1:
        return Cells(ticks // tick.denominator, inside)
    if tick.denominator == 1:
        return Cells(ticks * tick.numerator, inside)
    whole = ticks.astype(object) * tick.numerator // tick.denominator
    return Cells(whole.astype(np.int64), inside)


def _ticks_between(values: NDArray[Any], start: Fraction, end: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the ticks in [start, end) with a mask of them; 0 for all others."""
    ticks = values.astype(np.int64)
    inside = (ticks >= max(math.ceil(start), -_MOST)) & (ticks <= min(math.ceil(end) - 1, _MOST))  # NaT is the smallest
    return np.where(inside, ticks, 0), inside


def zone_ticks(instants: NDArray[Any], zone: str, kind: Kind) -> NDArray[Any]:
    """Convert microseconds in UTC to local ones, or to days, by the same table as in a query; others are left out."""
    starts, ahead = (np.array(part, dtype=np.int64) for part in zip(*offsets(zone), strict=True))
    shown = instants + ahead[np.maximum(np.searchsorted(starts, instants, side="right") - 1, 0)]
    shown = shown[(shown >= FIRST_DATETIME) & (shown <= LAST_DATETIME)]
    return shown // MICROS_PER_DAY if kind == "date" else shown


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
