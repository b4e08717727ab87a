"""Attainable sets: every value that a statistic can take once at most a fraction α of the records is left out.

    F_α(x) = {f(x′) : x′ ≤ x, |x| − |x′| ≤ ⌊α|x|⌋, x′ ≠ ∅}

The distance of an answer from this set is its flexible error (paper, Def. alpha-beta-gamma-accuracy). Each function
computes, for every key at once, the fewest records that must go before the statistic shows that key, and keeps the
keys that the budget affords. Budgets and costs are integers, so no rounding decides membership.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA
from flexdp._core.exact import Number
from flexdp.errors import InputError
from flexdp.histogram import LARGEST_COUNT, Histogram
from flexdp.statistics.base import histogram_given, running

__all__ = [
    "LARGEST_SET",
    "at_mode",
    "at_most_distinct",
    "at_quantile",
    "at_range",
    "at_tall",
    "between",
    "budget",
    "earlier_not_smaller",
    "supports",
]

LARGEST_SET = 10**7  # elements of an attainable set that are written out


def budget(histogram: Histogram, alpha: Number) -> int:
    """How many records may be left out: ⌊αn⌋, and never all of them."""
    if not len(histogram_given(histogram)):
        raise InputError("the attainable set of an empty histogram is undefined; test len(histogram) first.")
    size = histogram.size
    return min(math.floor(ALPHA.check(alpha) * size), size - 1)


def at_quantile(histogram: Histogram, level: Fraction, allowed: int) -> NDArray[Any]:
    """The keys that can become the quantile.

    With b records below a key, e at it and c above, the key is the quantile at level p = s/t exactly if

        b = 0 or (t−s)·b < s·(e + c),    and    (t−s)·(b + e) ≥ s·c.

    Only leaving out records below helps the first, only above the second, and where the first fails the second holds
    and goes on to hold until the first does (and the other way round): so the fewest records come from one side.
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
    return _affordable(histogram, cost <= allowed)


def at_range(histogram: Histogram, allowed: int) -> NDArray[Any]:
    """All differences of a largest and a smallest key that can be brought about together."""
    keys, up_to = histogram.keys, running(histogram)
    below, above = up_to - histogram.counts, up_to[-1] - up_to
    lows = np.flatnonzero((below <= allowed).astype(bool))
    affordable = np.searchsorted(above[::-1], allowed - below[lows], side="right")
    highs = np.maximum(len(keys) - affordable, lows)
    _refuse_beyond(int((len(keys) - highs).sum()))
    if keys.dtype.kind == "b":
        keys = keys.astype(np.int64)
    elif keys.dtype.kind == "i" and int(keys[-1]) - int(keys[0]) > LARGEST_COUNT:
        keys = keys.astype(object)
    return np.unique(np.concatenate([keys[high:] - keys[low] for low, high in zip(lows, highs, strict=True)]))


def at_mode(histogram: Histogram, allowed: int) -> NDArray[Any]:
    """The keys i with Σ_{j≠i} max(0, x(j) − x(i) + [j<i]) ≤ budget: taller bars are cut, equal ones before it too."""
    counts = histogram.counts if histogram.size <= LARGEST_COUNT else histogram.counts.astype(object)
    ascending = np.sort(counts)
    from_top = np.concatenate((np.cumsum(ascending[::-1])[::-1], [0]))
    taller = np.searchsorted(ascending, counts, side="right")
    cost = from_top[taller] - (len(counts) - taller) * counts + earlier_not_smaller(counts)
    return _affordable(histogram, cost <= allowed)


def earlier_not_smaller(counts: NDArray[Any]) -> NDArray[np.int64]:
    """For each place, how many earlier places hold at least as much: merge counting, all blocks of a level at once."""
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


def at_tall(histogram: Histogram, height: int, allowed: int) -> NDArray[Any]:
    """The keys i with x(i) ≥ k and Σ_{j>i} max(0, x(j) − k + 1) ≤ budget, and None, last, if all can be cut below k."""
    counts = histogram.counts if histogram.size <= LARGEST_COUNT else histogram.counts.astype(object)
    excess = np.maximum(0, counts - (height - 1))
    beyond = np.cumsum(excess[::-1])[::-1]  # at the key or above it
    keys = _affordable(histogram, (counts >= height) & (beyond - excess <= allowed))
    if beyond[0] > allowed:  # cutting all bars below one record would leave nothing, and the budget never affords it
        return keys
    out = np.empty(len(keys) + 1, dtype=object)
    out[:-1] = keys.tolist()
    return out


def at_most_distinct(histogram: Histogram, allowed: int) -> NDArray[np.int64]:
    """The numbers of bars that can remain: the shortest go first."""
    counts = histogram.counts if histogram.size <= LARGEST_COUNT else histogram.counts.astype(object)
    removable = int(np.searchsorted(np.cumsum(np.sort(counts)), allowed, side="right"))
    return np.arange(len(histogram) - removable, len(histogram) + 1)


def between(low: int, high: int) -> NDArray[Any]:
    """All whole numbers from low to high."""
    _refuse_beyond(high - low + 1)
    whole = np.arange(high - low + 1)
    return whole + low if high <= LARGEST_COUNT else whole.astype(object) + low


def supports(histogram: Histogram, allowed: int) -> NDArray[Any]:
    """All supports that can remain, as tuples in ascending order; their number doubles with every bar that can go."""
    kept: list[tuple[tuple[Any, ...], int]] = [((), 0)]
    for key, records in histogram.items():
        without = [(keys, lost + records) for keys, lost in kept if lost + records <= allowed]
        kept = [((*keys, key), lost) for keys, lost in kept] + without
        _refuse_beyond(100 * len(kept))  # a tuple weighs more than a number
    found = sorted(keys for keys, _ in kept)
    out = np.empty(len(found), dtype=object)
    out[:] = found
    return out


def _affordable(histogram: Histogram, chosen: NDArray[Any]) -> NDArray[Any]:
    keys: NDArray[Any] = histogram.keys[chosen.astype(bool)]
    return keys


def _refuse_beyond(elements: int) -> None:
    if elements > LARGEST_SET:
        raise InputError("the attainable set is too large to write out; choose a smaller alpha or wider buckets.")
