"""Trials of automatic buckets on a law or a public sample: what is left out, and how far distributions are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import exact_text
from flexdp._release.asking import ends_of, scale_of
from flexdp._release.automatic import AutoBudget, steps_of
from flexdp.buckets.exact import Exact
from flexdp.mechanisms.program import Draw, Program, run
from flexdp.planning.options import percent
from flexdp.planning.trials import Sample, trial_bits
from flexdp.sharp.automatic import Automatic, DroppedBars, choose_buckets
from flexdp.sharp.ranks import Reply, Request
from flexdp.sharp.scale import Scale

__all__ = ["ExpectedBuckets", "distribution_distance", "tried"]

RUNS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedBuckets:
    """Automatic buckets in seeded trials.

    Parameters
    ----------
    source
        Origin of the values: a law or a public sample.
    trials, seed
        Number of trials, and their seed.
    share, most_share
        Share of the records left out, on average and in the worst trial.
    buckets
        Number of released buckets, on average.
    distance, most_distance
        Largest distance of the released distribution function from the exact one, on average and in the worst trial;
        None where no trial had buckets.
    """

    source: str
    trials: int
    seed: int
    share: float | None
    most_share: float | None
    buckets: float | None
    distance: float | None
    most_distance: float | None

    def __str__(self) -> str:
        if self.share is None or self.most_share is None or self.buckets is None:
            return f"In {self.trials} trials on {self.source} there were too few records for buckets."
        told = (
            f"In {self.trials} trials on {self.source}: {percent(self.share)} of the records left out on average "
            f"({percent(self.most_share)} in the worst trial), {round(self.buckets)} buckets released"
        )
        if self.distance is None or self.most_distance is None:
            return f"{told}."
        return (
            f"{told}; the maximum error of the distribution function is {self.distance:.2g} on average "
            f"({self.most_distance:.2g} in the worst trial)."
        )


@lru_cache(maxsize=16)
def tried(sample: Sample, buckets: Exact, budget: AutoBudget, seed: int) -> ExpectedBuckets:
    """Return the result of seeded trials of automatic buckets on a sample."""
    scale = scale_of(buckets.kind)
    column = sample.column
    lost, many, distances = [], [], []
    for trial in range(RUNS):
        bits = trial_bits(seed, "automatic", exact_text(budget.epsilon), trial)
        found = run(_program(budget, buckets, scale), column, bits).value
        if found.bars:
            lost.append(1 - sum(found.bars) / len(sample.values))
            many.append(sum(bar > 0 for bar in found.bars))
            distances.append(distribution_distance(sample.values, found))
    known = [each for each in distances if each is not None]
    return ExpectedBuckets(
        source=sample.source,
        trials=RUNS,
        seed=seed,
        share=float(np.mean(lost)) if lost else None,
        most_share=max(lost, default=None),
        buckets=float(np.mean(many)) if many else None,
        distance=float(np.mean(known)) if known else None,
        most_distance=max(known, default=None),
    )


def _program(budget: AutoBudget, buckets: Exact, scale: Scale) -> Program[Automatic]:
    """Choose buckets, count, and thin, as a release does; of units, each record is taken to be one of another unit."""
    published: Automatic = yield from choose_buckets(
        budget.each,
        budget.delta,
        scale,
        steps=steps_of(buckets.kind, scale),
        ends=ends_of(buckets),
        divide=budget.divided,
        five=False,
    )
    if published.shares is None:
        return published
    reply: Reply = yield Request(cuts=published.edges)
    counts = [after - before for before, after in pairwise([0, *reply.before, reply.total])]
    noise = budget.bars(published.shares.share).bars
    bars = yield Draw(DroppedBars(epsilon=noise.epsilon, delta=noise.delta), counts, "bars", stage="bars")
    return replace(published, bars=bars)


def distribution_distance(values: NDArray[Any], found: Automatic) -> float | None:
    """Return the largest distance of the released distribution function from that of the values.

    Counts get the mean loss back. A bucket is linear inside, of integers over the integers, and a single value is a
    jump; an open end falls off exponentially and continues the density of its neighbour.

    Parameters
    ----------
    values
        All values, ascending.
    found
        Released automatic buckets.

    Returns
    -------
    float or None
        None without edges, or where nothing was released.
    """
    if found.shares is None or not found.edges or not sum(found.bars):
        return None
    added = (found.shares.reach - 1) / 2
    counts = np.array([bar + added if bar else 0.0 for bar in found.bars])
    running = np.concatenate(([0.0], np.cumsum(counts))) / counts.sum()
    scale = found.scale
    edges = np.array([float(scale.value(edge)) for edge in found.edges])
    distinct, firsts = np.unique(values.astype(np.float64), return_index=True)
    below = firsts / len(values)
    upto = np.append(below[1:], 1.0)
    grain = 1.0 if scale.integral else 0.0  # an integer holds the mass up to the next
    place = np.searchsorted(edges, distinct, side="right")
    before = _estimated(distinct, place, edges, running)
    after = _estimated(distinct + grain, place, edges, running)
    jumps = _jumps(found.edges, place)
    after[jumps] = running[place[jumps] + 1]
    return float(max(np.abs(before - below).max(), np.abs(after - upto).max()))


def _jumps(edges: Sequence[int], place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Values that are a bucket of their own."""
    single = np.array([False, *(high - low == 1 for low, high in pairwise(edges)), False])
    return single[place]


def _estimated(
    x: NDArray[np.float64], place: NDArray[np.int64], edges: NDArray[np.float64], running: NDArray[np.float64]
) -> NDArray[np.float64]:
    last = len(edges)
    inner = np.clip(place, 1, max(1, last - 1))
    low, high = edges[inner - 1], edges[np.minimum(inner, last - 1)]
    width = np.where(high > low, high - low, 1.0)
    found = running[inner] + (running[inner + 1] - running[inner]) * np.clip((x - low) / width, 0, 1)
    for end, side in ((0, -1), (last, 1)):
        mass = running[end + 1] - running[end]
        edge = edges[0 if side < 0 else -1]
        span, beside = _neighbour(edges, running, side)
        scale = min(max(mass / beside if beside else math.inf, span / 20), 20 * span) if span else 1.0
        away = np.exp(-np.maximum(side * (x - edge), 0) / scale)
        tail = running[end] + mass * away if side < 0 else running[end] + mass * (1 - away)
        found = np.where(place == end, tail, found)
    return found


def _neighbour(edges: NDArray[np.float64], running: NDArray[np.float64], side: int) -> tuple[float, float]:
    """The width and the density of the bucket beside an open end."""
    if len(edges) < 2:
        return 0.0, 0.0
    span = float(edges[1] - edges[0] if side < 0 else edges[-1] - edges[-2])
    mass = float(running[2] - running[1] if side < 0 else running[-2] - running[-3])
    return span, mass / span if span else 0.0
