"""Statistics of counts: the keys that occur, those that occur often, and their numbers."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements
from flexdp._core.exact import Number, exact
from flexdp._core.fields import Taken, param, whole
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.statistics.attainable import (
    Attainable,
    Reachable,
    at_mode,
    at_most_distinct,
    at_tall,
    between,
    budget,
    supports,
)
from flexdp.statistics.base import BuiltIn, Delta, nonempty, running, to_python
from flexdp.statistics.set_errors import listed_errors, support_errors

__all__ = ["Count", "CountAbove", "Distinct", "MaxAtLeast", "Mode", "Support", "Top"]


class Mode(Attainable[Any]):
    """The key with the most records; the smallest of several.

    Δ_f is unbounded for every β > 0. F_α contains the keys that become the mode when at most ⌊αn⌋ records at other keys
    are left out.

    Examples
    --------
    >>> h = Histogram.from_counts({"a": 50, "b": 49, "c": 1})
    >>> Mode()(h), Mode().sensitivity(2.5), Mode().attainable(h, alpha="0.02").tolist()
    ('a', inf, ['a', 'b'])
    """

    name: ClassVar[str] = "mode"
    ordered: ClassVar[bool] = False
    delta: ClassVar[Delta] = Delta.JUMP

    def _value(self, histogram: Histogram) -> Any:
        nonempty(self, histogram)
        tallest = histogram.keys[int(np.argmax(histogram.counts))]
        return tuple(tallest.tolist()) if histogram.keys.ndim == 2 else to_python(tallest)

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_mode(histogram, allowed)


class MaxAtLeast(Attainable[Any]):
    """The largest key with at least ``count`` records; None if there is none.

    A histogram and its double are at distance 0 in the paper's metric, but more keys of the double qualify: Δ_f is
    unbounded already at β = 0, and between histograms of equal size for every β > 0. F_α contains the keys that become
    the answer when at most ⌊αn⌋ records are left out. If all keys can fall below ``count``, None is attainable too: the
    array then holds Python objects, None last.

    Parameters
    ----------
    count
        Fewest records of a key that qualifies.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> MaxAtLeast(5)(h), MaxAtLeast(5).attainable(h, alpha="0.05").tolist()
    (20, [10, 20])
    """

    count: Taken[Number, int] = param(whole())
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.NONE

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""
        return f"largest value shared by at least {self.count} records"

    def _value(self, histogram: Histogram) -> Any:
        tall = np.flatnonzero(histogram.counts >= self.count)
        return to_python(histogram.keys[tall[-1]]) if len(tall) else None

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_tall(histogram, self.count, allowed)


class Support(Attainable[tuple[Any, ...]]):
    """All keys that occur, as a tuple in ascending order.

    The distance between two supports is Hausdorff's, and Δ_f(β) = β. F_α contains all supports that remain when at most
    ⌊αn⌋ records are left out, as tuples; beyond 100 000 of them it is refused.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> Support()(h), Support().attainable(h, alpha="0.01").tolist()
    ((10, 20, 70), [(10, 20), (10, 20, 70)])
    """

    name: ClassVar[str] = "support"
    ordered: ClassVar[bool] = False
    delta: ClassVar[Delta] = Delta.BETA

    def _value(self, histogram: Histogram) -> tuple[Any, ...]:
        return tuple(key for key, _ in histogram.items())

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return supports(histogram, allowed)

    def flexible_error(
        self, histogram: Histogram, outputs: Sequence[Iterable[Any] | None], alpha: Number
    ) -> NDArray[np.float64]:
        """Return the Hausdorff distance of each reported set from the nearest attainable support.

        No support is enumerated. Dates are compared in days, points by their Euclidean distance; keys without a
        distance (texts) are equal or infinitely far apart.

        Parameters
        ----------
        histogram
            The records.
        outputs
            The set that each run reported; None or an empty set is infinitely far from every support.
        alpha
            Largest fraction of the records to leave out, taken exactly.

        Returns
        -------
        numpy.ndarray
            One distance per run.

        Raises
        ------
        InputError
            If the histogram is empty, or ``outputs`` is not a list of sets.

        Examples
        --------
        >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
        >>> Support().flexible_error(h, [{10, 20}, {10, 25, 70}, None], alpha="0.01").tolist()
        [0.0, 5.0, inf]
        """
        allowed = budget(histogram, alpha)
        runs = elements(outputs)
        if runs is None:
            raise InputError("outputs", "must be a list with the set that each run reported", given=safe_repr(outputs))
        return support_errors(histogram, runs, allowed)


class Top(BuiltIn[tuple[tuple[Any, int], ...]]):
    """The ``count`` most frequent keys as pairs (key, records), most frequent first; ties by smaller key.

    The numbers of records grow with the size, which the paper's metric ignores: Δ_f is unbounded already at β = 0, and
    between histograms of equal size for every β > 0.

    Parameters
    ----------
    count
        Number of keys.

    Examples
    --------
    >>> Top(2)(Histogram.from_counts({"a": 5, "b": 50, "c": 10}))
    (('b', 50), ('c', 10))
    """

    count: Taken[Number, int] = param(whole())
    ordered: ClassVar[bool] = False
    delta: ClassVar[Delta] = Delta.NONE

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""
        return (
            "most frequent value with its count"
            if self.count == 1
            else f"list of the {self.count} most frequent values"
        )

    def _value(self, histogram: Histogram) -> tuple[tuple[Any, int], ...]:
        order = np.argsort(-histogram.counts, kind="stable")[: self.count]
        keys = histogram.keys[order].tolist()
        points = [tuple(key) for key in keys] if histogram.keys.ndim == 2 else keys
        return tuple(zip(points, histogram.counts[order].tolist(), strict=True))

    def flexible_error(self, histogram: Histogram, outputs: Sequence[Any], alpha: Number) -> NDArray[np.float64]:
        """Return 0 for each list that is the exact one after leaving out at most ⌊αn⌋ records, and infinity for others.

        Parameters
        ----------
        histogram
            The records.
        outputs
            The list of pairs that each run reported; None is none.
        alpha
            Largest fraction of the records to leave out, taken exactly.

        Returns
        -------
        numpy.ndarray
            One distance per run.

        Raises
        ------
        InputError
            If the histogram is empty, or ``outputs`` is not a list.

        Examples
        --------
        >>> h = Histogram.from_counts({"a": 5, "b": 50, "c": 10})
        >>> Top(1).flexible_error(h, [(("b", 50),), (("b", 49),), (("c", 10),)], alpha="0.1").tolist()
        [0.0, 0.0, inf]
        """
        allowed = budget(histogram, alpha)
        runs = elements(outputs)
        if runs is None:
            raise InputError(
                "outputs", "must be a list with the pairs that each run reported", given=safe_repr(outputs)
            )
        return listed_errors(histogram, runs, self.count, allowed)


class Distinct(Attainable[int]):
    """The number of distinct values.

    The smallest movement can separate any number of equal records, so Δ_f is unbounded for every β > 0. F_α contains
    every number from the fewest keys that can remain to all of them.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> Distinct()(h), Distinct().attainable(h, alpha="0.1").tolist()
    (3, [1, 2, 3])
    """

    name: ClassVar[str] = "number of distinct values"
    ordered: ClassVar[bool] = False
    delta: ClassVar[Delta] = Delta.JUMP

    def _value(self, histogram: Histogram) -> int:
        return len(histogram)

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return at_most_distinct(histogram, allowed)


class Count(Attainable[int]):
    """The number of records.

    The paper's metric ignores sizes, so Δ_f is unbounded already at β = 0; between histograms of equal size it is 0.
    F_α contains every number from n − ⌊αn⌋ to n.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> Count()(h), Count().attainable(h, alpha="0.02").tolist()
    (100, [98, 99, 100])
    """

    name: ClassVar[str] = "number of records"
    ordered: ClassVar[bool] = False
    delta: ClassVar[Delta] = Delta.NONE
    equal_size_delta: ClassVar[Delta | None] = Delta.ZERO

    def _value(self, histogram: Histogram) -> int:
        return histogram.size

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        return between(histogram.size - allowed, histogram.size)


def _threshold(name: str, given: Any) -> Any:
    if isinstance(given, dt.datetime):
        raise InputError(name, "must be a number or a date", given=safe_repr(given))
    if isinstance(given, dt.date):
        return given
    number, value = exact(name, given), plain_scalar(given)
    return value if isinstance(value, int | float | Fraction) else number


class CountAbove(Attainable[int]):
    """The number of records strictly above a threshold.

    All records can lie next to the threshold and step over it, and doubling a histogram doubles the value: Δ_f is
    unbounded, at β = 0 too. F_α contains the value minus at most ⌊αn⌋, and nothing below zero.

    Parameters
    ----------
    threshold
        A number or a date, compared with the keys exactly.

    Examples
    --------
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> CountAbove(15)(h), CountAbove(15).attainable(h, alpha="0.02").tolist()
    (10, [8, 9, 10])
    """

    threshold: Taken[Number | dt.date, Any] = param(_threshold)
    ordered: ClassVar[bool] = True
    delta: ClassVar[Delta] = Delta.NONE

    @property
    def name(self) -> str:
        """Name of the statistic in a sentence."""
        return f"number of records above {safe_repr(self.threshold)}"

    def _value(self, histogram: Histogram) -> int:
        if not len(histogram):
            return 0
        try:
            place = bisect_right(histogram.keys, self.threshold)
        except TypeError:
            raise InputError("threshold", "must be of the same kind as the keys: a number or a date") from None
        return histogram.size - (int(running(histogram)[place - 1]) if place else 0)

    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable:
        above = self(histogram)
        return between(max(0, above - allowed), above)
