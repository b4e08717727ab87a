"""Quantiles between the edges of buckets: counts corrected for the mean loss, spread over their buckets.

A released count y stands for y + E[J] records, J being the loss of a bucket of at least q records: unbiased for those,
too high for smaller ones that survived. A count that adds up several cells, each with a loss of its own, is corrected
once for each cell that was released. The records of a bucket are spread as follows, on a line on which an integer, a
day or a microsecond v takes the stretch from v to v + 1:

================ ====================================================================================================
numbers, times   evenly between the ends of the bucket; of the first and the last public one that is closed, where it
                 is thinner than its inner edge, exponentially from the density there
single values    at the value: a jump
an open end      exponentially: the scale is its count divided by the density at its edge, at least 1/20 and at most
                 20 widths of the nearest bucket of several values. The density at an edge continues the fall between
                 the two nearest such buckets, by a factor of at most 4; it is the nearest one's where there is no fall.
                 Without any, a jump at the edge. Where the end was asked for and is nearer than 3/2 of that scale, the
                 bucket is taken to end there
================ ====================================================================================================

The quantile is where a share ``level`` of these records lies at or below; among integers, days and microseconds, the
one whose stretch holds that place. It is rounded to a step of at most a hundredth of the bucket, and stays in it.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import date_at, datetime_at, days_since_epoch, micros_since_epoch
from flexdp._core.enclosure import least
from flexdp._core.exact import said, to_double
from flexdp._release.ranges import bucket_ends
from flexdp.buckets.base import MEASURES, Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.partition import Buckets
from flexdp.buckets.relative import RelativeWidth
from flexdp.histogram import LARGEST_COUNT
from flexdp.statistics import to_python

__all__ = ["Profile", "Stretch", "at_place", "difference", "on_line", "stretch_of"]

_FINENESS = 100  # steps of a bucket's width that a value is rounded to, at least
_FARTHEST = 20  # widths of the neighbour that the scale of an open end spans at most, and one in as many at least
_NEAR = Fraction(3, 2)  # scales of an open end within which an asked end closes it
_NEAREST = 2  # buckets from which the density at an edge is continued
_STEEPEST = Fraction(4)  # times that the density falls from the middle of the neighbour to the edge, at most
_DIGITS = Context(prec=30)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of the line that a bucket takes; an end is None where it is open."""

    low: Fraction | None
    high: Fraction | None

    @property
    def width(self) -> Fraction | None:
        """The length; None where an end is open."""
        return None if self.low is None or self.high is None else self.high - self.low


def on_line(value: Any) -> Fraction:
    """Return a value's place on the line: numbers as they are printed, dates in days, datetimes in microseconds.

    >>> on_line(0.1), on_line(dt.date(1970, 1, 3)), on_line(dt.datetime(1970, 1, 1, 0, 0, 1))
    (Fraction(1, 10), Fraction(2, 1), Fraction(1000000, 1))
    """
    if isinstance(value, dt.datetime):
        return Fraction(micros_since_epoch(value))
    if isinstance(value, dt.date):
        return Fraction(days_since_epoch(value))
    return said(value) if isinstance(value, float) else Fraction(value)


def at_place(kind: Kind, spot: Fraction) -> Any:
    """Return the value at a place on the line; the nearest double, if it is a number.

    >>> at_place("number", Fraction(1, 10)), at_place("integer", Fraction(3)), at_place("date", Fraction(2)).isoformat()
    (0.1, 3, '1970-01-03')
    """
    if kind == "number":
        return to_double(spot)
    return date_at(int(spot)) if kind == "date" else datetime_at(int(spot)) if kind == "datetime" else int(spot)


def difference(high: Any, low: Any) -> Any:
    """Return the difference of two values: a number, or a length of time; infinite where one of them is.

    >>> difference(0.3, 0.1), difference(dt.date(2024, 3, 1), dt.date(2024, 2, 1)).days, difference(math.inf, 5)
    (0.2, 29, inf)
    """
    if _infinite(high) or _infinite(low):
        return math.inf if high == math.inf or low == -math.inf else -math.inf
    if isinstance(high, dt.date):
        return high - low
    number = on_line(high) - on_line(low)
    return int(number) if isinstance(high, int) and isinstance(low, int) else to_double(number)


def stretch_of(partition: Buckets, index: Any) -> Stretch:
    """Return the stretch of a bucket.

    >>> from flexdp.buckets.width import Width
    >>> stretch_of(Width("integer", Fraction(5)), 3)
    Stretch(low=Fraction(15, 1), high=Fraction(20, 1))
    """
    ((first, last),) = partition.edges_of(np.array([index], dtype=object if abs(index) >= 2**62 else np.int64))
    low, high = (None if _infinite(end) else on_line(end) for end in (first, last))
    if partition.kind == "number":
        return Stretch(low, high)
    if isinstance(partition, RelativeWidth):  # edges between integers; of negative ones the upper belongs to the bucket
        start, end = (math.floor(each or 0) + 1 if index < 0 else math.ceil(each or 0) for each in (low, high))
        return Stretch(Fraction(start), Fraction(max(end, start + 1)))
    return Stretch(low, None if high is None else high + 1)


def _infinite(end: Any) -> bool:
    return isinstance(end, float) and math.isinf(end)


@dataclass(frozen=True)
class Profile:
    """Released counts corrected for their mean loss.

    Parameters
    ----------
    partition
        The buckets.
    index
        Indices of the released buckets, ascending.
    counts
        Their released counts.
    mean_drop
        The mean loss of a cell.
    cells
        Number of released cells that each count adds up; one unless given.
    ends
        The smallest and the largest value, where they were asked for.

    Examples
    --------
    >>> from flexdp.buckets.width import Width
    >>> buckets = Width("number", Fraction(10))
    >>> profile = Profile(buckets, np.array([0, 1, 4]), np.array([90, 90, 10]), Fraction(10))
    >>> [float(profile.records(place)) for place in range(3)], profile.quantile(Fraction(1, 2)).value
    ([100.0, 100.0, 20.0], 11.0)
    """

    partition: Buckets
    index: NDArray[Any]
    counts: NDArray[np.int64]
    mean_drop: Fraction
    cells: NDArray[np.int64] | None = None
    ends: tuple[Any, Any] = (None, None)

    def records(self, place: int) -> Fraction:
        """Return the estimated number of records in one of the released buckets."""
        return self._up_to(place) - self._up_to(place - 1)

    def quantile(self, level: Fraction) -> Found:
        """Return the quantile, and the released bucket that it lies in."""
        last = len(self.index) - 1
        wanted = level * self._up_to(last)
        place = least(lambda each: self._up_to(each) >= wanted, 0, last)
        before = self._up_to(place - 1)
        return Found(place, self._inside(place, (wanted - before) / (self._up_to(place) - before)))

    def scale(self, place: int) -> Fraction:
        """Return the mean distance of an open bucket's records from its edge: its count divided by the density there.

        It is 0 where there is no neighbour of several values.
        """
        index = int(self.index[place])
        found = self._edge(index, above=stretch_of(self.partition, index).high is None)
        if found is None:
            return Fraction(0)
        density, width = found
        return min(max(self.records(place) / density, width / _FARTHEST), width * _FARTHEST)

    def stretch(self, place: int) -> Stretch:
        """Return the stretch of a released bucket; an open one is closed by an asked end that is near."""
        found = stretch_of(self.partition, int(self.index[place]))
        low, high = found.low, found.high
        if low is not None and high is None and self.ends[1] is not None:
            end = on_line(self.ends[1]) + int(self.partition.kind != "number")
            if 0 < end - low < _NEAR * self.scale(place):
                return Stretch(low, end)
        if high is not None and low is None and self.ends[0] is not None:
            end = on_line(self.ends[0])
            if 0 < high - end < _NEAR * self.scale(place):
                return Stretch(end, high)
        return found

    def _edge(self, index: int, *, above: bool) -> tuple[Fraction, Fraction] | None:
        """The density at the inner edge of an outermost bucket, and the width of the nearest bucket of several values.

        The density continues the fall between the two nearest of these. Single values count where there are no others.
        """
        first, count = self.partition.first, self.partition.count or 0
        inner = range(index - 1, first - 1, -1) if above else range(index + 1, first + count)
        nearest: list[tuple[int, Fraction]] = []
        single: list[tuple[int, Fraction]] = []
        for each in inner:
            if width := stretch_of(self.partition, each).width:
                (single if self._is_single(each) else nearest).append((each, width))
            if len(nearest) == _NEAREST:
                break
        if not (chosen := (nearest or single)[:_NEAREST]):
            return None
        width = chosen[0][1]
        densities = [self._beside(each) / wide for each, wide in chosen]
        if len(chosen) == 1 or densities[0] >= densities[1]:
            return densities[0], width
        falls = _power(densities[0] / densities[1], width / (width + chosen[1][1]))
        return densities[0] * max(falls, 1 / _STEEPEST), width

    def centre(self, place: int) -> Fraction:
        """Return where the records of a released bucket are on average; of integers, the middle of their values."""
        index = to_python(self.index[place])
        ends = bucket_ends(self.partition, index)
        stretch, whole = self.stretch(place), int(self.partition.kind != "number")
        if stretch.low is None or stretch.high is None:
            edge, far = stretch.low if stretch.high is None else stretch.high, self.scale(place)
            return (edge or Fraction(0)) + (far if stretch.high is None else -far)
        if any(map(_infinite, ends)):  # an asked end closes it
            return (stretch.low + stretch.high - whole) / 2
        low, high = map(on_line, ends)
        fall = self._fall(place, index, high - low)
        if fall is None:
            return (low + high) / 2
        above, steepness = fall
        left = _exp(-steepness)
        gone = 1 / steepness - left / (1 - left)
        return low + gone * (high - low) if above else high - gone * (high - low)

    def width(self, place: int) -> Fraction | None:
        """Return over how much of a released bucket its records are spread; None of an open one."""
        index = to_python(self.index[place])
        width = stretch_of(self.partition, index).width
        return None if width is None else self._reached(place, index, width, Fraction(1, 2))[1]

    def _reached(self, place: int, index: int, width: Fraction, share: Fraction) -> tuple[Fraction, Fraction]:
        """How far into a closed bucket a share of its records reaches, as a share of its width; and on which scale."""
        fall = self._fall(place, index, width)
        if fall is None:
            return share, width
        above, steepness = fall
        left = 1 - (share if above else 1 - share) * (1 - _exp(-steepness))
        reached = _minus_log(left) / steepness if left else Fraction(1)  # e^−steepness may be too small for decimals
        return reached if above else 1 - reached, width / max(steepness, Fraction(1))

    def _fall(self, place: int, index: int, width: Fraction) -> tuple[bool, Fraction] | None:
        """Whether the density falls upwards within a closed bucket, and by which power of e; None where it is even."""
        first, last = self._closed
        if index not in (first, last) or first == last or not width:
            return None
        above = index == last
        found = self._edge(index, above=above)
        if found is None or self.records(place) >= found[0] * width:
            return None
        return above, _steepness(self.records(place) / (found[0] * width))

    @cached_property
    def _closed(self) -> tuple[int | None, int | None]:
        """The first and the last public bucket with two ends; None where the buckets do not end."""
        first, count = self.partition.first, self.partition.count
        if count is None:
            return None, None
        last = first + count - 1
        below, above = stretch_of(self.partition, first).low is None, stretch_of(self.partition, last).high is None
        return first + below, last - above

    def _beside(self, index: int) -> Fraction:
        """The estimated number of records in a public bucket; the mean loss where it was not released."""
        found = int(np.searchsorted(self.index, index))
        there = found < len(self.index) and self.index[found] == index
        return self.records(found) if there else max(Fraction(1), self.mean_drop)

    def _is_single(self, index: int) -> bool:
        return isinstance(self.partition, OpenEdges) and self.partition.single(index)

    @cached_property
    def _running(self) -> tuple[NDArray[Any], NDArray[Any]]:
        cells = np.ones(len(self.counts), dtype=np.int64) if self.cells is None else self.cells
        large = sum(self.counts.tolist()) > LARGEST_COUNT
        return np.cumsum(self.counts.astype(object) if large else self.counts), np.cumsum(cells)

    def _up_to(self, place: int) -> Fraction:
        """The estimated number of records up to a released bucket; 0 before the first."""
        if place < 0:
            return Fraction(0)
        counts, cells = self._running
        return int(counts[place]) + int(cells[place]) * self.mean_drop

    def _inside(self, place: int, share: Fraction) -> Any:
        """The value below which such a share of a bucket's records lies."""
        index = to_python(self.index[place])
        if isinstance(self.partition, Exact):
            return to_python(self.partition.centres(self.index[place : place + 1])[0])
        stretch = self.stretch(place)
        if stretch.low is not None and stretch.high is not None:
            width = stretch.high - stretch.low
            reached, scale = self._reached(place, index, width, share)
            spot = stretch.low + reached * width
        elif stretch.low is None and stretch.high is None:
            return None
        else:
            scale = self.scale(place)
            left = max(1 - share if stretch.high is None else share, 1 / (2 * self.records(place)))
            far = scale * _minus_log(left)
            spot = (stretch.low or 0) + far if stretch.high is None else stretch.high - far
        return _value(self.partition, index, stretch, spot, _step(self.partition.kind, scale))


@dataclass(frozen=True, slots=True)
class Found:
    """A quantile, and the place of the released bucket that it lies in."""

    place: int
    value: Any


def _minus_log(share: Fraction) -> Fraction:
    """−ln of a share of 1, in decimals that do not depend on the machine."""
    return -Fraction(_decimal(share).ln(_DIGITS))


def _exp(exponent: Fraction) -> Fraction:
    return Fraction(_decimal(exponent).exp(_DIGITS))


def _steepness(ratio: Fraction) -> Fraction:
    """The t with (1 − e^−t)/t equal to a ratio below 1, which lies between 0 and 1/ratio; to nine digits.

    >>> round(float(_steepness((1 - _exp(Fraction(-3))) / 3)), 6)
    3.0
    """
    low, high = Fraction(0), 1 / ratio
    while high - low > high / 10**9:
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - _exp(-middle) > ratio * middle else (low, middle)
    return high


def _power(share: Fraction, exponent: Fraction) -> Fraction:
    return Fraction(_DIGITS.multiply(_decimal(share).ln(_DIGITS), _decimal(exponent)).exp(_DIGITS))


def _decimal(number: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))


def _step(kind: Kind, width: Fraction) -> Fraction:
    """The step that values are rounded to: a power of ten, a day, or a unit of time."""
    if kind == "date" or not width:
        return Fraction(int(kind != "number"))
    if kind == "datetime":
        return Fraction(next((micros for micros in MEASURES.values() if _FINENESS * micros <= width), 1))
    whole, power = width / _FINENESS, 0
    while Fraction(10) ** power > whole:
        power -= 1
    while Fraction(10) ** (power + 1) <= whole:
        power += 1
    return Fraction(10) ** (power if kind == "number" else max(0, power))


def _value(partition: Buckets, index: int, stretch: Stretch, spot: Fraction, step: Fraction) -> Any:
    """The value at a place of a bucket's stretch, rounded, and within the bucket."""
    kind = partition.kind
    if kind != "number":
        spot = Fraction(math.ceil(spot) - 1)
    low, high = stretch.low, None if stretch.high is None else stretch.high - int(kind != "number")
    spot = _within(spot, low, high)
    if step:  # to a multiple inside the bucket, if there is one
        first, last = (
            (None if low is None else math.ceil(low / step)),
            (None if high is None else math.floor(high / step)),
        )
        rounded = _within(Fraction(round(spot / step)), first, last) * step
        spot = rounded if rounded == _within(rounded, low, high) else spot
    if kind == "date":
        return date_at(int(spot))
    if kind == "datetime":
        return datetime_at(int(spot))
    if kind == "integer":
        return int(spot)
    ends = bucket_ends(partition, index)
    return min(max(to_double(spot), ends[0]), ends[1])


def _within(spot: Fraction, low: Fraction | int | None, high: Fraction | int | None) -> Fraction:
    if low is not None and spot < low:
        return Fraction(low)
    return Fraction(high) if high is not None and spot > high else spot
