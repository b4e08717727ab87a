"""Lists and object arrays, which declare no type: cells are read strictly, one by one."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import (
    FIRST_DATETIME,
    LAST_DATETIME,
    MICROS_PER_DAY,
    days_since_epoch,
    micros_since_epoch,
)
from flexdp._core.keys import canonical_keys, object_keys
from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.sharp.column import Column as Sorted
from flexdp.tables.column import Column
from flexdp.tables.counting import Axis, Counting
from flexdp.tables.memory.arrays import LARGEST_INFERRED, Aligned, read_aligned, to_clock_ticks, to_ticks
from flexdp.tables.sql.query import Reading
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

__all__ = ["CellTable", "written_reader"]

_NUMBER, _INTEGER, _BOOLEAN, _DATE, _DATETIME, _ZONED = map(
    re.compile, (NUMBER, INTEGER, BOOLEAN, DATE, DATETIME, ZONED_DATETIME)
)


@dataclass(frozen=True)
class CellTable:
    """Python objects, fetched when they are counted and read one by one.

    With ``codes``, the cells are the distinct ones, and the code of a record is the place of its cell among them, or −1
    if it is missing.
    """

    cells: Callable[[], list[Any]] = field(repr=False)
    declared: Column
    codes: Callable[[], NDArray[Any]] | None = field(default=None, repr=False)

    def aligned(self, kind: Kind, column: Column | None = None) -> Aligned:
        """Return one cell per record; cells that are not readable are marked as missing.

        ``column`` is this one, as it is read: with a zone, also as dates, or only whether there is a cell.
        """
        values = self.values_of(kind, column)
        if self.codes is None:
            return self._readable(values, kind)
        different, codes = self._readable([*values, None], kind), self.codes()
        return Aligned(different.cells[codes], None if different.present is None else different.present[codes])

    def values_of(self, kind: Kind, column: Column | None = None) -> list[Any]:
        """Return the cells as values, None where one is not readable.

        If the dtype was inferred, a cell is read so that any other dtype its column might have had gives the same
        value: booleans, which may come as 1 and 0 or as texts, are these numbers; integers, which may come as doubles,
        are limited in size and may be written like doubles; dates may come as datetimes; texts that may come as
        numbers, dates or booleans are not texts.
        """
        column = column or self.declared
        if column.presence:
            return [None if _is_missing(cell) else True for cell in self.cells()]
        if column.zoned:
            return _read(self.cells(), _instant)
        if column.inferred:
            return _read(self.cells(), self._inferred_reader(kind))
        if column.dated and column.written.dates is None:  # a format reads dates as midnights by itself
            return _read(self.cells(), _dated)
        return _read(self.cells(), self._reader(kind))

    def _inferred_reader(self, kind: Kind) -> Callable[[Any], Any]:
        """Return the function that reads a cell of a column whose dtype was inferred."""
        if kind == "text":
            return _inferred_text
        if kind in ("date", "datetime"):
            plain = _day if kind == "date" else _dated
            texts = written_reader(kind, self.declared.written)
            return lambda cell: _time(cell, plain, texts)
        number = self._reader("number")
        if kind == "number":
            return lambda cell: number(_plain_number(cell))
        if kind == "integer":
            return lambda cell: _inferred_integer(_whole_or_text(_plain_number(cell), number))
        return lambda cell: {0.0: False, 1.0: True}.get(number(_plain_number(cell)))

    def _reader(self, kind: Kind) -> Callable[[Any], Any]:
        """Return the function that reads a cell; texts may be declared to be written in a way of their own."""
        reader, texts = _READERS[kind], written_reader(kind, self.declared.written)
        if texts is None:
            return reader
        return lambda cell: texts(str.__str__(cell)) if isinstance(cell, str) else reader(cell)

    @staticmethod
    def _readable(values: list[Any], kind: Kind) -> Aligned:
        present = np.array([value is not None for value in values], dtype=bool)
        if kind == "number":
            cells = np.array([0.0 if value is None else value for value in values], dtype=np.float64)
            return Aligned(cells, present)
        if kind == "boolean":
            return Aligned(np.array([bool(value) for value in values], dtype=bool), present)
        if kind in ("date", "datetime"):
            return Aligned(np.array([value or 0 for value in values], dtype=np.int64), present)
        return Aligned(object_keys([None if value is None else str(value) for value in values]), present)

    def reading(self, cell: str, kind: Kind, column: Column | None = None) -> Reading:  # noqa: ARG002
        """Return the expression that reads a cell of :meth:`aligned`; integers, which may be wide, travel as texts."""
        return read_aligned(cell, kind, wide=not self.declared.inferred)

    def sorted_column(self, counting: Counting) -> Sorted:
        """Return the readable values, sorted."""
        axis = counting.values[0]
        values = self._values(axis)
        if axis.kind == "boolean":
            return Sorted.from_values(np.array(values, dtype=np.int64))
        keys = np.array(values, dtype=np.float64) if axis.kind == "number" else canonical_keys(values)
        if not len(keys):
            return Sorted.from_values(np.zeros(0, dtype=np.float64 if axis.kind == "number" else np.int64))
        return Sorted.from_values(axis.buckets.locate(keys))

    def _values(self, axis: Axis) -> list[Any]:
        """Return the readable values of all records, datetimes as the clocks of a zone show them."""
        if axis.zone is None:
            values = self.values_of(axis.kind)
        else:
            values = _shown(self.values_of("datetime", replace(self.declared, zoned=True)), axis.zone, axis.kind)
        if self.codes is not None:
            values = object_keys([*values, None])[self.codes()].tolist()
        return [value for value in values if value is not None]


def _read(cells: Iterable[Any], reader: Callable[[Any], Any]) -> list[Any]:
    """Read the cells one by one; None where a cell is not readable."""
    out = []
    for cell in cells:
        try:
            value = reader(cell)
        except Exception:  # noqa: BLE001  (a cell that raises when it is read is missing)
            value = None
        out.append(value)
    return out


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return len(text) <= LONGEST_TEXT and pattern.fullmatch(text) is not None  # matching texts are ASCII


def _number(cell: Any) -> float | None:
    if isinstance(cell, str):
        if not _matches(_NUMBER, cell):
            return None
        value = float(cell)
    elif isinstance(cell, Real | Decimal | np.bool_):
        value = float(cell)
    else:
        return None
    return value if math.isfinite(value) else None


def _integer(cell: Any) -> int | None:
    if isinstance(cell, str):
        return int(cell.split(".")[0]) if _matches(_INTEGER, cell) else None
    if isinstance(cell, Integral | np.bool_):
        value = int(cell)
    elif isinstance(cell, Real | Decimal):
        number: Any = float(cell) if isinstance(cell, np.floating) else cell
        if not -LARGEST_INTEGER <= number <= LARGEST_INTEGER:
            return None
        if isinstance(number, Decimal):  # without computing 10^exponent
            if number != number.to_integral_value():
                return None
        elif Fraction(number).denominator != 1:
            return None
        value = int(number)
    else:
        return None
    return value if abs(value) <= LARGEST_INTEGER else None


def _inferred_integer(cell: Any) -> int | None:
    value = _integer(cell)
    return value if value is not None and abs(value) <= LARGEST_INFERRED else None


def _text(cell: Any) -> str | None:
    if not isinstance(cell, str):
        return None
    text = str.__str__(cell)  # the text itself, whatever a subclass says
    try:
        short = len(text) <= LONGEST_TEXT and len(text.encode()) <= LONGEST_TEXT
    except UnicodeEncodeError:  # a lone surrogate cannot be published
        return None
    return text if short else None


def _day(cell: Any) -> int | None:
    if isinstance(cell, str):
        if not _matches(_DATE, cell):
            return None
        try:
            cell = dt.date.fromisoformat(cell.strip(" \t"))
        except ValueError:
            return None
    if isinstance(cell, np.datetime64):
        return _tick(cell, "date")
    return days_since_epoch(cell) if isinstance(cell, dt.date) and cell == cell else None


def _boolean(cell: Any) -> bool | None:
    if isinstance(cell, str):
        return cell.strip(" \t").lower() == "true" if _matches(_BOOLEAN, cell) else None
    return bool(cell) if isinstance(cell, bool | np.bool_) else None


def _datetime(cell: Any) -> int | None:
    """Return the microseconds of a datetime without a time zone, or of a day at midnight."""
    if isinstance(cell, str):
        if not _matches(_DATETIME, cell):
            return None
        try:
            cell = dt.datetime.fromisoformat(cell.strip(" \t"))
        except ValueError:
            return None
    if isinstance(cell, np.datetime64):
        return _tick(cell, "datetime")
    if isinstance(cell, dt.datetime):
        plain = dt.datetime(cell.year, cell.month, cell.day, cell.hour, cell.minute, cell.second, cell.microsecond)
        same = cell == cell and cell.tzinfo is None
        return micros_since_epoch(plain) if same else None
    return days_since_epoch(cell) * MICROS_PER_DAY if isinstance(cell, dt.date) and cell == cell else None


def _dated(cell: Any) -> int | None:
    """Return the microseconds of a datetime, or of a day at midnight, however they are written."""
    found = _datetime(cell)
    day = _day(cell) if found is None and isinstance(cell, str) else None
    return found if day is None else day * MICROS_PER_DAY


def _instant(cell: Any) -> int | None:
    """Return the microseconds, in UTC, of a datetime with a time zone or written with an offset."""
    if isinstance(cell, str):
        found = _ZONED.fullmatch(cell) if len(cell) <= LONGEST_TEXT else None
        if found is None:
            return None
        stamp, sign, hours, minutes = found.groups()
        offset = (int(hours or 0) * 60 + int(minutes or 0)) * 60_000_000
        micros = micros_since_epoch(dt.datetime.fromisoformat(stamp)) + (offset if sign == "-" else -offset)
    elif isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        at = cell.astimezone(dt.UTC)
        micros = micros_since_epoch(
            dt.datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond)
        )
    else:
        return None
    return micros if FIRST_DATETIME <= micros <= LAST_DATETIME else None


def _shown(instants: list[int | None], zone: str, kind: Kind) -> list[int | None]:
    """Return instants as the clocks of a zone show them, None outside the years that are read."""
    stamps = np.array([0 if at is None else at for at in instants], dtype=np.int64).view("datetime64[us]")
    ticks, inside = to_clock_ticks(stamps, zone, kind)
    return [
        None if at is None or not there else tick
        for at, tick, there in zip(instants, ticks.tolist(), inside.tolist(), strict=True)
    ]


def _is_missing(cell: Any) -> bool:
    """Tell whether there is no cell: None, NaN, or NaT or NA of pandas."""
    if cell is None or type(cell).__name__ in ("NaTType", "NAType"):
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, float | complex | np.inexact) and bool(cell != cell)


def _plain_number(cell: Any) -> Any:
    """Return a boolean, in whatever form, as 1 or 0, and a complex number that is real as a real one.

    An integer among booleans may make them integers, and a complex number may make all numbers complex.
    """
    if isinstance(cell, bool | np.bool_):
        return int(cell)
    if isinstance(cell, str) and _matches(_BOOLEAN, cell):
        return int(cell.strip(" \t").lower() == "true")
    return cell.real if isinstance(cell, complex | np.complexfloating) and not cell.imag else cell


def _whole_or_text(cell: Any, number: Callable[[Any], Any]) -> Any:
    return number(cell) if isinstance(cell, str) else cell


def _time(cell: Any, plain: Callable[[Any], Any], texts: Callable[[str], Any] | None) -> Any:
    """Read a day or a datetime: a text in the declared format, or as pandas holds it if all others are dates."""
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return None
    if texts is not None and isinstance(cell, str):
        with suppress(ValueError):
            if (found := texts(str.__str__(cell))) is not None:
                return found
    return plain(cell)


def _inferred_text(cell: Any) -> str | None:
    text = _text(cell)
    return None if text is None or may_be_typed(text) else text


def _tick(cell: np.datetime64, kind: Kind) -> int | None:
    ticks, inside = to_ticks(np.array([cell]), kind)
    return int(ticks[0]) if inside[0] else None


_READERS: dict[Kind, Callable[[Any], Any]] = {
    "number": _number,
    "integer": _integer,
    "text": _text,
    "date": _day,
    "datetime": _datetime,
    "boolean": _boolean,
}


_FIRST_OF_1900 = 69  # years of two digits from here on are of the last century, as in files


def written_reader(kind: Kind, written: Written) -> Callable[[str], Any] | None:
    """Return the function that reads a text as a kind, None where it is not so written.

    There is none if nothing is declared about texts of that kind. The function may raise ``ValueError`` instead of
    returning None.

    Examples
    --------
    >>> read = written_reader("number", Written(decimal=",", thousands=".", currency=("€",)))
    >>> read("1.234,5 €"), read("1.5")
    (1234.5, None)
    >>> written_reader("date", Written(dates=DateFormat.parse("%d.%m.%Y")))("2.1.1970")
    1
    """
    if kind in ("date", "datetime") and written.dates is not None:
        return _of_dates(kind, written.dates)
    if kind not in ("number", "integer") or replace(written, dates=None) == WRITTEN:
        return None
    pattern = re.compile(written.number if kind == "number" else written.integer)
    point, others = written.marks[0], written.marks[1:]
    marks = str.maketrans(point, ".", others)

    def read(text: str) -> float | int | None:
        found = _matched(pattern, text)
        if found is None:
            return None
        before, after, digits = (part or "" for part in found.groups()[-3:])
        plain = before + after + digits.translate(marks)
        if kind == "integer":
            return int(plain)
        value = float(plain)
        return value if math.isfinite(value) else None

    return read


def _of_dates(kind: Kind, dates: DateFormat) -> Callable[[str], int | None]:
    pattern = re.compile(dates.pattern)

    def read(text: str) -> int | None:
        found = _matched(pattern, text)
        if found is None:
            return None
        part = dict(zip(dates.parts, found.groups(), strict=True))
        day = dt.date(_year(part), _month(part), int(part["day"]))
        if kind == "date":
            return days_since_epoch(day)
        if not dates.timed:
            return days_since_epoch(day) * MICROS_PER_DAY
        second, fraction = int(part.get("second", 0)), part.get("fraction", "").ljust(6, "0")
        time = dt.time(_hour(part), int(part.get("minute", 0)), second, int(fraction))
        return micros_since_epoch(dt.datetime.combine(day, time))

    return read


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


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    short = len(text) <= LONGEST_TEXT and len(text.encode(errors="replace")) <= LONGEST_TEXT
    return pattern.fullmatch(text) if short else None
