"""Statistics of bars: which are there, which are tall, and how many."""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements, integer
from flexdp._core.exact import Number, exact
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.histogram import Histogram, canonical_keys
from flexdp.statistics.attainable import at_mode, at_most_distinct, at_tall, between, budget, supports
from flexdp.statistics.base import distance, histogram_given, jump, nonempty, running, to_python, unbounded

__all__ = ["Count", "CountAbove", "Distinct", "MaxAtLeast", "Mode", "Support", "Top"]


@dataclass(frozen=True, slots=True)
class Mode:
    """The key with the most records; of several, the smallest."""

    name: ClassVar[str] = "mode"
    ordered: ClassVar[bool] = False

    def __call__(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        tallest = histogram.keys[int(np.argmax(histogram.counts))]
        return tuple(tallest.tolist()) if histogram.keys.ndim == 2 else to_python(tallest)

    def sensitivity(self, beta: float) -> float:
        return jump(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The keys that are the mode once at most ⌊αn⌋ records of other bars are left out."""
        return at_mode(histogram, budget(histogram, alpha))


@dataclass(frozen=True, init=False, slots=True)
class MaxAtLeast:
    """The largest key that holds at least ``count`` records, or None where no key does.

    Its Δ_f is 0 at β = 0 between histograms of one size, which is all that bucketing needs.
    """

    count: int
    ordered: ClassVar[bool] = True

    def __init__(self, count: Number) -> None:
        object.__setattr__(self, "count", integer("count", count))

    @property
    def name(self) -> str:
        return f"largest value shared by at least {self.count} records"

    def __call__(self, histogram: Histogram) -> Any:
        tall = np.flatnonzero(histogram_given(histogram).counts >= self.count)
        return to_python(histogram.keys[tall[-1]]) if len(tall) else None

    def sensitivity(self, beta: float) -> float:
        return jump(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The keys that are the answer once at most ⌊αn⌋ records are left out, ascending.

        Where all bars can be cut below ``count``, "no such key" is an answer too: the array then holds Python objects
        and its last element is None.
        """
        return at_tall(histogram, self.count, budget(histogram, alpha))


@dataclass(frozen=True, slots=True)
class Support:
    """All keys that occur, as a tuple in ascending order; distances between supports are Hausdorff's."""

    name: ClassVar[str] = "support"
    ordered: ClassVar[bool] = False

    def __call__(self, histogram: Histogram) -> tuple[Any, ...]:
        return tuple(key for key, _ in histogram_given(histogram).items())

    def sensitivity(self, beta: float) -> float:
        return distance(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """All supports that remain once at most ⌊αn⌋ records are left out, as tuples; refused beyond 100 000."""
        return supports(histogram, budget(histogram, alpha))

    def flexible_error(
        self, histogram: Histogram, outputs: Sequence[Iterable[Any] | None], alpha: Number
    ) -> NDArray[np.float64]:
        """The Hausdorff distance of each reported set from the nearest attainable support, listing none of them.

        If any attainable support lies within b of a report Y, then that of all keys within b of Y does: it costs the
        fewest records and covers the most of Y. So b must reach from every point of Y to some key, and leave no more
        than ⌊αn⌋ records further than b from Y. Keys without a distance (texts) are equal or infinitely far apart; no
        report, or an empty one, is infinitely far from all.
        """
        allowed = budget(histogram, alpha)
        runs = elements(outputs)
        if runs is None:
            raise InputError("outputs must be a list with the set that each run reported.")
        return np.array([_support_error(histogram, output, allowed) for output in runs], dtype=np.float64)


@dataclass(frozen=True, init=False, slots=True)
class Top:
    """The ``count`` tallest bars as (key, records), tallest first; of equals, the smaller key first.

    Its Δ_f is 0 at β = 0 between histograms of one size, which is all that bucketing needs.
    """

    count: int
    ordered: ClassVar[bool] = False

    def __init__(self, count: Number) -> None:
        object.__setattr__(self, "count", integer("count", count))

    @property
    def name(self) -> str:
        return (
            "most frequent value with its count"
            if self.count == 1
            else f"list of the {self.count} most frequent values"
        )

    def __call__(self, histogram: Histogram) -> tuple[tuple[Any, int], ...]:
        order = np.argsort(-histogram_given(histogram).counts, kind="stable")[: self.count]
        keys = histogram.keys[order].tolist()
        points = [tuple(key) for key in keys] if histogram.keys.ndim == 2 else keys
        return tuple(zip(points, histogram.counts[order].tolist(), strict=True))

    def sensitivity(self, beta: float) -> float:
        return jump(beta)


@dataclass(frozen=True, slots=True)
class Distinct:
    """How many different values occur. The smallest movement can part any number of equal records."""

    name: ClassVar[str] = "number of distinct values"
    ordered: ClassVar[bool] = False

    def __call__(self, histogram: Histogram) -> int:
        return len(histogram_given(histogram))

    def sensitivity(self, beta: float) -> float:
        return jump(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """From the bars that must remain to those that are there, every number."""
        return at_most_distinct(histogram, budget(histogram, alpha))


@dataclass(frozen=True, slots=True)
class Count:
    """How many records there are. The paper's metric ignores sizes, so that Δ_f is unbounded already at β = 0."""

    name: ClassVar[str] = "number of records"
    ordered: ClassVar[bool] = False

    def __call__(self, histogram: Histogram) -> int:
        return histogram_given(histogram).size

    def sensitivity(self, beta: float) -> float:
        return unbounded(beta)

    def equal_size_sensitivity(self, beta: float) -> float:
        """Δ_f(β) between histograms of one size."""
        distance(beta)  # refuses what is none
        return 0.0

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The size less at most ⌊αn⌋."""
        lost = budget(histogram, alpha)
        return between(histogram.size - lost, histogram.size)


@dataclass(frozen=True, init=False, slots=True)
class CountAbove:
    """How many records lie strictly above a threshold: a number or a date, compared as it is.

    All records can lie next to the threshold and step over it, and doubling a histogram doubles the value: Δ_f is
    unbounded, also at β = 0.
    """

    threshold: Any
    ordered: ClassVar[bool] = True

    def __init__(self, threshold: Number | dt.date) -> None:
        if isinstance(threshold, dt.datetime):
            raise InputError(f"threshold must be a number or a date; got {safe_repr(threshold)}.")
        if not isinstance(threshold, dt.date):
            number = exact("threshold", threshold)
            given: Any = plain_scalar(threshold)
            threshold = given if isinstance(given, int | float | Fraction) else number
        object.__setattr__(self, "threshold", threshold)

    @property
    def name(self) -> str:
        return f"number of records above {safe_repr(self.threshold)}"

    def __call__(self, histogram: Histogram) -> int:
        if not len(histogram_given(histogram)):
            return 0
        try:
            place = bisect_right(histogram.keys, self.threshold)
        except TypeError:
            raise InputError("threshold must be of the kind of the keys: a number or a date.") from None
        return histogram.size - (int(running(histogram)[place - 1]) if place else 0)

    def sensitivity(self, beta: float) -> float:
        return unbounded(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The count less at most ⌊αn⌋, not below zero."""
        above = self(histogram)
        return between(max(0, above - budget(histogram, alpha)), above)


def _support_error(histogram: Histogram, output: Iterable[Any] | None, allowed: int) -> float:
    points = [] if output is None else elements(output)
    if points is None:
        raise InputError("outputs must hold a set of values, or None, for each run.")
    if not points:
        return math.inf
    reported_keys = canonical_keys(points)
    if reported_keys.ndim != 1:
        raise InputError("outputs must hold sets of single values.")
    keys, reported = _places(histogram.keys), _places(np.sort(reported_keys))
    if keys is None or reported is None:
        return _listed_error(histogram, set(reported_keys.tolist()), allowed)
    order = np.argsort(from_report := _gaps(reported, keys), kind="stable")[::-1]
    spent = np.cumsum(histogram.counts[order].astype(object))
    first_kept = int(np.searchsorted(spent, allowed, side="right"))  # the furthest key that the budget cannot spare
    return float(max(_gaps(keys, reported).max(), from_report[order[first_kept]]))


def _places(cells: NDArray[Any]) -> NDArray[np.float64] | None:
    """Where keys lie on the line: numbers as they are, dates by their day; None for texts."""
    if isinstance(cells[0], str):
        return None
    if isinstance(cells[0], dt.date):
        return np.array([day.toordinal() for day in cells], dtype=np.float64)
    return cells.astype(np.float64)


def _listed_error(histogram: Histogram, points: set[Any], allowed: int) -> float:
    """The same where keys are equal or infinitely far apart."""
    missing = sum(records for key, records in histogram.items() if key not in points)
    return 0.0 if points <= set(histogram.keys.tolist()) and missing <= allowed else math.inf


def _gaps(targets: NDArray[Any], points: NDArray[Any]) -> NDArray[Any]:
    """How far each point is from the nearest target; targets ascend."""
    place = np.searchsorted(targets, points)
    left, right = targets[np.maximum(place - 1, 0)], targets[np.minimum(place, len(targets) - 1)]
    gaps: NDArray[Any] = np.minimum(np.abs(points - left), np.abs(right - points))
    return gaps
