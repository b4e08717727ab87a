"""Times in numpy arrays as whole days or microseconds, without the overflows of numpy's own casts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import offsets
from flexdp.buckets.base import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, MICROS_PER_DAY, Kind

__all__ = ["to_clock_ticks", "to_ticks"]

_PER_DAY = {"h": 24, "m": 1440, "s": 86400, "ms": 86400 * 10**3, "us": 86400 * 10**6, "ns": 86400 * 10**9}
_PER_DAY |= {"ps": 86400 * 10**12, "fs": 86400 * 10**15, "as": 86400 * 10**18}
_DAYS_IN = {"D": 1, "W": 7}
_MOST = 2**63 - 1


def to_ticks(values: NDArray[Any], kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
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


def to_clock_ticks(values: NDArray[Any], zone: str, kind: Kind) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Datetimes of UTC as the clocks of a zone show them, or the days; the same table as in a query."""
    datetimes, inside = to_ticks(values, "datetime")
    starts, ahead = (np.array(part, dtype=np.int64) for part in zip(*offsets(zone), strict=True))
    shown = np.where(inside, datetimes, 0) + ahead[np.maximum(np.searchsorted(starts, datetimes, side="right") - 1, 0)]
    inside = inside & (shown >= FIRST_MOMENT) & (shown <= LAST_MOMENT)
    return (shown // MICROS_PER_DAY if kind == "date" else shown), inside
