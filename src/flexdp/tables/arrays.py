"""Values in memory: numpy arrays, lists, and single columns of frames that are one of these underneath.

A numpy dtype declares a type. A list or an object array declares none: its cells are read strictly, one by one.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._zones import offsets
from flexdp.buckets import (
    EPOCH,
    FIRST_DAY,
    FIRST_MOMENT,
    LARGEST_INTEGER,
    LAST_DAY,
    LAST_MOMENT,
    LONGEST_TEXT,
    MICROS_PER_DAY,
    Kind,
    Width,
)
from flexdp.errors import InputError
from flexdp.histogram import Histogram, canonical_keys, object_keys
from flexdp.tables.columns import Column, no_name, pick
from flexdp.tables.counting import Counted, Counting
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.duckdb.run import connection
from flexdp.tables.duckdb.types import read_cell
from flexdp.tables.running import counted, run
from flexdp.tables.sql import Reading, count_query

__all__ = ["ArrayTable", "CellTable", "MemoryTable", "open_array"]

_CHUNK = 1 << 16
_MOST_BINS = 1 << 22  # beyond it a dense array of bins costs more than counting sparsely
_LARGEST_WHOLE_DOUBLE = 1e37
_LARGEST_INFERRED = 2**53 - 1  # one missing cell makes doubles of integers, and might round larger ones
_NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?[ \t]*", re.ASCII)
_INTEGER = re.compile(r"[ \t]*[+-]?[0-9]{1,37}[ \t]*", re.ASCII)
_BOOLEANS = {"true": True, "false": False}
_DATE = re.compile(r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*", re.ASCII)
_MOMENT = re.compile(
    r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?[ \t]*", re.ASCII
)


@np.errstate(all="ignore")
def open_array(
    values: NDArray[Any], *, name: str | None = None, numbers: bool = False, inferred: bool = False
) -> ArrayTable | CellTable:
    """A column from an array. ``numbers`` reads integers as numbers; ``inferred`` says that cells chose the dtype."""
    if values.ndim != 1:
        raise InputError(
            "source must be a one-dimensional array; choose one column of it, or name its columns in a frame, "
            "for example pandas.DataFrame(array, columns=['a', 'b'])."
        )
    present = None
    if isinstance(values, np.ma.MaskedArray):
        present, values = ~np.ma.getmaskarray(values), np.ma.getdata(values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    code, word = values.dtype.kind, str(values.dtype)
    if code == "O":
        column = Column(name=name, type_name="object", kind=None, undeclared=True, inferred=inferred)
        return CellTable(_cells(values, present), column)
    if code == "U":
        return CellTable(_cells(values, present), Column(name=name, type_name="text", kind="text"))
    if code in "iu":
        kind: Kind | None = "number" if numbers else "integer"
    else:
        kind = {"f": "number", "b": "boolean"}.get(code)  # type: ignore[assignment]
    if code == "M" and np.datetime_data(values.dtype)[0] != "generic":
        daily = np.datetime_data(values.dtype)[0] in ("D", "W", "M", "Y")
        kind = "date" if daily else "moment"
        return ArrayTable(values, Column(name=name, type_name=word, kind=kind, timestamp=not daily), present)
    column = Column(
        name=name,
        type_name=word,
        kind=kind,
        follows=numbers and code in "iuf",
        inferred=inferred and kind is not None,
    )
    return ArrayTable(values, column, present)


def _cells(values: NDArray[Any], present: NDArray[np.bool_] | None) -> Callable[[], list[Any]]:
    if present is None:
        return values.tolist
    return lambda: [cell if there else None for cell, there in zip(values.tolist(), present, strict=True)]


_OF_DTYPE: dict[str, tuple[Kind, ...]] = {"M": ("date", "moment"), "b": ("boolean",)}
_STORED: dict[str, Any] = {
    "number": np.float64,
    "boolean": np.bool_,
    "date": "datetime64[D]",
    "moment": "datetime64[us]",
}


class Aligned(NamedTuple):
    """A column ready for an engine: one cell per record, and which of them are there."""

    cells: NDArray[Any]
    present: NDArray[np.bool_] | None


@dataclass(frozen=True)
class ArrayTable:
    """An array whose dtype declares what it holds; ``present`` marks the cells that are not missing."""

    values: NDArray[Any] = field(repr=False)  # records: never in a text form
    declared: Column
    present: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.declared,)

    def column(self, name: object) -> Column:
        """The one column there is."""
        no_name(name)
        return self.declared

    def query(self, counting: Counting) -> str:
        """The SQL that counts, over a table ``source`` with one column ``value``."""
        return count_query("source", counting, DUCKDB, lambda _column, kind: self.reading("value", kind))

    def reading(self, cell: str, kind: Kind) -> Reading:
        """How the engine reads a cell of :meth:`aligned`."""
        if self.values.dtype.kind == "M" or not self._can_be(kind):
            return Reading(cell)
        # What the cells are, which for frames whose dtypes follow their cells is not what the column declares.
        stored: Kind = {"f": "number", "b": "boolean"}.get(self.values.dtype.kind, "integer")  # type: ignore[assignment]
        wide = self.values.dtype == np.uint64
        return read_cell(cell, replace(self.declared, kind=stored, wide=wide, type_name="DOUBLE"), kind)

    def aligned(self, kind: Kind) -> Aligned:
        """One cell per record."""
        values, present = self._readable(kind)
        if values.dtype.kind == "M":
            ticks, inside = _times(values, kind)
            return Aligned(ticks, inside if present is None else inside & present)
        return Aligned(np.ascontiguousarray(_standard(values)), present)

    def _can_be(self, kind: Kind) -> bool:
        """Whether the dtype holds cells of that kind; of an inferred one that does not, no cell is readable."""
        return kind in _OF_DTYPE.get(self.values.dtype.kind, ("integer", "number"))

    def _readable(self, kind: Kind) -> Aligned:
        """The cells, and which of them are there and readable."""
        if not self._can_be(kind):
            length = len(self.values)
            return Aligned(np.zeros(length, dtype=_STORED.get(kind, np.int64)), np.zeros(length, dtype=bool))
        present = self.present
        if self.declared.inferred and kind == "integer":
            near = (self.values >= -_LARGEST_INFERRED) & (self.values <= _LARGEST_INFERRED)
            present = near if present is None else present & near
        return Aligned(self.values, present)

    def count(self, counting: Counting) -> Counted:
        """Buckets and how many records each holds."""
        axis = counting.values[0]
        values, present = self._readable(axis.kind)
        values = values if present is None else values[present]
        buckets, code = axis.buckets, values.dtype.kind
        if code == "M":
            ticks, inside = _times(values, axis.kind) if axis.zone is None else _by_clock(values, axis.zone, axis.kind)
            return _tally(buckets.locate(ticks[inside]))
        if code == "b":
            return _tally(values)
        if isinstance(buckets, Width) and _is_dense(buckets):
            return _bincount(values, buckets)
        cells = {"value": np.ascontiguousarray(_standard(values))}
        return run_registered(cells, self.query(counting), 1)


@dataclass(frozen=True)
class CellTable:
    """Python objects, fetched when they are counted and read one by one.

    With ``codes`` the cells are those that differ, each of which is read once, and a record's code is the place of its
    own among them, −1 where it has none.
    """

    cells: Callable[[], list[Any]] = field(repr=False)
    declared: Column
    codes: Callable[[], NDArray[Any]] | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.declared,)

    def column(self, name: object) -> Column:
        """The one column there is."""
        no_name(name)
        return self.declared

    def query(self, counting: Counting) -> str:
        """The SQL that would count the same cells, as texts in a table ``source`` with one column ``value``."""
        undeclared = replace(self.declared, undeclared=True)
        return count_query("source", counting, DUCKDB, lambda _column, kind: read_cell("value", undeclared, kind))

    def aligned(self, kind: Kind) -> Aligned:
        """One cell per record, what is not readable marked as missing."""
        values = self._values(kind)
        if self.codes is None:
            return self._readable(values, kind)
        different, codes = self._readable([*values, None], kind), self.codes()
        return Aligned(different.cells[codes], None if different.present is None else different.present[codes])

    def _values(self, kind: Kind) -> list[Any]:
        """The cells as values, None where one is not readable.

        Where the dtype is inferred, a cell is read as if it stood in any other dtype that its column might have got:
        booleans, which may come as texts, are no numbers, and integers, which may come as doubles, are short and may
        be written as doubles are.
        """
        reader = _READERS[kind]
        if not self.declared.inferred or kind not in ("integer", "number"):
            return _read(self.cells(), reader)
        cells = (None if isinstance(cell, bool | np.bool_) else cell for cell in self.cells())
        return _read(cells, _inferred_integer if kind == "integer" else reader)

    @staticmethod
    def _readable(values: list[Any], kind: Kind) -> Aligned:
        present = np.array([value is not None for value in values], dtype=bool)
        if kind == "number":
            cells = np.array([0.0 if value is None else value for value in values], dtype=np.float64)
            return Aligned(cells, present)
        if kind == "boolean":
            return Aligned(np.array([bool(value) for value in values], dtype=bool), present)
        if kind in ("date", "moment"):
            return Aligned(np.array([value or 0 for value in values], dtype=np.int64), present)
        return Aligned(object_keys([None if value is None else str(value) for value in values]), present)

    def reading(self, cell: str, kind: Kind) -> Reading:
        """How the engine reads a cell of :meth:`aligned`; integers, which may be of any size, travel as texts.

        The type of a text is said, because the engine gives a column of which no cell is readable another one.
        """
        if kind == "integer":
            return Reading(f"CAST({cell} AS HUGEINT)", True)
        return Reading(f"CAST({cell} AS VARCHAR)" if kind == "text" else cell)

    def count(self, counting: Counting) -> Counted:
        """Buckets and how many records each holds."""
        axis = counting.values[0]
        values = self._values(axis.kind)
        if self.codes is not None:
            values = object_keys([*values, None])[self.codes()].tolist()
        values = [value for value in values if value is not None]
        if axis.kind in ("text", "boolean"):
            tally = Counter(values)
            return Counted((canonical_keys(list(tally)),), np.array(list(tally.values()), dtype=np.int64))
        if axis.kind == "number":
            return _tally(axis.buckets.locate(np.array(values, dtype=np.float64)))
        return _tally(axis.buckets.locate(canonical_keys(values)))


@dataclass(frozen=True)
class MemoryTable:
    """Columns of equal length in memory. One alone is counted as it is; several go through an engine together."""

    parts: Sequence[ArrayTable | CellTable] = field(repr=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(part.declared for part in self.parts)

    def column(self, name: object) -> Column:
        return pick(self.columns, name)

    def query(self, counting: Counting) -> str:
        if _is_single(counting):
            return self._part(counting.values[0].column).query(counting)
        return self._joint(counting)[1]

    def count(self, counting: Counting) -> Counted:
        if _is_single(counting):
            return self._part(counting.values[0].column).count(counting)
        cells, statement = self._joint(counting)
        return run_registered(cells(), statement, len(counting.axes))

    def _part(self, column: Column) -> ArrayTable | CellTable:
        return next(part for part in self.parts if part.declared == column)

    def _joint(self, counting: Counting) -> tuple[Callable[[], dict[str, NDArray[Any]]], str]:
        """What to register, made only when it is counted; and the query over it."""
        kinds = [(axis.column, axis.kind if axis.zone is None else "moment") for axis in counting.axes]
        if counting.units is not None:
            kinds.append((counting.units.column, counting.units.kind))
        places = {pair: f"c{i}" for i, pair in enumerate(dict.fromkeys(kinds))}

        def cells() -> dict[str, NDArray[Any]]:
            out = {}
            for (column, kind), name in places.items():
                aligned = self._part(column).aligned(kind)
                out[name] = aligned.cells
                present = aligned.present
                out[f"{name}_present"] = np.ones(len(aligned.cells), dtype=bool) if present is None else present
            return out

        def read(column: Column, kind: Kind) -> Reading:
            name, part = places[column, kind], self._part(column)
            reading = part.reading(name, kind)
            return Reading(f"CASE WHEN {name}_present THEN {reading.value} END", reading.wide)

        return cells, count_query("source", counting, DUCKDB, read)


def _is_single(counting: Counting) -> bool:
    return len(counting.axes) == 1 and counting.units is None


def run_registered(cells: Mapping[str, NDArray[Any]], statement: str, axes: int) -> Counted:
    """Count arrays in an engine of our own, as a table ``source``."""
    with connection() as con:
        con.register("source", dict(cells))
        try:
            return counted(run(lambda: con.execute(statement).fetchnumpy(), con.interrupt), axes)
        finally:
            con.unregister("source")


def _tally(index: NDArray[Any]) -> Counted:
    histogram = Histogram.from_values(index)
    return Counted((histogram.keys,), histogram.counts)


_PER_DAY = {"h": 24, "m": 1440, "s": 86400, "ms": 86400 * 10**3, "us": 86400 * 10**6, "ns": 86400 * 10**9}
_PER_DAY |= {"ps": 86400 * 10**12, "fs": 86400 * 10**15, "as": 86400 * 10**18}
_DAYS_IN = {"D": 1, "W": 7}
_MOST = 2**63 - 1


def _times(values: NDArray[Any], kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Whole days or microseconds since 1970-01-01, rounded down, and which of them lie in the years that are read.

    Ticks are compared with the first and last one of those years, computed exactly, before anything is multiplied:
    numpy's own arithmetic and casts overflow silently.
    """
    unit, step = np.datetime_data(values.dtype)
    per_day = 1 if kind == "date" else MICROS_PER_DAY
    if unit in ("Y", "M"):
        per_year = 12 if unit == "M" else 1
        ticks, inside = _ticks_between(values, Fraction(-1969 * per_year, step), Fraction(8030 * per_year, step))
        days = (ticks * step).view(f"datetime64[{unit}]").astype("datetime64[D]").astype(np.int64)
        return days * per_day, inside
    first, last = (FIRST_DAY, LAST_DAY) if kind == "date" else (FIRST_MOMENT, LAST_MOMENT)
    tick = Fraction(step * per_day * _DAYS_IN.get(unit, 1), _PER_DAY.get(unit, 1))  # in the unit wanted
    ticks, inside = _ticks_between(values, first / tick, (last + 1) / tick)
    if tick.denominator > _MOST:  # all ticks that there are lie within one unit
        return np.where(ticks < 0, -1, 0), inside
    if tick.numerator == 1:
        return ticks // tick.denominator, inside
    if tick.denominator == 1:
        return ticks * tick.numerator, inside
    whole = ticks.astype(object) * tick.numerator // tick.denominator
    return whole.astype(np.int64), inside


def _ticks_between(values: NDArray[Any], start: Fraction, end: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The ticks of times from ``start`` on and before ``end``, and which those are; 0 for all others."""
    ticks = values.astype(np.int64)
    inside = (ticks >= max(math.ceil(start), -_MOST)) & (ticks <= min(math.ceil(end) - 1, _MOST))  # NaT is below all
    return np.where(inside, ticks, 0), inside


def _by_clock(values: NDArray[Any], zone: str, kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Moments of UTC as the clocks of a zone show them, or the days; the same table as in a query."""
    moments, inside = _times(values, "moment")
    starts, ahead = (np.array(part, dtype=np.int64) for part in zip(*offsets(zone), strict=True))
    shown = np.where(inside, moments, 0) + ahead[np.maximum(np.searchsorted(starts, moments, side="right") - 1, 0)]
    inside = inside & (shown >= FIRST_MOMENT) & (shown <= LAST_MOMENT)
    return (shown // MICROS_PER_DAY if kind == "date" else shown), inside


def _standard(values: NDArray[Any]) -> NDArray[Any]:
    """Extended precision as doubles; what they cannot hold becomes infinite, and infinities are left out."""
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values


def _is_dense(buckets: Width) -> bool:
    """Whether public bounds give few enough buckets, and integers with room to spare in 64 bits."""
    if buckets.bounds is None or (buckets.count or 0) > _MOST_BINS:
        return False
    return not buckets.whole or all(abs(bound) < 2**62 for bound in buckets.bounds)


def _bincount(values: NDArray[Any], buckets: Width) -> Counted:
    """Dense counting between public bounds, in chunks that stay in the cache."""
    bins = buckets.count or 1
    totals = np.zeros(bins + 1, dtype=np.int64)
    prepare = _prepare_doubles(buckets) if not buckets.whole else _prepare_integers(buckets)
    for start in range(0, len(values), _CHUNK):
        totals += np.bincount(prepare(values[start : start + _CHUNK]), minlength=bins + 1)
    totals[bins - 1] += totals[bins]  # the upper bound itself, and what rounds up to it
    index = np.flatnonzero(totals[:bins])
    return Counted((index,), totals[index])


def _prepare_doubles(buckets: Width) -> Callable[[NDArray[Any]], NDArray[np.intp]]:
    low, high = (float(bound) for bound in buckets.bounds or (0, 0))
    width, zero = float(buckets.width), buckets.zero
    drop = buckets.outside == "drop"
    buffer = np.empty(_CHUNK)
    places = np.empty(_CHUNK, dtype=np.intp)

    def prepare(chunk: NDArray[Any]) -> NDArray[np.intp]:
        if chunk.dtype != np.float64:
            chunk = chunk.astype(np.float64)
        if drop:
            chunk = chunk[(chunk >= low) & (chunk <= high)]
        elif not np.isfinite(chunk).all():
            chunk = chunk[np.isfinite(chunk)]
        scaled, place = buffer[: len(chunk)], places[: len(chunk)]
        np.clip(chunk, low, high, out=scaled)
        if zero is None:
            np.subtract(scaled, low, out=scaled)
            np.divide(scaled, width, out=scaled)
        else:
            np.divide(scaled, width, out=scaled)
            np.floor(scaled, out=scaled)
            np.add(scaled, zero, out=scaled)
        place[...] = scaled  # truncation is the floor, since nothing is negative
        return place

    return prepare


def _prepare_integers(buckets: Width) -> Callable[[NDArray[Any]], NDArray[np.intp]]:
    low, high = (int(bound) for bound in buckets.bounds or (0, 0))
    width = int(buckets.width)
    drop = buckets.outside == "drop"
    places = np.empty(_CHUNK, dtype=np.int64)

    def prepare(chunk: NDArray[Any]) -> NDArray[np.intp]:
        whole = _as_int64(chunk, high)
        if drop:
            whole = whole[(whole >= low) & (whole <= high)]
        place = places[: len(whole)]
        np.clip(whole, low, high, out=place)
        np.subtract(place, low, out=place)
        np.floor_divide(place, width, out=place)
        return place.astype(np.intp, copy=False)

    return prepare


def _as_int64(chunk: NDArray[Any], high: int) -> NDArray[np.int64]:
    """The integers of a chunk in 64 bits; those beyond stop at a limit that lies outside all dense bounds."""
    if chunk.dtype.kind == "f":
        chunk = _standard(chunk).astype(np.float64, copy=False)
        chunk = chunk[np.abs(chunk) <= _LARGEST_WHOLE_DOUBLE]  # no NaN, no infinity
        chunk = np.clip(chunk[chunk == np.floor(chunk)], -(2.0**63), 2.0**63 - 1024)
    elif chunk.dtype == np.uint64:
        chunk = np.minimum(chunk, np.uint64(max(high + 1, 0)))
    return chunk.astype(np.int64, copy=False)


def _read(cells: Iterable[Any], reader: Callable[[Any], Any]) -> list[Any]:
    """The cells, read one by one; None where a cell is not readable."""
    out = []
    for cell in cells:
        try:
            value = reader(cell)
        except Exception:  # noqa: BLE001  (whatever a cell raises when it is read, it is missing)
            value = None
        out.append(value)
    return out


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return len(text) <= LONGEST_TEXT and pattern.fullmatch(text) is not None  # all they match has a byte a character


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
        return int(cell) if _matches(_INTEGER, cell) else None
    if isinstance(cell, Integral | np.bool_):
        value = int(cell)
    elif isinstance(cell, Real | Decimal):
        number: Any = float(cell) if isinstance(cell, np.floating) else cell
        if not -LARGEST_INTEGER <= number <= LARGEST_INTEGER:
            return None
        if isinstance(number, Decimal):  # without making 10^exponent of a small one
            if number != number.to_integral_value():
                return None
        elif Fraction(number).denominator != 1:
            return None
        value = int(number)
    else:
        return None
    return value if abs(value) <= LARGEST_INTEGER else None


def _inferred_integer(cell: Any) -> int | None:
    value = _integer(_number(cell) if isinstance(cell, str) else cell)
    return value if value is not None and abs(value) <= _LARGEST_INFERRED else None


def _text(cell: Any) -> str | None:
    if not isinstance(cell, str):
        return None
    text = str.__str__(cell)  # of a subclass, the text itself
    try:
        short = len(text) <= LONGEST_TEXT and len(text.encode()) <= LONGEST_TEXT
    except UnicodeEncodeError:  # half a surrogate pair: no text that could be published
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
    return cell.toordinal() - EPOCH if isinstance(cell, dt.date) and cell == cell else None


def _boolean(cell: Any) -> bool | None:
    if isinstance(cell, str):
        return _BOOLEANS.get(cell.strip(" \t").lower())
    return bool(cell) if isinstance(cell, bool | np.bool_) else None


def _moment(cell: Any) -> int | None:
    """Microseconds of a moment without a time zone, or of the first one of a day."""
    if isinstance(cell, str):
        if not _matches(_MOMENT, cell):
            return None
        try:
            cell = dt.datetime.fromisoformat(cell.strip(" \t"))
        except ValueError:
            return None
    if isinstance(cell, np.datetime64):
        return _tick(cell, "moment")
    if isinstance(cell, dt.datetime):
        plain = dt.datetime(cell.year, cell.month, cell.day, cell.hour, cell.minute, cell.second, cell.microsecond)
        same = cell == cell and cell.tzinfo is None
        return (plain - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) if same else None
    return (cell.toordinal() - EPOCH) * MICROS_PER_DAY if isinstance(cell, dt.date) and cell == cell else None


def _tick(cell: np.datetime64, kind: Kind) -> int | None:
    ticks, inside = _times(np.array([cell]), kind)
    return int(ticks[0]) if inside[0] else None


_READERS: dict[Kind, Callable[[Any], Any]] = {
    "number": _number,
    "integer": _integer,
    "text": _text,
    "date": _day,
    "moment": _moment,
    "boolean": _boolean,
}
