"""Published facts reconciled: of random true tables nothing becomes false or wider, and once is enough."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from flexdp._release.claims import Population
from flexdp._release.reconcile import Fact, level_in, reconcile
from flexdp.statistics import IQR, Count, Max, Mean, Median, Min, Quantile, Range, Statistic, Sum

WHOLE = Population()
LEVELS = ["0", "0.01", "0.25", "0.5", "0.75", "0.99", "1"]
QUANTITIES: list[Statistic] = [
    Min(), *(Quantile(level) for level in LEVELS[1:-1]), Median(), Max(), Mean(), Sum(), Count(), Range(), IQR(),
]  # fmt: skip


def truth(values: list[Fraction], quantity: Statistic) -> Fraction:
    """A statistic of sorted values by its definition."""
    level = level_in(quantity)
    if level is not None:
        return values[max(0, math.ceil(level * len(values)) - 1)]
    if isinstance(quantity, Count):
        return Fraction(len(values))
    if isinstance(quantity, Range | IQR):
        low, high = (Min(), Max()) if isinstance(quantity, Range) else (Quantile("0.25"), Quantile("0.75"))
        return truth(values, high) - truth(values, low)  # type: ignore[arg-type]
    total = sum(values, Fraction(0))
    return total if isinstance(quantity, Sum) else total / len(values)


def table(rng: random.Random) -> list[Fraction]:
    size = rng.choice([1, 2, 5, 40, 300])
    far = rng.choice([0, 0, 10**6, -(10**9)])
    law = rng.choice(
        [lambda: rng.gauss(37, 5), lambda: rng.randint(0, 1), lambda: rng.lognormvariate(3, 2), lambda: 7, lambda: -5]
    )
    return sorted(Fraction(round(law() * 4), 4) + far * (rng.random() < 0.02) for _ in range(size))


def facts_of(values: list[Fraction], rng: random.Random) -> list[Fact]:
    """Statements that are true of values, certain ones and others, and points near the truth or far astray."""
    found = []
    for _ in range(rng.randint(1, 14)):
        quantity = rng.choice(QUANTITIES)
        exact = truth(values, quantity)
        wide = Fraction(rng.choice([0, 1, 10, 10**4]))
        low = None if rng.random() < 0.3 else exact - wide * Fraction(rng.random())
        high = None if rng.random() < 0.3 else exact + wide * Fraction(rng.random())
        point = exact + Fraction(rng.gauss(0, 1)) * rng.choice([0, 1, 100, 10**15])
        found.append(
            Fact(
                quantity=quantity,
                population=WHOLE,
                low=low,
                high=high,
                gamma=rng.choice([Fraction(0), Fraction(0), Fraction(1, 20), Fraction(1, 100)]),
                point=None if rng.random() < 0.4 else point,
                drawn=rng.random() < 0.7,
                public=rng.random() < 0.2,
            )
        )
    return found


def holds(values: list[Fraction], fact: Fact) -> bool:
    exact = truth(values, fact.quantity)
    return (fact.low is None or fact.low <= exact) and (fact.high is None or exact <= fact.high)


CASES = range(700)


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 10), Fraction(1)])
def test_true_facts_stay_true_and_are_never_widened_and_once_is_enough(gamma: Fraction) -> None:
    rng, narrowed, cut, unknown, summed = random.Random(3), 0, 0, 0, 0
    for _ in CASES:
        values = table(rng)
        given = facts_of(values, rng)
        assert all(holds(values, fact) for fact in given)
        found = reconcile(given, gamma=gamma)
        assert len(found) == len(given)
        for before, after in zip(given, found, strict=True):
            assert holds(values, after), (before, after)
            assert (after.quantity, after.population, after.drawn) == (before.quantity, before.population, before.drawn)
            if not after.unknown:
                assert before.low is None or (after.low is not None and after.low >= before.low)
                assert before.high is None or (after.high is not None and after.high <= before.high)
            assert after.gamma == before.gamma or before.gamma < after.gamma <= gamma
            assert bool(before.gamma) == bool(after.gamma), "certain facts stay certain, and no others become so"
            narrowed += after.low != before.low or after.high != before.high
            cut += after.point not in (None, before.point)
            unknown += after.unknown
            summed += after.gamma > before.gamma
            if after.point is not None and before.point is not None:
                exact = truth(values, before.quantity)
                nearer = abs(after.point - exact) <= abs(before.point - exact)
                assert nearer or not before.drawn or isinstance(before.quantity, Mean), "towards what is certain"
            assert after.point is None or not after.unknown
        if not gamma:
            assert reconcile(found, gamma=gamma) == found
    assert narrowed > 300 and cut > 300 and unknown > 50
    assert bool(summed) == bool(gamma), "the control: other statements cut where that is allowed"


def fact(quantity: Statistic, **fields: Any) -> Fact:
    given = {name: Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value
             for name, value in fields.items()}  # fmt: skip
    return Fact(**{"quantity": quantity, "population": WHOLE, **given})  # type: ignore[arg-type]


def test_ends_follow_from_one_another() -> None:
    found = reconcile([fact(Quantile("0.9"), low=10, high=20), fact(Max()), fact(Median()), fact(Mean()), fact(Min())])
    assert [(each.low, each.high) for each in found[1:]] == [(10, None), (None, 20), (None, None), (None, 20)]
    found = reconcile([fact(Min(), low=2), fact(Max(), high=5), fact(Count(), low=10, high=12), fact(Sum())])
    assert (found[3].low, found[3].high) == (20, 60)
    found = reconcile([fact(Sum(), low=100, high=240), fact(Count(), low=10, high=12), fact(Mean()), fact(Max())])
    assert (found[2].low, found[2].high) == (Fraction(100, 12), 24) and found[3].low == Fraction(100, 12)
    found = reconcile([fact(Sum(), low=-240, high=-100), fact(Count(), low=10, high=12), fact(Mean())])
    assert (found[2].low, found[2].high) == (-24, Fraction(-100, 12))
    found = reconcile([fact(Min(), low=2, high=3), fact(Max(), low=7, high=9), fact(Range())])
    assert (found[2].low, found[2].high) == (4, 7)


def test_only_facts_of_the_same_population_meet() -> None:
    limited = Population(limits=(0, 200))
    found = reconcile([fact(Max(), high=200, population=limited), fact(Max(), point=500, drawn=True)])
    assert found[1].point == 500
    found = reconcile([fact(Max(), high=200), fact(Max(), point=500, drawn=True)])
    assert found[1].point == 200
    for other in (Population(counted="values"), Population(counted="ranges"), Population(counted="units")):
        assert reconcile([fact(Max(), high=200, population=other), fact(Max(), point=500)])[1].point == 500


def test_statements_that_may_fail_carry_the_sum_of_their_chances() -> None:
    given = [fact(Max(), low=300, gamma=Fraction(1, 20)), fact(Quantile("0.9"), low=400, gamma=Fraction(1, 100))]
    assert reconcile(given) == tuple(given)
    found = reconcile(given, gamma=Fraction(1, 10))
    assert (found[0].low, found[0].gamma) == (400, Fraction(6, 100)) and found[1] == given[1]
    certain = reconcile([fact(Quantile("0.9"), low=400), given[0]])
    assert (certain[1].low, certain[1].gamma) == (400, Fraction(1, 20))
    failed = reconcile([fact(Max(), high=200), given[0]])
    assert (failed[1].low, failed[1].high) == (None, None), "a statement that is known to be false is withdrawn"


def known(**fields: Any) -> list[Fact]:
    """Ten thousand records, half of them below 50; the last hundred beyond 100, and none known below 0."""
    buckets = [
        fact(Min(), high=5), fact(Quantile("0.2"), high=10), fact(Quantile("0.8"), low=90), fact(Max(), low=100),
    ]  # fmt: skip
    return [
        *buckets,
        fact(Count(), point=10_000),
        fact(Median(), point=50, drawn=True),
        fact(Max(), drawn=True, **fields),
    ]


@pytest.mark.parametrize(("point", "unknown"), [(90, False), (150, False), (1000, False), (2000, True), (10**18, True)])
def test_a_drawn_extreme_is_judged_by_what_buckets_tell_of_its_tail(point: int, unknown: bool) -> None:
    """Width 95, of which the last fifth takes 95/85: at most ten widths, 950, beyond 100."""
    found = reconcile(known(point=point))[-1]
    assert found.unknown is unknown and found.point == (None if unknown else max(100, point))
    lower = reconcile([*known(point=100), fact(Min(), point=105 - point, drawn=True)])[-1]
    assert lower.unknown is unknown


def test_a_long_tail_may_be_long() -> None:
    """Where the last fifth takes two thirds of what is known, the highest may lie 3·3³ widths beyond it."""
    tail = [replace(each, low=Fraction(35)) if each.quantity == Quantile("0.8") else each for each in known(point=7000)]
    assert reconcile(tail)[-1].point == 7000 and reconcile(known(point=7000))[-1].unknown


@pytest.mark.parametrize("side", [1, -1])
def test_without_buckets_the_number_of_records_judges(side: int) -> None:
    end = Max() if side > 0 else Min()
    given = [fact(Count(), point=10_000), fact(Median(), point=300, drawn=True)]
    assert reconcile([*given, fact(end, point=side * 10**6, drawn=True)])[-1].point == side * 10**6
    assert reconcile([*given, fact(end, point=side * 10**18, drawn=True)])[-1].unknown
    limits = Population(limits=(Fraction(0), Fraction(10**7)))
    mean = fact(Mean(), point=10**5, population=limits, found=True, drawn=True, gamma=Fraction(1, 20))
    assert not reconcile([*given, mean])[-1].unknown
    absurd = replace(mean, population=Population(limits=(Fraction(0), Fraction(10**12))))
    assert reconcile([*given, absurd])[-1].unknown
    beside = reconcile([*given, mean, fact(Max(), point=10**10, drawn=True)])
    assert beside[-1].unknown and not beside[-2].unknown, "the limit of a mean tells of the tail"


def test_of_two_points_that_exclude_one_another_neither_is_known() -> None:
    given = [fact(Count(), point=1000), fact(Median(), point=-3, drawn=True), fact(Min(), point=-3, drawn=True)]
    far = fact(Max(), point=168 * 10**13, drawn=True)
    assert [each.unknown for each in reconcile([*given, far])[2:]] == [True, True]
    lower = fact(Quantile("0.25"), point=-9, drawn=True)
    assert [each.unknown for each in reconcile([*given, lower, far])[2:]] == [False, False, True]


@pytest.mark.parametrize("side", [1, -1])
def test_points_near_zero_tell_nothing_of_the_size_of_others(side: int) -> None:
    """Where most records are 0, an anchor may be 1e-12, and the highest of the others 580."""
    tiny, count = Fraction(1, 10**12), fact(Count(), point=10_000)
    found = reconcile(
        [
            count,
            fact(Median(), point=tiny * side, drawn=True),
            fact(Quantile("0.02" if side < 0 else "0.98"), point=2 * tiny * side, drawn=True),
            fact(Min() if side < 0 else Max(), point=580 * side, drawn=True),
            fact(Max() if side < 0 else Min(), point=0, drawn=True),
        ]
    )
    assert not any(each.unknown for each in found)
    known = fact(Median(), point=1, drawn=True)
    assert reconcile([count, known, fact(Max(), point=10**9, drawn=True)])[2].unknown, "the control"


def test_an_inner_point_that_no_value_can_have_takes_the_points_beside_it_along() -> None:
    """Public ends 0 and 100: 190 is the noise of a step, 201 is further off than there are values."""
    ends = [fact(Min(), low=0, public=True), fact(Max(), high=100, public=True)]
    points = [fact(Min(), point=30, drawn=True), fact(Quantile("0.9"), point=190, drawn=True)]
    assert [each.point for each in reconcile([*ends, *points])[2:]] == [30, 100]
    points[1] = replace(points[1], point=Fraction(201))
    assert [(each.point, each.unknown) for each in reconcile([*ends, *points])[2:]] == [(None, True)] * 2
    assert [each.point for each in reconcile([*points, ends[0]])[:2]] == [30, 201], "the control: an end is not known"
    assert reconcile([*ends, points[0], fact(Max(), point=201, drawn=True)])[3].point == 100, "steps of an extreme"
    sure = fact(Quantile("0.9"), low=20, high=40)
    assert [each.point for each in reconcile([*ends, *points, sure])[2:4]] == [30, 40], "certain ends cut it"


def test_where_nothing_else_is_known_nothing_is_judged() -> None:
    assert reconcile([fact(Max(), point=10**30, drawn=True)])[0].point == 10**30
    zero = [fact(Median(), point=0, drawn=True), fact(Count(), point=9000)]
    assert reconcile([*zero, fact(Max(), point=10**30, drawn=True)], last=Fraction(10**39))[-1].point == 10**30
    assert reconcile([*zero, fact(Max(), point=10**39, drawn=True)], last=Fraction(10**39))[-1].unknown
