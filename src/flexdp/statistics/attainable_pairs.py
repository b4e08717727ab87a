"""Attainable sets of statistics that depend on two records, or on the number of records.

As in :mod:`flexdp.statistics.attainable`, the fewest records whose removal makes the statistic equal to a value are
computed in integers. With b records below key i, e at it and a above, and a pair of keys i < j:

- k-th largest: i needs fewer than k records above it, and k with its own: max(0, a − k + 1), if a + e ≥ k.
- midpoint median: i alone, |b − a| < e: max(0, |b − a| − e + 1); the pair, once all between are gone and as many lie up
  to i as from j on: (between) + |up to i − from j on|.
- the others, for each number n′ of records that remain: i is the r-th smallest if at most r − 1 are kept below it, at
  most n′ − r above it, and n′ in all can be kept so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.histogram import Histogram
from flexdp.statistics.attainable import Reachable, refuse_beyond
from flexdp.statistics.base import running

__all__ = ["at_interpolated", "at_kth_largest", "at_midpoint", "at_quartiles"]


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
