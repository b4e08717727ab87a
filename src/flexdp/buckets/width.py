"""Buckets of one width: [lower + i·w, lower + (i+1)·w).

β = w/2; on integers a bucket has w of them, and β = (w−1)/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp._core.exact import as_read, exact_text, next_below, smallest_where, to_double
from flexdp._core.text import plural
from flexdp.buckets.base import (
    LARGEST_DOUBLE,
    LARGEST_INDEX,
    MEASURES,
    SMALLEST_NORMAL,
    Bucket,
    Kind,
    Outside,
    confine,
    end_times,
    error_unit,
    half_span,
    integer_keys,
    largest_distance,
    middle_times,
    nearest_doubles,
)

__all__ = ["Width"]

_MOST_SEARCHED = 500  # buckets whose ends are searched among the doubles, one by one


@dataclass(frozen=True)
class Width:
    """Buckets of one width that begin at the lower bound, or at zero on an open domain."""

    kind: Kind
    width: Fraction
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"
    weekly: bool = False  # whole weeks, which begin on Mondays unless a bound says otherwise

    relative = False
    first = 0

    @property
    def origin(self) -> Fraction:
        if self.bounds:
            return self.bounds[0]
        monday = -3 * (MICROS_PER_DAY if self.kind == "datetime" else 1)  # 1969-12-29
        return Fraction(monday if self.weekly else 0)

    @property
    def unit(self) -> str:
        return error_unit(self.kind, self.width)

    @property
    def whole(self) -> bool:
        """True if the values are integers, days or microseconds, so that a bucket of width w has w of them."""
        return self.kind != "number"

    @property
    def spec(self) -> str:
        return f"buckets of width {self.width_text}"

    @property
    def width_text(self) -> str:
        """Width as people write it and :func:`make_buckets` reads it."""
        if self.weekly:
            weeks = self.width / (7 * (MICROS_PER_DAY if self.kind == "datetime" else 1))
            return plural(int(weeks), "week")
        if self.kind == "date":
            return plural(int(self.width), "day")
        if self.kind != "datetime":
            return exact_text(self.width)
        number = self.width / MEASURES[self.unit]
        return f"{number} {self.unit if number != 1 else self.unit[:-1]}"

    @cached_property
    def count(self) -> int | None:
        if self.bounds is None:
            return None
        lower, upper = self.bounds
        many = max(1, math.ceil((upper - lower + int(self.whole)) / self.width))
        if self.whole or many > LARGEST_INDEX:  # too many: refused by the caller
            return many
        # A last bucket so narrow that doubles put the upper bound into the one before does not count.
        return min(many, 1 + int(self._places(float(upper))))

    @cached_property
    def zero(self) -> int | None:
        """Index of the bucket that begins at zero, if the bounds begin whole buckets below it.

        Such numbers are divided as they are: subtracting the lower bound would cost digits, and small numbers would
        cross an edge.
        """
        if self.whole or self.origin >= 0 or self.origin % self.width:
            return None
        zero, (origin, width) = int(-self.origin / self.width), self._doubles
        return zero if math.floor(origin / width) == -zero else None  # otherwise doubles put the bound below its bucket

    def _places(self, values: Any) -> Any:
        """Return the indices of numbers in the arithmetic of doubles, which all engines share."""
        origin, width = self._doubles
        if self.zero is not None:
            return np.floor(values / width) + self.zero
        return np.floor((values - origin) / width)

    @cached_property
    def _doubles(self) -> tuple[float, float]:
        return float(self.origin), float(self.width)

    @property
    def beta(self) -> Fraction:
        ends = (0,) if self.count is None else (0, self.count - 1)
        # All others are as wide as the first one.
        return max(half_span(self.kind, self._span(end), self.unit) for end in ends)

    def beta_at(self, index: Any) -> Fraction:
        half = half_span(self.kind, self._span(int(index)), self.unit)
        if self.whole or self._tidy(np.array([int(index)]))[0]:
            return half
        return max(half, largest_distance(self, int(index)))

    def beta_of(self, index: NDArray[Any]) -> Fraction:
        """β of all these buckets together."""
        if self.whole or not len(index):
            return self.beta
        others = index[~self._tidy(index)].tolist()
        if len(others) > _MOST_SEARCHED:
            return self.beta + max(map(self._slack, (min(others), max(others))))
        return max([self.beta, *(largest_distance(self, one) for one in others)])

    def extent(self, index: int) -> tuple[Fraction, Fraction]:
        """Return the ends of a bucket of numbers, including numbers beyond that are rounded into it."""
        first, last = self._span(index)
        room = 2 * self._slack(index)
        low, high = to_double(first - room), to_double(last + room)
        if self.bounds is not None:
            low, high = max(low, float(self.bounds[0])), min(high, float(self.bounds[1]))
        if self.count is None or index > 0:
            low = smallest_where(lambda value: bool(self._places(value) >= index), low, high)
        if self.count is None or index + 1 < self.count:
            high = smallest_where(lambda value: bool(self._places(value) > index), low, high)
            high = next_below(high) if self._places(high) > index else high  # otherwise there is no larger double
        return min(first, as_read(low)), max(last, as_read(high))

    def _slack(self, index: int) -> Fraction:
        """Bound the effect of roundings, fewer than 16, on an edge or a key of this bucket."""
        return (abs(self.origin) + self.width * (abs(index) + 1)) / 2**49

    def _tidy(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the buckets whose keys and ends are exact as printed, and which contain nothing beyond their ends."""
        halves = [end / 2 for end in (self.origin, self.width, *(self.bounds or ()))]
        places = next((p for p in range(16) if all(10**p % half.denominator == 0 for half in halves)), 16)
        largest = abs(self.origin) + self.width * (int(np.abs(index).max()) + 2)
        if largest * 10**places >= 10**15:
            return np.zeros(len(index), dtype=bool)
        first, step = (int(end * 10**places) for end in (self.origin, self.width))

        def beside(edges: NDArray[np.int64], side: float) -> Any:
            points = (first + step * edges) / 10**places
            near = np.where(points == 0, math.copysign(SMALLEST_NORMAL, side), np.nextafter(points, side))
            return self._places(near)

        below, above = beside(index, -math.inf) < index, beside(index + 1, math.inf) > index
        if self.count is not None:
            below, above = below | (index == 0), above | (index == self.count - 1)
        return np.asarray(below & above)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        inside = confine(values, self.bounds, self.outside)
        if self.whole:
            index = (inside - int(self.origin)) // int(self.width)
        else:
            if self.count is None:
                inside = inside[np.abs(inside) <= self.reach]
            with np.errstate(over="ignore"):
                index = self._places(inside)
            index = (index if self.count is None else np.clip(index, 0, self.count - 1)).astype(np.int64)
        return index

    @property
    def reach(self) -> float:
        """Largest magnitude that is counted on an open domain of numbers."""
        return float(min(LARGEST_INDEX * self.width, Fraction(LARGEST_DOUBLE)))

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        """Return the first and last value (integers) or the two ends (numbers) of bucket i, cut at the bound."""
        lower = self.origin + i * self.width
        upper = lower + self.width - int(self.whole)
        if self.bounds is None:
            return lower, upper
        return lower, self.bounds[1] if i + 1 == self.count else min(upper, self.bounds[1])

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        if self.kind in ("date", "datetime"):
            return middle_times(self.kind, [self._span(i) for i in index.tolist()])
        half = (self.width - int(self.whole)) / 2
        return self._points(index, half, lambda span: sum(span) / 2, whole=self.whole and not self._halves)

    @cached_property
    def _halves(self) -> bool:
        """True if a centre may lie between two integers, so that all centres are doubles."""
        last = self._span(self.count - 1) if self.count is not None else (Fraction(0), Fraction(0))
        return self.width % 2 == 0 or sum(last) % 2 == 1

    def _points(
        self, index: NDArray[Any], offset: Fraction, of_span: Callable[[tuple[Fraction, Fraction]], Any], *, whole: bool
    ) -> NDArray[Any]:
        """Return origin + offset + i·width for each i; for the last bucket, which may be cut, the value of ``of_span``.

        All at once if a single correctly rounded division gives them, otherwise one by one and exactly.
        """
        if len(index) and index.dtype != object:
            scale = math.lcm(self.width.denominator, (self.origin + offset).denominator)
            first, step = int((self.origin + offset) * scale), int(self.width * scale)
            largest = abs(first) + step * max(abs(int(index.min())), abs(int(index.max())))
            if max(largest, step, scale) < 2**53:
                points = first + step * index if whole else (first + step * index) / scale
                if self.count is not None:
                    points[index == self.count - 1] = of_span(self._span(self.count - 1))
                return points
        numbers = [of_span(self._span(i)) for i in index.tolist()]
        return integer_keys(numbers, halves=not whole) if self.whole else nearest_doubles(numbers)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        if self.kind in ("date", "datetime"):
            return end_times(self.kind, [self._span(i) for i in index.tolist()])
        lower = self._points(index, Fraction(0), lambda span: span[0], whole=self.whole).tolist()
        upper = self._points(index, self.width - int(self.whole), lambda span: span[1], whole=self.whole).tolist()
        return [Bucket(*pair) for pair in zip(lower, upper, strict=True)]
