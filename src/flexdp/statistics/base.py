"""What every statistic is, and the few checks that they share."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import BETA, Domain, attribute, instance
from flexdp._core.exact import float_up
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.histogram import LARGEST_COUNT, Histogram

__all__ = [
    "LEVEL",
    "Statistic",
    "distance",
    "equal_size_sensitivity",
    "histogram_given",
    "jump",
    "nonempty",
    "numbers",
    "running",
    "statistic_given",
    "to_python",
    "unbounded",
]

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
    statistic, moved = statistic_given(statistic), distance(beta)
    if moved == 0:
        return 0.0
    own = attribute(statistic, "equal_size_sensitivity") or statistic.sensitivity
    return float(own(moved))


def statistic_given(statistic: object) -> Statistic:
    """A parameter that must be a statistic, of ours or of the caller's own."""
    try:
        fits = isinstance(statistic, Statistic) and not isinstance(statistic, type)
    except Exception:  # noqa: BLE001  (an object may raise anything when it is asked for an attribute)
        fits = False
    if not fits or not isinstance(attribute(statistic, "name"), str):
        raise InputError(f"statistic must be one of flexdp.statistics, for example Max(); got {safe_repr(statistic)}.")
    return statistic  # type: ignore[return-value]


def histogram_given(histogram: object) -> Histogram:
    """A parameter that must be a histogram."""
    return instance("histogram", histogram, Histogram, "a Histogram, for example of Histogram.from_values")


def distance(beta: object) -> float:
    """How far records may move, as a double that is not below what was given."""
    given = plain_scalar(beta)
    if isinstance(given, float) and given >= 0:  # inf too: no limit
        return given
    return float_up(BETA.check(given))


def nonempty(statistic: Statistic, histogram: Histogram) -> None:
    """Refuse an empty histogram, and keys without the order that the statistic needs."""
    if not len(histogram_given(histogram)):
        raise InputError(f"the {statistic.name} of an empty histogram is undefined; test len(histogram) first.")
    if statistic.ordered and (histogram.keys.ndim != 1 or isinstance(to_python(histogram.keys[0]), str)):
        raise InputError(f"the {statistic.name} needs keys that are numbers or dates.")


def numbers(statistic: Statistic, histogram: Histogram) -> NDArray[Any]:
    """The keys of a non-empty histogram for arithmetic: doubles as they are, all other numbers as exact objects."""
    nonempty(statistic, histogram)
    keys = histogram.keys
    if keys.dtype.kind == "f":
        return keys
    cells = [to_python(key) for key in keys]
    if not all(isinstance(cell, Real) for cell in cells):
        raise InputError(f"the {statistic.name} needs keys that are numbers.")
    out = np.empty(len(cells), dtype=object)
    out[:] = [int(cell) if isinstance(cell, bool) else cell for cell in cells]
    return out


def running(histogram: Histogram) -> NDArray[Any]:
    """How many records lie at each key or below it, exact also beyond 64 bits."""
    counts = histogram.counts if histogram.size <= LARGEST_COUNT else histogram.counts.astype(object)
    return np.cumsum(counts)


def to_python(key: Any) -> Any:
    """A key as a plain Python value."""
    return key.item() if isinstance(key, np.generic) else key


def unbounded(beta: float) -> float:
    """Δ_f of a statistic that sees sizes: infinite at every distance."""
    distance(beta)  # refuses what is none
    return math.inf


def jump(beta: float) -> float:
    """Δ_f of a statistic that the smallest movement can carry anywhere."""
    return math.inf if distance(beta) > 0 else 0.0
