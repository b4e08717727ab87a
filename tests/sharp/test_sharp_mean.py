"""The mean: privacy by enumeration, its error bound, and what it publishes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from _neighbours import SLACK, column, multisets, path_law, ratio, worst
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Histogram
from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.noise.geometric import two_sided_geometric
from flexdp.sharp.column import Column
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.exponentials import exp_minus, log_above
from flexdp.sharp.halving import CutRules
from flexdp.sharp.mean import ask_mean, mean_between, steps_between
from flexdp.sharp.prior import Listed
from flexdp.sharp.ranks import Request, Tally
from flexdp.sharp.rules import Rules
from flexdp.sharp.rungs import Rungs
from flexdp.sharp.scale import INTEGERS, NUMBERS

ONE = Fraction(1)


def test_two_sums_cost_one_epsilon() -> None:
    mechanism, shown = TwoSums(epsilon=ONE, cells=4), range(-6, 20)
    laws = {(a, b): mechanism.law((a, b)).listed(shown).masses for a in range(9) for b in range(9)}
    steps = [(a, 4 - a) for a in range(5)]
    found = max(ratio(laws[0, 0], laws[step], ONE) for step in steps)
    assert Fraction(99, 100) < found <= SLACK
    assert ratio(laws[0, 0], laws[4, 4], ONE) > SLACK  # control: a record that counts fully in both


@pytest.mark.parametrize("known", [True, False])
def test_the_mean_is_private(known: bool) -> None:
    rules = Rules(
        few=1,
        few_for_mean=1,
        tree=CutRules(prior=lambda *_: Listed({0: 2, 1: 1, 3: 1}), shares=2),
        rungs=lambda _, anchor, side, *__: Rungs((anchor, anchor + side, anchor + 4 * side), (1, 0, 2), (1, 0, 2)),
    )
    law = path_law(
        (lambda: mean_between(0, 3, ONE, INTEGERS)) if known else (lambda: ask_mean(ONE, INTEGERS, rules=rules)),
        (0, 2),
        ONE,
    )
    found = worst(law, (0, 1, 3), 2, ONE)
    assert exp_minus(ONE) < found <= SLACK


@given(st.lists(st.integers(-50, 50), max_size=30), st.integers(-40, 10), st.integers(1, 9), st.integers(1, 12))
def test_tallies_are_those_of_brute_force(data: list[int], low: int, step: int, cells: int) -> None:
    wanted = Tally(low=low, step=step, cells=cells)
    best = sum(min(cells, max(0, math.floor(Fraction(x - low, step) + Fraction(1, 2)))) for x in data)
    found = []
    for ranks in (
        Column.from_values(np.array(data, dtype=np.int64)),
        Column.from_histogram(Histogram(data or [0], [1] * len(data) or [0])),
        Column.from_values(np.array([*data, None], dtype=object)[:-1]),
    ):
        if ranks.scale is INTEGERS:
            found.append(ranks.fetch(Request(tallies=(wanted,))).tallies[0])
    halves = sum((2 * (min(max(x, low), wanted.high) - low)) % (2 * step) == step for x in data)
    assert all(abs(each - best) <= halves for each in found)
    scaled = Tally(low=low * NUMBERS.one, step=step * NUMBERS.one, cells=cells)
    numbers = Column.from_values(np.array(data, dtype=np.float64)).fetch(Request(tallies=(scaled,))).tallies[0]
    assert abs(numbers - best) <= halves


def test_steps_are_fine_and_few() -> None:
    for low, high in ((0, 1), (-7, 10**6), (0, 10**6 + 1), (-(10**39), 10**39), (5, 6 + 10**20)):
        tally = steps_between(low, high)
        assert high <= tally.high < high + tally.step and 1 <= tally.cells <= 10**6
        assert tally.cells > 10**5 or tally.step == 1


def _runs(values: Iterable[float], times: int, epsilon: Fraction) -> list[tuple[Fraction, Fraction | None]]:
    ranks = Column.from_values(np.array(list(values)))
    found = []
    for seed in range(times):
        ran = run(ask_mean(epsilon, ranks.scale), ranks, Bits(np.random.default_rng(seed).bytes))
        assert ran.spent <= epsilon
        found.append((ran.value.mean, ran.value.error(Fraction(1, 20))))
    return found


def test_the_error_bound_holds_for_the_clipped_mean() -> None:
    data = np.round(np.random.default_rng(3).normal(40, 9, 4000), 1)
    ranks = Column.from_values(data)
    misses = 0
    for seed in range(25):
        value = run(ask_mean(ONE, NUMBERS), ranks, Bits(np.random.default_rng(seed).bytes)).value
        assert value.low is not None and value.high is not None
        clipped = np.clip(data, float(NUMBERS.value(value.low)), float(NUMBERS.value(value.high))).mean()
        error = value.error(Fraction(1, 20))
        assert error is not None
        misses += abs(float(value.mean) - clipped) > float(error)
        assert abs(float(value.records) - 4000) < 60
    assert misses <= 8  # of 25 at 5 %: more has probability 1e-6, and the seeds are fixed


def test_constant_and_few() -> None:
    assert all(abs(mean - 7) <= Fraction(1, 100) for mean, _ in _runs([7] * 5000, 5, ONE))
    few = run(ask_mean(ONE, INTEGERS), column([1, 2]), Bits(np.random.default_rng(1).bytes)).value
    assert few.too_few


def test_no_records_at_all_between_public_ends() -> None:
    value = run(mean_between(0, 10, ONE, INTEGERS), column([]), Bits(np.random.default_rng(2).bytes)).value
    assert 0 <= value.mean <= 10
    assert value.error(Fraction(1, 20)) is None or sum(value.sums or ()) > 0


def test_noise_of_a_scaled_count() -> None:
    law = NoisyCount(epsilon=ONE, sensitivity=5).law(0).listed(range(-200, 201)).masses
    assert abs(sum(law.values()) - 1) < Fraction(1, 10**15)
    pairs = [(law[z], law[z + 5]) for z in range(-100, 100)]
    assert all(max(a / b, b / a) * exp_minus(ONE) <= SLACK for a, b in pairs)
    assert len(list(multisets((0,), 2))) == 3


def test_the_noise_of_a_draw_has_the_scale_of_its_law() -> None:
    """The same bits, given to the noise itself at ε divided by the sensitivity, add the same number to each sum."""
    for seed in range(20):
        bits, again = (Bits(random.Random(seed).randbytes) for _ in range(2))
        one, other = TwoSums(epsilon=Fraction(1, 3), cells=7).draw((1000, -5), bits)
        assert one == 1000 + two_sided_geometric(Fraction(1, 21), again)
        assert other == -5 + two_sided_geometric(Fraction(1, 21), again)
        assert NoisyCount(epsilon=ONE).draw(3, bits) == 3 + two_sided_geometric(ONE, again)
        assert NoisyCount(epsilon=ONE, sensitivity=2).draw(3, bits) == 3 + two_sided_geometric(ONE / 2, again)


def test_the_law_of_a_count_is_centred_on_it() -> None:
    for count in (-4, 0, 5):
        law = NoisyCount(epsilon=ONE).law(count).listed(range(count - 60, count + 61)).masses
        assert max(law, key=lambda outcome: law[outcome]) == count
        assert abs(float(sum(law.values())) - 1) < 1e-15
        assert law[count + 3] == law[count - 3] and math.isclose(law[count + 3] / law[count + 4], math.e)


def test_a_logarithm_is_the_least_decimal_with_six_places_above_it() -> None:
    assert log_above(ONE) == 0
    for x in (Fraction(3, 2), Fraction(20), Fraction(10**30, 7)):
        found = log_above(x)
        assert (found * 10**6).denominator == 1
        with localcontext() as context:
            context.prec = 50
            exact = (Decimal(x.numerator) / x.denominator).ln()
            assert exact <= Decimal(found.numerator) / found.denominator < exact + Decimal("1e-6")
