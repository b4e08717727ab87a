"""The interface of a statistic, the base of the built-in ones, and the checks that they share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from enum import Enum
from numbers import Real
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import BETA, attribute, instance
from flexdp._core.exact import float_up
from flexdp._core.fields import Value
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.histogram import LARGEST_COUNT, Histogram

__all__ = [
    "BuiltIn",
    "Delta",
    "Statistic",
    "distance",
    "equal_size_sensitivity",
    "histogram_given",
    "nonempty",
    "numbers",
    "running",
    "statistic_given",
    "summable",
    "to_python",
]

_Value = TypeVar("_Value", covariant=True)


@runtime_checkable
class Statistic(Protocol):
    """A quantity that can be read off a histogram.

    The classes of :mod:`flexdp.statistics` are statistics, and so is any object of yours with these four members. A
    further method ``attainable(histogram, alpha)`` replaces the search that :func:`flexdp.measure.flexible_error`
    otherwise makes.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> isinstance(Max(), Statistic)
    True
    """

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""

    @property
    def ordered(self) -> bool:
        """True if the keys must be numbers or dates."""

    def __call__(self, histogram: Histogram) -> Any:
        """Return the value on a non-empty histogram.

        Parameters
        ----------
        histogram
            The records.

        Returns
        -------
        Any
            The value.
        """

    def sensitivity(self, beta: float) -> float:
        """Return Δ_f(β), the most that the value changes if every record, or share of records, moves by at most β.

        Parameters
        ----------
        beta
            Distance by which records move.

        Returns
        -------
        float
            The bound; infinite if there is none.

        Examples
        --------
        >>> from flexdp.statistics import Range
        >>> Range().sensitivity(2.5)
        5.0
        """


class Delta(Enum):
    """Δ_f(β) by its form: how far the value moves when all records move by at most β."""

    BETA = "β"
    TWICE = "2β"
    JUMP = "infinite for β > 0"  # the smallest movement can carry it anywhere
    NONE = "infinite"
    ZERO = "0"

    def of(self, beta: float) -> float:
        """Return the bound."""
        if self is Delta.JUMP:
            return math.inf if beta > 0 else 0.0
        return {Delta.BETA: beta, Delta.TWICE: 2 * beta, Delta.NONE: math.inf, Delta.ZERO: 0.0}[self]


class BuiltIn(Value, ABC, Generic[_Value]):
    """Base of the built-in statistics: arguments are checked here, the formulas are in the subclasses."""

    delta: ClassVar[Delta]
    equal_size_delta: ClassVar[Delta | None] = None  # between histograms of equal size, where it is another

    def __call__(self, histogram: Histogram) -> _Value:
        """Return the value on a histogram.

        Parameters
        ----------
        histogram
            The records.

        Returns
        -------
        Any
            The value, as a plain Python object.

        Raises
        ------
        InputError
            If the statistic is undefined on an empty histogram, or needs numbers or dates for keys.
        """
        return self._value(histogram_given(histogram))

    def sensitivity(self, beta: float) -> float:
        """Return Δ_f(β), the most that the value changes if every record, or share of records, moves by at most β.

        Parameters
        ----------
        beta
            Distance by which records move.

        Returns
        -------
        float
            The bound; infinite if there is none.
        """
        return self._sensitivity(distance(beta))

    def equal_size_sensitivity(self, beta: float) -> float:
        """Return Δ_f(β) between histograms of equal size.

        Parameters
        ----------
        beta
            Distance by which records move.

        Returns
        -------
        float
            The bound; 0 at β = 0, since histograms of equal size at distance zero are equal.
        """
        moved = distance(beta)
        return self._equal_size_sensitivity(moved) if moved else 0.0

    @abstractmethod
    def _value(self, histogram: Histogram) -> _Value: ...

    def _sensitivity(self, beta: float) -> float:
        return self.delta.of(beta)

    def _equal_size_sensitivity(self, beta: float) -> float:
        return self._sensitivity(beta) if self.equal_size_delta is None else self.equal_size_delta.of(beta)


def equal_size_sensitivity(statistic: Statistic, beta: float) -> float:
    """Return Δ_f(β) between histograms of equal size.

    This is all that bucketing needs, since it moves records and loses none. Two histograms of equal size at distance
    zero are equal, so the bound is 0 at β = 0. A statistic of your own whose value depends on the size can state a
    bound in a method ``equal_size_sensitivity``; otherwise ``sensitivity`` is used.

    Parameters
    ----------
    statistic
        A statistic, built in or your own.
    beta
        Distance by which records move.

    Returns
    -------
    float
        The bound; infinite if there is none.

    Examples
    --------
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
    """Check a parameter that must be a statistic, built in or the caller's own."""
    try:
        fits = isinstance(statistic, Statistic) and not isinstance(statistic, type)
    except Exception:  # noqa: BLE001  (an object may raise anything when asked for an attribute)
        fits = False
    if not fits or not isinstance(attribute(statistic, "name"), str):
        raise InputError("statistic", "must be one of flexdp.statistics, for example Max()", given=safe_repr(statistic))
    return statistic  # type: ignore[return-value]


def histogram_given(histogram: object) -> Histogram:
    """Check a parameter that must be a histogram."""
    return instance("histogram", histogram, Histogram, "a Histogram, for example from Histogram.from_values")


def distance(beta: object) -> float:
    """Check the distance by which records may move, and round it up to a double."""
    given = plain_scalar(beta)
    if isinstance(given, float) and given >= 0:  # infinity too: no limit
        return given
    return float_up(BETA.check(given))


def nonempty(statistic: Statistic, histogram: Histogram) -> None:
    """Refuse an empty histogram, and keys without the order that the statistic needs."""
    if not len(histogram):
        rule = f": the {statistic.name} of an empty histogram is undefined"
        raise InputError("histogram", rule, remedy="Test len(histogram) first.")
    if statistic.ordered and (histogram.keys.ndim != 1 or isinstance(to_python(histogram.keys[0]), str)):
        raise InputError("histogram", f": the {statistic.name} needs keys that are numbers or dates")


def numbers(statistic: Statistic, histogram: Histogram) -> NDArray[Any]:
    """Return the keys of a non-empty histogram for arithmetic: doubles as they are, other numbers as exact objects."""
    nonempty(statistic, histogram)
    keys = histogram.keys
    if keys.dtype.kind == "f":
        return keys
    cells = [to_python(key) for key in keys]
    if not all(isinstance(cell, Real) for cell in cells):
        raise InputError("histogram", f": the {statistic.name} needs keys that are numbers")
    out = np.empty(len(cells), dtype=object)
    out[:] = [int(cell) if isinstance(cell, bool) else cell for cell in cells]
    return out


def summable(histogram: Histogram) -> NDArray[Any]:
    """Return the counts in a type in which their sum is exact: Python's integers where 64 bits are too few."""
    return histogram.counts if histogram.size <= LARGEST_COUNT else histogram.counts.astype(object)


def running(histogram: Histogram) -> NDArray[Any]:
    """Return the number of records at or below each key, exact beyond 64 bits too."""
    return np.cumsum(summable(histogram))


def to_python(key: Any) -> Any:
    """Convert a key from numpy's type to Python's.

    Parameters
    ----------
    key
        An element of ``Histogram.keys``.

    Returns
    -------
    Any
        The same value as a plain Python object.

    Examples
    --------
    >>> to_python(Histogram.from_values([3, 1]).keys[0])
    1
    """
    return key.item() if isinstance(key, np.generic) else key
