"""Attainable sets: all values of a statistic after leaving out at most a fraction α of the records.

    F_α(x) = {f(x′) : x′ ≤ x, |x| − |x′| ≤ ⌊α|x|⌋, x′ ≠ ∅}

The distance of an answer from this set is its flexible error (paper, Def. alpha-beta-gamma-accuracy). Each function
computes, for all keys at once, the fewest records whose removal makes the statistic equal to that key, and keeps the
keys within budget. Budgets and costs are integers, so rounding never decides membership.

Of statistics of two records, or of the number of records, with b records below key i, e at it and a above, and i < j:

- k-th largest: i needs fewer than k records above it, and k with its own: max(0, a − k + 1), if a + e ≥ k.
- midpoint median: i alone, |b − a| < e: max(0, |b − a| − e + 1); the pair, once all between are gone and as many lie up
  to i as from j on: (between) + |up to i − from j on|.
- the others, for each number n′ of records that remain: i is the r-th smallest if at most r − 1 are kept below it, at
  most n′ − r above it, and n′ in all can be kept so.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
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
    "at_interpolated",
    "at_kth_largest",
    "at_midpoint",
    "at_mode",
    "at_most_distinct",
    "at_quantile",
    "at_quartiles",
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


def at_kth_largest(histogram: Histogram, rank: int, allowed: int) -> Reachable:
    """Return the keys that can become the ``rank``-th largest record; last, None if fewer can remain."""
    up_to = running(histogram)
    above = up_to[-1] - up_to
    cost = np.maximum(0, above - rank + 1)
    wanted = ((above + histogram.counts >= rank) & (cost <= allowed)).astype(bool)
    keys, drops = histogram.keys[wanted], cost[wanted]
    gone = max(0, histogram.size - rank + 1)
    if gone > allowed:
        return Reachable(keys, drops)
    out = np.empty(len(keys) + 1, dtype=object)
    out[:-1] = keys.tolist()
    return Reachable(out, np.append(drops, gone))


def at_midpoint(histogram: Histogram, keys: NDArray[Any], allowed: int) -> Reachable:
    """Return the midpoints of the two middle records that can remain."""
    up_to = running(histogram)
    below, above = up_to - histogram.counts, up_to[-1] - up_to
    alone = np.maximum(0, np.abs(below - above) - histogram.counts + 1)
    wanted = (alone <= allowed).astype(bool)
    values, drops = [keys[wanted]], [alone[wanted]]
    for i, last in _partners(up_to, allowed):
        j = np.arange(i + 1, last)
        cost = (below[j] - up_to[i]) + np.abs(up_to[i] - (up_to[-1] - below[j]))
        near = j[(cost <= allowed).astype(bool)]
        values.append(keys[i] + (keys[near] - keys[i]) / 2)
        drops.append(cost[(cost <= allowed).astype(bool)])
    return _cheapest(np.concatenate(values), np.concatenate(drops))


def at_quartiles(histogram: Histogram, allowed: int) -> Reachable:
    """Return the differences of a third and a first quartile that can occur together."""
    keys, up_to, size = histogram.keys, running(histogram), histogram.size
    below, above = up_to - histogram.counts, up_to[-1] - up_to
    refuse_beyond((allowed + 1) * len(keys) ** 2)
    values, drops = [], []
    for lost in range(allowed + 1):
        left = size - lost
        first, third = max(1, -(-left // 4)), max(1, -(-3 * left // 4))
        low = np.minimum(below, first - 1) + histogram.counts  # most that can be kept up to the first quartile
        high = np.minimum(above, left - third) + histogram.counts  # and from the third on
        starts = np.flatnonzero((low >= first).astype(bool))
        ends = np.flatnonzero((high >= left - third + 1).astype(bool))
        alone = np.minimum(below, first - 1) + histogram.counts + np.minimum(above, left - third) >= left
        if alone.any():
            values.append(keys[:1] - keys[:1])
            drops.append(np.array([lost], dtype=object))
        if third > first:
            i, j = np.meshgrid(starts, ends, indexing="ij")
            fits = (i < j) & (low[i] + (below[j] - up_to[i]) + high[j] >= left).astype(bool)
            found = np.unique(keys[j[fits]] - keys[i[fits]])
            values.append(found)
            drops.append(np.full(len(found), lost, dtype=object))
    return _cheapest(np.concatenate(values), np.concatenate(drops))


def at_interpolated(histogram: Histogram, keys: NDArray[Any], level: Fraction, allowed: int) -> Reachable:
    """Return the interpolated quantiles that can occur: for each number of records that remain, all pairs around it."""
    up_to, size, counts = running(histogram), histogram.size, histogram.counts
    below, above = up_to - counts, up_to[-1] - up_to
    refuse_beyond((allowed + 1) * len(keys))
    pairs = list(_partners(up_to, allowed))
    values, drops = [], []
    for lost in range(allowed + 1):
        left = size - lost
        position = (left - 1) * level
        start = math.floor(position)
        part = float(position - start)
        rest = left - start - (2 if part else 1)  # records above both
        alone = np.minimum(below, start) + counts + np.minimum(above, rest) >= left
        alone &= counts >= 1 + bool(part)
        found = [keys[alone.astype(bool)].astype(np.float64)]
        for i, last in pairs if part else ():
            j = np.arange(i + 1, last)
            enough = (up_to[i] >= start + 1) & (up_to[-1] - below[j] >= left - start - 1)
            near = j[np.asarray(enough).astype(bool)]
            found.append((keys[i] + (keys[near] - keys[i]) * part).astype(np.float64))
        every = np.unique(np.concatenate(found))
        values.append(every)
        drops.append(np.full(len(every), lost, dtype=object))
    return _cheapest(np.concatenate(values), np.concatenate(drops))


def _partners(up_to: NDArray[Any], allowed: int) -> Iterator[tuple[int, int]]:
    """Yield each key with the end of the range of later keys to which no more records lie between than are allowed."""
    ends = np.searchsorted(up_to, up_to + allowed, side="right") + 1  # the first key with too many before it, and on
    yield from enumerate(np.minimum(ends, len(up_to)).tolist())


def _cheapest(values: NDArray[Any], drops: NDArray[Any]) -> Reachable:
    found, which = np.unique(values, return_inverse=True)
    least = np.full(len(found), drops.max(initial=0), dtype=object)
    np.minimum.at(least, which.reshape(-1), drops.astype(object))
    return Reachable(found, least)
