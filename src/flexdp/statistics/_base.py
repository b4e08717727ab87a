"""What every statistic is, and the few checks that they share."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexdp._parameters import Domain
from flexdp.errors import InputError
from flexdp.histogram import LARGEST_COUNT, Histogram

__all__ = ["LEVEL", "Statistic", "equal_size_sensitivity", "jump", "nonempty", "numbers", "plain", "running"]

LEVEL = Domain(
    name="quantile",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="Write the 99th percentile as 0.99.",
)


@runtime_checkable
class Statistic(Protocol):
    """What a release can read off its histogram."""

    @property
    def name(self) -> str:
        """What a sentence calls it."""

    @property
    def ordered(self) -> bool:
        """Whether the keys must be numbers or dates."""

    def __call__(self, histogram: Histogram) -> Any:
        """The value on a non-empty histogram."""

    def sensitivity(self, beta: float) -> float:
        """Δ_f(β): the most the value can change when every record, or share of records, moves by at most β."""


def equal_size_sensitivity(statistic: Statistic, beta: float) -> float:
    """Δ_f(β) between histograms of one size, which is all that bucketing asks for: it moves records, and loses none.

    Two histograms of one size at distance zero are equal, so that every statistic has 0 at β = 0. A statistic for
    which sizes make the difference says so in a method ``equal_size_sensitivity``.

    >>> from flexdp.statistics import KthLargest
    >>> KthLargest(3).sensitivity(2.5), equal_size_sensitivity(KthLargest(3), 2.5)
    (inf, 2.5)
    """
    if beta == 0:
        return 0.0
    own = getattr(statistic, "equal_size_sensitivity", statistic.sensitivity)
    return float(own(beta))


def nonempty(statistic: Statistic, histogram: Histogram) -> None:
    """Refuse an empty histogram, and keys without the order that the statistic needs."""
    if not len(histogram):
        raise InputError(f"the {statistic.name} of an empty histogram is undefined; test len(histogram) first.")
    if statistic.ordered and (histogram.keys.ndim != 1 or isinstance(plain(histogram.keys[0]), str)):
        raise InputError(f"the {statistic.name} needs keys that are numbers or dates.")


def numbers(statistic: Statistic, histogram: Histogram) -> NDArray[Any]:
    """The keys of a non-empty histogram for arithmetic: doubles as they are, all other numbers as exact objects."""
    nonempty(statistic, histogram)
    keys = histogram.keys
    if keys.dtype.kind == "f":
        return keys
    cells = [plain(key) for key in keys]
    if not all(isinstance(cell, Real) for cell in cells):
        raise InputError(f"the {statistic.name} needs keys that are numbers.")
    out = np.empty(len(cells), dtype=object)
    out[:] = [int(cell) if isinstance(cell, bool) else cell for cell in cells]
    return out


def running(histogram: Histogram) -> NDArray[Any]:
    """How many records lie at each key or below it, exact also beyond 64 bits."""
    counts = histogram.counts if histogram.size <= LARGEST_COUNT else histogram.counts.astype(object)
    return np.cumsum(counts)


def plain(key: Any) -> Any:
    """A key as a plain Python value."""
    return key.item() if isinstance(key, np.generic) else key


def jump(beta: float) -> float:
    """Δ_f of a statistic that the smallest movement can carry anywhere."""
    return math.inf if beta > 0 else 0.0
