"""Stability of answers: exact distances to instability and smooth sensitivities of max, max_k and mode.

A histogram is an array of counts x(0), …, x(B−1). Neighbours differ by one record, and the distance d between two
histograms is the number of records in which they differ. The answers are

- max_k: the largest i with x(i) ≥ k, or 0 if there is none; max is max_1;
- mode: the smallest i at which x is largest, hence 0 for the empty histogram.

``level`` is k, or None for the mode. ``ties`` applies to the mode only:

- "largest" is the mirror image: the largest i at which x is largest, hence B − 1 for the empty histogram;
- "random" is one of the i at which x is largest, drawn uniformly. Then *any* possible answers count: f(y) and f(z) are
  at least g apart if some i possible for y and some j possible for z are, where z may be y.

Both mechanisms that need stability use the *cost of a jump*,

    c(g) = min{d(x, y) : some neighbour z of y has |f(y) − f(z)| ≥ g}.

The distance to instability, min{d(x, y) : LS(y) > 0}, is c(1), for which there are shorter formulas. The smooth
sensitivity max_y LS(y)·e^{−β·d(x, y)} is max_g g·e^{−β·c(g)}. The costs do not depend on β.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flexdp.baselines.base import Ties

__all__ = ["answer", "answers", "distance_to_instability", "jump_costs", "smooth_sensitivity"]

_COMPETITORS = 5  # the two buckets of a jump and three others: see _mode_costs


def answer(counts: NDArray[np.int64], level: int | None) -> int:
    """Return f(x): max_k at ``level`` k, or the mode."""
    if level is None:
        return int(np.argmax(counts))
    tall = np.flatnonzero(counts >= level)
    return int(tall[-1]) if len(tall) else 0


def answers(counts: NDArray[np.int64], level: int | None, ties: Ties) -> NDArray[np.intp]:
    """Return the possible answers, equally likely; several only with random ties."""
    if level is not None or ties == "smallest":
        return np.array([answer(counts, level)])
    tallest = np.flatnonzero(counts == counts.max())
    return tallest[-1:] if ties == "largest" else tallest


def distance_to_instability(counts: NDArray[np.int64], level: int | None, ties: Ties = "smallest") -> float:
    """Return the fewest records to add or remove until one more could change the answer; infinite for one bucket.

    **max_k**, with answer v. The nearest unstable histogram still has the answer v, since any path to another answer
    passes through an unstable one. It is unstable if a bucket above v holds k − 1 records, or if v > 0 holds exactly k:

        d = min( min_{j > v} k − 1 − x(j),  x(v) − k if v > 0 ).

    **mode**, with answer m. Bucket j takes over after g_j = x(m) − x(j) + [j > m] records (ties go to the left). Each
    record changes g_j by at most one, and g_j = 1 is unstable: d = min_{j ≠ m} g_j − 1. With random ties a lead of at
    most one record is unstable: d = max(0, x(m) − max_{j ≠ m} x(j) − 1).
    """
    if len(counts) == 1:
        return math.inf
    if level is None and ties == "largest":
        return distance_to_instability(counts[::-1], None)
    if level is None and ties == "random":
        second, first = np.partition(counts, -2)[-2:]
        return float(max(0, first - second - 1))
    at = answer(counts, level)
    if level is None:
        behind = counts[at] - counts + (np.arange(len(counts)) > at)
        return float(np.delete(behind, at).min() - 1)
    fall = float(counts[at] - level) if at > 0 else math.inf
    rise = float(level - 1 - counts[at + 1 :].max()) if at + 1 < len(counts) else math.inf
    return min(rise, fall)


def smooth_sensitivity(counts: NDArray[np.int64], level: int | None, beta: float, ties: Ties = "smallest") -> float:
    """Return the exact maximum of LS(y)·e^{−β·d(x, y)} over all histograms y on the same buckets."""
    costs = jump_costs(counts, level, ties)
    return float(np.max(np.arange(len(costs)) * np.exp(-beta * costs)))


def jump_costs(counts: NDArray[np.int64], level: int | None, ties: Ties = "smallest") -> NDArray[np.float64]:
    """Return c(g) for g = 0, …, B − 1: the fewest changes after which one record can move the answer by at least g."""
    mirrored = level is None and ties == "largest"
    row = np.ascontiguousarray(counts[::-1] if mirrored else counts, dtype=np.int64)
    return _jump_costs(row.tobytes(), level, level is None and ties == "random")


@lru_cache(maxsize=32)  # an experiment reuses each data set for every ε
def _jump_costs(raw: bytes, level: int | None, drawn: bool) -> NDArray[np.float64]:
    counts = np.frombuffer(raw, dtype=np.int64).astype(np.float64)  # exact: totals are below 2^53
    costs = np.full(len(counts), math.inf)
    costs[0] = 0.0
    if level is None:
        (_drawn_mode_costs if drawn else _mode_costs)(counts, costs)
    else:
        _tall_costs(counts, level, costs)
    at_least = np.minimum.accumulate(costs[::-1])[::-1]
    at_least.flags.writeable = False
    return at_least


def _tall_costs(x: NDArray[np.float64], k: int, costs: NDArray[np.float64]) -> None:
    """Cost the jumps of max_k between a < b, where one record decides whether bucket b holds k.

    Bucket b is brought to k or k − 1, whichever is nearer; every other bucket above a is cut to k − 1; and a is raised
    to k, unless a = 0, which is the default answer. Buckets do not interact, so the cost is a sum lower(a) + upper(b),
    where upper refunds what lower spent on cutting bucket b.
    """
    cut = np.maximum(0, x - k + 1)
    lower = _after(cut) + np.maximum(0, k - x)
    lower[0] = cut[1:].sum()
    upper = np.where(x >= k, -1.0, k - 1 - x)
    _spread(lower, upper, costs)


def _mode_costs(x: NDArray[np.float64], costs: NDArray[np.float64]) -> None:
    """Cost the jumps of the mode between p < q, by the height s at which they meet.

    The mode passes from p to q when q's lead grows from 0 to 1. The pairs (y(p), y(q)) next to that border, and the
    constraints on every other bucket j in both neighbours, are

    - (s, s) or (s, s + 1), with (s, s) among the two neighbours: y(j) ≤ s − 1 left of p and ≤ s right of it;
    - (s, s + 1) beside (s + 1, s + 1): y(j) ≤ s left of q and ≤ s + 1 right of it.

    For a given s the cost is again a sum of a term in p and a term in q. As a function of s it is convex, with kinks at
    the heights of buckets (shifted by at most one), and decreasing below the third tallest bucket other than p and q.
    So only kinks near the five tallest buckets, and the smallest s, can be optimal.
    """
    for s in _meeting_heights(x):
        over = np.maximum(0, x - s)
        lower = _before(np.maximum(0, x - s + 1)) + _after(over) + np.abs(x - s)
        if s == 0:
            lower[1:] = math.inf  # buckets left of p would need a negative count
        _spread(lower, np.minimum(np.maximum(0, s - x), np.abs(x - s - 1) - over), costs)
        upper = _before(over) + _after(np.maximum(0, x - s - 1)) + np.abs(x - s - 1)
        _spread(np.maximum(0, s - x), upper, costs)


def _drawn_mode_costs(x: NDArray[np.float64], costs: NDArray[np.float64]) -> None:
    """Cost the jumps of a mode with random ties, between p and q, by the height s of the taller.

    Both are possible answers, for y or one of its neighbours, if (y(p), y(q)) is (s, s), (s, s − 1) or (s − 1, s) and
    all other buckets hold at most s. The cost is convex in s as above, with the same kinks.
    """
    for s in _meeting_heights(x):
        over = np.maximum(0, x - s)
        at = np.abs(x - s) - over
        below = np.abs(x - s + 1) - over if s > 0 else at
        for one, other in ((at, at), (at, below), (below, at)):
            _spread(one + over.sum(), other, costs)


def _meeting_heights(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the kinks near the five tallest buckets, and the smallest heights."""
    smallest = np.sort(x)[-_COMPETITORS] if len(x) >= _COMPETITORS else 0.0
    near = x[x >= smallest - 2]
    heights = np.unique(np.concatenate((near - 1, near, near + 1, [0.0, 1.0])))
    return heights[heights >= 0]


def _spread(lower: NDArray[np.float64], upper: NDArray[np.float64], costs: NDArray[np.float64]) -> None:
    """Lower ``costs[b − a]`` to lower(a) + upper(b) for a < b, skipping pairs dominated by a longer jump."""
    cheaper_left = np.concatenate(([math.inf], np.minimum.accumulate(lower)[:-1]))
    cheaper_right = np.concatenate((np.minimum.accumulate(upper[::-1])[::-1][1:], [math.inf]))
    a, b = np.flatnonzero(lower < cheaper_left), np.flatnonzero(upper < cheaper_right)
    lengths = b[None, :] - a[:, None]
    sums = lower[a][:, None] + upper[b][None, :]
    np.minimum.at(costs, lengths[lengths > 0], sums[lengths > 0])


def _before(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of all values left of each place."""
    return np.concatenate(([0.0], np.cumsum(values)[:-1]))


def _after(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of all values right of each place."""
    return _before(values[::-1])[::-1]
