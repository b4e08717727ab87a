"""Statistics that add values up: means, spreads, sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import Domain
from flexdp._core.exact import Number, exact, float_up, number_text
from flexdp.errors import InputError
from flexdp.histogram import LARGEST_COUNT, Histogram
from flexdp.statistics.base import distance, numbers, running, unbounded

__all__ = ["Mean", "SampleVariance", "Std", "Sum", "TrimmedMean", "Variance"]

_TRIM = Domain(
    name="trim",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1, 2),
    remedy="It is the share cut off at either end, for example 0.05.",
)
_SPAN = Domain(name="span", low=Fraction(0), remedy="It is the length of the public interval that holds all values.")


@dataclass(frozen=True, slots=True)
class Mean:
    """The arithmetic mean. Moving every record by at most β moves it by at most β."""

    name: ClassVar[str] = "mean"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> float:
        return _mean(numbers(self, histogram), histogram.counts, histogram.size)

    def sensitivity(self, beta: float) -> float:
        return distance(beta)


@dataclass(frozen=True, init=False, slots=True)
class TrimmedMean:
    """The mean of what remains when a share ``trim`` of the mass is cut off at either end.

    Mass is cut, not records: the records on which a cut falls count in part. So the value depends on shares alone, it
    is an average of quantiles, and Δ_f(β) = β.
    """

    trim: Fraction
    ordered: ClassVar[bool] = True

    def __init__(self, trim: Number) -> None:
        object.__setattr__(self, "trim", _TRIM.check(trim))

    @property
    def name(self) -> str:
        return f"mean without a share of {number_text(self.trim)} at either end"

    def __call__(self, histogram: Histogram) -> float:
        keys = numbers(self, histogram)
        s, t, size = self.trim.numerator, self.trim.denominator, histogram.size
        up_to = running(histogram).astype(object if size > LARGEST_COUNT // t else np.int64)
        start = up_to - histogram.counts
        mass = np.maximum(0, np.minimum(t * up_to, (t - s) * size) - np.maximum(t * start, s * size))
        return _mean(keys, mass, (t - 2 * s) * size)

    def sensitivity(self, beta: float) -> float:
        return distance(beta)


@dataclass(frozen=True, slots=True)
class Std:
    """The standard deviation of the records as they are (division by n).

    It is the distance of the values from the constants, in the norm of square means; that norm of a displacement is at
    most β, hence Δ_f(β) = β, attained where equal values are pushed apart.
    """

    name: ClassVar[str] = "standard deviation"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> float:
        return math.sqrt(_variance(numbers(self, histogram), histogram))

    def sensitivity(self, beta: float) -> float:
        return distance(beta)


@dataclass(frozen=True, init=False, slots=True)
class Variance:
    """The variance of the records as they are (division by n), for values in a public interval of length ``span``.

    Δ_f(β) = β·(span − β) up to span/2, where it reaches span²/4, the largest variance there is. Without a bounded
    interval there is no bound for any β > 0; whether the values keep to it is the caller's promise.
    """

    span: Fraction
    name: ClassVar[str] = "variance"
    ordered: ClassVar[bool] = True

    def __init__(self, span: Number) -> None:
        object.__setattr__(self, "span", _SPAN.check(span))

    def __call__(self, histogram: Histogram) -> float:
        return _variance(numbers(self, histogram), histogram)

    def sensitivity(self, beta: float) -> float:
        if distance(beta) >= self.span / 2:
            return float_up(self.span**2 / 4)
        moved = exact("beta", beta)
        return float_up(moved * (self.span - moved))


@dataclass(frozen=True, slots=True)
class SampleVariance:
    """The variance with division by n − 1, of at least two records.

    That divisor sees the size, and the paper's metric does not: doubling a histogram changes the value, so that Δ_f is
    unbounded already at β = 0. For a bounded interval, :class:`Variance` has a finite one.
    """

    name: ClassVar[str] = "sample variance"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> float:
        keys, size = numbers(self, histogram), histogram.size
        if size < 2:
            raise InputError("the sample variance of a single record is undefined; ask for the variance.")
        return _variance(keys, histogram) * (size / (size - 1))

    def sensitivity(self, beta: float) -> float:
        return unbounded(beta)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of all values. It grows with the size, which the paper's metric ignores: unbounded already at β = 0."""

    name: ClassVar[str] = "sum"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        keys = numbers(self, histogram)
        if keys.dtype.kind == "f":
            return math.fsum((keys * histogram.counts).tolist())
        return sum(key * records for key, records in zip(keys, histogram.counts.tolist(), strict=True))

    def sensitivity(self, beta: float) -> float:
        return unbounded(beta)


def _mean(keys: NDArray[Any], mass: NDArray[Any], total: int) -> float:
    """Σ mass·key / total: exact until the last step, or for doubles with one rounding per key."""
    if keys.dtype.kind == "f":
        shares = (mass / float(total)).astype(np.float64)
        return math.fsum((keys * shares).tolist())
    return float(Fraction(sum(key * Fraction(m) for key, m in zip(keys, mass.tolist(), strict=True))) / total)


def _variance(keys: NDArray[Any], histogram: Histogram) -> float:
    """Σ count·(key − mean)² / n."""
    size, counts = histogram.size, histogram.counts
    if keys.dtype.kind == "f":
        middle = _mean(keys, counts, size)
        return math.fsum(((keys - middle) ** 2 * (counts / float(size))).tolist())
    first = sum(key * records for key, records in zip(keys, counts.tolist(), strict=True))
    second = sum(key * key * records for key, records in zip(keys, counts.tolist(), strict=True))
    return float((size * Fraction(second) - Fraction(first) ** 2) / size**2)
