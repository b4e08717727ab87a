"""Monte Carlo against exact laws: every mechanism that has one, on the six experiments, at every ε of the grid.

A cell is one mechanism, experiment and ε, with 2000 runs on one data set. Three checks look at all cells together.
Two tests use them; over all seeds, correct code fails either with a chance below 4e-7, hence both below 8e-7.

- *Events.* Of the events "output ≤ c" the one whose exact chance p is nearest to one half; its count is binomial. No
  cell's two-sided tail may be below 1e-7/N; where p is 0 or 1 for every c, every run must give the one sure output.
- *Errors.* Mean actual and flexible error, the numbers that tables show, by Bernstein's inequality at 1e-7/(2N) each.
- *All z-scores.* Σ min(z², 30) over the events with a variance of at least 25. Its exponential datetimes are computed
  from the binomial laws, so that Chernoff's bound, 1e-7 on either side, needs no approximation by normals; the cap,
  which the first check makes harmless, keeps far tails of skewed laws from loosening it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import binom

from flexdp.baselines import attainable_places, baseline
from flexdp.baselines.bars import NoisyBars, SeededDropping
from flexdp.baselines.base import ComparedMechanism, Question, read_question
from flexdp.statistics import Max, MaxAtLeast, Mode

FALSE_ALARM = 1e-7
RUNS = 2000
GRID = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 2]
DELTA = Fraction(1, 2**20)
ALPHA = Fraction(5, 1000)
LAWS = ["dropping", "stlap", "esa", "bns", "bns_swap", "em", "ptr"]


def cauchy(rng: np.random.Generator, emptied: int) -> NDArray[np.int64]:
    places = np.floor(45 + 4 * rng.standard_cauchy(10_000))
    out = np.bincount(places[(places >= 0) & (places < 100)].astype(int), minlength=100)
    out[100 - emptied :] = 0
    return out


@cache
def experiments() -> dict[int, tuple[NDArray[np.int64], Any]]:
    rng = np.random.default_rng(20)
    noisy = np.repeat([130, 200, 185, 190, 130], [120, 5, 85, 10, 80]) + rng.integers(-5, 6, 300)
    return {
        1: (cauchy(rng, 10), Max()),
        2: (np.repeat([1000, 1], 50), Max()),
        3: (cauchy(rng, 0), MaxAtLeast(500)),
        4: (np.repeat([540, 490], 50), MaxAtLeast(500)),
        5: (rng.poisson(250, 30), Mode()),
        6: (noisy, Mode()),
    }


@dataclass(frozen=True)
class Exact:
    """The chance of each bucket, and its distance from the nearest true and from the nearest attainable answer."""

    law: NDArray[np.float64]
    actual_distance: NDArray[np.int64]
    flexible_distance: NDArray[np.int64]


def distances(asked: Question, alpha: Fraction) -> NDArray[np.int64]:
    places = attainable_places(asked.counts, asked.statistic, alpha, ties=asked.ties)
    return np.abs(np.subtract.outer(np.arange(asked.buckets), places)).min(axis=1)


def exact(mechanism: ComparedMechanism, asked: Question) -> Exact:
    """Ties to the largest bucket are those to the smallest of the mirrored histogram; no answer is moved by hand."""
    mirrored = asked.ties == "largest"
    plain = read_question(asked.counts[::-1] if mirrored else asked.counts, asked.statistic)
    masses = mechanism.law_of_answer(plain).masses
    law = np.array([float(masses.get(place, 0.0)) for place in range(asked.buckets)])
    nothing = 0.0
    if isinstance(mechanism, NoisyBars):
        nothing = math.prod(bar.listed().masses.get(0, 0.0) for bar in mechanism.law(asked.histogram).factors.values())
    law[0] -= nothing
    law = law[::-1].copy() if mirrored else law
    law += nothing / asked.buckets if asked.empty == "random" else nothing * (np.arange(asked.buckets) == 0)
    return Exact(law, distances(asked, Fraction(0)), distances(asked, ALPHA))


@dataclass(frozen=True)
class Cell:
    """Outputs of 2000 runs, with the exact distribution of one."""

    outputs: NDArray[np.int64]
    exact: Exact

    def event(self) -> tuple[int, float]:
        """Count of the event whose probability is nearest to one half, and that probability."""
        below = np.cumsum(self.exact.law)
        c = int(np.argmin(np.abs(below - 0.5)))
        return int((self.outputs <= c).sum()), float(np.clip(below[c], 0, 1))

    def sure(self) -> int | None:
        """The one possible output, if there is only one."""
        return int(np.argmax(self.exact.law)) if self.exact.law.max() > 1 - 1e-12 else None


@cache
def outputs(name: str, number: int, epsilon: float) -> NDArray[np.int64]:
    counts, statistic = experiments()[number]
    rng = np.random.default_rng([31, LAWS.index(name), number, GRID.index(epsilon)])
    return baseline(name).run(counts, statistic, RUNS, rng, epsilon=epsilon, delta=DELTA).astype(np.int64)


@cache
def claimed(name: str, number: int, epsilon: float, ties: Any = "smallest") -> Exact:
    return exact(baseline(name).kind(epsilon, DELTA), read_question(*experiments()[number], ties=ties))


def cells(names: list[str], numbers: range) -> list[Cell]:
    return [Cell(outputs(n, i, e), claimed(n, i, e)) for n in names for i in numbers for e in GRID]


# The three checks; each returns what is wrong


def unlikely_events(found: list[Cell]) -> int:
    """Return the cells whose count is too far in the tail of its binomial distribution, or that should be certain."""
    wrong = 0
    for cell in found:
        if (place := cell.sure()) is not None:
            wrong += bool((cell.outputs != place).any())
            continue
        seen, p = cell.event()
        tail = min(binom.cdf(seen, RUNS, p), binom.sf(seen - 1, RUNS, p))
        wrong += bool(2 * tail < FALSE_ALARM / len(found))
    return wrong


def unlikely_means(found: list[Cell]) -> int:
    """Return the mean errors that deviate by more than Bernstein's inequality allows."""
    strength = math.log(2 * 2 * len(found) / FALSE_ALARM)
    wrong = 0
    for cell in found:
        for distance in (cell.exact.actual_distance, cell.exact.flexible_distance):
            mean = float(cell.exact.law @ distance)
            variance = max(0.0, float(cell.exact.law @ (distance - mean) ** 2))
            allowed = math.sqrt(2 * variance * strength / RUNS) + int(distance.max()) * strength / (3 * RUNS)
            wrong += bool(abs(float(distance[cell.outputs].mean()) - mean) > allowed + 1e-9)
    return wrong


def squares(found: list[Cell]) -> tuple[float, float, float, int]:
    """Σ min(z², 30) over the informative cells, its two Chernoff bounds, and how many cells there are."""
    events = [cell.event() for cell in found if cell.sure() is None]
    events = [(seen, p) for seen, p in events if RUNS * p * (1 - p) >= 25]
    seen, p = (np.array(part) for part in zip(*events, strict=True))
    deviation = np.sqrt(RUNS * p * (1 - p))
    total = float(np.minimum(30, ((seen - RUNS * p) / deviation) ** 2).sum())
    counts = np.arange(RUNS + 1)
    log_chances = binom.logpmf(counts, RUNS, p[:, None])
    z2 = np.minimum(30, ((counts - RUNS * p[:, None]) / deviation[:, None]) ** 2)

    def log_moment(s: float) -> float:
        return float(logsumexp(log_chances + s * z2, axis=1).sum())

    grid = np.linspace(0.02, 0.3, 15)
    high = min((log_moment(s) - math.log(FALSE_ALARM)) / s for s in grid)
    low = max((math.log(FALSE_ALARM) - log_moment(-s)) / s for s in grid)
    return total, low, high, len(events)


def rejected(found: list[Cell]) -> bool:
    total, low, high, _ = squares(found)
    return bool(unlikely_events(found) or unlikely_means(found) or not low <= total <= high)


def test_runs_agree_with_the_exact_laws_in_every_cell() -> None:
    found = cells(LAWS, range(1, 7))
    assert len(found) == 7 * 6 * 12
    assert unlikely_events(found) == 0
    assert unlikely_means(found) == 0
    total, low, high, informative = squares(found)
    assert informative > 200
    assert (
        0.75 < math.sqrt(low / informative) < 1 < math.sqrt(high / informative) < 1.25
    )  # the bounds are tight enough to matter
    assert low <= total <= high, math.sqrt(total / informative)


def under(ties: Any, empty: Any, name: str, epsilon: float, law_ties: Any, law_empty: Any) -> Cell:
    """A small histogram with tied buckets that are often empty after noise."""
    counts, asked = np.array([4, 15, 2, 15, 0, 14, 15, 1]), {"epsilon": epsilon, "delta": 0.01}
    rng = np.random.default_rng([32, len(ties), len(empty), LAWS.index(name), int(100 * epsilon)])
    seen = baseline(name).run(counts, Mode(), RUNS, rng, **asked, empty=empty, ties=ties).astype(np.int64)
    return Cell(
        seen, exact(baseline(name).kind(**asked), read_question(counts, Mode(), empty=law_empty, ties=law_ties))
    )


RULES = [(ties, empty) for ties in ("smallest", "largest") for empty in ("zero", "random")]


def test_runs_agree_with_the_exact_laws_under_every_rule() -> None:
    found = [under(*rule, n, e, *rule) for rule in RULES for n in LAWS for e in (0.05, 0.15, 0.4, 1.0)]
    assert unlikely_events(found) == 0
    assert unlikely_means(found) == 0
    total, low, high, informative = squares(found)
    assert informative > 100
    assert low <= total <= high, math.sqrt(total / informative)


@pytest.mark.parametrize("name", ["dropping", "stlap", "esa"])
def test_control_the_wrong_rule_is_rejected(name: str) -> None:
    for right, wrong in zip(RULES, RULES[1:] + RULES[:1], strict=True):
        assert rejected([under(*right, name, e, *wrong) for e in (0.05, 0.15, 0.4, 1.0)])


# Controls: the same checks with laws that are slightly wrong must reject


class OneFurther(SeededDropping):
    """Dropping with a planted fault: every bucket loses one record more."""

    def law_of_bars(self, x: Any) -> Any:
        right = super().law_of_bars(x)
        return lambda count: right(count - 1)


def reaching_one_further(number: int, epsilon: float) -> Exact:
    return exact(OneFurther(epsilon, DELTA), read_question(*experiments()[number]))


def test_control_a_reach_off_by_one_is_rejected() -> None:
    assert rejected([Cell(outputs("dropping", i, e), reaching_one_further(i, e)) for i in range(1, 7) for e in GRID])


@pytest.mark.parametrize(("run", "law"), [("bns", "bns_swap"), ("bns_swap", "bns"), ("stlap", "esa"), ("esa", "bns")])
def test_control_another_calibration_is_rejected(run: str, law: str) -> None:
    for numbers in (range(3, 5), range(5, 7)):
        assert rejected([Cell(outputs(run, i, e), claimed(law, i, e)) for i in numbers for e in GRID])


@pytest.mark.parametrize("name", ["dropping", "stlap", "esa"])
def test_control_another_rule_for_ties_is_rejected(name: str) -> None:
    assert rejected([Cell(outputs(name, i, e), claimed(name, i, e, "largest")) for i in (5, 6) for e in GRID[5:]])


def test_control_outputs_spread_too_evenly_are_rejected() -> None:
    """Σz² is also held from below."""
    found = []
    for cell in cells(["em"], range(1, 7)):
        evenly = np.searchsorted(np.cumsum(cell.exact.law), (np.arange(RUNS) + 0.5) / RUNS)
        found.append(Cell(evenly, cell.exact))
    assert rejected(found)
