"""Exact values, windows, priors and rungs against brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp.noise.bits import Bits
from flexdp.sharp.column import Column
from flexdp.sharp.goal import Goal
from flexdp.sharp.prior import Bands, Listed, Mixture, Prior, anchored, around, between, universal
from flexdp.sharp.ranks import Near, Request, Span, Tally
from flexdp.sharp.rungs import _decade, _far, _roundest, ladder_rungs, single_rungs
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

doubles = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e38, max_value=1e38)
SEEDED = np.random.default_rng(13)


# ---------------------------------------------------------------- scales


@given(doubles)
def test_a_double_is_its_shortest_decimal(value: float) -> None:
    wanted = Fraction(repr(value)) if abs(value) >= 1e-30 else Fraction(0)
    assert NUMBERS.value(NUMBERS.units(value)) == wanted
    assert Fraction(NUMBERS.text(NUMBERS.units(value))) == wanted


@given(doubles, st.integers(-2, 2))
def test_the_first_double_from_a_cut_on(value: float, near: int) -> None:
    cut = int(Fraction(repr(value)) * 10**47) + near
    found = NUMBERS.first_double(cut)
    assert Fraction(repr(found)) * 10**47 >= cut
    assert Fraction(repr(math.nextafter(found, -math.inf))) * 10**47 < cut


@given(st.integers(-(10**90), 10**90))
def test_the_first_double_from_any_cut_on(cut: int) -> None:
    found = NUMBERS.first_double(cut)
    assert Fraction(repr(found)) * 10**47 >= cut > Fraction(repr(math.nextafter(found, -math.inf))) * 10**47


@given(st.integers(-(10**80), 10**80))
def test_anchors_have_fifteen_digits(units: int) -> None:
    short = NUMBERS.short(units)
    assert len(str(abs(short)).rstrip("0")) <= 15
    assert abs(short - units) * 2 * 10**14 <= max(abs(units), 1)
    assert NUMBERS.units(float(NUMBERS.value(short))) == (short if abs(short) >= 10**17 else 0)
    assert INTEGERS.short(units) == units


def test_ends_and_zero() -> None:
    assert NUMBERS.units(1e300) == NUMBERS.limit == -NUMBERS.units(-1e39)
    assert NUMBERS.units(9.9e-31) == NUMBERS.units(-0.0) == 0
    assert NUMBERS.units(1e-30) == 10**17
    assert INTEGERS.units(10**50) == 10**39
    assert [INTEGERS.decade(v) for v in (1, -9, 10, 999)] == [0, 0, 1, 2]
    assert NUMBERS.exactly(Fraction(1, 3)) == 10**47 // 3


# ---------------------------------------------------------------- goals


@pytest.mark.parametrize("level", [Fraction(i, 40) for i in range(41)] + [Fraction(1, 3), Fraction(999, 1000)])
def test_the_loss_changes_by_at_most_m(level: Fraction) -> None:
    goal = Goal.quantile(level)
    for size in range(8):
        for below in range(size + 1):
            for upto in range(below, size + 1):
                before = goal.loss(below, upto, goal.target(size))
                for more_below, more_upto in ((0, 0), (0, 1), (1, 1)):  # above t, at t, below t
                    after = goal.loss(below + more_below, upto + more_upto, goal.target(size + 1))
                    assert abs(after - before) <= goal.sensitivity
    assert goal.units <= 20


# ---------------------------------------------------------------- columns


def brute(data: list[int], wanted: Near) -> tuple[list[tuple[int, int, int]], int]:
    low, high = wanted.span.low, wanted.span.high
    inside = [x for x in data if (low is None or x >= low) and (high is None or x < high)]
    lowest, highest = wanted.ranks(len(inside))
    rows = [(v, sum(x < v for x in inside), sum(x <= v for x in inside)) for v in sorted(set(inside))]
    return [row for row in rows if row[2] >= lowest and row[1] <= highest], len(inside)


GOALS = [Goal.quantile(Fraction(1, 2)), Goal.quantile(Fraction(3, 4)), Goal.beyond(3, 1), Goal.beyond(2, -1)]
cuts = st.one_of(st.none(), st.integers(-6, 6))


@given(
    st.lists(st.integers(-5, 5), max_size=25),
    st.sampled_from(GOALS),
    st.integers(0, 6),
    cuts,
    cuts,
)
def test_windows_are_those_of_brute_force(
    data: list[int], goal: Goal, reach: int, low: int | None, high: int | None
) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    asked = Near(goal=goal, reach=reach, span=Span(low, high))
    rows, total = brute(data, asked)
    histogram = Histogram.from_values(data) if data else Histogram([0], [0])
    numbers = np.array(data, dtype=np.float64)
    scaled = Near(goal=goal, reach=reach, span=Span(*(None if c is None else c * NUMBERS.one for c in (low, high))))
    for column, wanted, one in (
        (Column.from_values(data or np.zeros(0, dtype=np.int64)), asked, 1),
        (Column.from_histogram(histogram), asked if histogram.keys.dtype.kind == "i" else scaled, None),
        (Column.from_values(numbers), scaled, NUMBERS.one),
        (Column.from_values(np.array([*data, None], dtype=object)[:-1]), asked, 1),
    ):
        unit = column.scale.one if one is None else one
        window = column.fetch(Request(windows=(wanted,))).windows[0]
        found = [(window.value(i), int(window.below[i]), int(window.upto[i])) for i in range(len(window))]
        assert found == [(v * unit, below, upto) for v, below, upto in rows]
        assert window.total == total
        assert len(window) <= 2 * reach + 3


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=25), st.sampled_from(GOALS), st.integers(0, 6))
def test_wanted_ranks_are_those_of_all_values_whose_loss_is_small(data: list[int], goal: Goal, reach: int) -> None:
    """A value has the ranks #{x < v} + 1 to #{x ≤ v}; its loss is its distance from the goal, in 1/B records."""
    target, (lowest, highest) = goal.target(len(data)), Near(goal=goal, reach=reach).ranks(len(data))
    for value in range(-6, 7):
        below, upto = sum(x < value for x in data), sum(x <= value for x in data)
        if goal.loss(below, upto, target) <= goal.units * reach:
            assert upto >= lowest and below <= highest
    assert highest - lowest == 2 * reach + (target % goal.units > 0)
    assert goal.units * (lowest + reach) <= target <= goal.units * (highest - reach)


@given(st.lists(st.integers(-5, 5), max_size=25))
def test_what_a_draw_looks_at_in_a_window(data: list[int]) -> None:
    """A window that reaches over all records knows the value of every rank, and the ranks of every candidate."""
    everything = Near(goal=GOALS[0], reach=len(data) + 1)
    column = Column.from_values(data or np.zeros(0, dtype=np.int64))
    window = column.fetch(Request(windows=(everything,))).windows[0]
    ranks = range(1, len(data) + 1)
    assert window.around(ranks, ranks[::2]) == (sorted(data), sorted(data)[::2])
    for value in range(-7, 8):
        counts = sum(x < value for x in data), sum(x <= value for x in data)
        assert window.counts(value) == counts
    assert Tally(low=-3, step=4, cells=5).high == 17


@given(st.lists(st.integers(-(2**70), 2**70), max_size=12), st.lists(st.integers(-(2**70), 2**70), max_size=8))
def test_counts_before_cuts_of_integers_of_any_size(data: list[int], cuts: list[int]) -> None:
    reply = Column.from_values(np.array([*data, None], dtype=object)[:-1]).fetch(Request(cuts=tuple(cuts)))
    assert list(reply.before) == [sum(x < cut for x in data) for cut in cuts]
    short = [x for x in data if abs(x) < 2**63]
    reply = Column.from_values(np.array(short, dtype=np.int64)).fetch(Request(cuts=tuple(cuts)))
    assert list(reply.before) == [sum(x < cut for x in short) for cut in cuts]


@given(st.lists(st.floats(), max_size=20), st.lists(doubles, max_size=6))
def test_counts_before_cuts_of_doubles(data: list[float], near: list[float]) -> None:
    wanted = [NUMBERS.units(value) + shift for value in near for shift in (-1, 0, 1)]
    readable = [NUMBERS.units(value) for value in data if math.isfinite(value)]
    reply = Column.from_values(np.array(data, dtype=np.float64)).fetch(Request(cuts=tuple(wanted)))
    assert reply.total == len(readable)
    assert list(reply.before) == [sum(x < cut for x in readable) for cut in wanted]


def test_dates_missing_values_and_text() -> None:
    days = np.array(["1970-01-03", "NaT", "1969-12-31"], dtype="M8[D]")
    moments = np.array(["1970-01-01T00:00:00.000002999", "NaT"], dtype="M8[ns]")
    assert Column.from_values(days).fetch(Request(cuts=(0, 2, 3))).before == [1, 1, 2]
    assert Column.from_values(moments).fetch(Request(cuts=(2, 3))).before == [0, 1]
    for bad in (["a"], [1 + 2j], np.zeros((2, 2))):
        with pytest.raises(InputError):
            Column.from_values(bad)  # type: ignore[arg-type]
    assert "3" not in repr(Column.from_values([3])) + repr(Column.from_values([3]).fetch(Request(cuts=(3,))))


def test_a_histogram_with_counts_beyond_sixty_four_bits() -> None:
    column = Column.from_histogram(Histogram([1, 2, 3], [2**62, 2**63 - 1, 5]))
    reply = column.fetch(Request(cuts=(2, 3), windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=2),)))
    assert reply.before == [2**62, 2**62 + 2**63 - 1] and reply.total == 2**62 + 2**63 + 4
    assert [window.value(i) for window in [reply.windows[0]] for i in range(len(window))] == [2]


# ---------------------------------------------------------------- priors


def candidates(scale: Scale, anchor: int, k: int, j: int, start: int, stop: int, sign: int) -> range:
    """The multiples of 10^(k−j) with |t − A| in [start, stop)·10^k, by their definition."""
    grain, near, far = scale.ten(k - j), start * scale.ten(k), stop * scale.ten(k)
    low, high = (anchor + near, anchor + far - 1) if sign > 0 else (anchor - far + 1, anchor - near)
    return range(-(-low // grain) * grain, high + 1, grain)


def test_weights_are_those_of_the_definition() -> None:
    """Every candidate of a small prior, summed from its definition in rationals."""
    for anchor in (0, 7, -123):
        for side in (0, 1, -1):
            prior = Bands(INTEGERS, anchor, first=1, last=1, low=0, high=2, levels=2, side=side)
            weights: dict[int, Fraction] = {anchor: Fraction(3, 10)}
            v = (3, 6, 10)
            for k in range(3):
                rho = Fraction(1, (1 + abs(k - 1)) ** 2)
                for start, stop in ((1, 2), (2, 5), (5, 10)):
                    for sign in (-1, 1):
                        if side * sign < 0:
                            continue
                        for j in range(k + 1):
                            each = rho * v[j] / (3 * (stop - start) * 10**j * sum(v[: k + 1]))
                            for t in candidates(INTEGERS, anchor, k, j, start, stop, sign):
                                weights[t] = weights.get(t, Fraction(0)) + each
            if not anchor and not side:
                weights[10**39] = weights[-(10**39)] = Fraction(1, 100)
            total = sum(weights.values())
            for t in [*range(anchor - 1005, anchor + 1006), 10**39, -(10**39)]:
                got = Fraction(prior.before(t + 1) - prior.before(t), prior.total)
                assert got == weights.get(t, Fraction(0)) / total, t


@pytest.mark.parametrize(
    "make",
    [
        lambda: universal(INTEGERS),
        lambda: universal(NUMBERS),
        lambda: around(INTEGERS, -17, 1),
        lambda: around(NUMBERS, NUMBERS.units(0.25), -1),
        lambda: between(NUMBERS, NUMBERS.units(-1.5), NUMBERS.units(3.25)),
        lambda: anchored(INTEGERS, 10**38, 1),
        lambda: Listed({1: 2, 5: 1}),
    ],
)
def test_mass_is_monotone_and_draws_stay_inside(make: Callable[[], Prior]) -> None:
    prior, bits = make(), Bits(SEEDED.bytes)
    drawn = sorted(prior.draw(None, None, bits) for _ in range(300))
    masses = [prior.before(t) for t in drawn]
    assert masses == sorted(masses) and masses[0] >= 0 and prior.before(drawn[-1] + 1) <= prior.total
    for t in set(drawn):
        assert prior.before(t + 1) > prior.before(t)  # every draw is a candidate
    for low, high in pairwise(sorted(set(drawn))[:40]):
        assert low <= prior.draw(low, high, bits) < high
    assert prior.before(-(10**90)) == 0 and prior.before(10**90) == prior.total


def test_every_double_and_every_integer_is_a_candidate() -> None:
    for value in (0.1 + 0.2, 1e-30, 123456.789012345, 1.7976931348623157e38, -5e-324, 1e300, 2.0**-99):
        units = NUMBERS.units(value)
        assert universal(NUMBERS).before(units + 1) > universal(NUMBERS).before(units)
    for whole in (0, 2**80 + 1, -(10**38) - 7, 10**39):
        assert universal(INTEGERS).before(whole + 1) > universal(INTEGERS).before(whole)


def test_mixtures_are_half_and_half() -> None:
    one, other = Listed({0: 3, 1: 1}), Listed({1: 7})
    mixed = Mixture(one, other)
    weights = [Fraction(mixed.before(t + 1) - mixed.before(t), mixed.total) for t in (0, 1)]
    assert weights == [Fraction(3, 8), Fraction(5, 8)]


# ---------------------------------------------------------------- rungs


@pytest.mark.parametrize("anchor", [0, 7, -3, -12345, 10**25, 10**39, -(10**39)])
@pytest.mark.parametrize("side", [1, -1])
def test_rungs_of_integers(anchor: int, side: int) -> None:
    rungs = single_rungs(INTEGERS, anchor, side)
    assert rungs[0] == anchor and rungs[-1] == side * 10**39
    assert all((b - a) * side > 0 for a, b in pairwise(rungs))
    assert 0 in rungs or anchor * side > 0
    near = [t for t in rungs[1:-1] if abs(t - anchor) >= 1000]
    assert all(abs(b - a) * 20 <= abs(b - anchor) for a, b in pairwise(near))  # 5 % of the distance


@given(st.floats(min_value=-1e20, max_value=1e20), st.sampled_from([1, -1]))
@example(-1e-30, 1)
def test_rungs_of_numbers_are_short(value: float, side: int) -> None:
    anchor = NUMBERS.short(NUMBERS.units(value))
    rungs = single_rungs(NUMBERS, anchor, side)
    assert rungs[0] == anchor and len(rungs) < 12_500
    for rung in rungs[1::97]:
        tiny = abs(rung) < NUMBERS.ten(NUMBERS.low_decade)  # where no record is: it would be 0
        assert NUMBERS.units(float(NUMBERS.value(rung))) == (0 if tiny else rung)  # a double says it exactly


@given(st.integers(-(10**4), 10**4), st.integers(1, 300))
def test_the_roundest_number_of_an_interval(low: int, width: int) -> None:
    """Against all numbers of the interval and the grains of each."""
    grains = [m * 10**j for j in range(6) for m in (1, 2, 5)]
    best = max((max((g for g in grains if t % g == 0)), t) for t in range(low + 1, low + width + 1))
    rung, grain = _roundest(low, low + width)
    assert (rung, grain) == ((0, 0) if low < 0 <= low + width else best[::-1])


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("anchor", [1617, -37, 4_987_123])
def test_round_rungs_and_far_ones_have_halvings(anchor: int, side: int) -> None:
    """The anchor 7, exceptionally round ones 1, and 1 more for each decade beyond the spread."""
    rungs = ladder_rungs(INTEGERS, anchor, side, spread=4000)
    assert rungs.values == single_rungs(INTEGERS, anchor, side) == tuple(sorted(rungs.values, reverse=side < 0))
    assert rungs.halvings[0] == 7 and rungs.far[0] == 0
    for rung, halvings, far in list(zip(*rungs, strict=True))[1:-1]:
        divisors = [m * 10**j for j in range(42) for m in (1, 2, 5) if rung % (m * 10**j) == 0]
        round_one = not rung or 2 * max(divisors, default=0) >= abs(rung - anchor)
        assert far == max(0, len(str(abs(rung - anchor))) - 4), rung
        assert halvings == round_one + far, rung
    assert set(ladder_rungs(INTEGERS, 0, side).far) == {0}, "nothing is known"
    unknown = ladder_rungs(INTEGERS, 50, side)
    assert dict(zip(unknown.values, unknown.far, strict=True))[unknown.values[-1]] in (34, 35)


@given(st.integers(2, 38), st.integers(-(10**36), 10**36), st.sampled_from([INTEGERS, NUMBERS]), st.booleans())
def test_far_rungs_depend_on_the_sign_of_the_anchor_alone(k: int, place: int, scale: Scale, edge: bool) -> None:
    """A decade that is computed once for all near anchors; from a hundredth of the decade on it would be wrong."""
    grain = scale.ten(k) // 100
    start = (grain - 1 if edge else abs(place) % grain) * (1 if place > 0 else -1)

    def plain(start: int) -> tuple[tuple[int, int], ...]:
        return tuple(_decade(scale, k, start, start + 99 * grain, scale.limit))

    assert _far(scale, k, start < 0, 1) == plain(start)
    assert _far(scale, k, start < 0, -1) == tuple((-rung, halvings) for rung, halvings in plain(start))
    assert _far(scale, k, False, 1) != plain(grain), "the control: an anchor that is too far"


@given(
    st.integers(-(10**45), 10**45), st.integers(0, 45), st.sampled_from([1, -1]), st.sampled_from([INTEGERS, NUMBERS]),
    st.one_of(st.none(), st.integers(1, 10**9)),
)  # fmt: skip
def test_single_rungs_are_those_of_the_ladder(
    place: int, power: int, side: int, scale: Scale, width: int | None
) -> None:
    anchor = scale.short(place // 10**power)
    ends = Span(None, None) if width is None else Span(anchor - width, anchor + width)
    assert single_rungs(scale, anchor, side, ends) == ladder_rungs(scale, anchor, side, ends).values


def test_bounds_end_the_ladder() -> None:
    assert single_rungs(INTEGERS, 5, 1, Span(0, 11)) == (5, 6, 7, 8, 9, 10)
    assert single_rungs(INTEGERS, 5, -1, Span(3, 11)) == (5, 4, 3)
    assert single_rungs(INTEGERS, 10, 1, Span(0, 11)) == (10,)
