"""Parts that all partitions share: kinds of values, limits of what is read, distances of values from a key.

Dates are counted as days and datetimes as microseconds since 1970-01-01.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import MICROS_PER_DAY, date_at, datetime_at
from flexdp._core.exact import said, to_double
from flexdp._core.keys import canonical_keys, object_keys

__all__ = [
    "LARGEST_DOUBLE",
    "LARGEST_INDEX",
    "LARGEST_INTEGER",
    "LONGEST_TEXT",
    "MEASURES",
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

LARGEST_INDEX = 2**51  # on an open domain, buckets further out are outside: doubles no longer separate centres
LARGEST_INTEGER = 10**37 - 1  # larger integers are not read as integers on any engine
LONGEST_TEXT = 1 << 16  # bytes in UTF-8; longer texts are not read on any engine, so that no cell can fill its memory
SMALLEST_NORMAL = sys.float_info.min
LARGEST_DOUBLE = sys.float_info.max
MEASURES = {  # units of time in microseconds, the longest first
    "days": MICROS_PER_DAY, "hours": 3600 * 10**6, "minutes": 60 * 10**6, "seconds": 10**6, "milliseconds": 10**3,
    "microseconds": 1,
}  # fmt: skip


class Bucket(NamedTuple):
    """Edges of one bucket: its smallest value and its end."""

    lower: Any
    upper: Any


class _Extended(Protocol):
    """Buckets of numbers with the exact extent of each."""

    def extent(self, index: int) -> tuple[Fraction, Fraction]: ...
    def centres(self, index: NDArray[Any]) -> NDArray[Any]: ...


def error_unit(kind: Kind, *lengths: Fraction) -> str:
    """Return the unit of errors: days for dates; for datetimes the longest unit of which all lengths are multiples."""
    if kind == "date":
        return "days"
    if kind != "datetime":
        return ""
    return next(name for name, micros in MEASURES.items() if all(length % micros == 0 for length in lengths))


def largest_distance(buckets: _Extended, index: int) -> Fraction:
    """Return the largest distance between a bucket's key and a number counted in it, both as they are printed."""
    low, high = buckets.extent(index)
    key = said(float(buckets.centres(np.array([index]))[0]))
    return max(key - low, high - key)


def half_span(kind: Kind, span: tuple[Fraction, Fraction], unit: str) -> Fraction:
    """Return the largest distance between the middle of a span and a value in it, in the unit of errors."""
    first, last = span
    if kind == "date":  # the middle is a day too
        return Fraction(math.ceil((last - first) / 2))
    if kind == "datetime":
        return (last - first + 1) / 2 / MEASURES[unit]
    return (last - first) / 2


def middle_times(kind: Kind, spans: list[tuple[Fraction, Fraction]]) -> NDArray[Any]:
    """Return the middles of spans as dates or datetimes."""
    return times(kind, np.array([int(first + last + 1) // 2 for first, last in spans], dtype=np.int64))


def end_times(kind: Kind, spans: list[tuple[Fraction, Fraction]]) -> list[Bucket]:
    """Return the ends of spans as dates or datetimes."""
    ends = times(kind, np.array([int(end) for span in spans for end in span], dtype=np.int64)).tolist()
    return [Bucket(*pair) for pair in zip(ends[::2], ends[1::2], strict=True)]


def confine(values: NDArray[Any], bounds: tuple[Fraction, Fraction] | None, outside: Outside) -> NDArray[Any]:
    """Clamp values to the bounds, or keep those within them."""
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
    """Convert days or microseconds since 1970-01-01 to dates or datetimes, or the nearest of the years 1 to 9999."""
    convert = date_at if kind == "date" else datetime_at
    return object_keys([convert(int(number)) for number in index])


def nearest_doubles(numbers: list[Any]) -> NDArray[np.float64]:
    """Return numbers as the nearest finite doubles."""
    return np.array(list(map(to_double, numbers)), dtype=np.float64)


def integer_keys(numbers: list[Any], *, halves: bool) -> NDArray[Any]:
    """Return keys that are integers, or halves of them if the partition can have such keys.

    ``halves`` decides the type of all keys, so that no key changes with its neighbours; only a number that no double
    represents is kept exactly.
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
