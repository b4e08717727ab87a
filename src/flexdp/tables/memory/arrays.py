"""Arrays of one dtype, read as a kind: what the dtype cannot hold, or does not hold exactly, is missing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import FIRST_DATETIME, FIRST_DAY, LAST_DATETIME, LAST_DAY, MICROS_PER_DAY, offsets
from flexdp.buckets.base import Kind
from flexdp.tables.column import Column

__all__ = ["FORMS", "LARGEST_INFERRED", "Cells", "is_there", "read_array", "to_ticks", "unexplained", "zone_ticks"]

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
