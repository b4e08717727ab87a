"""Attainable sets: all values of a statistic after leaving out at most a fraction α of the records.

    F_α(x) = {f(x′) : x′ ≤ x, |x| − |x′| ≤ ⌊α|x|⌋, x′ ≠ ∅}

The distance of an answer from this set is its flexible error (paper, Def. alpha-beta-gamma-accuracy). Each function
computes, for all keys at once, the fewest records whose removal makes the statistic equal to that key, and keeps the
keys within budget. Budgets and costs are integers, so rounding never decides membership.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA
from flexdp._core.exact import Number
from flexdp.errors import InputError, P
from flexdp.histogram import LARGEST_COUNT, Histogram
from flexdp.statistics.base import BuiltIn, histogram_given, nonempty, running, summable

__all__ = [
    "LARGEST_SET",
    "Attainable",
    "Reachable",
    "at_mode",
    "at_most_distinct",
    "at_quantile",
    "at_range",
    "at_tall",
    "between",
    "budget",
    "earlier_not_smaller",
    "reachable",
    "refuse_beyond",
    "supports",
]

LARGEST_SET = 10**7  # most elements of an attainable set

_Value = TypeVar("_Value", covariant=True)


class Reachable(NamedTuple):
    """Values that a statistic can take, ascending, and the fewest records to leave out for each."""

    values: NDArray[Any]
    drops: NDArray[Any]


class Attainable(BuiltIn[_Value]):
    """A built-in statistic with a formula for its attainable set."""

    def attainable(self, histogram: Histogram, alpha: Number) -> NDArray[Any]:
        """Return F_α, all values of the statistic after leaving out at most ⌊αn⌋ of the n records.

        Parameters
        ----------
        histogram
            The records.
        alpha
            Largest fraction of the records to leave out, taken exactly.

        Returns
        -------
        numpy.ndarray
            The values in ascending order.

        Raises
        ------
        InputError
            If the histogram is empty, its keys have no order that the statistic needs, or the set is too large to write
            out.
        """
        return reachable(self, histogram, budget(histogram, alpha)).values

    @abstractmethod
    def _reachable(self, histogram: Histogram, allowed: int) -> Reachable: ...


def reachable(statistic: Attainable[Any], histogram: Histogram, allowed: int) -> Reachable:
    """Return the attainable values with the fewest records to leave out for each, of at most ``allowed``."""
    nonempty(statistic, histogram)  # type: ignore[arg-type]  # every statistic has a name and knows of its order
    return statistic._reachable(histogram, allowed)


def budget(histogram: Histogram, alpha: Number) -> int:
    """Return the number of records that may be left out: ⌊αn⌋, and never all of them."""
    if not len(histogram_given(histogram)):
        rule = ": the attainable set of an empty histogram is undefined"
        raise InputError("histogram", rule, remedy="Test len(histogram) first.")
    size = histogram.size
    return min(math.floor(ALPHA.check(alpha) * size), size - 1)


def at_quantile(histogram: Histogram, level: Fraction, allowed: int) -> Reachable:
    """Return the keys that can become the quantile.

    With b records below a key, e at it and c above, the key is the quantile at level p = s/t if and only if

        b = 0 or (t−s)·b < s·(e + c),    and    (t−s)·(b + e) ≥ s·c.

    Leaving out records below helps only the first condition, records above only the second. Where the first fails, the
    second holds, and still holds when the first becomes true (and vice versa): so the fewest records come from one
    side.
    """
    s, t = level.numerator, level.denominator
    up_to = running(histogram)
    if histogram.size > LARGEST_COUNT // (2 * t):
        up_to = up_to.astype(object)
    here = histogram.counts.astype(up_to.dtype)
    below, above = up_to - here, up_to[-1] - up_to
    kept_below = below if s == t else np.minimum(below, np.maximum(0, -(-(s * (here + above)) // (t - s)) - 1))
    kept_above = above if s == 0 else np.minimum(above, (t - s) * (below + here) // s)
    cost = (below - kept_below) + (above - kept_above)
    return _affordable(histogram, cost, cost <= allowed)


def at_range(histogram: Histogram, allowed: int) -> Reachable:
    """Return all differences of a largest and a smallest key that can occur together."""
    keys, up_to = histogram.keys, running(histogram)
    below, above = up_to - histogram.counts, up_to[-1] - up_to
    lows = np.flatnonzero((below <= allowed).astype(bool))
    affordable = np.searchsorted(above[::-1], allowed - below[lows], side="right")
    highs = np.maximum(len(keys) - affordable, lows)
    refuse_beyond(int((len(keys) - highs).sum()))
    if keys.dtype.kind == "b":
        keys = keys.astype(np.int64)
    elif keys.dtype.kind == "i" and int(keys[-1]) - int(keys[0]) > LARGEST_COUNT:
        keys = keys.astype(object)
    places = list(zip(lows, highs, strict=True))
    values, which = np.unique(np.concatenate([keys[high:] - keys[low] for low, high in places]), return_inverse=True)
    drops = np.full(len(values), allowed, dtype=above.dtype)
    np.minimum.at(drops, which, np.concatenate([below[low] + above[high:] for low, high in places]))
    return Reachable(values, drops)


def at_mode(histogram: Histogram, allowed: int) -> Reachable:
    """Return the keys i with Σ_{j≠i} max(0, x(j) − x(i) + [j<i]) ≤ budget: cut taller keys, and equal earlier ones."""
    counts = summable(histogram)
    ascending = np.sort(counts)
    from_top = np.concatenate((np.cumsum(ascending[::-1])[::-1], [0]))
    taller = np.searchsorted(ascending, counts, side="right")
    cost = from_top[taller] - (len(counts) - taller) * counts + earlier_not_smaller(counts)
    return _affordable(histogram, cost, cost <= allowed)


def earlier_not_smaller(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Count for each place the earlier ones with at least its count: merge counting, all blocks of a level at once."""
    ranks = np.unique(counts, return_inverse=True)[1].astype(np.int64)
    places = np.arange(len(ranks))
    span = int(ranks.max()) + 1
    found = np.zeros(len(ranks), dtype=np.int64)
    width = 1
    while width < len(ranks):
        keyed = places // (2 * width) * span + ranks
        right = places // width % 2 == 1
        left = np.sort(keyed[~right])
        block_end = np.searchsorted(left, (places[right] // (2 * width) + 1) * span, side="left")
        found[right] += block_end - np.searchsorted(left, keyed[right], side="left")
        width *= 2
    return found


def at_tall(histogram: Histogram, height: int, allowed: int) -> Reachable:
    """Return the keys i with x(i) ≥ k and Σ_{j>i} max(0, x(j) − k + 1) ≤ budget; last, None if all can fall below k."""
    counts = summable(histogram)
    excess = np.maximum(0, counts - (height - 1))
    beyond = np.cumsum(excess[::-1])[::-1]  # at the key or above it
    found = _affordable(histogram, beyond - excess, (counts >= height) & (beyond - excess <= allowed))
    if beyond[0] > allowed:  # a height of 1 ends here: the budget never covers all records
        return found
    out = np.empty(len(found.values) + 1, dtype=object)
    out[:-1] = found.values.tolist()
    return Reachable(out, np.append(found.drops, beyond[0]))


def at_most_distinct(histogram: Histogram, allowed: int) -> Reachable:
    """Return the numbers of distinct keys that can remain: the rarest go first."""
    spent = np.cumsum(np.sort(summable(histogram)))
    removable = int(np.searchsorted(spent, allowed, side="right"))
    costs = np.concatenate((spent[:removable][::-1], np.zeros(1, dtype=spent.dtype)))
    return Reachable(np.arange(len(histogram) - removable, len(histogram) + 1), costs)


def between(low: int, high: int) -> Reachable:
    """Return all integers from low to high, each of which costs its distance from high."""
    refuse_beyond(high - low + 1)
    whole = np.arange(high - low + 1)
    return Reachable(whole + low if high <= LARGEST_COUNT else whole.astype(object) + low, whole[::-1])


def supports(histogram: Histogram, allowed: int) -> Reachable:
    """Return all supports that can remain, as tuples in ascending order; each removable key doubles their number."""
    kept: list[tuple[tuple[Any, ...], int]] = [((), 0)]
    for key, records in histogram.items():
        without = [(keys, lost + records) for keys, lost in kept if lost + records <= allowed]
        kept = [((*keys, key), lost) for keys, lost in kept] + without
        refuse_beyond(100 * len(kept))  # a tuple is larger than a number
    found = sorted(kept)
    out = np.empty(len(found), dtype=object)
    out[:] = [keys for keys, _ in found]
    return Reachable(out, np.array([lost for _, lost in found], dtype=object))


def _affordable(histogram: Histogram, cost: NDArray[Any], chosen: NDArray[Any]) -> Reachable:
    wanted = chosen.astype(bool)
    return Reachable(histogram.keys[wanted], cost[wanted])


def refuse_beyond(elements: int) -> None:
    """Refuse a set that would be too large to write out."""
    if elements > LARGEST_SET:
        remedy = ("Choose a smaller ", P("alpha"), " or wider buckets.")
        raise InputError("alpha", ": the attainable set is too large to write out", remedy=remedy)
