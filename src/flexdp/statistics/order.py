"""Statistics of the order of records: extremes, quantiles and what is made of two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import integer
from flexdp._core.exact import Number, exact_text, number_text
from flexdp.histogram import Histogram
from flexdp.statistics.attainable import at_quantile, at_range, budget
from flexdp.statistics.base import LEVEL, distance, histogram_given, nonempty, numbers, running, to_python, unbounded

__all__ = ["IQR", "InterpolatedQuantile", "KthLargest", "Max", "Median", "MidpointMedian", "Min", "Quantile", "Range"]


@dataclass(frozen=True, slots=True)
class Max:
    """The largest key."""

    name: ClassVar[str] = "maximum"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return to_python(histogram.keys[-1])

    def sensitivity(self, beta: float) -> float:
        return distance(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The keys above which at most ⌊αn⌋ records lie."""
        return at_quantile(histogram, Fraction(1), budget(histogram, alpha))


@dataclass(frozen=True, slots=True)
class Min:
    """The smallest key."""

    name: ClassVar[str] = "minimum"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return to_python(histogram.keys[0])

    def sensitivity(self, beta: float) -> float:
        return distance(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The keys below which at most ⌊αn⌋ records lie."""
        return at_quantile(histogram, Fraction(0), budget(histogram, alpha))


@dataclass(frozen=True, slots=True)
class Range:
    """The largest key less the smallest."""

    name: ClassVar[str] = "range"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return to_python(histogram.keys[-1]) - to_python(histogram.keys[0])

    def sensitivity(self, beta: float) -> float:
        return 2 * distance(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The differences of two keys outside which at most ⌊αn⌋ records lie."""
        return at_range(histogram, budget(histogram, alpha))


@dataclass(frozen=True, init=False, slots=True)
class Quantile:
    """The smallest key with at least a fraction ``level`` of the records at or below it (inverted CDF)."""

    level: Fraction
    ordered: ClassVar[bool] = True

    def __init__(self, level: Number) -> None:
        object.__setattr__(self, "level", LEVEL.check(level))

    @property
    def name(self) -> str:
        return f"{exact_text(self.level)}-quantile"

    def __call__(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        wanted = max(1, math.ceil(self.level * histogram.size))
        return to_python(histogram.keys[np.searchsorted(running(histogram), wanted, side="left")])

    def sensitivity(self, beta: float) -> float:
        return distance(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The keys that are the quantile once at most ⌊αn⌋ records, above or below, are left out."""
        return at_quantile(histogram, self.level, budget(histogram, alpha))


@dataclass(frozen=True, slots=True)
class Median:
    """The 0.5-quantile: the lower of the two middle records where there are two."""

    name: ClassVar[str] = "median"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return Quantile(Fraction(1, 2))(histogram)

    def sensitivity(self, beta: float) -> float:
        return distance(beta)

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """The keys that are the median once at most ⌊αn⌋ records are left out."""
        return Quantile(Fraction(1, 2)).attainable(histogram, alpha)


@dataclass(frozen=True, slots=True)
class MidpointMedian:
    """Half-way between the two middle records; like the quantiles it sees shares only, so that Δ_f(β) = β."""

    name: ClassVar[str] = "midpoint median"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        keys, up_to = numbers(self, histogram), running(histogram)
        size = histogram.size
        low, high = (keys[np.searchsorted(up_to, rank, side="left")] for rank in (-(-size // 2), size // 2 + 1))
        return to_python(low) if low == high else to_python(low + (high - low) / 2)

    def sensitivity(self, beta: float) -> float:
        return distance(beta)


@dataclass(frozen=True, slots=True)
class IQR:
    """The interquartile range: the 0.75-quantile less the 0.25-quantile, each of which moves by at most β."""

    name: ClassVar[str] = "interquartile range"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return Quantile(Fraction(3, 4))(histogram) - Quantile(Fraction(1, 4))(histogram)

    def sensitivity(self, beta: float) -> float:
        return 2 * distance(beta)


@dataclass(frozen=True, init=False, slots=True)
class KthLargest:
    """The value of the ``rank``-th largest record, or None where there are fewer records.

    A histogram and its double are at distance 0 in the paper's metric, and their second largest records can be any
    distance apart: Δ_f is unbounded already at β = 0. Between histograms of one size it is β.
    """

    rank: int
    ordered: ClassVar[bool] = True

    def __init__(self, rank: Number) -> None:
        object.__setattr__(self, "rank", integer("rank", rank))

    @property
    def name(self) -> str:
        return f"largest value but {self.rank - 1}" if self.rank > 1 else "largest value"

    def __call__(self, histogram: Histogram) -> Any:
        size = histogram_given(histogram).size
        if size < self.rank:
            return None
        return to_python(histogram.keys[np.searchsorted(running(histogram), size - self.rank + 1, side="left")])

    def sensitivity(self, beta: float) -> float:
        return unbounded(beta)

    def equal_size_sensitivity(self, beta: float) -> float:
        """Δ_f(β) between histograms of one size."""
        return distance(beta)


@dataclass(frozen=True, init=False, slots=True)
class InterpolatedQuantile:
    """The quantile that spreadsheets show: linear between the records around place (n − 1)·level.

    The place depends on n, so that Δ_f is unbounded already at β = 0; between histograms of one size it is β.
    """

    level: Fraction
    ordered: ClassVar[bool] = True

    def __init__(self, level: Number) -> None:
        object.__setattr__(self, "level", LEVEL.check(level))

    @property
    def name(self) -> str:
        return f"interpolated {number_text(self.level)}-quantile"

    def __call__(self, histogram: Histogram) -> Any:
        keys, up_to = numbers(self, histogram), running(histogram)
        place = (histogram.size - 1) * self.level
        start = math.floor(place)
        low, high = (
            keys[np.searchsorted(up_to, min(rank, histogram.size), side="left")] for rank in (start + 1, start + 2)
        )
        return float(low) if low == high else float(low + (high - low) * float(place - start))

    def sensitivity(self, beta: float) -> float:
        return unbounded(beta)

    def equal_size_sensitivity(self, beta: float) -> float:
        """Δ_f(β) between histograms of one size."""
        return distance(beta)
