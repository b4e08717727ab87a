"""Promised ranks: the specification's numbers, outward rounding, and simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from _support.cuts import window_of

from flexdp.noise.bits import Bits
from flexdp.sharp.column import Column
from flexdp.sharp.cut import SHARES, Cut
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import universal
from flexdp.sharp.promise import (
    CutError,
    count_error,
    cut_error,
    ladder_overshoot,
    least_weight,
    plain_rungs,
    rung_records,
    weighted_error,
)
from flexdp.sharp.ranks import Request
from flexdp.sharp.scale import INTEGERS

GAMMA = Fraction(1, 20)
OWN = Fraction(24, 25)


def test_least_weights_are_least() -> None:
    prior = universal(INTEGERS)
    every = min(prior.before(t + 1) - prior.before(t) for t in range(1000))
    assert least_weight(INTEGERS, prior, 3) == every


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

    excess = max(rung_records(ladder, INTEGERS, GAMMA)) - target
    assert early(excess + 1) <= GAMMA < early(excess // 3 + 1)  # with a third of the excess it would be false
    law = ladder.chances([0] * (rungs + 1))
    for passed in range(1, rungs + 1):
        exact = sum(chance for place, chance in law.items() if place >= passed)
        assert 0 <= ladder_overshoot(rates, target, passed) - exact <= Fraction(1, 10**12)


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


@pytest.mark.parametrize("bonus", [0, 1, 4])
def test_halvings_stop_a_climb_as_plain_rungs_would(bonus: int) -> None:
    """A rung counts for no more plain ones than it stops a climb like, by the exact law, and for half of them."""
    ladder = Ladder(rungs=tuple(range(4)), side=1, target=0, epsilon=ONE, halvings=(0, bonus, 0, 0))
    assert ladder.bonus[1] == math.floor(bonus * math.log(2) / 0.5)
    plain = plain_rungs(ladder, 1)
    assert 2**bonus / 2 <= plain <= 2**bonus
    reply = Column.from_values([0] * 50).fetch(Request(cuts=ladder.cuts))
    law = ladder.chances(ladder.beyond(reply.total, reply.before))
    assert law[2] + law[3] <= ladder_overshoot(ladder.rates, 0, 1 + plain)
    assert ladder_overshoot(ladder.rates, 0, 1 + 8 * plain) < law[2] + law[3]  # control


ONE = Fraction(1)
HALF = Fraction(1, 2)


@pytest.mark.parametrize("shares", [1, SHARES])
def test_the_error_of_a_cut_holds_against_its_exact_law(shares: int) -> None:
    """Ties in the middle, ties at the edge, and none, by the weights of all candidates; an eighth of it fails."""
    prior, most = universal(INTEGERS), 3000
    weight = least_weight(INTEGERS, prior, 2)
    cut = Cut(goal=Goal.quantile(HALF), epsilon=HALF, prior=prior, shares=shares)
    error = cut_error(cut, prior, weight, most)
    assert error is not None and error.beyond_table < Fraction(1, 10**9)
    failing = dict.fromkeys((1, 8), Fraction(0))
    far = [-90_001] * 1480 + [90_001] * 1480
    for middle in (range(20, 60), [50] * 40, [7] * 3 + [50] * 34 + [99] * 3):
        data = np.sort(np.array([*far, *middle]))
        window = window_of(cut, Column.from_values(data))
        total, wrong = 0, dict.fromkeys(failing, 0)
        bound = weighted_error([(ONE, error)], GAMMA)
        for segment in cut.segments(window):
            low = 0 if segment.low is None else cut.candidates.before(segment.low)
            mass = (cut.candidates.total if segment.high is None else cut.candidates.before(segment.high)) - low
            total += mass * segment.weight
            position = segment.high - 1 if segment.high is not None else segment.low
            assert position is not None
            for part in failing:
                too_far = cut.loss(window, position) > bound / part * cut.goal.units
                wrong[part] += mass * segment.weight * too_far
        failing = {part: max(chance, Fraction(wrong[part], total)) for part, chance in failing.items()}
    assert failing[1] <= GAMMA < failing[8]


def test_weighted_errors_hold_in_simulation() -> None:
    """Sums of exponential variables, with weights; half of the bound fails."""
    rng, gamma = np.random.default_rng(3), Fraction(1, 20)
    parts = [(Fraction(1), Fraction(1, 10)), (HALF, Fraction(1, 8)), (Fraction(1, 3), Fraction(1, 5))]
    bound = weighted_error([(w, CutError(Fraction(4), rate, Fraction(0))) for w, rate in parts], gamma)
    drawn = sum(float(w) * (4 + rng.exponential(1 / float(rate), 100_000)) for w, rate in parts)
    assert (drawn > float(bound)).mean() < 0.05 < (drawn > float(bound) / 2).mean()
    one = weighted_error([(Fraction(2), CutError(Fraction(4), Fraction(1, 10), Fraction(0)))], gamma)
    assert one == pytest.approx(8 + 20 * math.log(20), rel=1e-5)
    assert weighted_error([], gamma) == 0
