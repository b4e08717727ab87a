"""Mechanisms with planted faults, each beside one that is right; all take a generator, so that tests are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from _support.cuts import chances, near, whole_cut, window_of
from flexdp.mechanisms import Bucketing, Dropping
from flexdp.noise import DropNoise
from flexdp.noise.continuous import truncated_laplace_quantile
from flexdp.noise.exponential import decay
from flexdp.sharp.column import Column
from flexdp.sharp.goal import Goal
from flexdp.sharp.prior import Listed
from flexdp.sharp.ranks import Request

__all__ = ["ZOO", "Fault", "short_window_law", "two_snapshots_law", "window_law"]

Mechanism = Callable[..., Any]
RNG = np.random.Generator
ONE = Fraction(1)


@dataclass(frozen=True)
class Fault:
    """A mechanism that is wrong, one that is right, the data sets that show it, the claim, and the number of runs."""

    wrong: Callable[[RNG], Mechanism]
    right: Callable[[RNG], Mechanism]
    x: Any
    y: Any
    epsilon: float
    delta: float
    trials: int
    right_trials: int | None = None  # fewer, where the right one is slow


def discrete(rng: RNG, epsilon: float, size: Any) -> np.ndarray:
    stop = -math.expm1(-epsilon)
    return rng.geometric(stop, size) - rng.geometric(stop, size)


def counting(epsilon: float) -> Callable[[RNG], Mechanism]:
    return lambda rng: lambda x, size: x + discrete(rng, epsilon, size)


def dropped(rng: RNG, counts: Sequence[int], noise: DropNoise, size: int, *, clipped: bool = True) -> np.ndarray:
    heights = np.array(counts)
    left = heights - rng.choice(noise.q, p=noise.pmf, size=(size, len(heights)))
    return np.where(heights > 0, np.maximum(left, 0) if clipped else left, 0)


def dropping(epsilon: Any, delta: Any, **options: Any) -> Callable[[RNG], Mechanism]:
    return lambda rng: lambda x, size: dropped(rng, x, DropNoise(epsilon, delta), size, **options)


def reach_of_the_data(rng: RNG) -> Mechanism:
    """q = τ|x| with τ = 0.19, ε = 1: the paper's noise, which tells the number of records in every bucket."""

    def run(x: Sequence[int], size: int) -> np.ndarray:
        drops = truncated_laplace_quantile(rng.random((size, len(x))), reach=0.19 * sum(x), epsilon=1.0)
        return np.maximum(0, np.rint(np.array(x) + drops))

    return run


def stability(least: int) -> Callable[[RNG], Mechanism]:
    """Keys that are there, with noise, if they reach a threshold; 0 if not."""

    def made(rng: RNG) -> Mechanism:
        def run(x: Sequence[int], size: int) -> np.ndarray:
            noisy = np.array(x) + discrete(rng, 1.0, (size, len(x)))
            return np.where((np.array(x) > 0) & (noisy >= least), noisy, 0)

        return run

    return made


def clipped_sum(bounds: tuple[float, float] | None) -> Callable[[RNG], Mechanism]:
    def made(rng: RNG) -> Mechanism:
        def run(x: Sequence[float], size: int) -> np.ndarray:
            low, high = bounds or (min(x), max(x))
            most = max(abs(low), abs(high))
            return np.floor(sum(np.clip(x, low, high)) + rng.laplace(scale=most, size=size))

        return run

    return made


def one_draw_for_all(rng: RNG) -> Mechanism:
    """The same seed for every bucket: the noise is the same, and differences are exact."""
    return lambda x, size: np.array(x) + discrete(rng, 1.0, (size, 1))


def a_draw_for_each(rng: RNG) -> Mechanism:
    return lambda x, size: np.array(x) + discrete(rng, 1.0, (size, len(x)))


def seeded_runs(_: RNG) -> Mechanism:
    return lambda x: x + int(discrete(np.random.default_rng(7), 1.0, 1)[0])


def laplace_in_doubles(rng: RNG) -> Mechanism:
    return lambda x, size: x + rng.laplace(size=size)


def laplace_on_a_lattice(rng: RNG) -> Mechanism:
    return lambda x, size: x + discrete(rng, 2.0**-10, size) / 2.0**10


Rows = list[tuple[str, int]]


def unbounded_units(rng: RNG) -> Mechanism:
    """All buckets of a unit count, though the noise is that of one."""

    def run(x: Rows, size: int) -> np.ndarray:
        counts = [sum(value == bucket for _, value in x) for bucket in range(3)]
        return dropped(rng, counts, DropNoise(1, "0.05"), size)

    return run


def bounded_units(_: RNG) -> Mechanism:
    return Bucketing(width=1, bounds=(0, 3), unit="u", max_buckets_per_unit=1) >> Dropping(1, "0.05", unit="u")


# ---------------------------------------------------------------- faults in laws that are known exactly

PRIOR = Listed({0: 3, 1: 5, 2: 1, 4: 2})
MEDIAN = whole_cut(goal=Goal.quantile(Fraction(1, 2)), epsilon=ONE, prior=PRIOR, depth=40)
Law = dict[Any, Fraction]


def window_law(data: Sequence[int]) -> Law:
    return chances(MEDIAN, window_of(MEDIAN, Column.from_values(list(data))))


def short_window_law(data: Sequence[int]) -> Law:
    """A window of one rank for a table of forty: what lies outside it has the last weight, far too little."""
    table, goal = decay(ONE, 1, 40), MEDIAN.goal
    short = replace(near(MEDIAN), reach=1)
    window = Column.from_values(list(data)).fetch(Request(windows=(short,))).windows[0]
    seen = {window.value(place): place for place in range(len(window))}
    weights = {}
    for candidate, weight in zip(PRIOR.candidates, PRIOR.weights, strict=True):
        loss, target = table.depth, goal.target(window.total)
        if candidate in seen:
            loss = goal.loss(int(window.below[seen[candidate]]), int(window.upto[seen[candidate]]), target)
        elif seen and min(seen) < candidate < max(seen):
            inside = int(max(window.upto[place] for value, place in seen.items() if value < candidate))
            loss = goal.loss(inside, inside, target)
        weights[candidate] = weight * table.weight(loss)
    return {candidate: Fraction(weight, sum(weights.values())) for candidate, weight in weights.items()}


Late = tuple[Sequence[int], Sequence[int]]  # records that every statement sees, and one that only the last one sees


def two_snapshots_law(data: Late) -> Law:
    """A record arrives between the statement that counts and the one that ranks."""
    early, late = data
    ranks = [*early, *late]
    weights = {}
    for candidate, weight in zip(PRIOR.candidates, PRIOR.weights, strict=True):
        below, upto = sum(v < candidate for v in ranks), sum(v <= candidate for v in ranks)
        loss = MEDIAN.goal.loss(below, upto, MEDIAN.goal.target(len(early)))
        weights[candidate] = weight * decay(ONE, 1, 40).weight(loss)
    return {candidate: Fraction(weight, sum(weights.values())) for candidate, weight in weights.items()}


def one_snapshot_law(data: Late) -> Law:
    return window_law([*data[0], *data[1]])


def sampled(law: Callable[[Any], Law]) -> Callable[[RNG], Mechanism]:
    def made(rng: RNG) -> Mechanism:
        def run(x: Any, size: int) -> np.ndarray:
            known = law(x)
            return rng.choice(list(known), p=[float(p) for p in known.values()], size=size)

        return run

    return made


THRESHOLD = 6  # of stability(): Pr[1 + Z ≥ 6] = e^−5/(1 + e^−1)
DELTA = math.exp(-5) / (1 + math.exp(-1))
ROWS: Rows = [("Ann", 0), ("Bob", 1), ("Cyd", 2)] * 3
UNIT: Rows = [("Dan", 0), ("Dan", 1), ("Dan", 2)]
ZOO = {
    "noise 10 % too small": Fault(counting(1 / 0.9), counting(1.0), 20, 21, 1.0, 0.0, 60_000),
    "a reach that depends on the data": Fault(
        reach_of_the_data, dropping(1, "1e-6"), (100,) * 5, (101, *(100,) * 4), 1.0, 1e-6, 500_000, 20_000
    ),
    "noise that shows empty buckets": Fault(
        dropping(1, "0.01", clipped=False), dropping(1, "0.01"), (7, 0), (7, 1), 1.0, 0.01, 400
    ),
    "a threshold off by one": Fault(stability(THRESHOLD - 1), stability(THRESHOLD), (9, 0), (9, 1), 1.0, DELTA, 60_000),
    "bounds from the data": Fault(
        clipped_sum(None), clipped_sum((0, 100)), [1.0] * 5, [1.0] * 5 + [100.0], 1.0, 0, 400
    ),
    "a budget not split over buckets": Fault(
        dropping(1, "0.01"), dropping("1/3", "0.003"), (30, 30, 30), (31, 31, 31), 1.0, 0.01, 8_000
    ),
    "noise in doubles": Fault(laplace_in_doubles, laplace_on_a_lattice, 0, 1, 1.0, 0.0, 2_000),
    "one seed for all buckets": Fault(one_draw_for_all, a_draw_for_each, (5, 5), (5, 6), 1.0, 0.0, 400),
    "one seed for all runs": Fault(seeded_runs, counting(1.0), 5, 6, 1.0, 0.0, 400),
    "units that are not bounded": Fault(unbounded_units, bounded_units, ROWS, ROWS + UNIT, 1.0, 0.05, 3_000, 400),
    "a window shorter than its table": Fault(
        sampled(short_window_law), sampled(window_law), (2, 2, 2), (0, 2, 2, 2), 1.0, 0.0, 800
    ),
    "two snapshots in one release": Fault(
        sampled(two_snapshots_law), sampled(one_snapshot_law), ((2, 4), ()), ((2, 4), (0,)), 1.0, 0.0, 20_000
    ),
}
