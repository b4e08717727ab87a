"""Values in memory: numpy arrays, lists, and single columns of frames that are one of these underneath.

A numpy dtype declares a type. A list or an object array declares none: its cells are read strictly, one by one.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.buckets import EPOCH, FIRST_DAY, LARGEST_INTEGER, LAST_DAY, Buckets, Kind, Width
from flexdp.errors import InputError
from flexdp.histogram import Histogram, canonical_keys
from flexdp.tables.columns import Column
from flexdp.tables.duckdb import connection, run
from flexdp.tables.sql import column_query

__all__ = ["ArrayTable", "CellTable", "open_array"]

_CHUNK = 1 << 16
_MOST_BINS = 1 << 22  # beyond it a dense array of bins costs more than counting sparsely
_LARGEST_WHOLE_DOUBLE = 1e37
_NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?[ \t]*", re.ASCII)
_INTEGER = re.compile(r"[ \t]*[+-]?[0-9]{1,37}[ \t]*", re.ASCII)
_DATE = re.compile(r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*", re.ASCII)


def open_array(values: NDArray[Any], *, name: str | None = None, numbers: bool = False) -> ArrayTable | CellTable:
    """A column from an array. ``numbers`` reads integers as numbers, for sources whose dtypes follow their cells."""
    if values.ndim != 1:
        raise InputError("source must be a one-dimensional array; choose one column of it.")
    if isinstance(values, np.ma.MaskedArray):
        values = values.compressed()
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    code, word = values.dtype.kind, str(values.dtype)
    if code == "O":
        return CellTable(values.tolist, Column(name=name, type_name="object", kind=None, undeclared=True))
    if code == "U":
        return CellTable(values.tolist, Column(name=name, type_name="text", kind="text"))
    if code in "iu":
        kind: Kind | None = "number" if numbers else "integer"
    else:
        kind = {"f": "number", "b": "boolean"}.get(code)  # type: ignore[assignment]
    if code == "M" and np.datetime_data(values.dtype)[0] != "generic":
        daily = np.datetime_data(values.dtype)[0] in ("D", "W", "M", "Y")
        return ArrayTable(
            values, Column(name=name, type_name=word, kind="date" if daily else None, timestamp=not daily)
        )
    return ArrayTable(values, Column(name=name, type_name=word, kind=kind))


@dataclass(frozen=True)
class ArrayTable:
    """An array whose dtype declares what it holds."""

    values: NDArray[Any] = field(repr=False)  # records: never in a text form
    declared: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.declared,)

    def column(self, name: object) -> Column:  # noqa: ARG002  (there is but one)
        return self.declared

    def query(self, column: Column, kind: Kind, buckets: Buckets) -> str:
        """The SQL that counts, over a table ``source`` with one column ``value``."""
        # What the cells are, which for frames whose dtypes follow their cells is not what the column declares.
        stored: Kind = "number" if self.values.dtype.kind == "f" else "integer"
        wide = self.values.dtype == np.uint64
        return column_query("source", "value", replace(column, kind=stored, wide=wide), kind, buckets)

    def count(self, column: Column, kind: Kind, buckets: Buckets) -> tuple[Any, Any]:
        """Buckets and how many records each holds."""
        code = self.values.dtype.kind
        if code == "M":
            return _tally(buckets.locate(_days(self.values)))
        if code == "b":
            return _tally(self.values)
        if isinstance(buckets, Width) and _is_dense(buckets):
            return _bincount(self.values, buckets)
        array = np.ascontiguousarray(_standard(self.values))
        statement = self.query(column, kind, buckets)
        with connection() as con:
            con.register("source", {"value": array})
            try:
                out = run(lambda: con.execute(statement).fetchnumpy(), con.interrupt)
            finally:
                con.unregister("source")
        return out["bucket"], out["records"]


@dataclass(frozen=True)
class CellTable:
    """Python objects, fetched when they are counted and read one by one."""

    cells: Callable[[], list[Any]] = field(repr=False)
    declared: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.declared,)

    def column(self, name: object) -> Column:  # noqa: ARG002  (there is but one)
        return self.declared

    def query(self, column: Column, kind: Kind, buckets: Buckets) -> str:
        """The SQL that would count the same cells, as texts in a table ``source`` with one column ``value``."""
        return column_query("source", "value", replace(column, undeclared=True), kind, buckets)

    def count(self, column: Column, kind: Kind, buckets: Buckets) -> tuple[Any, Any]:  # noqa: ARG002
        """Buckets and how many records each holds."""
        values = _read(self.cells(), kind)
        if kind in ("text", "boolean"):
            tally = Counter(values)
            return canonical_keys(list(tally)), np.array(list(tally.values()), dtype=np.int64)
        if kind == "number":
            return _tally(buckets.locate(np.array(values, dtype=np.float64)))
        return _tally(buckets.locate(canonical_keys(values)))


def _tally(index: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    counted = Histogram.from_values(index)
    return counted.keys, counted.counts


_PER_DAY = {"h": 24, "m": 1440, "s": 86400, "ms": 86400 * 10**3, "us": 86400 * 10**6, "ns": 86400 * 10**9}
_PER_DAY |= {"ps": 86400 * 10**12, "fs": 86400 * 10**15}
_DAYS_IN = {"D": 1, "W": 7}


def _days(values: NDArray[Any]) -> NDArray[np.int64]:
    """Days since 1970-01-01 by integer division, because numpy's own casts overflow silently."""
    values = values[~np.isnat(values)]
    unit, step = np.datetime_data(values.dtype)
    ticks = values.astype(np.int64)
    if unit in ("Y", "M"):
        reach = 12 * 10**4 if unit == "M" else 10**4
        near = values[np.abs(ticks) <= reach // step]
        days = near.astype("datetime64[D]").astype(np.int64)
    elif unit in _DAYS_IN:
        days = ticks[np.abs(ticks) <= LAST_DAY] * (_DAYS_IN[unit] * step)
    elif unit == "as":  # 2^63 attoseconds are nine seconds
        days = np.where(ticks < 0, -1, 0)
    else:
        days = (ticks.astype(object) * step if step > 1 else ticks) // _PER_DAY[unit]
    inside = days[(days >= FIRST_DAY) & (days <= LAST_DAY)]
    return inside.astype(np.int64)


def _standard(values: NDArray[Any]) -> NDArray[Any]:
    """Extended precision as doubles; what they cannot hold becomes infinite, and infinities are left out."""
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return values


def _is_dense(buckets: Width) -> bool:
    """Whether public bounds give few enough buckets, and integers with room to spare in 64 bits."""
    if buckets.bounds is None or (buckets.count or 0) > _MOST_BINS:
        return False
    return not buckets.whole or all(abs(bound) < 2**62 for bound in buckets.bounds)


def _bincount(values: NDArray[Any], buckets: Width) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Dense counting between public bounds, in chunks that stay in the cache."""
    bins = buckets.count or 1
    totals = np.zeros(bins + 1, dtype=np.int64)
    prepare = _prepare_doubles(buckets) if not buckets.whole else _prepare_integers(buckets)
    for start in range(0, len(values), _CHUNK):
        totals += np.bincount(prepare(values[start : start + _CHUNK]), minlength=bins + 1)
    totals[bins - 1] += totals[bins]  # the upper bound itself, and what rounds up to it
    index = np.flatnonzero(totals[:bins])
    return index, totals[index]


def _prepare_doubles(buckets: Width) -> Callable[[NDArray[Any]], NDArray[np.intp]]:
    low, high = (float(bound) for bound in buckets.bounds or (0, 0))
    width = float(buckets.width)
    drop = buckets.outside == "drop"
    buffer = np.empty(_CHUNK)
    places = np.empty(_CHUNK, dtype=np.intp)

    def prepare(chunk: NDArray[Any]) -> NDArray[np.intp]:
        if chunk.dtype != np.float64:
            with np.errstate(over="ignore"):
                chunk = chunk.astype(np.float64)
        if drop:
            chunk = chunk[(chunk >= low) & (chunk <= high)]
        elif not np.isfinite(chunk).all():
            chunk = chunk[np.isfinite(chunk)]
        scaled, place = buffer[: len(chunk)], places[: len(chunk)]
        np.clip(chunk, low, high, out=scaled)
        np.subtract(scaled, low, out=scaled)
        np.divide(scaled, width, out=scaled)
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


def _read(cells: Iterable[Any], kind: Kind) -> list[Any]:
    """The cells that are readable as ``kind``; everything else is missing."""
    reader = {"number": _number, "integer": _integer, "text": _text, "date": _day, "boolean": _boolean}[kind]
    out = []
    for cell in cells:
        try:
            value = reader(cell)
        except Exception:  # noqa: BLE001  (whatever a cell raises when it is read, it is missing)
            continue
        if value is not None:
            out.append(value)
    return out


def _number(cell: Any) -> float | None:
    if isinstance(cell, str):
        if _NUMBER.fullmatch(cell) is None:
            return None
        value = float(cell)
    elif isinstance(cell, Real | Decimal | np.bool_):
        value = float(cell)
    else:
        return None
    return value if math.isfinite(value) else None


def _integer(cell: Any) -> int | None:
    if isinstance(cell, str):
        return int(cell) if _INTEGER.fullmatch(cell) else None
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


def _text(cell: Any) -> str | None:
    if not isinstance(cell, str):
        return None
    try:
        cell.encode()
    except UnicodeEncodeError:  # half a surrogate pair: no text that could be published
        return None
    return str.__str__(cell)  # of a subclass, the text itself


def _day(cell: Any) -> int | None:
    if isinstance(cell, str):
        if _DATE.fullmatch(cell) is None:
            return None
        try:
            cell = dt.date.fromisoformat(cell.strip(" \t"))
        except ValueError:
            return None
    if isinstance(cell, np.datetime64):
        days = _days(np.array([cell]))
        return int(days[0]) if len(days) else None
    return cell.toordinal() - EPOCH if isinstance(cell, dt.date) and cell == cell else None


def _boolean(cell: Any) -> bool | None:
    return bool(cell) if isinstance(cell, bool | np.bool_) else None
