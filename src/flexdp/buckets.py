"""Partitions of a column's values into buckets: public, fixed before any record is read.

A partition maps a value to an index and an index to the bucket's centre and edges. The index is what the engine
counts by; centres are computed afterwards, on the few buckets that are released. Every partition knows its
half-width β, and with bounds it knows how many buckets there are, which is what α certificates rest on.

======== ==================================== =====================================================
Exact    every value is its own bar            β = 0
Width    [lower + i·w, lower + (i+1)·w)        β = w/2; on integers the bucket holds w of them, β = (w−1)/2
LogWidth ratio (1+ρ)/(1−ρ), both signs, zero   β = ρ of the bucket's centre
Edges    [e_i, e_{i+1}), the last one closed   β = half the width of the bucket in question
======== ==================================== =====================================================
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._parameters import Domain, Number, number_text, shown, upper_text
from flexdp.errors import InputError
from flexdp.histogram import canonical_keys

__all__ = [
    "Bucket",
    "Buckets",
    "Edges",
    "Exact",
    "Kind",
    "LogWidth",
    "Width",
    "bucket_parameters",
    "make_buckets",
]

Kind: TypeAlias = Literal["integer", "number", "text", "date", "boolean"]
Outside: TypeAlias = Literal["clamp", "drop"]

LARGEST_INDEX = 2**53  # on an open domain, a bucket further out is outside: doubles no longer tell neighbours apart
MOST_EDGES = 1001
_LOG_SPAN = 1420.0  # a little more than ln(largest double / smallest normal double)
SMALLEST_NORMAL = sys.float_info.min
LARGEST_DOUBLE = sys.float_info.max
EPOCH = dt.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = dt.date.min.toordinal() - EPOCH, dt.date.max.toordinal() - EPOCH

WIDTH = Domain(
    name="width",
    low=Fraction(1, 10**300),
    low_included=True,
    high=Fraction(10**300),
    high_included=True,
    remedy="Give the width of a bucket in the column's own unit, for example width=5.",
)
RELATIVE = Domain(
    name="relative",
    low=Fraction(1, 10**4),
    low_included=True,
    high=Fraction(9, 10),
    high_included=True,
    remedy="Give the relative half-width, for example relative=0.05 for 5%.",
)
_WIDEST = {"integer": 2**62, "date": 10**7}


def _limits(name: str, power: int) -> Domain:
    return Domain(
        name=name,
        low=Fraction(-(10**power)),
        low_included=True,
        high=Fraction(10**power),
        high_included=True,
        remedy="Leave it out for an open domain.",
    )


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

    def beta_at(self, index: Any) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return _confine(values, self.bounds, self.outside)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        return as_dates(index) if self.kind == "date" else index

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        return [Bucket(key, key) for key in self.centres(index).tolist()]


@dataclass(frozen=True)
class Width:
    """Buckets of one width, beginning at the lower bound, or at zero on an open domain."""

    kind: Kind
    width: Fraction
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    relative = False
    first = 0

    @property
    def origin(self) -> Fraction:
        return self.bounds[0] if self.bounds else Fraction(0)

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers (or days), so that a bucket of width w holds w of them."""
        return self.kind != "number"

    @property
    def spec(self) -> str:
        return f"buckets of width {number_text(self.width)}"

    @cached_property
    def count(self) -> int | None:
        if self.bounds is None:
            return None
        lower, upper = self.bounds
        return max(1, math.ceil((upper - lower + int(self.whole)) / self.width))

    @property
    def beta(self) -> Fraction:
        return self.beta_at(0)  # the first bucket is the largest: only the last can be cut

    def beta_at(self, index: Any) -> Fraction:
        first, last = self._span(int(index))
        half = (last - first) / 2
        return Fraction(math.ceil(half)) if self.kind == "date" else half  # the centres of dates are days too

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        inside = _confine(values, self.bounds, self.outside)
        if self.whole:
            index = (inside - int(self.origin)) // int(self.width)
        else:
            with np.errstate(over="ignore"):
                index = np.floor((inside - float(self.origin)) / float(self.width))
            near = index[np.abs(index) <= LARGEST_INDEX] if self.count is None else np.clip(index, 0, self.count - 1)
            index = near.astype(np.int64)
        return index

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        """The first and last value (whole numbers) or the two ends (numbers) of bucket i, cut at the bound."""
        lower = self.origin + i * self.width
        upper = lower + self.width - int(self.whole)
        return lower, min(upper, self.bounds[1]) if self.bounds else upper

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        if self.kind == "date":
            days = []
            for i in index.tolist():
                first, last = self._span(i)
                days.append(int(first + last + 1) // 2)
            return as_dates(np.clip(np.array(days, dtype=np.int64), FIRST_DAY, LAST_DAY))
        fast = self._fast_centres(index)
        return fast if fast is not None else self._numbers([sum(self._span(i)) / 2 for i in index.tolist()])

    def _numbers(self, numbers: list[Any]) -> NDArray[Any]:
        return _whole_numbers(numbers) if self.whole else _doubles(numbers)

    def _fast_centres(self, index: NDArray[Any]) -> NDArray[Any] | None:
        """All centres at once where one correctly rounded division gives them, else None."""
        if index.dtype == object or not len(index):
            return None
        scale = 2 * math.lcm(self.width.denominator, self.origin.denominator)
        first = int((2 * self.origin + self.width - int(self.whole)) * scale / 2)
        step = int(self.width * scale)
        largest = abs(first) + step * max(abs(int(index[0])), abs(int(index[-1])))
        if max(largest, scale) >= 2**53:
            return None
        numerators = first + step * index
        centres = numerators // scale if self.whole and self.width % 2 == 1 else numerators / scale
        if self.count is not None and int(index[-1]) + 1 == self.count:  # the last bucket may be cut
            last = sum(self._span(self.count - 1), Fraction(0)) / 2
            centres = centres if last.denominator == 1 else centres.astype(np.float64)
            centres[-1] = last
        return centres

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        spans = [self._span(i) for i in index.tolist()]
        if self.kind == "date":
            days = np.clip(np.array(spans, dtype=np.int64).ravel(), FIRST_DAY, LAST_DAY)
            ends = as_dates(days).tolist()
        else:
            ends = self._numbers([end for span in spans for end in span]).tolist()
        return [Bucket(*pair) for pair in zip(ends[::2], ends[1::2], strict=True)]


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

    @property
    def beta(self) -> Fraction:
        return self.rho

    @property
    def spec(self) -> str:
        return f"buckets within {upper_text(100 * self.rho)}% of their centres"

    def beta_at(self, index: Any) -> Fraction:
        return self.rho if index else Fraction(0)

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
        return np.array([float(f"{middle:.{decimals}e}") for middle in (lower / 2 + upper / 2).tolist()])

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
    def spec(self) -> str:
        return f"{self.count} bucket{'' if self.count == 1 else 's'} between given edges"

    @property
    def beta(self) -> Fraction:
        return max(self.beta_at(i) for i in range(self.count))

    def beta_at(self, index: Any) -> Fraction:
        first, last = self._span(int(index))
        return Fraction(math.ceil((last - first) / 2)) if self.kind == "date" else (last - first) / 2

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
        if self.kind == "date":
            return as_dates(np.array([int(first + last + 1) // 2 for first, last in spans], dtype=np.int64))
        return self._numbers([(first + last) / 2 for first, last in spans])

    def _numbers(self, numbers: list[Any]) -> NDArray[Any]:
        return _doubles(numbers) if self.kind == "number" else _whole_numbers(numbers)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        spans = [self._span(i) for i in index.tolist()]
        flat = [end for span in spans for end in span]
        ends = as_dates(np.array(flat, dtype=np.int64)) if self.kind == "date" else self._numbers(flat)
        return [Bucket(*pair) for pair in zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)]


Buckets: TypeAlias = Exact | Width | LogWidth | Edges


def make_buckets(
    kind: Kind,
    *,
    width: Number | None = None,
    relative: Number | None = None,
    edges: Sequence[Any] | None = None,
    bounds: Sequence[Any] | None = None,
    outside: str = "clamp",
) -> Buckets:
    """The partition that the parameters describe, for a column of the given kind."""
    asked = [name for name, value in (("width", width), ("relative", relative), ("edges", edges)) if value is not None]
    if len(asked) > 1:
        raise InputError(f"{asked[0]} and {asked[1]} exclude each other; give one of them.")
    if outside not in ("clamp", "drop"):
        raise InputError(f"outside must be 'clamp' or 'drop'; got {shown(outside)}.")
    side: Outside = "clamp" if outside == "clamp" else "drop"
    if kind in ("text", "boolean"):
        for name in (*asked, *(["bounds"] if bounds is not None else [])):
            hint = ", or say kind='number' where texts hold numbers" if kind == "text" else ""
            raise InputError(
                f"{name} needs a column of numbers or dates, and this one is declared or read as {kind}. "
                f"Leave {name} out{hint}."
            )
        return Exact(kind)
    if edges is not None:
        if bounds is not None:
            raise InputError("edges and bounds exclude each other; the outermost edges are the bounds.")
        return Edges(kind, _edges(kind, edges), side)
    limits = None if bounds is None else _bounds(kind, bounds)
    if relative is not None:
        if kind == "date":
            raise InputError("relative needs a column of numbers, and this one holds dates. Give width in days.")
        return LogWidth(kind, RELATIVE.check(relative), limits, side)
    if width is None:
        return Exact(kind, limits, side)
    step = WIDTH.check(width)
    if kind != "number":
        unit, hint = ("days", "") if kind == "date" else ("integers", ", or say kind='number'")
        if step.denominator != 1:
            raise InputError(f"width must be a whole number on a column of {unit}; got {shown(width)}. Round it{hint}.")
        if step > _WIDEST[kind]:
            raise InputError(f"width must be at most {_WIDEST[kind]} on a column of {unit}; got {shown(width)}.")
    buckets = Width(kind, step, limits, side)
    if buckets.count is not None and buckets.count > LARGEST_INDEX:
        raise InputError(f"width is too small for these bounds; got {shown(width)}. Give a larger width.")
    return buckets


def bucket_parameters(buckets: Buckets) -> dict[str, Any]:
    """The parameters of :func:`make_buckets` that give this partition again, as plain JSON values."""
    if isinstance(buckets, Edges):
        return {
            "edges": [_point_text(buckets.kind, edge) for edge in buckets.edges],
            "outside": buckets.outside,
        }
    out: dict[str, Any] = {}
    if isinstance(buckets, Width):
        out["width"] = str(buckets.width)
    if isinstance(buckets, LogWidth):
        out["relative"] = str(buckets.rho)
    if buckets.bounds is not None:
        out["bounds"] = [_point_text(buckets.kind, bound) for bound in buckets.bounds]
        out["outside"] = buckets.outside
    return out


def _point_text(kind: Kind, point: Fraction) -> str:
    return as_dates(np.array([int(point)]))[0].isoformat() if kind == "date" else str(point)


def _point(name: str, kind: Kind, value: Any) -> Fraction:
    """A bound or an edge as a number; dates as days since 1970-01-01."""
    if kind != "date":
        return _limits(name, 37 if kind == "integer" else 300).check(value)
    if isinstance(value, str):
        try:
            value = dt.date.fromisoformat(value.strip())
        except ValueError:
            raise InputError(f"{name} must be dates such as 2024-12-31; got {shown(value)}.") from None
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise InputError(f"{name} must be dates such as 2024-12-31; got {shown(value)}.")
    return Fraction(value.toordinal() - EPOCH)


def _bounds(kind: Kind, bounds: Sequence[Any]) -> tuple[Fraction, Fraction]:
    if isinstance(bounds, str | bytes) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        raise InputError("bounds must be a pair (lower, upper), for example bounds=(0, 120).")
    lower, upper = (_point("bounds", kind, bound) for bound in bounds)
    if lower >= upper:
        order = "equal" if lower == upper else "reversed"
        raise InputError(
            f"bounds must be (lower, upper) with lower < upper; got {order} bounds "
            f"({shown(bounds[0])}, {shown(bounds[1])}). Give the smaller one first."
        )
    if kind == "integer":  # the integers inside
        lower, upper = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
        if lower > upper:
            raise InputError("bounds must hold at least one integer on a column of integers; widen them.")
    return lower, upper


def _edges(kind: Kind, edges: Sequence[Any]) -> tuple[Fraction, ...]:
    if isinstance(edges, str | bytes) or not hasattr(edges, "__len__") or not 2 <= len(edges) <= MOST_EDGES:
        raise InputError(f"edges must be a list of 2 to {MOST_EDGES} ascending values, for example [0, 18, 65, 120].")
    points = tuple(_point("edges", kind, edge) for edge in edges)
    if any(not low < high for low, high in pairwise(points)):
        raise InputError("edges must be strictly ascending; sort them and leave out repeated ones.")
    if kind == "integer" and any(point.denominator != 1 for point in points):
        raise InputError("edges must be whole numbers on a column of integers; round them, or say kind='number'.")
    if kind == "number" and len({float(point) for point in points}) < len(points):
        raise InputError("edges must differ as doubles; these are too close to each other.")
    return points


def _confine(values: NDArray[Any], bounds: tuple[Fraction, Fraction] | None, outside: Outside) -> NDArray[Any]:
    """Values clamped to the bounds, or those within them."""
    if bounds is None:
        return values
    low, high = (float(b) if values.dtype.kind == "f" else int(b) for b in bounds)
    if outside == "drop":
        return values[(values >= low) & (values <= high)]
    clamped: NDArray[Any] = np.minimum(np.maximum(values, low), high)
    return clamped


def as_dates(days: NDArray[Any]) -> NDArray[Any]:
    """Days since 1970-01-01 as dates."""
    out = np.empty(len(days), dtype=object)
    out[:] = [dt.date.fromordinal(int(day) + EPOCH) for day in days]
    return out


def _doubles(numbers: list[Any]) -> NDArray[np.float64]:
    return np.array([float(number) for number in numbers], dtype=np.float64)


def _whole_numbers(numbers: list[Any]) -> NDArray[Any]:
    """Whole numbers and halves: integers where all are whole, doubles where those are exact, else rationals."""
    if all(number == int(number) for number in numbers):
        return canonical_keys([int(number) for number in numbers])
    fits = all(abs(number) < 2**52 for number in numbers)
    return _doubles(numbers) if fits else canonical_keys([Fraction(number) for number in numbers])
