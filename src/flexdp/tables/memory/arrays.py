"""Numpy arrays, whose dtype may have been inferred, counted by numpy where that is faster than an engine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import FIRST_DATETIME, FIRST_DAY, LAST_DATETIME, LAST_DAY, MICROS_PER_DAY, offsets
from flexdp.buckets.base import Kind
from flexdp.sharp.column import Column as Sorted
from flexdp.tables.column import Column
from flexdp.tables.counting import Counting
from flexdp.tables.engines.duckdb.types import read_cell
from flexdp.tables.sql.query import Reading

__all__ = ["LARGEST_INFERRED", "Aligned", "ArrayTable", "read_aligned", "to_clock_ticks", "to_ticks"]

_LARGEST_WHOLE_DOUBLE = 1e37
LARGEST_INFERRED = 2**53 - 1  # larger integers are rounded if one missing cell makes them doubles
_OF_DTYPE: dict[str, tuple[Kind, ...]] = {"M": ("date", "datetime"), "b": ("boolean",)}
_STORED: dict[Kind, tuple[Any, str]] = {  # of columns in which no cell is readable: an array, and its type in DuckDB
    "number": (np.float64, "DOUBLE"),
    "integer": (np.int64, "HUGEINT"),
    "text": (np.int64, "VARCHAR"),
    "boolean": (np.bool_, "BOOLEAN"),
    "date": ("datetime64[D]", "BIGINT"),
    "datetime": ("datetime64[us]", "BIGINT"),
}


class Aligned(NamedTuple):
    """A column ready for an engine: one cell per record, and a mask of those present."""

    cells: NDArray[Any]
    present: NDArray[np.bool_] | None


@dataclass(frozen=True)
class ArrayTable:
    """An array of one dtype; ``present`` masks out missing cells, and ``zoned`` datetimes are instants, in UTC."""

    values: NDArray[Any] = field(repr=False)  # records: never printed
    declared: Column
    present: NDArray[np.bool_] | None = field(default=None, repr=False)
    zoned: bool = False

    def reading(self, cell: str, kind: Kind, column: Column | None = None) -> Reading:
        """Return the expression that reads a cell of :meth:`aligned`; ``column`` is this one, as it is read."""
        if column is not None and column.presence:
            return Reading(cell)
        if self.declared.inferred:
            return read_aligned(cell, kind, wide=False)
        if not self._can_be(kind):
            return Reading(f"CAST(NULL AS {_STORED[kind][1]})", kind == "integer")
        if self.values.dtype.kind == "M" or kind == "boolean":
            return Reading(cell)
        # The type of the cells: integers of pandas are declared as numbers.
        stored: Kind = "number" if self.values.dtype.kind == "f" else "integer"
        wide = self.values.dtype == np.uint64
        return read_cell(cell, Column(name=None, type_name="DOUBLE", kind=stored, wide=wide), kind)

    def aligned(self, kind: Kind, column: Column | None = None) -> Aligned:
        """Return one cell per record; ``column`` is this one, as it is read."""
        column = column or self.declared
        if column.presence:
            there = self.there
            return Aligned(np.ones(len(there), dtype=bool), there)
        values, present = self._readable(kind, zoned=column.zoned)
        if values.dtype.kind == "M":
            ticks, inside = to_ticks(values, kind)
            return Aligned(ticks, inside if present is None else inside & present)
        cells = np.ascontiguousarray(_standard(values))
        return _in_one_form(cells, present, kind) if self.declared.inferred else Aligned(cells, present)

    @property
    def there(self) -> NDArray[np.bool_]:
        """The mask of cells that are not missing."""
        there = np.ones(len(self.values), dtype=bool) if self.present is None else self.present
        if self.values.dtype.kind in "fM":
            there = there & ~(np.isnan(self.values) if self.values.dtype.kind == "f" else np.isnat(self.values))
        return there

    def _can_be(self, kind: Kind) -> bool:
        """Tell whether the dtype holds cells of that kind; if an inferred one does not, no cell is readable."""
        numeric: tuple[Kind, ...] = (
            ("integer", "number", "boolean") if self.declared.inferred else ("integer", "number")
        )
        return kind in _OF_DTYPE.get(self.values.dtype.kind, numeric)

    def _readable(self, kind: Kind, *, zoned: bool) -> Aligned:
        """Return the cells, with a mask of those present and readable."""
        if not self._can_be(kind) or (self.values.dtype.kind == "M" and zoned is not self.zoned):
            length = len(self.values)
            return Aligned(np.zeros(length, dtype=_STORED[kind][0]), np.zeros(length, dtype=bool))
        if kind == "boolean" and self.values.dtype.kind != "b":  # which an integer among booleans makes 1 and 0
            return Aligned(self.values == 1, (self.values == 0) | (self.values == 1))
        present = self.present
        rounded = self.values.dtype.kind in "iu" and kind == "number" and self.declared.follows
        if kind == "integer" if self.declared.inferred else rounded:  # doubles would merge larger integers
            near = (self.values >= -LARGEST_INFERRED) & (self.values <= LARGEST_INFERRED)
            present = near if present is None else present & near
        return Aligned(self.values, present)

    def sorted_column(self, counting: Counting) -> Sorted:
        """Return the readable values, to answer requests from."""
        axis = counting.values[0]
        values, present = self._readable(axis.kind, zoned=axis.zone is not None)
        values = values if present is None else values[present]
        if values.dtype.kind == "M":
            ticks, inside = (
                to_ticks(values, axis.kind) if axis.zone is None else to_clock_ticks(values, axis.zone, axis.kind)
            )
            values = ticks[inside]
        elif axis.kind == "number":
            values = _standard(values).astype(np.float64, copy=False)
            if axis.buckets.bounds is not None:
                values = values[np.isfinite(values)]
        else:
            values = _whole(values)
        return Sorted.from_values(values if axis.buckets.bounds is None else axis.buckets.locate(values))


def read_aligned(cell: str, kind: Kind, *, wide: bool) -> Reading:
    """Return the expression that reads a cell of an aligned column in which every kind has one form.

    Integers and texts are cast: integers may come as texts, and a column without readable cells as another type.
    """
    if kind == "integer":
        return Reading(f"CAST({cell} AS {'HUGEINT' if wide else 'BIGINT'})", wide)
    return Reading(f"CAST({cell} AS VARCHAR)" if kind == "text" else cell)


def _in_one_form(cells: NDArray[Any], present: NDArray[np.bool_] | None, kind: Kind) -> Aligned:
    """Return numbers as finite doubles and integers in 64 bits, whatever the dtype of their cells."""
    if kind not in ("number", "integer"):
        return Aligned(cells, present)
    readable = np.isfinite(cells) if kind == "number" else cells == np.floor(cells)
    form = np.float64 if kind == "number" else np.int64
    return Aligned(cells.astype(form, copy=False), readable if present is None else readable & present)


def _standard(values: NDArray[Any]) -> NDArray[Any]:
    """Convert extended precision to doubles; what overflows becomes infinite and is left out."""
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return the whole numbers among values: 64-bit integers, or Python's where those are too short."""
    if values.dtype.kind == "f":
        values = _standard(values).astype(np.float64, copy=False)
        values = values[np.abs(values) <= _LARGEST_WHOLE_DOUBLE]  # excludes NaN and infinities
        values = values[values == np.floor(values)]
        if len(values) and np.abs(values).max() >= 2.0**63:
            return np.array([*map(int, values.tolist()), None], dtype=object)[:-1]
    elif values.dtype == np.uint64:
        return values.astype(object if len(values) and values.max() > 2**63 - 1 else np.int64)
    return values.astype(np.int64, copy=False)


_PER_DAY = {"h": 24, "m": 1440, "s": 86400, "ms": 86400 * 10**3, "us": 86400 * 10**6, "ns": 86400 * 10**9}
_PER_DAY |= {"ps": 86400 * 10**12, "fs": 86400 * 10**15, "as": 86400 * 10**18}
_DAYS_IN = {"D": 1, "W": 7}
_MOST = 2**63 - 1


def to_ticks(values: NDArray[Any], kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
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
        return days * per_day, inside
    first, last = (FIRST_DAY, LAST_DAY) if kind == "date" else (FIRST_DATETIME, LAST_DATETIME)
    tick = Fraction(step * per_day * _DAYS_IN.get(unit, 1), _PER_DAY.get(unit, 1))  # in the unit that is returned
    ticks, inside = _ticks_between(values, first / tick, (last + 1) / tick)
    if tick.denominator > _MOST:  # all possible ticks lie within one unit
        return np.where(ticks < 0, -1, 0), inside
    if tick.numerator == 1:
        return ticks // tick.denominator, inside
    if tick.denominator == 1:
        return ticks * tick.numerator, inside
    whole = ticks.astype(object) * tick.numerator // tick.denominator
    return whole.astype(np.int64), inside


def _ticks_between(values: NDArray[Any], start: Fraction, end: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the ticks in [start, end) with a mask of them; 0 for all others."""
    ticks = values.astype(np.int64)
    inside = (ticks >= max(math.ceil(start), -_MOST)) & (ticks <= min(math.ceil(end) - 1, _MOST))  # NaT is the smallest
    return np.where(inside, ticks, 0), inside


def to_clock_ticks(values: NDArray[Any], zone: str, kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Convert datetimes in UTC to local time, or to days, by the same table as in a query."""
    datetimes, inside = to_ticks(values, "datetime")
    starts, ahead = (np.array(part, dtype=np.int64) for part in zip(*offsets(zone), strict=True))
    shown = np.where(inside, datetimes, 0) + ahead[np.maximum(np.searchsorted(starts, datetimes, side="right") - 1, 0)]
    inside = inside & (shown >= FIRST_DATETIME) & (shown <= LAST_DATETIME)
    return (shown // MICROS_PER_DAY if kind == "date" else shown), inside
