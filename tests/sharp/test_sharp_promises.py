"""Promised ranks: the specification's numbers, outward rounding, and simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from flexdp.noise.bits import Bits
from flexdp.noise.exponential import decay
from flexdp.sharp.column import Column
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import universal
from flexdp.sharp.promise import count_error, ladder_overshoot, ladder_records, least_weight, rank_error
from flexdp.sharp.quantile import ExponentialQuantile
from flexdp.sharp.ranks import Request, Span
from flexdp.sharp.rules import RULES
from flexdp.sharp.rungs import ladder_rungs
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale
from flexdp.sharp.tails import Climb

GAMMA = Fraction(1, 20)
OWN = Fraction(24, 25)


@pytest.mark.parametrize(
    ("scale", "decades", "decimals", "records"),
    [(INTEGERS, 2, 0, 11), (INTEGERS, 5, 0, 20), (INTEGERS, 10, 0, 34), (NUMBERS, 5, 2, 26)],
)
def test_medians_at_epsilon_one(scale: Scale, decades: int, decimals: int, records: int) -> None:
    prior = universal(scale)
    weight = least_weight(scale, prior, decades, decimals)
    bound = rank_error(Goal.quantile(Fraction(1, 2)), OWN, prior, weight, GAMMA)
    assert bound is not None and abs(bound - records) <= 2
    tail = rank_error(Goal.quantile(Fraction(99, 100)), OWN, prior, weight, GAMMA)
    assert tail is not None and abs(tail - 2 * bound) <= 1
    assert rank_error(Goal.quantile(Fraction(1, 2)), OWN, prior, 1, Fraction(1, 10**60)) is None


def test_the_rank_error_is_the_least_that_the_table_proves_down_to_its_last_weight() -> None:
    prior, goal = universal(INTEGERS), Goal.quantile(Fraction(1, 2))
    table, weight = decay(OWN, goal.sensitivity), least_weight(INTEGERS, prior, 2)
    for loss in (1, 7, table.depth):
        gamma = Fraction(prior.total * table.weight(loss), weight * table.weight(0))  # attained at this loss exactly
        assert rank_error(goal, OWN, prior, weight, gamma) == Fraction(loss, goal.units)
    assert rank_error(goal, OWN, prior, weight, gamma - Fraction(1, 10**90)) is None


def test_least_weights_are_least() -> None:
    prior = universal(INTEGERS)
    every = min(prior.before(t + 1) - prior.before(t) for t in range(1000))
    assert least_weight(INTEGERS, prior, 3) == every


def test_the_rank_promise_holds_in_simulation() -> None:
    """Far fewer than 5 % are beyond the bound, which is a worst case; the data are seeded."""
    data = np.sort(np.random.default_rng(4).integers(0, 99, 2001))
    ranks, prior = Column.from_values(data), universal(INTEGERS)
    goal = Goal.quantile(Fraction(1, 2))
    bound = rank_error(goal, Fraction(1, 2), prior, least_weight(INTEGERS, prior, 2), GAMMA)
    assert bound is not None
    mechanism = ExponentialQuantile(goal=goal, epsilon=Fraction(1, 2), prior=prior)
    bits = Bits(np.random.default_rng(5).bytes)
    misses = 0
    for _ in range(400):
        answer = mechanism.sample(ranks, bits)
        below, upto = np.searchsorted(data, [answer, answer + 1])
        misses += goal.loss(int(below), int(upto), goal.target(2001)) > bound * goal.units
    assert misses <= 20


def test_records_beyond_a_ladder() -> None:
    rest = Fraction(94, 100)
    for scale, wanted in ((INTEGERS, 27), (NUMBERS, 28)):
        rungs = len(ladder_rungs(scale, scale.units(50), 1))
        assert abs(ladder_records(rest / 2, math.ceil(1 / rest), rungs, GAMMA) - wanted) <= 1


@pytest.mark.parametrize("wanted", [-1, 0, 1, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(94, 100), Fraction(3)])
@pytest.mark.parametrize("threshold", [Fraction(1, 2), Fraction(3, 5), Fraction(7, 10)])
def test_records_beyond_and_overshoot_against_the_exact_law(
    epsilon: Fraction, wanted: int, threshold: Fraction
) -> None:
    """Where a ladder fails most: one record too many beyond every rung but the last, or none beyond any."""
    target, rungs = math.ceil(wanted / epsilon), 12
    ladder = Ladder(rungs=tuple(range(rungs + 1)), side=1, target=target, epsilon=epsilon, threshold=threshold)
    rates = (epsilon * threshold, epsilon * (1 - threshold))

    def early(excess: int) -> Fraction:
        law = ladder.chances([target + excess] * rungs + [0])
        return 1 - law[rungs]

    excess = ladder_records(rates[1], target, rungs, GAMMA) - target
    assert early(excess + 1) <= GAMMA < early(excess // 2 + 1)  # with half the excess it would be false
    law = ladder.chances([0] * (rungs + 1))
    for passed in range(1, rungs + 1):
        exact = sum(chance for place, chance in law.items() if place >= passed)
        assert 0 <= ladder_overshoot(rates, target, passed) - exact <= Fraction(1, 10**12)


@pytest.mark.parametrize("epsilon", [Fraction(12, 25), Fraction(24, 25)])
def test_a_climb_to_the_outermost_record_hardly_ever_passes_a_decade_of_rungs(epsilon: Fraction) -> None:
    """160 rungs are a factor of ten: Γ(10/3)·e^(−target·ε_T)/160^(7/3), and with even shares about 1/160."""
    ladder = Climb(INTEGERS, 50, 1, Fraction(1), epsilon, 10_000, Fraction(1), RULES, Span(None, None)).coarse
    by_hand = math.gamma(10 / 3) * math.exp(-ladder.target * 0.7 * float(epsilon)) / 160 ** (7 / 3)
    found = float(ladder_overshoot(ladder.rates, ladder.target, 160))
    assert 0.5 * by_hand < found < 1.2 * by_hand and found < 1e-4
    even = (epsilon / 2, epsilon / 2)
    assert ladder_overshoot(even, ladder.target, 160) > Fraction(1, 400), "the control: even shares"


def test_overshoot_is_an_upper_bound_and_close() -> None:
    for epsilon in (Fraction(1, 2), Fraction(94, 100), Fraction(2)):
        target = math.ceil(3 / epsilon)
        for rungs in (1, 4, 50, 160):
            h = float(epsilon) / 2
            exact = sum(
                math.exp(-h * t) * -math.expm1(-h) * (-math.expm1(-h * (t - target))) ** rungs
                for t in range(target + 1, target + int(80 / h))
            )
            bound = float(ladder_overshoot((epsilon / 2, epsilon / 2), target, rungs))
            assert exact <= bound + 1e-15 and bound <= exact * 1.001 + 1e-9


@pytest.mark.parametrize("side", [1, -1])
def test_with_much_epsilon_a_climb_ends_where_the_target_says(side: int) -> None:
    """At ε = 200 both geometric variables are 0 but for a chance of e^−100: the first rung with at most 5 beyond."""
    ladder = Ladder(rungs=(0, side, 2 * side, 3 * side), side=side, target=5, epsilon=Fraction(200))
    bits = Bits(np.random.default_rng(7).bytes)
    for beyond, place in (([90, 6, 5, 0], 2), ([5, 5, 5, 5], 0), ([90, 80, 70, 60], 3)):
        assert {ladder.draw(beyond, bits) for _ in range(20)} == {place}
    values = [0] * 4 + [side] * 9 + [2 * side] * 80 + [3 * side] * 5
    reply = Column.from_values(sorted(values)).fetch(Request(cuts=ladder.cuts))
    assert ladder.beyond(reply.total, reply.before) == [6, 6, 5, 0]  # all from the limit on are alike
    assert ladder.limit == 5 + 1  # ⌈140/200⌉ records more than the target


def test_overshoot_in_simulation() -> None:
    """A ladder of which all records are behind the first rung."""
    ladder = Ladder(rungs=tuple(range(60)), side=1, target=3, epsilon=Fraction(1))
    reply = Column.from_values([0] * 50).fetch(Request(cuts=ladder.cuts))
    bits = Bits(np.random.default_rng(6).bytes)
    beyond = ladder.beyond(reply.total, reply.before)
    runs = 20_000
    passed = sum(ladder.draw(beyond, bits) >= 1 for _ in range(runs))
    bound = float(ladder_overshoot((Fraction(1, 2), Fraction(1, 2)), 3, 1))
    assert abs(passed / runs - bound) < 6 * math.sqrt(bound / runs)


def test_count_errors() -> None:
    for epsilon in (Fraction(1), Fraction(1, 25), Fraction(3)):
        k = count_error(epsilon, GAMMA)
        e = float(epsilon)

        def beyond(k: int, e: float = e) -> float:
            return 2 * math.exp(-(k + 1) * e) / (1 + math.exp(-e))

        assert beyond(k) <= 0.05 < beyond(k - 1)
