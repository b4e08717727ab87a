"""How one budget is shared: by columns, by a unit's bars, by a bound; each against exact laws or exact inequalities."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import flexdp
from flexdp import Release
from flexdp._release.api import prepare
from flexdp.accounting.budget import Budget, has_reach
from flexdp.buckets import make_buckets
from flexdp.buckets.grid import Grid
from flexdp.calculus.powers import group_factor
from flexdp.guarantees import AddRemove
from flexdp.mechanisms import Bucketing, Dropping
from flexdp.noise import LARGEST_REACH, DropNoise
from flexdp.planning import per_bucket

Law = dict[Any, Fraction]


def left_of(noise: DropNoise, height: int) -> Law:
    """The exact law of what is published of a bar."""
    out: Law = defaultdict(Fraction)
    for drop, weight in enumerate(noise.weights):
        out[max(0, height - drop)] += Fraction(weight, 1 << noise.bits)
    return dict(out)


def together(*laws: Law) -> Law:
    return {
        tuple(key for key, _ in part): math.prod((p for _, p in part), start=Fraction(1))
        for part in product(*(law.items() for law in laws))
    }


def exp_up(epsilon: Fraction) -> Fraction:
    """A little above e^ε, so that a divergence computed with it is a lower bound."""
    with localcontext() as context:
        context.prec = 80
        return Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()) * (1 + Fraction(1, 10**70))


def divergence(one: Law, other: Law, epsilon: Fraction) -> Fraction:
    growth = exp_up(epsilon)
    return sum((max(Fraction(0), p - growth * other.get(key, Fraction(0))) for key, p in one.items()), Fraction(0))


def worst(noises: list[DropNoise], epsilon: Fraction) -> Fraction:
    """The largest divergence where one record more is one more in a bar of each column."""
    found = Fraction(0)
    for heights in product(*([0, 1, noise.q] for noise in noises)):
        fewer = together(*(left_of(noise, height) for noise, height in zip(noises, heights, strict=True)))
        more = together(*(left_of(noise, height + 1) for noise, height in zip(noises, heights, strict=True)))
        found = max(found, divergence(fewer, more, epsilon), divergence(more, fewer, epsilon))
    return found


COLUMNS = {"a": [1.0] * 90, "b": [2.0] * 90, "c": [3.0] * 90}


@pytest.mark.parametrize(
    ("split", "shares"),
    [
        (None, ("1/3", "1/3", "1/3")),
        ([1, 1, 1], ("1/3", "1/3", "1/3")),
        ([3, 1, 2], ("1/2", "1/6", "1/3")),
        (["0.5", Fraction(1, 4), 7], ("2/31", "1/31", "28/31")),
    ],
)
def test_separate_columns_spend_no_more_than_the_whole_together(split: Any, shares: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"epsilon": 3, "delta": "0.003", "width": 1, "separately": True, "split": split}
    several = flexdp.release(pl.DataFrame(COLUMNS), list(COLUMNS), **options)
    wanted = [Fraction(share) for share in shares]
    for made in ("budget", "privacy", "noise"):  # what is spent, what is promised, and what was run
        assert [getattr(each, made).epsilon for each in several.values()] == [3 * share for share in wanted]
        assert [getattr(each, made).delta for each in several.values()] == [Fraction("0.003") * s for s in wanted]
    assert (several.privacy.epsilon, several.privacy.delta) == (3, Fraction("0.003"))


@pytest.mark.parametrize("split", [None, [2, 1]])
def test_the_privacy_of_separate_columns_together_is_exact(split: list[int] | None) -> None:
    """A record is in a bar of each column: the joint law of both releases, by enumeration."""
    epsilon, delta = Fraction(4), Fraction(1, 5)
    frame = pl.DataFrame({name: COLUMNS[name] for name in "ab"})
    request = prepare(frame, ["a", "b"], width=1, separately=True).with_budget(epsilon, delta, split=split)
    noises = [release.noise for release in request.run().values()]
    assert worst(noises, epsilon) <= delta
    whole = DropNoise(epsilon, delta)
    for unshared in ([whole, whole], [DropNoise(epsilon, delta / 2)] * 2, [DropNoise(epsilon / 2, delta)] * 2):
        assert worst(unshared, epsilon) > delta  # controls: neither ε nor δ may be spent twice


@pytest.mark.parametrize(
    ("delta", "most"), [("1e-6", 2), ("1e-6", 3), ("1e-9", 7), ("0.3", 5), ("1/7", 12), ("0.9", 2)]
)
def test_a_unit_s_bars_stay_within_its_delta_and_use_it_up(delta: str, most: int) -> None:
    """(1 − δ₀)^k ≥ 1 − δ in rationals, and no longer for the next δ₀ on the grid of 10^-60."""
    share = per_bucket(1, delta, most).delta
    assert (1 - share) ** most >= 1 - Fraction(delta)
    assert (1 - share - Fraction(1, 10**60)) ** most < 1 - Fraction(delta)
    assert per_bucket(1, delta, most).epsilon == Fraction(1, most)


@pytest.mark.parametrize(
    ("share", "most"),
    [(Fraction(10**59 // 3, 10**60), 2), (Fraction(10**59 // 3, 10**60), 3), (Fraction(2**58 + 1, 2**60), 11)],
)
def test_a_unit_s_share_gives_way_to_the_last_bit(share: Fraction, most: int) -> None:
    """δ a hair below 1 − (1 − s)^k, s on the grid: s would exceed it, by less than powers of 512 bits can tell."""
    for bits in range(505, 650):
        delta = 1 - (1 - share) ** most - Fraction(1, 2**bits)
        assert (1 - per_bucket(1, delta, most).delta) ** most >= 1 - delta


@pytest.mark.parametrize("times", [1, 2, 3, 10, 200])
def test_the_growth_of_a_step_of_several_is_never_below_the_truth(times: int) -> None:
    """S_k = 1 + e^ε + … + e^{(k−1)ε} divides δ: rounded down it would promise too much.

    The slack of 10^-50 in e^ε is what this tests: without it S_k is too small. How the sixty digits are rounded after
    that cannot matter: the error of each term is below k·10^-58 of it, and the slack is k·10^-50.
    """
    for step in [Fraction(i, 7) for i in range(1, 30)] + [Fraction(1, 1000), Fraction(123456789, 10**9), Fraction(40)]:
        with localcontext() as context:
            context.prec = 120
            below = Decimal(1) - Decimal(10) ** -110  # far more digits than are compared, then a little less
            ratio = (Decimal(step.numerator) / Decimal(step.denominator)).exp() * below
            truth = Fraction(sum((ratio**k for k in range(times)), Decimal(0)))
        assert truth <= group_factor(step, times) <= truth * (1 + Fraction(times, 10**49))


@pytest.mark.parametrize("most", [1, 2])
def test_what_is_promised_covers_the_bars_and_the_bound(most: int) -> None:
    """With certify, one unit changes the bars and the bound: the told (ε, δ) is that of both, by enumeration."""
    frame = pl.DataFrame({"x": [float(i % 2) for i in range(200)], "u": [i // 2 for i in range(200)]})
    rule = {"unit": "u", "max_buckets_per_unit": most, "cap_report": False}
    released = flexdp.release(frame, "x", epsilon=4, delta="0.2", width=1, certify="0.3", **rule)
    told, bars, total = released.privacy, released.noise, released.budget.paid
    assert total is not None
    assert (told.epsilon, told.delta) == (4, Fraction(1, 5))
    assert "ε = 4, δ = 0.2 for each u" in str(told) and str(told) == released.certificate().promises[0]
    assert Release.from_json(released.to_json()).privacy == told

    def published(heights: tuple[int, ...]) -> Law:
        added = {sum(heights) + j: Fraction(w, 1 << total.bits) for j, w in enumerate(total.weights)}
        return together(*(left_of(bars, height) for height in heights), added)

    loss, chance = told.epsilon, told.delta
    found, beyond_the_bars = Fraction(0), Fraction(0)
    for heights in product([0, 1, 5], repeat=most):
        more = tuple(height + 1 for height in heights)
        for pair in ((published(heights), published(more)), (published(more), published(heights))):
            found = max(found, divergence(*pair, loss))
            beyond_the_bars = max(beyond_the_bars, divergence(*pair, loss * Fraction(7, 10)))
    assert found <= chance
    assert beyond_the_bars > chance * Fraction(7, 10)  # a control: what the bars alone have is not what both have
    # The bound alone moves by as much as a unit counts: no more than its own share of the budget.
    still, moved = ({j + step: Fraction(w, 1 << total.bits) for j, w in enumerate(total.weights)} for step in (0, most))
    assert divergence(still, moved, loss * Fraction(3, 10)) <= chance * Fraction(3, 10)
    assert divergence(moved, still, loss * Fraction(3, 10)) <= chance * Fraction(3, 10)


def test_the_smallest_and_the_largest_reach_are_recognised() -> None:
    """Two is what the largest δ buys, and a million the most that a bucket may lose."""
    assert DropNoise(1, "0.5").q == 2
    assert [has_reach(reach, 1, "0.5") for reach in (0, 1, 2, 3, 2.0, "2")] == [False, False, True, *[False] * 3]
    assert [has_reach(LARGEST_REACH + more, "1e-5", "3.39185e-8") for more in (-1, 0, 1)] == [False, True, False]


def test_the_mechanism_of_a_budget_knows_how_many_columns_are_released() -> None:
    """A grid has as many dimensions as axes, any other partition one."""
    budget, axis = Budget(1, "1e-6"), make_buckets("number", width=5)
    grid = Grid((axis, axis))
    assert budget.mechanism(axis).parts[-1] == budget.dropping(axis) == Dropping(1, "1e-6")
    assert budget.mechanism(grid).parts[-1] == budget.dropping(grid) == Dropping(1, "1e-6", dimensions=2)


def test_every_step_of_a_budget_s_mechanism_names_its_unit_and_how_often_it_counts() -> None:
    budget, buckets = Budget(1, "1e-6", most=2), make_buckets("number", width=5)
    bucketing, dropping = budget.mechanism(buckets, "patient").parts
    assert bucketing == Bucketing(partition=buckets, unit="patient", max_buckets_per_unit=2)
    assert isinstance(dropping, Dropping)
    assert (dropping.unit, dropping.max_buckets_per_unit) == ("patient", 2)
    assert budget.privacy("patient").neighbours == dropping.privacy.neighbours == AddRemove("patient", 2)
    assert budget.privacy().neighbours == budget.dropping(buckets).privacy.neighbours == AddRemove("record", 2)


def test_the_bound_and_the_bars_each_take_noise_from_their_own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw is the most its table holds: the bound is above the count by the total's, bars below by their own."""
    monkeypatch.setattr(DropNoise, "sample", lambda self, size: np.full(size, self.max_drop, dtype=np.int64))
    released = flexdp.release(
        [3.0] * 500 + [7.0] * 400, epsilon=1, delta="1e-6", kind="number", certify="0.1", exact=True
    )
    budget = Budget(1, "1e-6", certify="0.1")
    assert budget.paid is not None and budget.paid.max_drop > budget.bars.max_drop
    assert released.records_at_most == 900 + budget.paid.max_drop
    assert dict(released.histogram.items()) == {3.0: 500 - budget.bars.max_drop, 7.0: 400 - budget.bars.max_drop}
    lost = released.records_at_most - released.histogram.size  # what may be missing, as far as is published
    assert released.support().accuracy.alpha == pytest.approx(lost / released.records_at_most)
    assert Fraction(released.support().accuracy.alpha) >= Fraction(lost, released.records_at_most)
