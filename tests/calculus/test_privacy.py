"""The one derivation of privacy: each rule against exact laws, by enumeration in rationals, and rounded outwards."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import InputError, Privacy
from flexdp.calculus import divide, of_each_bucket, of_each_member, of_group, of_unit, split, total
from flexdp.calculus.powers import gamma_share
from flexdp.calculus.privacy import of_each_release, post_process, pre_process
from flexdp.guarantees import ONE_RECORD, AddRemove, AnswersWithin, Condition, Neighbours, OwnNeighbours, Replace
from flexdp.noise import DropNoise
from flexdp.planning import per_bucket

Law = dict[tuple[int, ...], Fraction]
budgets = st.builds(
    Privacy,
    epsilon=st.fractions(Fraction(1, 100), 5, max_denominator=1000),
    delta=st.fractions(Fraction(1, 10**9), Fraction(1, 2), max_denominator=10**9),
)


def law(noise: DropNoise, heights: tuple[int, ...]) -> Law:
    """The exact law of what is left of several buckets."""
    found: Law = defaultdict(Fraction)
    for drops in product(range(noise.q), repeat=len(heights)):
        left = tuple(max(0, height - drop) for height, drop in zip(heights, drops, strict=True))
        found[left] += Fraction(math.prod(noise.weights[drop] for drop in drops), 1 << noise.bits * len(heights))
    return found


def divergence(one: Law, two: Law, epsilon: Fraction) -> Fraction:
    """The hockey-stick divergence at a little more than ε: a lower bound."""
    with localcontext() as context:
        context.prec = 80
        growth = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()) * (1 + Fraction(1, 10**70))
    return sum((max(Fraction(0), p - growth * two.get(y, Fraction(0))) for y, p in one.items()), Fraction(0))


def worst(noise: DropNoise, pairs: list[tuple[tuple[int, ...], tuple[int, ...]]], epsilon: Fraction) -> Fraction:
    laws = [(law(noise, x), law(noise, y)) for x, y in pairs]
    return max(max(divergence(x, y, epsilon), divergence(y, x, epsilon)) for x, y in laws)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.1"), ("0.5", "0.05"), (2, "0.01")])
@pytest.mark.parametrize("buckets", [1, 2, 3])
def test_a_unit_in_several_buckets_has_the_privacy_that_is_derived(epsilon: str, delta: str, buckets: int) -> None:
    noise = DropNoise(epsilon, delta)
    told = of_unit(Privacy(epsilon=noise.epsilon, delta=noise.delta_real), buckets, unit="u")
    heights = [(h,) * buckets for h in (0, 1, noise.q)] + [tuple(range(buckets))]
    pairs = [(x, tuple(h + 1 for h in x)) for x in heights]
    found = worst(noise, pairs, told.epsilon)
    assert found <= told.delta and told.delta - found < Fraction(1, 10**9), "and it is tight"
    assert told.neighbours == AddRemove("u", buckets)
    for less in (told.epsilon * Fraction(9, 10),):
        assert worst(noise, pairs, less) > told.delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.01"), ("0.5", "0.01"), (2, "1e-4")])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_group_in_one_bucket_has_the_privacy_that_is_derived(epsilon: str, delta: str, size: int) -> None:
    noise = DropNoise(epsilon, delta)
    told = of_group(Privacy(epsilon=noise.epsilon, delta=noise.delta_real), size)
    pairs = [((h,), (h + size,)) for h in range(noise.q + 2)]
    found = worst(noise, pairs, told.epsilon)
    assert found <= told.delta
    if size <= noise.q // 2:
        assert told.delta - found < told.delta / 1000, "and it is exact up to half the reach"
    assert size == 1 or worst(noise, pairs, told.epsilon / size) > told.delta


@settings(max_examples=60, deadline=None)
@given(whole=budgets, many=st.integers(1, 40))
def test_what_is_divided_adds_up_to_no_more_than_there_was(whole: Privacy, many: int) -> None:
    again = of_unit(of_each_bucket(whole, many), many)
    assert again.epsilon == whole.epsilon and again.delta <= whole.delta
    assert whole.delta - again.delta <= Fraction(many, 10**59)
    member = of_each_member(whole, many)
    group = of_group(member, many)
    assert group.epsilon == whole.epsilon and group.delta == whole.delta
    parts = split(whole, [1] * many)
    assert total(parts) == whole and len(parts) == many


@settings(max_examples=40, deadline=None)
@given(whole=budgets, buckets=st.integers(1, 9), certify=st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_buckets_and_total_share_a_budget(whole: Privacy, buckets: int, certify: Fraction) -> None:
    bucket, bound = divide(whole, buckets=buckets, certify=certify)
    assert bound is not None
    spent = total([of_unit(bucket, buckets), _of(of_group(bound, buckets), AddRemove("record", buckets))])
    assert spent.epsilon == whole.epsilon and spent.delta <= whole.delta
    assert whole.delta - spent.delta <= Fraction(1, 10**50)
    assert divide(whole, buckets=buckets) == (of_each_bucket(whole, buckets), None)


def _of(privacy: Privacy, neighbours: Neighbours) -> Privacy:
    return Privacy(epsilon=privacy.epsilon, delta=privacy.delta, neighbours=neighbours)


def test_a_pure_budget_stays_pure() -> None:
    pure = Privacy(epsilon=1, delta=0)
    for found in (of_unit(pure, 3), of_each_bucket(pure, 3), of_group(pure, 3), of_each_member(pure, 3)):
        assert found.delta == 0
    assert [part.delta for part in split(pure, [1, 2])] == [0, 0]


@settings(max_examples=60, deadline=None)
@given(whole=budgets, shares=st.lists(st.fractions(Fraction(1, 50), 50, max_denominator=50), min_size=1, max_size=6))
def test_splits_are_exact(whole: Privacy, shares: list[Fraction]) -> None:
    parts = split(whole, shares)
    assert total(parts) == whole
    assert [part.epsilon * sum(shares) for part in parts] == [whole.epsilon * share for share in shares]


def test_the_calibration_of_a_bucket_is_the_derivation() -> None:
    for many in (1, 2, 17):
        assert per_bucket(1, "1e-6", many) == of_each_bucket(Privacy(epsilon=1, delta="1e-6"), many)


def test_real_deltas_are_carried_along() -> None:
    real = Privacy(epsilon=1, delta="1e-3", delta_real="1e-4")
    assert of_unit(real, 2).delta_real == pytest.approx(2e-4, rel=1e-3)
    assert Fraction(of_unit(real, 2).delta_real or 0) >= 1 - (1 - Fraction(1, 10**4)) ** 2
    assert of_group(real, 2).delta_real == pytest.approx(1e-4 * (1 + math.e))
    assert total([real, Privacy(epsilon=1, delta="1e-5")]).delta_real == Fraction("1.1e-4")
    assert total([Privacy(epsilon=1, delta=0)]).delta_real is None
    assert of_each_bucket(real, 2).delta_real is None and split(real, [1, 1])[0].delta_real is None


# --- neighbours and conditions ---

RELATIONS: list[Neighbours] = [
    ONE_RECORD, AddRemove("record", 2), AddRemove("pid"), AddRemove("pid", 5), Replace(), Replace("pid"),
    AnswersWithin(1), AnswersWithin("2.5"), OwnNeighbours("rows"), OwnNeighbours("columns"),
]  # fmt: skip


def test_relations_are_compared_as_values() -> None:
    assert len(set(RELATIONS)) == len(RELATIONS) == len(set(map(str, RELATIONS)))
    assert AddRemove() == ONE_RECORD and AnswersWithin("2.50") == AnswersWithin(2.5)
    assert OwnNeighbours("add or remove one record") != ONE_RECORD, "words do not make a relation"
    for one in RELATIONS:
        assert one.covers(one)
        for two in RELATIONS:
            if one != two and one.covers(two):
                assert type(one) is type(two) and not two.covers(one)
                assert all(two.covers(three) <= one.covers(three) for three in RELATIONS), "and it is transitive"
    assert AddRemove("pid", 5).covers(AddRemove("pid")) and not AddRemove("pid").covers(AddRemove("pid", 5))


def test_sums_protect_what_all_of_them_protect() -> None:
    narrow, wide = (Privacy(epsilon=1, delta="1e-6", neighbours=AddRemove("pid", k)) for k in (2, 5))
    assert total([narrow, wide]).neighbours == AddRemove("pid", 2) == total([wide, narrow]).neighbours
    with pytest.raises(InputError, match="must protect the same neighbours"):
        total([narrow, Privacy(epsilon=1, delta=0)])
    few = Privacy(epsilon=1, delta=0, given=Condition(records_at_least=100))
    both = total([few, Privacy(epsilon=1, delta=0, given=Condition(records_at_least=70, buckets_at_most=3)), few])
    assert both.given == Condition(records_at_least=100, buckets_at_most=3)
    assert total([few, Privacy(epsilon=1, delta=0)]).given == few.given
    with pytest.raises(InputError, match="add up to less than 1"):
        total([Privacy(epsilon=1, delta="0.5")] * 2)
    with pytest.raises(InputError, match="at least one"):
        total([])


def test_groups_that_are_too_large_have_no_privacy() -> None:
    private = Privacy(epsilon=1, delta="1e-6")
    assert of_group(private, 13).delta < 1
    for size in (20, 10**4 + 1, 10**9):
        with pytest.raises(InputError, match="no privacy"):
            of_group(private, size)
    for wrong in ([], [0], [-1, 2], "12", None):
        with pytest.raises(InputError, match="shares must"):
            split(private, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("gamma", ["0.05", "0.1", "0.3", "1e-9", "0.07", "1"])
def test_shares_of_a_loss_never_add_up_to_more(gamma: str) -> None:
    for many in (2, 3, 7):
        share = gamma_share(Fraction(gamma), many)
        assert 0 < share * many <= Fraction(gamma) and share * many > Fraction(gamma) * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize("releases", [1, 2, 7])
def test_equal_parts_of_a_budget_add_up_to_it(releases: int) -> None:
    whole = Privacy(epsilon="1/3", delta="1e-6", delta_real="9e-7")
    part = of_each_release(whole, releases)
    assert part.delta_real is None and part.neighbours == whole.neighbours
    again = total([part] * releases)
    assert (again.epsilon, again.delta) == (whole.epsilon, whole.delta)


def test_a_condition_is_never_lost() -> None:
    """A guarantee that holds of some tables only must not become one of all tables by being processed further."""
    condition = Condition(records_at_least=100)
    private = Privacy(epsilon=1, delta="1e-6", delta_real="5e-7", given=condition)
    derived = [
        post_process(private),
        pre_process(private, relation=(ONE_RECORD, ONE_RECORD), keeps_condition=True),
        of_unit(private, 2, unit="pid"),
        of_each_bucket(private, 1),
        of_each_bucket(private, 2),
        of_group(private, 2),
        of_each_member(private, 2),
        of_each_release(private, 2),
        *split(private, [1, 2]),
        *divide(private, buckets=2, certify="0.1"),
        total([private, Privacy(epsilon=1, delta=0)]),
    ]
    assert [each.given for each in derived if each is not None] == [condition] * 13
    with pytest.raises(InputError, match="keeps_condition must be True"):
        pre_process(private, relation=(ONE_RECORD, ONE_RECORD))


def test_the_relations_that_have_no_sum_are_named() -> None:
    units, rows = AddRemove("pid", 2), OwnNeighbours("change one row")
    with pytest.raises(InputError) as refused:
        total([Privacy(epsilon=1, delta=0, neighbours=each) for each in (units, rows, units)])
    assert f"{units} and {rows} have no sum" in str(refused.value)


@pytest.mark.parametrize("wrong", [5, (ONE_RECORD,), (ONE_RECORD,) * 3, None])
def test_a_relation_is_a_pair(wrong: object) -> None:
    with pytest.raises(InputError, match="relation "):
        pre_process(Privacy(epsilon=1, delta=0), relation=wrong)
