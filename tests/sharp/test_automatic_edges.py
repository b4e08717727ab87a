"""The public side of automatic buckets: shares, steps, profiles and edges."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp.noise import DropNoise, smallest_reach
from flexdp.sharp.edges import edges_of
from flexdp.sharp.profile import RECORD, Leaf, Profile
from flexdp.sharp.ranks import Span
from flexdp.sharp.scale import INTEGERS, NUMBERS
from flexdp.sharp.shares import COUNT_SHARE, LEAST_FOR_BARS, shares, smallest_level
from flexdp.sharp.steps import CalendarStep, calendar_steps, decimal_steps

DELTA = Fraction(1, 10**6)
EPOCH = dt.date(1970, 1, 1)


@given(st.integers(400, 10**8), st.sampled_from(["1", "0.1", "0.3", "3"]))
@settings(max_examples=60)
def test_shares_are_those_of_the_formulas(records: int, epsilon: str) -> None:
    exact = Fraction(epsilon)
    found = shares(records, exact, DELTA)
    assert found is not None
    x = records * float(exact)
    wanted = 100 * min(0.4, max(0.15, 0.4 * (1000 / x) ** 0.2))
    assert abs(float(found.share) * 100 - wanted) <= 0.5 + 1e-9
    assert abs(found.levels - min(5, max(3, math.log2(x / 150)))) <= 0.5 + 1e-9
    assert found.reach == DropNoise(exact * (1 - found.share), DELTA).q
    most = min(60.0, max(5.0, 2 * (records / found.reach) ** 0.4))
    assert most - 1 - 1e-9 < found.most_buckets <= most + 1e-9
    spent = Fraction(1, 25) * exact + (found.levels + 1) * found.per_level + found.leaves + found.bars
    assert spent == exact


def test_no_shares_beyond_the_largest_reach() -> None:
    assert shares(10**12, Fraction(1, 10**6), Fraction(1, 10**30)) is None


# ---------------------------------------------------------------- steps


def test_decimal_steps() -> None:
    steps = decimal_steps(INTEGERS)(3, 180)
    assert [step.length for step in steps] == [5000, 2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1]
    assert [step.length for step in decimal_steps(NUMBERS)(1, 1)][-1] == 1


@given(st.dates(min_value=dt.date(100, 1, 1), max_value=dt.date(9000, 1, 1)), st.sampled_from([1, 3, 6, 12, 24, 60]))
def test_months_and_years_begin_on_first_days(day: dt.date, months: int) -> None:
    found = EPOCH + dt.timedelta(days=CalendarStep(months, 1).after((day - EPOCH).days))
    assert found > day and found.day == 1
    assert (12 * found.year + found.month - 1) % months == 0
    earlier = 12 * found.year + found.month - 1 - months
    assert dt.date(earlier // 12, earlier % 12 + 1, 1) <= day
    assert CalendarStep(months, 1).holds((found - EPOCH).days)
    assert not CalendarStep(months, 1).holds((found - EPOCH).days + 1)


def test_weeks_begin_on_mondays_and_datetimes_count_microseconds() -> None:
    week = next(step for step in calendar_steps(1)(1, 1000) if step.length == 7)
    assert (EPOCH + dt.timedelta(days=week.after(0))).weekday() == 0
    lengths = [step.length for step in calendar_steps(86_400_000_000)(60_000_000, 3_600_000_000)]
    assert 60_000_000 in lengths and 3_600_000_000 in lengths and 900_000_000 in lengths
    assert lengths == sorted(lengths, reverse=True)
    assert [step.length for step in calendar_steps(1)(1, 3)][-2:] == [2, 1]


# ---------------------------------------------------------------- profiles


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[Span], list[int]]:
    """Leaves that tile the line, with noisy counts."""
    widths = draw(st.lists(st.sampled_from([1, 1, 2, 7, 30, 400, 10**5, 10**9]), min_size=1, max_size=20))
    start = draw(st.integers(-(10**6), 10**6))
    cuts = list(accumulate(widths, initial=start))
    leaves = [Span(None, cuts[0]), *(Span(a, b) for a, b in pairwise(cuts)), Span(cuts[-1], None)]
    counts = draw(st.lists(st.integers(-20, 3000), min_size=len(leaves), max_size=len(leaves)))
    return leaves, counts


@given(trees())
def test_profiles_never_fall_and_meet_their_leaves(tree: tuple[list[Span], list[int]]) -> None:
    leaves, counts = tree
    inner = [
        Leaf(leaf.low, leaf.high, max(0, count) * RECORD)  # type: ignore[arg-type]
        for leaf, count in zip(leaves[1:-1], counts[1:-1], strict=True)
    ]
    below, above = max(0, counts[0]) * RECORD, max(0, counts[-1]) * RECORD
    profile = Profile(inner, below, above)
    running = below
    for leaf in inner:
        assert abs(profile.upto(leaf.low) - running) <= 1
        running += leaf.count
        inside = sorted({leaf.low + leaf.width * i // 7 for i in range(8)})
        heights = [profile.upto(value) for value in inside]
        assert heights == sorted(heights)
        middle = (profile.upto(leaf.low) + profile.upto(leaf.high)) // 2
        if leaf.count:
            reached = profile.reached(middle)
            assert leaf.low <= reached <= leaf.high
            assert profile.upto(reached) <= middle + 1
    assert profile.total == below + sum(leaf.count for leaf in inner) + above


def test_records_thin_out_in_a_wide_leaf() -> None:
    """Two thirds of a wide outer leaf's records lie near its narrow neighbour; even spreading would say a tenth."""
    leaves = [Leaf(0, 10, 100 * RECORD), Leaf(10, 1010, 100 * RECORD)]
    profile = Profile(leaves, 50 * RECORD, 50 * RECORD)
    assert profile.upto(110) - profile.upto(10) > 60 * RECORD
    even = Profile([Leaf(0, 1000, 100 * RECORD), Leaf(1000, 2000, 100 * RECORD)], 0, 0)
    assert even.upto(1100) - even.upto(1000) == 10 * RECORD


# ---------------------------------------------------------------- edges


@given(trees(), st.sampled_from([10, 28, 43]), st.integers(5, 60))
@settings(max_examples=60)
def test_edges_are_ascending_few_and_public(tree: tuple[list[Span], list[int]], reach: int, most: int) -> None:
    leaves, counts = tree
    parameters = {"reach": reach, "most": most, "thin": Fraction(50), "steps": decimal_steps(INTEGERS)}
    edges = edges_of(leaves, counts, **parameters)  # type: ignore[arg-type]
    assert edges == edges_of(leaves, counts, **parameters)  # type: ignore[arg-type]
    assert edges and all(a < b for a, b in pairwise(edges))
    assert len(edges) + 1 <= most
    assert leaves[0].high is not None and leaves[-1].low is not None
    beyond = max(leaves[0].high - edges[0], edges[-1] - leaves[-1].low)  # rounded, by a twentieth of a bucket
    assert 20 * beyond <= (max(edges[1] - edges[0], edges[-1] - edges[-2]) if len(edges) > 1 else 0)


def test_the_outermost_edges_are_rounded() -> None:
    """They come from leaves, with many digits; those of a bucket of one value stay."""
    scale, ends = NUMBERS, ("-31.41592653", "72.147980126")
    low, high = (scale.exactly(Fraction(end)) for end in ends)
    middle = scale.exactly(Fraction(20))
    leaves = [Span(None, low), Span(low, middle), Span(middle, high), Span(high, None)]
    parameters: dict[str, Any] = {"reach": 20, "most": 9, "thin": Fraction(3), "steps": decimal_steps(scale)}
    edges = edges_of(leaves, [60, 500, 480, 70], **parameters)
    assert [scale.text(edge) for edge in (edges[0], edges[-1])] == ["-31", "72"]
    point = [Span(None, low), Span(low, low + 1), *leaves[2:]]
    point[2] = Span(low + 1, high)
    assert edges_of(point, [60, 900, 480, 70], **parameters)[:2] == (low, low + 1)


def test_a_heavy_value_gets_a_bucket_of_its_own() -> None:
    leaves = [Span(None, 0), Span(0, 1), Span(1, 50), Span(50, 100), Span(100, None)]
    edges = edges_of(
        leaves, [60, 5000, 600, 500, 70], reach=28, most=18, thin=Fraction(30), steps=decimal_steps(INTEGERS)
    )
    assert edges[:2] == (0, 1)
    assert set(edges[2:]) <= set(range(5, 101, 5))


def test_leaves_without_records_join_the_open_end() -> None:
    leaves = [Span(None, -1000), Span(-1000, -100), Span(-100, 0), Span(0, 50), Span(50, 90), Span(90, None)]
    edges = edges_of(
        leaves, [0, 1, 2, 900, 900, 80], reach=28, most=10, thin=Fraction(30), steps=decimal_steps(INTEGERS)
    )
    assert min(edges) >= 0


def test_a_tree_that_found_nothing_but_its_root() -> None:
    for leaves in ([Span(None, 7), Span(7, None)],):
        assert edges_of(leaves, [5, 5], reach=28, most=5, thin=Fraction(30), steps=decimal_steps(INTEGERS)) == (7,)


@pytest.mark.parametrize("kind", ["dates", "datetimes"])
def test_edges_of_dates_are_days_of_the_calendar(kind: str) -> None:
    day = 1 if kind == "dates" else 86_400_000_000
    start = (dt.date(2013, 1, 1) - EPOCH).days * day
    cuts = [start + i * 40 * day for i in range(10)]
    leaves = [Span(None, cuts[0]), *(Span(a, b) for a, b in pairwise(cuts)), Span(cuts[-1], None)]
    edges = edges_of(leaves, [60, *([800] * 9), 70], reach=28, most=12, thin=Fraction(30), steps=calendar_steps(day))
    shown = [EPOCH + dt.timedelta(days=edge // day) for edge in edges if edge % day == 0]
    assert len(shown) == len(edges)
    assert sum(each.day == 1 for each in shown) >= len(shown) - 2


def _far_leaves(counts: list[int]) -> tuple[list[Span], list[int]]:
    """Six empty leaves far below zero, zero itself, and records from 0 to 100, beyond which hardly any lie."""
    below = [-(10**38), -(10**37), -(5 * 10**36), -(10**36), -(10**35)]
    cuts = [*below, 0, 1, 10, 20, 30, 50, 100]
    ends = [None, *cuts, None]
    return [Span(low, high) for low, high in pairwise(ends)], [*counts, 60_000, 5000, 5000, 5000, 5000, 5000, 300]


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("noise", [120, 200])
def test_noise_in_a_far_empty_leaf_does_not_make_every_bucket_coarse(place: int, noise: int) -> None:
    rules: dict[str, Any] = {"reach": 40, "most": 40, "thin": Fraction(100), "steps": decimal_steps(INTEGERS)}
    calm = edges_of(*_far_leaves([0] * 6), **rules)
    counts = [0] * 6
    counts[place] = noise
    assert edges_of(*_far_leaves(counts), **rules) == calm and len(calm) > 15
    assert len(edges_of(*_far_leaves(counts), **rules, lonely=False, near=False)) < 8  # control: the first rules


def test_many_records_far_away_are_kept() -> None:
    rules: dict[str, Any] = {"reach": 40, "most": 40, "thin": Fraction(100), "steps": decimal_steps(INTEGERS)}
    leaves, counts = _far_leaves([0, 0, 400, 0, 0, 0])
    assert edges_of(leaves, counts, **rules)[0] < -(10**36)


@pytest.mark.parametrize("far", [10**17, 10**22, 10**37])
@pytest.mark.parametrize("shift", [0, -500, -2000])
@pytest.mark.parametrize("side", [-1, 1])
def test_an_end_drawn_far_away_leaves_the_other_buckets_as_fine_as_they_were(side: int, shift: int, far: int) -> None:
    """The last records lie between the others and an end that one private draw put far beyond all of them."""
    cuts = [shift + cut for cut in range(0, 1100, 50)]
    cuts[0 if side < 0 else -1] = side * far
    leaves = [Span(low, high) for low, high in pairwise([None, *cuts, None])]
    counts = [60, *([200] * (len(cuts) - 1)), 60]
    rules: dict[str, Any] = {"reach": 20, "most": 14, "thin": Fraction(30), "steps": decimal_steps(INTEGERS)}
    inner = [edge for edge in edges_of(leaves, counts, **rules) if shift <= edge <= shift + 1050]
    assert len(inner) > 7 and max(b - a for a, b in pairwise(inner)) <= 200
    before = [edge for edge in edges_of(leaves, counts, **rules, near=False) if shift <= edge <= shift + 1050]
    assert len(before) < 4  # control: the rule before


# ---------------------------------------------------------------- how the budget is divided


@pytest.mark.parametrize("epsilon", ["0.1", "1", "7/2"])
def test_all_of_the_budget_is_spent_and_no_level_gets_less_than_is_said(epsilon: str) -> None:
    loss = Fraction(epsilon)
    for records in (1, 40, 1000, 1697, 1698, 3395, 31_000, 10**5, 10**7):
        found = shares(records, loss, DELTA)
        assert found is not None
        counted = COUNT_SHARE * loss
        assert counted + (found.levels + 1) * found.per_level + found.leaves + found.bars == loss
        assert found.leaves == (found.levels + 1) * found.per_level / 3
        assert smallest_level(loss) <= found.per_level and LEAST_FOR_BARS * loss <= found.bars
        assert found.reach == smallest_reach(loss * (1 - found.share), DELTA)
    assert smallest_level(loss) == found.per_level  # of the largest table
    assert shares(40, loss, DELTA, reach_of=lambda part: int(part * 1000)).reach == 600
    assert shares(40, loss, DELTA, reach_of=lambda _part: None) is None


def test_shares_change_where_the_formulas_do() -> None:
    """At ε = 1: log2(n/150) is rounded up from n = 150·√128 and 150·√512 on, 40·(1000/n)^0.2 above 20.5 up to 28283."""
    found = {n: shares(n, Fraction(1), DELTA) for n in (1697, 1698, 3394, 3395, 28283, 28284)}
    assert [each.levels for each in found.values() if each][:4] == [3, 4, 4, 5]
    assert [found[n].share for n in (28283, 28284)] == [Fraction(21, 100), Fraction(1, 5)]
