"""Partitions of a column's values into buckets: public, fixed before any record is read.

A partition maps a value to an index and an index to the bucket's centre and edges. The index is what the engine
counts by; centres are computed afterwards, on the few buckets that are released. Every partition knows its
half-width β, and with bounds it knows how many buckets there are, which is what α certificates rest on.

======== ==================================== =====================================================
Exact    every value is its own bar            β = 0
Width    [lower + i·w, lower + (i+1)·w)        β = w/2; on integers the bucket holds w of them, β = (w−1)/2
LogWidth ratio (1+ρ)/(1−ρ), both signs, zero   β = ρ of the bucket's centre
Edges    [e_i, e_{i+1}), the last one closed   β = half the width of the bucket in question
Months   so many months of the calendar        β = half the length of the bucket in question
Grid     a cell of several columns             β = half the diagonal of a cell
======== ==================================== =====================================================

Dates are counted as whole days and moments as whole microseconds since 1970-01-01.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import as_read, exact_text, next_below, said, smallest_where, to_double, upper_text
from flexdp._core.text import plural
from flexdp.histogram import canonical_keys, object_keys

__all__ = ["Bucket", "Buckets", "Edges", "Exact", "Grid", "Kind", "LogWidth", "Months", "Outside", "Partition", "Width"]

Kind: TypeAlias = Literal["integer", "number", "text", "date", "moment", "boolean"]
Outside: TypeAlias = Literal["clamp", "drop"]

LARGEST_INDEX = 2**51  # on an open domain, a bucket further out is outside: doubles no longer tell centres apart
LARGEST_INTEGER = 10**37 - 1  # integers beyond it do not read as integers, on any engine
_MOST_SEARCHED = 500  # buckets whose ends are searched for among the doubles, one by one
LONGEST_TEXT = 1 << 16  # bytes in UTF-8; a longer text is not read on any engine, so that no cell can fill its memory
_LOG_SPAN = 1420.0  # a little more than ln(largest double / smallest normal double)
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
_MARCH_OF_YEAR_ZERO = 719468  # days before 1970-01-01


class Bucket(NamedTuple):
    """The edges of one bucket: the smallest value it holds, and where it ends."""

    lower: Any
    upper: Any


@dataclass(frozen=True)
class Exact:
    """Every value its own bar; with bounds, values outside count at the nearer bound, or not at all."""

    kind: Kind
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    beta = Fraction(0)
    relative = False
    count = None  # the bars are not public, whatever the bounds
    first = 0
    spec = "every value its own bar"

    @property
    def unit(self) -> str:
        return _unit(self.kind)

    def beta_at(self, index: Any) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def beta_of(self, index: NDArray[Any]) -> Fraction:  # noqa: ARG002
        """The β of all these buckets together."""
        return Fraction(0)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return _confine(values, self.bounds, self.outside)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        return times(self.kind, index) if self.kind in ("date", "moment") else index

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        return [Bucket(key, key) for key in self.centres(index).tolist()]


@dataclass(frozen=True)
class Width:
    """Buckets of one width, beginning at the lower bound, or at zero on an open domain."""

    kind: Kind
    width: Fraction
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"
    weekly: bool = False  # whole weeks, which begin on Mondays where no bound says otherwise

    relative = False
    first = 0

    @property
    def origin(self) -> Fraction:
        if self.bounds:
            return self.bounds[0]
        monday = -3 * (MICROS_PER_DAY if self.kind == "moment" else 1)  # 1969-12-29
        return Fraction(monday if self.weekly else 0)

    @property
    def unit(self) -> str:
        return _unit(self.kind, self.width)

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers (or days), so that a bucket of width w holds w of them."""
        return self.kind != "number"

    @property
    def spec(self) -> str:
        return f"buckets of width {self.width_text}"

    @property
    def width_text(self) -> str:
        """The width as people, and ``make_buckets``, write it."""
        if self.weekly:
            weeks = self.width / (7 * (MICROS_PER_DAY if self.kind == "moment" else 1))
            return plural(int(weeks), "week")
        if self.kind != "moment":
            return exact_text(self.width)
        number = self.width / MEASURES[self.unit]
        return f"{number} {self.unit if number != 1 else self.unit[:-1]}"

    @cached_property
    def count(self) -> int | None:
        if self.bounds is None:
            return None
        lower, upper = self.bounds
        many = max(1, math.ceil((upper - lower + int(self.whole)) / self.width))
        if self.whole or many > LARGEST_INDEX:  # far too many, which is refused
            return many
        # Where the last bucket is so narrow that doubles put the upper bound into the one before, it is none.
        return min(many, 1 + int(self._places(float(upper))))

    @cached_property
    def zero(self) -> int | None:
        """Index of the bucket that begins at zero, where the bounds begin whole buckets below it.

        Such numbers are divided as they are. Less the lower bound they would lose digits, and the smaller ones cross an
        edge.
        """
        if self.whole or self.origin >= 0 or self.origin % self.width:
            return None
        zero, (origin, width) = int(-self.origin / self.width), self._doubles
        return zero if math.floor(origin / width) == -zero else None  # else doubles put the bound below its bucket

    def _places(self, values: Any) -> Any:
        """The indices of numbers by the arithmetic of doubles, which all engines share."""
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
        # All others are as wide as the first.
        return max(_half(self.kind, self._span(end), self.unit) for end in ends)

    def beta_at(self, index: Any) -> Fraction:
        half = _half(self.kind, self._span(int(index)), self.unit)
        if self.whole or self._tidy(np.array([int(index)]))[0]:
            return half
        return max(half, _distance(self, int(index)))

    def beta_of(self, index: NDArray[Any]) -> Fraction:
        """The β of all these buckets together."""
        if self.whole or not len(index):
            return self.beta
        others = index[~self._tidy(index)].tolist()
        if len(others) > _MOST_SEARCHED:
            return self.beta + max(map(self._slack, (min(others), max(others))))
        return max([self.beta, *(_distance(self, one) for one in others)])

    def extent(self, index: int) -> tuple[Fraction, Fraction]:
        """The ends of a bucket of numbers, and what counts there beyond them because it was rounded across."""
        first, last = self._span(index)
        room = 2 * self._slack(index)
        low, high = to_double(first - room), to_double(last + room)
        if self.bounds is not None:
            low, high = max(low, float(self.bounds[0])), min(high, float(self.bounds[1]))
        if self.count is None or index > 0:
            low = smallest_where(lambda value: bool(self._places(value) >= index), low, high)
        if self.count is None or index + 1 < self.count:
            high = smallest_where(lambda value: bool(self._places(value) > index), low, high)
            high = next_below(high) if self._places(high) > index else high  # else there is no larger double
        return min(first, as_read(low)), max(last, as_read(high))

    def _slack(self, index: int) -> Fraction:
        """More than roundings, of which there are fewer than 16, can move an edge or a key of this bucket."""
        return (abs(self.origin) + self.width * (abs(index) + 1)) / 2**49

    def _tidy(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Of which buckets keys and ends are decimals that doubles say exactly, and nothing counts beyond the ends."""
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
        inside = _confine(values, self.bounds, self.outside)
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
        """On an open domain of numbers, how far from zero values are counted."""
        return float(min(LARGEST_INDEX * self.width, Fraction(LARGEST_DOUBLE)))

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        """The first and last value (whole numbers) or the two ends (numbers) of bucket i, cut at the bound."""
        lower = self.origin + i * self.width
        upper = lower + self.width - int(self.whole)
        if self.bounds is None:
            return lower, upper
        return lower, self.bounds[1] if i + 1 == self.count else min(upper, self.bounds[1])

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        if self.kind in ("date", "moment"):
            return _middles(self.kind, [self._span(i) for i in index.tolist()])
        half = (self.width - int(self.whole)) / 2
        return self._points(index, half, lambda span: sum(span) / 2, whole=self.whole and not self._halves)

    @cached_property
    def _halves(self) -> bool:
        """Whether some centre may lie between two integers, so that all centres are written as doubles."""
        last = self._span(self.count - 1) if self.count is not None else (Fraction(0), Fraction(0))
        return self.width % 2 == 0 or sum(last) % 2 == 1

    def _points(
        self, index: NDArray[Any], offset: Fraction, of_span: Callable[[tuple[Fraction, Fraction]], Any], *, whole: bool
    ) -> NDArray[Any]:
        """origin + offset + i·width for each i, and of the last bucket, which may be cut, what its span gives.

        All at once where a single correctly rounded division gives them, else one by one and exactly.
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
        return _whole_numbers(numbers, halves=not whole) if self.whole else _doubles(numbers)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        if self.kind in ("date", "moment"):
            return _ends(self.kind, [self._span(i) for i in index.tolist()])
        lower = self._points(index, Fraction(0), lambda span: span[0], whole=self.whole).tolist()
        upper = self._points(index, self.width - int(self.whole), lambda span: span[1], whole=self.whole).tolist()
        return [Bucket(*pair) for pair in zip(lower, upper, strict=True)]


@dataclass(frozen=True)
class LogWidth:
    """Buckets in which every value is within a fraction ρ of the centre; both signs, and a bar for zero.

    Index 0 is zero (and what is smaller in size than the smallest normal double); index ±(j+1) is the j-th
    bucket of magnitudes. Edges are products of two short tables of doubles, so that an engine can compute the
    very same doubles. The ratio is that of 98.5% of ρ, which leaves room to round centres to a few digits.
    """

    kind: Kind
    rho: Fraction
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    relative = True
    unit = ""

    @property
    def beta(self) -> Fraction:
        return self.rho

    @property
    def spec(self) -> str:
        return f"buckets within {upper_text(100 * self.rho)}% of their centres"

    def beta_at(self, index: Any) -> Fraction:
        return self.rho if index else Fraction(0)

    def beta_of(self, index: NDArray[Any]) -> Fraction:  # noqa: ARG002
        """The β of all these buckets together."""
        return self.rho

    @cached_property
    def ratio(self) -> float:
        tight = self.rho * Fraction(985, 1000)
        return float((1 + tight) / (1 - tight))

    @cached_property
    def fine(self) -> NDArray[np.float64]:
        """ratio^b for b below the table's length, about the square root of the number of buckets."""
        length = math.isqrt(math.ceil(_LOG_SPAN / math.log(self.ratio)))
        return np.multiply.accumulate(np.r_[1.0, np.full(length, self.ratio)])

    @cached_property
    def coarse(self) -> NDArray[np.float64]:
        """Smallest normal double × ratio^(len(fine)·a), as far as doubles go."""
        step = self.fine[-1] * self.ratio
        length = math.ceil(_LOG_SPAN / math.log(step)) + 1
        with np.errstate(over="ignore"):
            powers = np.multiply.accumulate(np.r_[SMALLEST_NORMAL, np.full(length, step)])
        finite: NDArray[np.float64] = powers[np.isfinite(powers)]
        return finite

    @cached_property
    def ladder(self) -> NDArray[np.float64]:
        """All lower edges of magnitudes, and the largest double as the end of the last bucket."""
        with np.errstate(over="ignore"):
            edges = np.multiply.outer(self.coarse, self.fine).ravel()
        below: NDArray[np.float64] = np.append(edges[edges < LARGEST_DOUBLE], LARGEST_DOUBLE)
        return below

    @cached_property
    def first(self) -> int:
        """The lowest public index, where bounds are given."""
        return int(self._index(np.array([float(self.bounds[0])]))[0]) if self.bounds else 0

    @cached_property
    def count(self) -> int | None:
        if self.bounds is None:
            return None
        return int(self._index(np.array([float(self.bounds[1])]))[0]) - self.first + 1

    def _index(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        size = np.abs(values)
        rung = np.minimum(np.searchsorted(self.ladder, size, side="right"), len(self.ladder) - 1)
        return np.where(size < SMALLEST_NORMAL, 0, np.sign(values) * rung).astype(np.int64)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._index(_confine(values.astype(np.float64), self.bounds, self.outside))

    def _spans(self, index: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rung = np.abs(index)
        inner = np.where(rung == 0, 0.0, self.ladder[np.maximum(rung - 1, 0)])
        outer = np.where(rung == 0, 0.0, self.ladder[rung])
        lower, upper = np.where(index < 0, -outer, inner), np.where(index < 0, -inner, outer)
        if self.bounds:
            lower = np.maximum(lower, float(self.bounds[0]))
            upper = np.minimum(upper, float(self.bounds[1]))
            lower, upper = np.where(index == 0, 0.0, lower), np.where(index == 0, 0.0, upper)
        return lower, upper

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        # A relative rounding of at most ρ/200: |x − c| ≤ (.985 + .005)·ρ·m ≤ ρ·c, where m is the middle.
        lower, upper = self._spans(index)
        decimals = math.floor(-math.log10(self.rho)) + 3
        centres = [float(f"{middle:.{decimals}e}") for middle in (lower / 2 + upper / 2).tolist()]
        return np.clip(np.array(centres, dtype=np.float64), -LARGEST_DOUBLE, LARGEST_DOUBLE)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        lower, upper = self._spans(index)
        return [Bucket(*pair) for pair in zip(lower.tolist(), upper.tolist(), strict=True)]


@dataclass(frozen=True)
class Edges:
    """Buckets between given edges. The outermost edges are the bounds."""

    kind: Kind
    edges: tuple[Fraction, ...]
    outside: Outside = "clamp"

    relative = False
    first = 0

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.edges[0], self.edges[-1]

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    @property
    def unit(self) -> str:
        return _unit(self.kind, *(high - low for low, high in pairwise(self.edges)))

    @property
    def spec(self) -> str:
        return f"{plural(self.count, 'bucket')} between given edges"

    @property
    def beta(self) -> Fraction:
        return max(self.beta_at(i) for i in range(self.count))

    def beta_at(self, index: Any) -> Fraction:
        half = _half(self.kind, self._span(int(index)), self.unit)
        return half if self.kind != "number" else max(half, _distance(self, int(index)))

    def beta_of(self, index: NDArray[Any]) -> Fraction:
        """The β of all these buckets together: the widest decides."""
        return max(map(self.beta_at, index.tolist()), default=self.beta)

    def extent(self, index: int) -> tuple[Fraction, Fraction]:
        """The ends of a bucket of numbers; they are compared with the edges as doubles."""
        low, high = (to_double(edge) for edge in self.edges[index : index + 2])
        first, last = self._span(index)
        return min(first, as_read(low)), max(last, as_read(high if index + 1 == self.count else next_below(high)))

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        open_end = self.kind != "number" and i + 1 < self.count
        return self.edges[i], self.edges[i + 1] - int(open_end)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        inside = _confine(values, self.bounds, self.outside)
        inner = self.edges[1:-1]
        cuts = canonical_keys([int(e) for e in inner] if self.kind != "number" else [float(e) for e in inner])
        return np.searchsorted(cuts, inside, side="right").astype(np.int64)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        spans = [self._span(i) for i in index.tolist()]
        if self.kind in ("date", "moment"):
            return _middles(self.kind, spans)
        centres = [(first + last) / 2 for first, last in spans]
        if self.kind == "number":
            return _doubles(centres)
        halves = any(sum(self._span(i)) % 2 for i in range(self.count))
        return _whole_numbers(centres, halves=halves)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        spans = [self._span(i) for i in index.tolist()]
        if self.kind in ("date", "moment"):
            return _ends(self.kind, spans)
        flat = [end for span in spans for end in span]
        ends = _doubles(flat) if self.kind == "number" else _whole_numbers(flat, halves=False)
        return [Bucket(*pair) for pair in zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)]


@dataclass(frozen=True)
class Months:
    """So many months of the calendar each, counted from January of the year 0; on dates or moments."""

    kind: Kind
    months: int
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    relative = False
    unit = "days"

    @property
    def per_day(self) -> int:
        return MICROS_PER_DAY if self.kind == "moment" else 1

    @property
    def day_zero(self) -> int:
        """What is added to a day or a moment to count from the first of March of the year 0."""
        return _MARCH_OF_YEAR_ZERO * self.per_day

    @property
    def spec(self) -> str:
        return f"buckets of {self.width_text}"

    @property
    def width_text(self) -> str:
        """The width as people, and ``make_buckets``, write it."""
        length, word = (self.months // 12, "year") if self.months % 12 == 0 else (self.months, "month")
        return plural(length, word)

    @cached_property
    def first(self) -> int:
        return int(self._index(np.array([int(self.bounds[0])]))[0]) if self.bounds else 0

    @cached_property
    def count(self) -> int | None:
        if self.bounds is None:
            return None
        return int(self._index(np.array([int(self.bounds[1])]))[0]) - self.first + 1

    @property
    def beta(self) -> Fraction:
        if self.bounds is None:  # no month is longer than 31 days, no year than 366
            longest = 366 * (self.months // 12) + 31 * (self.months % 12)
            return Fraction(longest, 2) if self.kind == "moment" else Fraction(longest // 2)
        return max(self.beta_at(self.first + i) for i in range(self.count or 0))

    def beta_at(self, index: Any) -> Fraction:
        return _half(self.kind, self._span(int(index)), self.unit)

    def beta_of(self, index: NDArray[Any]) -> Fraction:  # noqa: ARG002
        """The β of all these buckets together."""
        return self.beta

    def _index(self, values: NDArray[Any]) -> NDArray[np.int64]:
        days = (values + self.day_zero) // self.per_day
        era = days // 146097
        doe = days - 146097 * era
        yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
        doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
        month = 12 * (400 * era + yoe) + (5 * doy + 2) // 153 + 2
        return np.asarray(month // self.months, dtype=np.int64)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._index(_confine(values, self.bounds, self.outside))

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        """The first and the last day or moment of a bucket, cut at the bounds and at the ends of the calendar."""
        ends = []
        for month in (i * self.months, (i + 1) * self.months):
            year = month // 12
            inside = dt.date(year, month % 12 + 1, 1).toordinal() - EPOCH if 1 <= year <= 9999 else None
            ends.append((FIRST_DAY if year < 1 else LAST_DAY + 1) if inside is None else inside)
        first, last = ends[0] * self.per_day, ends[1] * self.per_day - 1
        if self.bounds:
            first, last = max(first, int(self.bounds[0])), min(last, int(self.bounds[1]))
        return Fraction(first), Fraction(last)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        return _middles(self.kind, [self._span(i) for i in index.tolist()])

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        return _ends(self.kind, [self._span(i) for i in index.tolist()])


Buckets: TypeAlias = Exact | Width | LogWidth | Edges | Months


@dataclass(frozen=True)
class Grid:
    """Cells of several columns of numbers: a bucket of each. An index is a row, a centre a point."""

    axes: tuple[Exact | Width | Edges, ...]

    kind: Kind = "number"
    relative = False
    unit = ""
    bounds = None
    outside: Outside = "clamp"
    first = 0

    @property
    def dimensions(self) -> int:
        return len(self.axes)

    @property
    def spec(self) -> str:
        return "cells: " + " × ".join(axis.spec for axis in self.axes)

    @property
    def count(self) -> int | None:
        counts = [axis.count for axis in self.axes]
        return None if None in counts else math.prod(count for count in counts if count is not None)

    @property
    def beta(self) -> Fraction:
        """Half the diagonal, rounded up."""
        return _root_up(sum((axis.beta**2 for axis in self.axes), Fraction(0)))

    def beta_at(self, index: Any) -> Fraction:  # noqa: ARG002  (one for all)
        return self.beta

    def beta_of(self, index: NDArray[Any]) -> Fraction:
        """The β of all these cells together."""
        sides = (self._side(axis, index[:, i]) for i, axis in enumerate(self.axes))
        return _root_up(sum((side**2 for side in sides), Fraction(0)))

    @staticmethod
    def _side(axis: Exact | Width | Edges, index: NDArray[Any]) -> Fraction:
        """The β along one side: a point has doubles for coordinates, and long integers are rounded to them."""
        if isinstance(axis, Exact):
            beta, points, places = axis.beta, index, np.zeros(1)
        else:
            places = np.unique(index).astype(np.int64)
            beta, points = axis.beta_of(places), axis.centres(places)
        furthest, place = (int(max(map(abs, numbers.tolist()), default=0)) for numbers in (points, places))
        if axis.kind == "integer" and furthest >= 2**53:  # the key is rounded, and again where it is printed
            beta += Fraction(2 * furthest + 1, 2**53)
        if isinstance(axis, Width) and place >= 2**53:  # and so is the index
            beta += place * axis.width / 2**53
        return beta

    def centres(self, index: NDArray[Any]) -> NDArray[np.float64]:
        """The middle of each cell, a row each."""
        whole = index.astype(np.int64) if index.size else np.empty((0, self.dimensions), dtype=np.int64)
        columns = [
            axis.centres(index[:, i] if isinstance(axis, Exact) else whole[:, i]) for i, axis in enumerate(self.axes)
        ]
        return np.stack([column.astype(np.float64) for column in columns], axis=1)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        """The lowest and the highest corner of each cell."""
        whole = index.astype(np.int64)
        sides = [
            axis.edges_of(index[:, i] if isinstance(axis, Exact) else whole[:, i]) for i, axis in enumerate(self.axes)
        ]
        return [
            Bucket(tuple(side.lower for side in cell), tuple(side.upper for side in cell))
            for cell in zip(*sides, strict=True)
        ]


Partition: TypeAlias = Buckets | Grid


def _root_up(square: Fraction) -> Fraction:
    """A square root, rounded up in the thirtieth decimal unless it is exact."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    scale = 10**30
    return Fraction(math.isqrt(math.ceil(square * scale * scale)) + 1, scale)


def _unit(kind: Kind, *lengths: Fraction) -> str:
    """What errors are told in: days of dates; of moments, the longest measure that all lengths are multiples of."""
    if kind == "date":
        return "days"
    if kind != "moment":
        return ""
    return next(name for name, micros in MEASURES.items() if all(length % micros == 0 for length in lengths))


def _distance(buckets: Width | Edges, index: int) -> Fraction:
    """How far the numbers that count in a bucket can be from its key, as both are read and printed."""
    low, high = buckets.extent(index)
    key = said(float(buckets.centres(np.array([index]))[0]))
    return max(key - low, high - key)


def _half(kind: Kind, span: tuple[Fraction, Fraction], unit: str) -> Fraction:
    """How far the values between two ends can be from the middle, in the unit that errors are told in."""
    first, last = span
    if kind == "date":  # the middle is a day too
        return Fraction(math.ceil((last - first) / 2))
    if kind == "moment":
        return (last - first + 1) / 2 / MEASURES[unit]
    return (last - first) / 2


def _middles(kind: Kind, spans: list[tuple[Fraction, Fraction]]) -> NDArray[Any]:
    return times(kind, np.array([int(first + last + 1) // 2 for first, last in spans], dtype=np.int64))


def _ends(kind: Kind, spans: list[tuple[Fraction, Fraction]]) -> list[Bucket]:
    ends = times(kind, np.array([int(end) for span in spans for end in span], dtype=np.int64)).tolist()
    return [Bucket(*pair) for pair in zip(ends[::2], ends[1::2], strict=True)]


def _confine(values: NDArray[Any], bounds: tuple[Fraction, Fraction] | None, outside: Outside) -> NDArray[Any]:
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


def _doubles(numbers: list[Any]) -> NDArray[np.float64]:
    """Numbers as the nearest doubles, the largest one for those beyond."""
    return np.array(list(map(to_double, numbers)), dtype=np.float64)


def _whole_numbers(numbers: list[Any], *, halves: bool) -> NDArray[Any]:
    """Whole numbers, and halves where the buckets may have them.

    Which of the two decides the type of all, so that no key changes with its neighbours; only a number that a double
    cannot hold is kept exactly.
    """
    if not halves:
        return canonical_keys([int(number) for number in numbers])
    doubles = _doubles(numbers)
    if all(Fraction(double) == number for double, number in zip(doubles.tolist(), numbers, strict=True)):
        return doubles
    exact = [
        double if Fraction(double) == number else Fraction(number)
        for double, number in zip(doubles.tolist(), numbers, strict=True)
    ]
    return object_keys(exact)
