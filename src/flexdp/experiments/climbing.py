"""Hill climbing for the histograms on which a mechanism is least accurate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flexdp.baselines import Baseline, exact_errors
from flexdp.baselines.base import Readable
from flexdp.simulation import Generator
from flexdp.statistics import MaxAtLeast

__all__ = ["Place", "Record", "all_histograms", "climb", "start", "step"]

_RESTART = 60  # fruitless evaluations after which a climb restarts
_SPAN = 40.0  # range of log-probabilities below γ that guide a climb


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The setting of one search: a mechanism, a statistic and a number of buckets."""

    mechanism: Baseline
    statistic: Readable
    bars: int
    records: int
    epsilon: Fraction
    delta: Fraction
    alpha: Fraction

    @property
    def landmarks(self) -> NDArray[np.int64]:
        """Heights at which a guarantee is tight: near k, the largest loss of a bucket, and the largest total loss."""
        budget = int(self.alpha * self.records)
        drop = budget // self.bars
        level = self.statistic.count if isinstance(self.statistic, MaxAtLeast) else 1
        marks = (level - 1, level, drop, drop + 1, level + drop - 1, level + drop, budget, budget + 1)
        return np.array([mark for mark in marks if mark <= self.records])

    def tail(self, heights: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact Pr[flexible error > b] for b = 0, …, B − 1."""
        return exact_errors(
            self.mechanism, heights, self.statistic, epsilon=self.epsilon, delta=self.delta, alpha=self.alpha
        ).flexible_tail()


class Record:
    """The worst histogram so far for each γ, and the number of evaluations."""

    def __init__(self, place: Place, gammas: tuple[Fraction, ...]) -> None:
        self.place = place
        self.evaluations = 0
        self.best: dict[Fraction, tuple[int, float, tuple[int, ...]]] = dict.fromkeys(gammas, (-1, 0.0, ()))

    def look(self, heights: NDArray[np.int64]) -> NDArray[np.float64]:
        """Evaluate a histogram and keep it if it is the worst so far."""
        self.evaluations += 1
        tail = self.place.tail(heights)
        for gamma, (*best, _) in self.best.items():
            beta = _beta(tail, gamma)
            chance = float(tail[beta - 1]) if beta else 0.0
            if [beta, chance] > best:
                self.best[gamma] = beta, chance, tuple(heights.tolist())
        return tail


def _beta(tail: NDArray[np.float64], gamma: Fraction) -> int:
    """Return the smallest integer b with Pr[error > b] ≤ γ."""
    return int((tail > float(gamma)).sum())


def _height(tail: NDArray[np.float64], gamma: Fraction) -> float:
    """Return the objective of a climb: β, plus the closeness of the log-probability of each larger error to log γ.

    With γ = 0 there is no such closeness, and among equal errors the more probable one is higher. The value is rounded,
    so that last digits, which differ between machines, do not steer the climb.
    """
    beta, limit = _beta(tail, gamma), float(gamma)
    if limit:
        further = 1 + np.log(np.maximum(tail[beta:], 1e-300) / limit) / _SPAN
        return round(beta + float(np.maximum(0, further).sum()), 6)
    return round(beta + 1 + math.log(tail[beta - 1]) / 750, 6) if beta else 0.0  # positive doubles exceed e^−745


def all_histograms(records: int, bars: int) -> Iterator[NDArray[np.int64]]:
    """Yield every distribution of the records over the buckets (stars and bars)."""
    for dividers in combinations(range(records + bars - 1), bars - 1):
        edges = np.array([-1, *dividers, records + bars - 1])
        yield np.diff(edges) - 1


def climb(record: Record, gamma: Fraction, evaluations: int, rng: Generator) -> None:
    """Take random steps that do not decrease the objective; restart after too many without progress."""
    place, left = record.place, evaluations
    while left > 0:
        here = start(place.records, place.bars, place.landmarks, rng)
        height, in_vain = _height(record.look(here), gamma), 0
        left -= 1
        while left > 0 and in_vain < _RESTART:
            there = step(here, place.landmarks, rng)
            reached = _height(record.look(there), gamma)
            left -= 1
            in_vain = 0 if reached > height else in_vain + 1
            if reached >= height:
                here, height = there, reached


def start(records: int, bars: int, landmarks: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Return a random start: some buckets of equal height (random, a landmark or even), one of them with the rest."""
    some = rng.permutation(bars)[: math.ceil(bars ** rng.random())]
    share = records // len(some)
    heights = (int(share ** rng.random()), min(share, int(rng.choice(landmarks))), share)
    out = np.zeros(bars, dtype=np.int64)
    out[some] = heights[rng.integers(3)]
    out[some[0]] += records - int(out.sum())
    return out


def step(heights: NDArray[np.int64], landmarks: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Return a random neighbour with the same number of records."""
    if len(heights) == 1:
        return heights
    kind = rng.integers(8)
    one, two = rng.permutation(len(heights))[:2]
    out = heights.copy()
    if kind == 0:  # swap two buckets
        out[[one, two]] = out[[two, one]]
    elif kind == 1:  # reverse or sort all buckets
        out = out[::-1] if rng.random() < 0.5 else np.sort(out)[::-1]
    elif kind <= 3:  # move some records from one bucket to another, few or many
        moved = math.ceil(out[one] ** rng.random()) if out[one] else 0
        out[one] -= moved
        out[two] += moved
    elif kind <= 5:  # set a bucket to a landmark, or nearly to the height of another
        wanted = rng.choice(landmarks) if kind == 4 else out[one] + rng.integers(-2, 3)
        _level(out, np.array([two]), int(wanted))
    else:  # level a range of buckets, to the height of one of them or a random one
        chosen = np.arange(min(one, two), max(one, two) + 1)
        share = int(out.sum()) // len(out)
        _level(out, chosen, int(out[one]) if kind == 6 else round(3 * share * rng.random()))
    return out


def _level(heights: NDArray[np.int64], chosen: NDArray[np.intp], wanted: int) -> None:
    """Set the chosen buckets to one non-negative height; the tallest other bucket absorbs the difference."""
    others = np.setdiff1d(np.arange(len(heights)), chosen)
    if not len(others):
        return
    rest = others[np.argmax(heights[others])]
    room = int(heights[chosen].sum() + heights[rest])
    heights[chosen] = min(max(0, wanted), room // len(chosen))
    heights[rest] = room - int(heights[chosen].sum())
