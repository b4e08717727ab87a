"""Statistics that add values up: means, spreads and sums."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import SPAN, TRIM
from flexdp._core.exact import float_up, number_text, said
from flexdp._core.fields import Exact, param
from flexdp.histogram import LARGEST_COUNT, Histogram
from flexdp.statistics.base import BuiltIn, Delta, numbers, running

__all__ = ["Mean", "SampleVariance", "Std", "Sum", "TrimmedMean", "Variance"]


class Mean(BuiltIn[float]):
    """The arithmetic mean.

    Moving every record by at most β moves it by at most β, so Δ_f(β) = β.

    Examples
    --------
    >>> Mean()(Histogram.from_values([1, 2, 6])), Mean().sensitivity(2.5)
    (3.0, 2.5)
    """

    name: ClassVar[str] = "mean"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    def _value(self, histogram: Histogram) -> float:
        return _mean(numbers(self, histogram), histogram.counts, histogram.size)


class TrimmedMean(BuiltIn[float]):
    """The mean of what remains after cutting off a share ``trim`` of the mass at either end.

    Mass is cut, not records: a record on which a cut falls counts in part. So the value depends on shares alone, it is
    an average of quantiles, and Δ_f(β) = β.

    Parameters
    ----------
    trim
        Share to cut off at either end, in [0, 1/2).

    Examples
    --------
    >>> TrimmedMean("0.25")(Histogram.from_values([1, 2, 4, 100]))
    3.0
    """

    trim: Exact = param(TRIM)
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""
        return f"{number_text(100 * self.trim)}% trimmed mean"

    def _value(self, histogram: Histogram) -> float:
        keys = numbers(self, histogram)
        s, t, size = self.trim.numerator, self.trim.denominator, histogram.size
        up_to = running(histogram).astype(object if size > LARGEST_COUNT // t else np.int64)
        start = up_to - histogram.counts
        mass = np.maximum(0, np.minimum(t * up_to, (t - s) * size) - np.maximum(t * start, s * size))
        return _mean(keys, mass, (t - 2 * s) * size)


class Std(BuiltIn[float]):
    """The population standard deviation (division by n).

    It is the distance of the values from the constants in the L² norm; that norm of a displacement is at most β. Hence
    Δ_f(β) = β, attained by pushing equal values apart.

    Examples
    --------
    >>> Std()(Histogram.from_values([1, 3])), Std().sensitivity(2.5)
    (1.0, 2.5)
    """

    name: ClassVar[str] = "standard deviation"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    def _value(self, histogram: Histogram) -> float:
        return math.sqrt(_variance(numbers(self, histogram), histogram))


class Variance(BuiltIn[float]):
    """The population variance (division by n) of values in a public interval.

    Δ_f(β) = β·(span − β) for β up to span/2, where it reaches span²/4, the largest possible variance. Without a bounded
    interval there is no bound for any β > 0. The values are not checked: that they lie in the interval is the caller's
    responsibility.

    Parameters
    ----------
    span
        Length of the public interval.

    Examples
    --------
    >>> Variance(span=100)(Histogram.from_values([1, 3])), Variance(span=100).sensitivity(2.5)
    (1.0, 243.75)
    """

    span: Exact = param(SPAN)
    name: ClassVar[str] = "variance"
    ordered: ClassVar[bool] = True

    def _value(self, histogram: Histogram) -> float:
        return _variance(numbers(self, histogram), histogram)

    def _sensitivity(self, beta: float) -> float:
        if beta >= self.span / 2:
            return float_up(self.span**2 / 4)
        moved = said(beta)
        return float_up(moved * (self.span - moved))


class SampleVariance(BuiltIn[float | None]):
    """The sample variance (division by n − 1); None of a single record.

    The divisor depends on the size, which the paper's metric ignores: doubling a histogram changes the value, so Δ_f is
    unbounded already at β = 0. On a bounded interval, :class:`Variance` has a finite one.

    Examples
    --------
    >>> SampleVariance()(Histogram.from_values([1, 3]))
    2.0
    """

    name: ClassVar[str] = "sample variance"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.NONE

    def _value(self, histogram: Histogram) -> float | None:
        keys, size = numbers(self, histogram), histogram.size
        return _variance(keys, histogram) * (size / (size - 1)) if size > 1 else None


class Sum(BuiltIn[Any]):
    """The sum of all values.

    It grows with the size, which the paper's metric ignores: Δ_f is unbounded already at β = 0.

    Examples
    --------
    >>> Sum()(Histogram.from_values([1, 3, 3]))
    7
    """

    name: ClassVar[str] = "sum"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.NONE

    def _value(self, histogram: Histogram) -> Any:
        keys = numbers(self, histogram)
        if keys.dtype.kind == "f":
            return math.fsum((keys * histogram.counts).tolist())
        return sum(key * records for key, records in zip(keys, histogram.counts.tolist(), strict=True))


def _mean(keys: NDArray[Any], mass: NDArray[Any], total: int) -> float:
    """Return Σ mass·key / total: exact until the last step, or for doubles with one rounding per key."""
    if keys.dtype.kind == "f":
        shares = (mass / float(total)).astype(np.float64)
        return math.fsum((keys * shares).tolist())
    return float(Fraction(sum(key * Fraction(m) for key, m in zip(keys, mass.tolist(), strict=True))) / total)


def _variance(keys: NDArray[Any], histogram: Histogram) -> float:
    """Return Σ count·(key − mean)² / n."""
    size, counts = histogram.size, histogram.counts
    if keys.dtype.kind == "f":
        middle = _mean(keys, counts, size)
        return math.fsum(((keys - middle) ** 2 * (counts / float(size))).tolist())
    first, second = _powers(histogram, keys)
    return float((size * Fraction(second) - Fraction(first) ** 2) / size**2)


def _powers(histogram: Histogram, keys: NDArray[Any]) -> tuple[Any, Any]:
    """Return Σ count·key and Σ count·key², exactly."""
    whole, counts = histogram.keys, histogram.counts
    if whole.dtype.kind == "i":
        most = max(abs(int(whole[0])), abs(int(whole[-1])))
        if most * most * histogram.size <= LARGEST_COUNT:  # no partial sum leaves 64 bits
            return int(whole @ counts), int((whole * whole) @ counts)
    first = sum(key * records for key, records in zip(keys, counts.tolist(), strict=True))
    second = sum(key * key * records for key, records in zip(keys, counts.tolist(), strict=True))
    return first, second
