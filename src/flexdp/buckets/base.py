"""What all partitions share: kinds of values, the limits of what is read, and how far values are from a key.

Dates are counted as whole days and datetimes as whole microseconds since 1970-01-01.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import said, to_double
from flexdp.histogram import canonical_keys, object_keys

__all__ = [
    "EPOCH",
    "FIRST_DAY",
    "FIRST_MOMENT",
    "LARGEST_DOUBLE",
    "LARGEST_INDEX",
    "LARGEST_INTEGER",
    "LAST_DAY",
    "LAST_MOMENT",
    "LONGEST_TEXT",
    "MEASURES",
    "MICROS_PER_DAY",
    "SMALLEST_NORMAL",
    "Bucket",
    "Kind",
    "Outside",
    "confine",
    "end_times",
    "error_unit",
    "half_span",
    "integer_keys",
    "largest_distance",
    "middle_times",
    "nearest_doubles",
    "times",
]

Kind: TypeAlias = Literal["integer", "number", "text", "date", "datetime", "boolean"]
Outside: TypeAlias = Literal["clamp", "drop"]

LARGEST_INDEX = 2**51  # on an open domain, a bucket further out is outside: doubles no longer tell centres apart
LARGEST_INTEGER = 10**37 - 1  # integers beyond it do not read as integers, on any engine
LONGEST_TEXT = 1 << 16  # bytes in UTF-8; a longer text is not read on any engine, so that no cell can fill its memory
SMALLEST_NORMAL = sys.float_info.min
LARGEST_DOUBLE = sys.float_info.max
EPOCH = dt.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = dt.date.min.toordinal() - EPOCH, dt.date.max.toordinal() - EPOCH
MICROS_PER_DAY = 86400 * 10**6
FIRST_MOMENT, LAST_MOMENT = FIRST_DAY * MICROS_PER_DAY, (LAST_DAY + 1) * MICROS_PER_DAY - 1
MEASURES = {  # what time is measured in, in microseconds, the longest first
    "days": MICROS_PER_DAY, "hours": 3600 * 10**6, "minutes": 60 * 10**6, "seconds": 10**6, "milliseconds": 10**3,
    "microseconds": 1,
}  # fmt: skip


class Bucket(NamedTuple):
    """The edges of one bucket: the smallest value it holds, and where it ends."""

    lower: Any
    upper: Any


class _Extended(Protocol):
    """Buckets of numbers that know how far what counts in one of them reaches."""

    def extent(self, index: int) -> tuple[Fraction, Fraction]: ...
    def centres(self, index: NDArray[Any]) -> NDArray[Any]: ...


def error_unit(kind: Kind, *lengths: Fraction) -> str:
    """What errors are told in: days of dates; of datetimes, the longest measure that all lengths are multiples of."""
    if kind == "date":
        return "days"
    if kind != "datetime":
        return ""
    return next(name for name, micros in MEASURES.items() if all(length % micros == 0 for length in lengths))


def largest_distance(buckets: _Extended, index: int) -> Fraction:
    """How far the numbers that count in a bucket can be from its key, as both are read and printed."""
    low, high = buckets.extent(index)
    key = said(float(buckets.centres(np.array([index]))[0]))
    return max(key - low, high - key)


def half_span(kind: Kind, span: tuple[Fraction, Fraction], unit: str) -> Fraction:
    """How far the values between two ends can be from the middle, in the unit that errors are told in."""
    first, last = span
    if kind == "date":  # the middle is a day too
        return Fraction(math.ceil((last - first) / 2))
    if kind == "datetime":
        return (last - first + 1) / 2 / MEASURES[unit]
    return (last - first) / 2


def middle_times(kind: Kind, spans: list[tuple[Fraction, Fraction]]) -> NDArray[Any]:
    return times(kind, np.array([int(first + last + 1) // 2 for first, last in spans], dtype=np.int64))


def end_times(kind: Kind, spans: list[tuple[Fraction, Fraction]]) -> list[Bucket]:
    ends = times(kind, np.array([int(end) for span in spans for end in span], dtype=np.int64)).tolist()
    return [Bucket(*pair) for pair in zip(ends[::2], ends[1::2], strict=True)]


def confine(values: NDArray[Any], bounds: tuple[Fraction, Fraction] | None, outside: Outside) -> NDArray[Any]:
    """Values clamped to the bounds, or those within them."""
    if bounds is None:
        return values
    low, high = (float(b) if values.dtype.kind == "f" else int(b) for b in bounds)
    if values.dtype.kind == "i" and max(abs(low), abs(high)) >= 2**62:
        values = values.astype(object)  # so that neither the bounds nor a difference can overflow
    if outside == "drop":
        return values[(values >= low) & (values <= high)]
    clamped: NDArray[Any] = np.minimum(np.maximum(values, low), high)
    return clamped


def times(kind: Kind, index: NDArray[Any]) -> NDArray[Any]:
    """Days or microseconds since 1970-01-01 as dates or datetimes, the nearest that there are."""
    out = np.empty(len(index), dtype=object)
    if kind == "date":
        out[:] = [dt.date.fromordinal(min(max(int(day), FIRST_DAY), LAST_DAY) + EPOCH) for day in index]
    else:
        start = dt.datetime(1970, 1, 1)
        inside = (min(max(int(micros), FIRST_MOMENT), LAST_MOMENT) for micros in index)
        out[:] = [start + dt.timedelta(microseconds=micros) for micros in inside]
    return out


def nearest_doubles(numbers: list[Any]) -> NDArray[np.float64]:
    """Numbers as the nearest doubles, the largest one for those beyond."""
    return np.array(list(map(to_double, numbers)), dtype=np.float64)


def integer_keys(numbers: list[Any], *, halves: bool) -> NDArray[Any]:
    """Whole numbers, and halves where the buckets may have them.

    Which of the two decides the type of all, so that no key changes with its neighbours; only a number that a double
    cannot hold is kept exactly.
    """
    if not halves:
        return canonical_keys([int(number) for number in numbers])
    doubles = nearest_doubles(numbers)
    if all(Fraction(double) == number for double, number in zip(doubles.tolist(), numbers, strict=True)):
        return doubles
    exact = [
        double if Fraction(double) == number else Fraction(number)
        for double, number in zip(doubles.tolist(), numbers, strict=True)
    ]
    return object_keys(exact)
