"""Asked answers as limits of what buckets estimate: a quantile lies between those of the levels around it.

All of them are published, so this is post-processing; what is guaranteed is not touched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flexdp._release.interpolation import Profile, on_line
from flexdp._release.ranges import bucket_ends
from flexdp.buckets.ends import is_open
from flexdp.buckets.exact import Exact
from flexdp.statistics import to_python

__all__ = ["NO_LIMITS", "Limits", "between"]


@dataclass(frozen=True)
class Limits:
    """Asked quantiles of a release, or of one of its groups.

    Parameters
    ----------
    answers
        Levels with their answers, ascending.

    Examples
    --------
    >>> limits = Limits(((Fraction(0), 3), (Fraction(1, 2), 40), (Fraction(1), 99)))
    >>> limits.around(Fraction(99, 100)), limits.within(Fraction(99, 100), 107), limits.ends
    ((40, 99), 99, (3, 99))
    """

    answers: tuple[tuple[Fraction, Any], ...] = ()

    def around(self, level: Fraction) -> tuple[Any, Any]:
        """Return the answers at the nearest levels below and above; None where there is none."""
        low = [answer for at, answer in self.answers if at <= level]
        high = [answer for at, answer in self.answers if at >= level]
        return low[-1] if low else None, high[0] if high else None

    def within(self, level: Fraction, value: Any) -> Any:
        """Return a value, or the nearer of the answers around its level if it lies outside them."""
        return between(value, *self.around(level))

    def quantile(self, profile: Profile, level: Fraction, interval: tuple[Any, Any] | None) -> tuple[Any, Any]:
        """Return the estimate of a quantile, between asked answers as far as what is certain allows.

        Parameters
        ----------
        profile
            The released counts.
        level
            The level.
        interval
            Ends between which the quantile lies for certain; without them the estimate stays in its bucket.

        Returns
        -------
        tuple
            A value, and None; if it lies in an open bucket, which no asked answer closes, the edge and the bucket. The
            value is None in a bucket that holds everything.
        """
        found, partition = profile.quantile(level), profile.partition
        index = to_python(profile.index[found.place])
        low, high = bucket_ends(partition, index)
        below, above = (
            is_open(partition, index, above=side) and end is None
            for side, end in zip((False, True), self.around(level), strict=True)
        )
        if below and above:
            return None, index
        if below or above:
            edge = low if above else high
            moved = edge if interval is None else between(edge, *interval)
            if moved == edge:
                return edge, index
            return moved, None
        if isinstance(partition, Exact):  # a value that occurs
            return found.value, None
        return between(self.within(level, found.value), *((low, high) if interval is None else interval)), None

    @property
    def ends(self) -> tuple[Any, Any]:
        """The smallest and the largest value; None where they were not asked for."""
        found = dict(self.answers)
        return found.get(Fraction(0)), found.get(Fraction(1))


def between(value: Any, low: Any, high: Any) -> Any:
    """Return a value, or the nearer of two ends if it lies beyond; an end that is None or infinite limits nothing.

    >>> between(107, 3, 99), between(5, None, math.inf), between(2.5, 3.0, None)
    (99, 5, 3.0)
    """
    if value is None:
        return None
    for end, side in ((low, 1), (high, -1)):
        unbounded = end is None or (isinstance(end, float) and math.isinf(end))
        if not unbounded and side * on_line(value) < side * on_line(end):
            value = end
    return value


NO_LIMITS = Limits()
