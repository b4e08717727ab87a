"""Bounds of asked means and sums against the exact law of their noise, and against the values themselves."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import flexdp
from flexdp._release.asked import Asked, Column, Result, answer
from flexdp._release.asked_promises import averaged_records, mean_promise
from flexdp._release.asking import AskedBudget, Wanted
from flexdp.noise.bits import Bits
from flexdp.sharp.column import Column as Values
from flexdp.sharp.mean import Averaged
from flexdp.sharp.ranks import Span, Tally
from flexdp.sharp.scale import INTEGERS


def averaged(cells: int, share: Fraction, records: int) -> Averaged:
    """Sums of so many records whose mean lies at a share of the way from 0 to K."""
    first = round(cells * records * share)
    return Averaged(
        scale=INTEGERS,
        records_about=records,
        low=0,
        high=cells,
        tally=Tally(low=0, step=1, cells=cells),
        sums=(first, cells * records - first),
        epsilon=Fraction(1),
    )


def failing(cells: int, weights: tuple[float, float], bound: float) -> float:
    """The chance that a weighed sum of two discrete Laplace variables of scale K exceeds a bound, by convolution."""
    far = 45 * cells
    law = np.exp(-np.abs(np.arange(-far, far + 1)) / cells)
    law /= law.sum()
    places = np.arange(-far, far + 1)
    tail = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]])  # Pr[Y ≥ place]
    a, b = map(abs, weights)  # the law is symmetric
    total = 0.0
    for x, chance in zip(places, law, strict=True):  # |a·x + b·y| > bound
        if b == 0:
            total += chance * (abs(a * x) > bound)
            continue
        above = min(max(math.floor((bound - a * x) / b) + 1, -far), far + 1)
        below = min(max(math.ceil((-bound - a * x) / b) - 1, -far - 1), far)
        total += chance * (tail[above + far] + 1 - tail[below + 1 + far])
    return total


@pytest.mark.parametrize("cells", [1, 2, 7, 120])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 50), Fraction(1, 5), Fraction(2, 5), Fraction(1, 2)])
def test_a_mean_between_public_ends_is_within_its_bound_by_the_exact_law(cells: int, share: Fraction) -> None:
    records, epsilon = 100_000, Fraction(1)
    column, wanted = Column(scale=INTEGERS, ends=Span(0, cells + 1)), Wanted(("mean", "sum"))
    found = averaged(cells, max(share, Fraction(1, 10**5)), records)
    asked = Asked(wanted=wanted, budget=AskedBudget(epsilon), column=column, results={(): Result(mean=found)})
    promise = mean_promise(asked, found)
    assert promise is not None and promise.mean is not None
    steps = float(promise.mean * records)  # (1 − f)X − fY, in steps
    chance = failing(cells, (1 - float(share), -float(share)), steps)
    assert chance <= 0.05
    assert failing(cells, (1 - float(share), -float(share)), steps / 2) > 0.05, "the control"
    assert (
        failing(cells, (1.0, 0.0), float(promise.total))
        <= 0.05
        < failing(cells, (1.0, 0.0), float(promise.total) / 1.6)
    )
    off = averaged_records(found)
    assert failing(cells, (1 / cells, 1 / cells), off + 0.5) <= 0.05 < failing(cells, (1 / cells, 1 / cells), off / 2)


@pytest.mark.parametrize("limits", [(-50, 70), (-60, 60), (40, 100), (-100, -40)])
def test_a_sum_between_any_ends_is_within_its_bound_by_the_exact_law(limits: tuple[int, int]) -> None:
    low, high = limits
    cells = high - low
    found = averaged(cells, Fraction(1, 3), 10_000)
    tally = Tally(low=low, step=1, cells=cells)
    found = Averaged(
        scale=INTEGERS, records_about=10_000, low=low, high=high, tally=tally, sums=found.sums, epsilon=Fraction(1)
    )
    column = Column(scale=INTEGERS, ends=Span(low, high + 1))
    asked = Asked(
        wanted=Wanted(("sum",)), budget=AskedBudget(Fraction(1)), column=column, results={(): Result(mean=found)}
    )
    promise = mean_promise(asked, found)
    assert promise is not None
    weights = (high / cells, low / cells)  # (U·X + L·Y)/K
    assert failing(cells, weights, float(promise.total)) <= 0.05 < failing(cells, weights, float(promise.total) / 2)


@pytest.mark.parametrize("bounds", [(0, 1), None], ids=["bounds", "found"])
def test_the_share_of_a_flag_is_stated_to_its_noise(bounds: tuple[int, int] | None) -> None:
    """Errors of 0/1 in 12 000 records are noise of a few records: nothing is rounded on a grid of step 1."""
    flags = np.random.default_rng(5).random(12_000) < 0.428
    ranks, wanted, budget = Values.from_values(flags.astype(np.int64)), Wanted(("mean",)), AskedBudget(Fraction(1))
    column = Column(scale=INTEGERS) if bounds is None else Column(scale=INTEGERS, ends=Span(0, 2))
    bits, shares, bound = Bits(random.Random(3).randbytes), [], Fraction(0)
    for _ in range(60):
        result = answer(wanted, budget.parts(wanted), column, ranks, bits)
        assert result.mean is not None
        promise = mean_promise(Asked(wanted=wanted, budget=budget, column=column, results={(): result}), result.mean)
        assert promise is not None and promise.mean is not None
        bound = promise.mean
        assert bound < Fraction(1, 10), "it was 1/2 more"
        shares.append(abs(float(result.mean.mean) - flags.mean()) / float(bound))
    assert 1 / 4 < np.quantile(shares, 0.95) < 1


def test_the_number_of_records_behind_a_share_is_about_right() -> None:
    told = flexdp.release([0, 1] * 6000, kind="integer", epsilon=1, delta=0, ask="mean", bounds=(0, 1)).records_about
    assert " off by at most 7." in str(told), "2·ln 20 + 1 + 1/2, rounded down"
