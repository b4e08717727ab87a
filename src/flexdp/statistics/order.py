"""Order statistics: extremes, quantiles, and differences of two of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from flexdp._core.domains import LEVEL
from flexdp._core.exact import Number, exact_text, number_text
from flexdp._core.fields import Exact, Taken, param, whole
from flexdp._core.text import ordinal
from flexdp.histogram import Histogram
from flexdp.statistics.attainable import (
    Attainable,
    Reachable,
    at_interpolated,
    at_kth_largest,
    at_midpoint,
    at_quantile,
    at_quartiles,
    at_range,
)
from flexdp.statistics.base import Delta, nonempty, numbers, running, to_python

__all__ = ["IQR", "InterpolatedQuantile", "KthLargest", "Max", "Median", "MidpointMedian", "Min", "Quantile", "Range"]

_HALF = Fraction(1, 2)
_LONGEST_PERCENT = 8  # characters of a percentage in a name


def _level(_name: str, level: Number) -> Fraction:
    return LEVEL.check(level)


class Max(Attainable[Any]):
    """The largest key.

    Δ_f(β) = β. F_α contains the keys with at most ⌊αn⌋ records above them.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> Max()(h), Max().sensitivity(2.5), Max().attainable(h, alpha="0.01").tolist()
    (70, 2.5, [20, 70])
    """

    name: ClassVar[str] = "maximum"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    def _value(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return to_python(histogram.keys[-1])

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_quantile(histogram, Fraction(1), allowed)


class Min(Attainable[Any]):
    """The smallest key.

    Δ_f(β) = β. F_α contains the keys with at most ⌊αn⌋ records below them.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 1, 20: 9, 70: 90})
    >>> Min()(h), Min().attainable(h, alpha="0.01").tolist()
    (10, [10, 20])
    """

    name: ClassVar[str] = "minimum"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    def _value(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return to_python(histogram.keys[0])

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_quantile(histogram, Fraction(0), allowed)


class Range(Attainable[Any]):
    """The largest key minus the smallest.

    Δ_f(β) = 2β. F_α contains the differences of two keys with at most ⌊αn⌋ records outside them.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> Range()(h), Range().sensitivity(2.5), Range().attainable(h, alpha="0.01").tolist()
    (60, 5.0, [10, 60])
    """

    name: ClassVar[str] = "range"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.TWICE

    def _value(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return to_python(histogram.keys[-1]) - to_python(histogram.keys[0])

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_range(histogram, allowed)


class Quantile(Attainable[Any]):
    """The smallest key with at least a fraction ``level`` of the records at or below it (inverted CDF).

    Δ_f(β) = β. F_α contains the keys that become the quantile when at most ⌊αn⌋ records above or below are left out.

    Parameters
    ----------
    level
        A number in [0, 1], taken exactly; the 99th percentile is 0.99.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> Quantile("0.99").name, Quantile("0.99")(h), Quantile("0.99").attainable(h, alpha="0.01").tolist()
    ('99th percentile', 20, [20, 70])
    """

    level: Exact = param(_level)
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""
        return _quantile_name(self.level)

    def _value(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        wanted = max(1, math.ceil(self.level * histogram.size))
        return to_python(histogram.keys[np.searchsorted(running(histogram), wanted, side="left")])

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_quantile(histogram, self.level, allowed)


class Median(Attainable[Any]):
    """The 0.5-quantile: the lower of the two middle records if there are two.

    Δ_f(β) = β. F_α is that of ``Quantile("1/2")``.

    Examples
    --------
    >>> Median()(Histogram.from_values([1, 2, 3, 9])), Median().sensitivity(2.5)
    (2, 2.5)
    """

    name: ClassVar[str] = "median"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    def _value(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return Quantile(_HALF)(histogram)

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_quantile(histogram, _HALF, allowed)


class MidpointMedian(Attainable[Any]):
    """The midpoint of the two middle records.

    Like a quantile it depends on shares of records alone, so Δ_f(β) = β. F_α contains the keys and the midpoints of two
    keys that become it when at most ⌊αn⌋ records are left out.

    Examples
    --------
    >>> MidpointMedian()(Histogram.from_values([1, 2, 3, 9]))
    2.5
    """

    name: ClassVar[str] = "midpoint median"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.BETA

    def _value(self, histogram: Histogram) -> Any:
        keys, up_to = numbers(self, histogram), running(histogram)
        size = histogram.size
        low, high = (keys[np.searchsorted(up_to, rank, side="left")] for rank in (-(-size // 2), size // 2 + 1))
        return to_python(low) if low == high else to_python(low + (high - low) / 2)

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_midpoint(histogram, numbers(self, histogram), allowed)


class IQR(Attainable[Any]):
    """The interquartile range: the 0.75-quantile minus the 0.25-quantile.

    Each of the two moves by at most β, so Δ_f(β) = 2β.

    Examples
    --------
    >>> IQR()(Histogram.from_values([1, 2, 3, 9])), IQR().sensitivity(2.5)
    (2, 5.0)
    """

    name: ClassVar[str] = "interquartile range"
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.TWICE

    def _value(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        return Quantile(Fraction(3, 4))(histogram) - Quantile(Fraction(1, 4))(histogram)

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        nonempty(self, histogram)
        return at_quartiles(histogram, allowed)


class KthLargest(Attainable[Any]):
    """The value of the ``rank``-th largest record; None if there are fewer records.

    A histogram and its double are at distance 0 in the paper's metric, but their second-largest records can be any
    distance apart: Δ_f is unbounded already at β = 0. Between histograms of equal size it is β.

    Parameters
    ----------
    rank
        1 for the largest record, 2 for the second-largest, and so on.

    Examples
    --------
    >>> KthLargest(3).name, KthLargest(3)(Histogram.from_values([1, 5, 5, 9]))
    ('3rd-largest value', 5)
    """

    rank: Taken[Number, int] = param(whole())
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.NONE
    equal_size_delta: ClassVar[Delta | None] = Delta.BETA

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""
        return f"{ordinal(self.rank)}-largest value" if self.rank > 1 else "largest value"

    def _value(self, histogram: Histogram) -> Any:
        size = histogram.size
        if size < self.rank:
            return None
        return to_python(histogram.keys[np.searchsorted(running(histogram), size - self.rank + 1, side="left")])

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_kth_largest(histogram, self.rank, allowed)


class InterpolatedQuantile(Attainable[float]):
    """The quantile of spreadsheets: linear interpolation between the records around position (n − 1)·level.

    The position depends on n, so Δ_f is unbounded already at β = 0; between histograms of equal size it is β.

    Parameters
    ----------
    level
        A number in [0, 1], taken exactly; the 99th percentile is 0.99.

    Examples
    --------
    >>> InterpolatedQuantile("0.9")(Histogram.from_values([0, 1, 2, 3, 4]))
    3.6
    """

    level: Exact = param(_level)
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.NONE
    equal_size_delta: ClassVar[Delta | None] = Delta.BETA

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""
        return f"interpolated {_quantile_name(self.level)}"

    def _value(self, histogram: Histogram) -> float:
        keys, up_to = numbers(self, histogram), running(histogram)
        position = (histogram.size - 1) * self.level
        start = math.floor(position)
        low, high = (
            keys[np.searchsorted(up_to, min(rank, histogram.size), side="left")] for rank in (start + 1, start + 2)
        )
        return float(low) if low == high else float(low + (high - low) * float(position - start))

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_interpolated(histogram, numbers(self, histogram), self.level, allowed)


def _quantile_name(level: Fraction) -> str:
    """Return the name of a quantile: a percentile where its percentage is a short decimal.

    >>> [_quantile_name(Fraction(level)) for level in ("0.99", "0.02", "0.999", "1/3")]
    ['99th percentile', '2nd percentile', '99.9th percentile', '1/3-quantile']
    """
    percent = number_text(100 * level)
    if len(percent) > _LONGEST_PERCENT or not percent.replace(".", "").isdigit():
        return f"{exact_text(level)}-quantile"
    return f"{ordinal(percent)} percentile"
