"""Statistics against brute force over the expanded list of records."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp.statistics import (
    IQR,
    Count,
    CountAbove,
    Distinct,
    InterpolatedQuantile,
    KthLargest,
    Max,
    MaxAtLeast,
    Mean,
    Median,
    MidpointMedian,
    Min,
    Mode,
    Quantile,
    Range,
    SampleVariance,
    Statistic,
    Std,
    Sum,
    Support,
    Top,
    TrimmedMean,
    Variance,
    equal_size_sensitivity,
)

records = st.lists(st.integers(-6, 6), min_size=1, max_size=40)


@given(values=records, level=st.fractions(0, 1))
def test_against_the_list_of_records(values: list[int], level: Fraction) -> None:
    h = Histogram.from_values(values)
    ordered = sorted(values)
    assert Max()(h) == ordered[-1]
    assert Min()(h) == ordered[0]
    assert Range()(h) == ordered[-1] - ordered[0]
    assert Quantile(level)(h) == ordered[max(1, math.ceil(level * len(values))) - 1]
    assert Median()(h) == Quantile("0.5")(h) == ordered[(len(values) - 1) // 2]
    assert Mode()(h) == min(set(values), key=lambda v: (-values.count(v), v))
    assert Support()(h) == tuple(sorted(set(values)))
    for k in (1, 2, 5):
        tall = [v for v in values if values.count(v) >= k]
        assert MaxAtLeast(k)(h) == (max(tall) if tall else None)
    best = sorted(set(values), key=lambda v: (-values.count(v), v))[:3]
    assert Top(3)(h) == tuple((v, values.count(v)) for v in best)


@given(values=records, level=st.sampled_from([0, 0.1, 0.25, 0.5, 0.9, 1]))
def test_quantile_is_numpys_inverted_cdf(values: list[int], level: float) -> None:
    assert Quantile(level)(Histogram.from_values(values)) == np.quantile(values, level, method="inverted_cdf")


@given(
    values=st.lists(st.integers(-20, 20), min_size=1, max_size=12),
    shifts=st.lists(st.integers(-2, 2), min_size=12, max_size=12),
)
def test_sensitivity_bounds_what_moving_records_can_do(values: list[int], shifts: list[int]) -> None:
    moved = [v + s for v, s in zip(values, shifts, strict=False)]
    before, after = Histogram.from_values(values), Histogram.from_values(moved)
    for statistic in (Max(), Min(), Range(), Quantile("0.3"), Median()):
        assert abs(statistic(before) - statistic(after)) <= statistic.sensitivity(2)
    one, two = set(Support()(before)), set(Support()(after))
    hausdorff = max(max(min(abs(a - b) for b in two) for a in one), max(min(abs(a - b) for b in one) for a in two))
    assert hausdorff <= Support().sensitivity(2)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(0, 40), min_size=1, max_size=12),
    shifts=st.lists(st.integers(-3, 3), min_size=12, max_size=12),
    copies=st.integers(1, 3),
)
def test_sensitivity_of_means_and_spreads(values: list[int], shifts: list[int], copies: int) -> None:
    moved = [min(40, max(0, v + s)) for v, s in zip(values, shifts, strict=False)]
    before, after = Histogram.from_values(values), Histogram.from_values(moved * copies)  # sizes may differ
    for statistic in (Mean(), TrimmedMean("0.1"), TrimmedMean("1/3"), Std(), Variance(40), IQR(), MidpointMedian()):
        assert abs(statistic(before) - statistic(after)) <= statistic.sensitivity(3) + 1e-9, statistic
    for statistic in (Max(), Min(), Range(), Quantile("0.3"), Median()):
        assert abs(statistic(before) - statistic(after)) <= statistic.sensitivity(3), statistic


@pytest.mark.parametrize(
    ("statistic", "before", "after", "beta"),
    [
        (Max(), {0: 1, 4: 1}, {0: 1, 5: 1}, 1),
        (Min(), {0: 1, 4: 1}, {1: 1, 4: 1}, 1),
        (Range(), {1: 1, 4: 1}, {0: 1, 5: 1}, 1),
        (IQR(), {1: 1, 4: 1}, {0: 1, 5: 1}, 1),
        (Median(), {3: 1}, {4: 1}, 1),
        (Quantile("0.9"), {3: 1}, {4: 1}, 1),
        (MidpointMedian(), {3: 1, 5: 1}, {4: 1, 6: 1}, 1),
        (Mean(), {3: 1, 5: 1}, {4: 1, 6: 1}, 1),
        (TrimmedMean("0.2"), {3: 1, 5: 1}, {4: 1, 6: 1}, 1),
        (Std(), {5: 2}, {4: 1, 6: 1}, 1),
        (Variance(10), {0: 1, 10: 1}, {2: 1, 8: 1}, 2),
        (Variance(10), {0: 1, 10: 1}, {5: 2}, 5),
        (Variance(10), {0: 1, 10: 1}, {5: 2}, 7),
    ],
)
def test_sensitivity_is_attained(
    statistic: Statistic, before: dict[int, int], after: dict[int, int], beta: int
) -> None:
    gap = abs(statistic(Histogram.from_counts(before)) - statistic(Histogram.from_counts(after)))
    assert gap == statistic.sensitivity(beta)


def test_variance_is_rounded_up() -> None:
    assert Fraction(Variance("0.3").sensitivity(0.1)) >= Fraction(1, 10) * Fraction(2, 10)
    assert Variance(10).sensitivity(math.inf) == 25


@pytest.mark.parametrize("far", [10, 10**6, 10**12])
@pytest.mark.parametrize("statistic", [Mode(), MaxAtLeast(2), Distinct(), CountAbove(0), Sum()])
def test_unbounded_statistics_have_witnesses(statistic: Statistic, far: int) -> None:
    """Two histograms of one size, every record moved by at most 1, whose values are ``far`` apart."""
    assert statistic.sensitivity(1) == math.inf
    if isinstance(statistic, Mode):
        pair = Histogram.from_counts({0: 2, far: 2}), Histogram.from_counts({0: 1, 1: 1, far: 2})
        assert statistic(pair[1]) - statistic(pair[0]) == far
    elif isinstance(statistic, MaxAtLeast):
        pair = Histogram.from_counts({0: 2, far: 1, far + 1: 1}), Histogram.from_counts({0: 2, far: 2})
        assert statistic(pair[1]) - statistic(pair[0]) == far
    elif isinstance(statistic, Distinct):
        many = min(far, 1000)
        assert statistic(Histogram.from_values([i / many for i in range(many)])) == many
        assert statistic(Histogram.from_counts({0: many})) == 1
    else:
        assert statistic(Histogram.from_counts({1: far})) - statistic(Histogram.from_counts({0: far})) == far


@pytest.mark.parametrize("far", [10, 10**6])
@pytest.mark.parametrize(
    "statistic", [Count(), CountAbove(0), Sum(), KthLargest(2), InterpolatedQuantile("0.25"), SampleVariance()]
)
def test_sizes_alone_move_these(statistic: Statistic, far: int) -> None:
    assert statistic.sensitivity(0) == statistic.sensitivity(1) == math.inf
    assert equal_size_sensitivity(statistic, 0) == 0
    once, often = Histogram.from_counts({0: 1, far: 1}), Histogram.from_counts({0: far, far: far})
    assert abs(statistic(once) - statistic(often)) >= far / 5  # shares are equal, so their distance is 0


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-20, 20), min_size=2, max_size=12),
    shifts=st.lists(st.integers(-2, 2), min_size=12, max_size=12),
)
def test_equal_sizes_bound_them_again(values: list[int], shifts: list[int]) -> None:
    moved = [v + s for v, s in zip(values, shifts, strict=False)]
    before, after = Histogram.from_values(values), Histogram.from_values(moved)
    for statistic in (KthLargest(1), KthLargest(2), InterpolatedQuantile("0.3"), Count(), Max(), Mean()):
        assert abs(statistic(before) - statistic(after)) <= equal_size_sensitivity(statistic, 2) + 1e-9, statistic


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.integers(-50, 50), min_size=2, max_size=30), scale=st.sampled_from([1, 0.5, Fraction(1, 3)]))
def test_moments_against_numpy(values: list[int], scale: float | Fraction) -> None:
    scaled = [v * scale for v in values]
    h, floats = Histogram.from_values(scaled), [float(v) for v in scaled]
    assert Mean()(h) == pytest.approx(np.mean(floats), abs=1e-9)
    assert Std()(h) == pytest.approx(np.std(floats), abs=1e-6)
    assert Variance(1000)(h) == pytest.approx(np.var(floats), abs=1e-9)
    assert SampleVariance()(h) == pytest.approx(np.var(floats, ddof=1), abs=1e-9)
    assert float(Sum()(h)) == pytest.approx(np.sum(floats), abs=1e-9)
    assert float(MidpointMedian()(h)) == pytest.approx(np.median(floats), abs=1e-9)
    assert InterpolatedQuantile("0.3")(h) == pytest.approx(np.quantile(floats, 0.3), abs=1e-9)
    assert KthLargest(2)(h) == sorted(scaled)[-2]
    assert Distinct()(h) == len(set(values))
    assert Count()(h) == len(values)
    assert CountAbove(0)(h) == sum(v > 0 for v in values)
    fine = np.repeat(np.sort(floats), 10)  # mass of a tenth of a record is a whole record here
    for trim in ("0", "0.1", "0.3"):
        cut = round(float(trim) * 10 * len(values))
        assert TrimmedMean(trim)(h) == pytest.approx(fine[cut : len(fine) - cut].mean(), abs=1e-9)


def test_means_of_large_numbers_and_booleans_are_exact() -> None:
    assert Mean()(Histogram([2**62, 2**62 + 2], [2**62, 2**62])) == float(2**62)
    assert Std()(Histogram([10**15, 10**15 + 2], [1, 1])) == 1.0
    assert Mean()(Histogram.from_values([True, False])) == 0.5
    full = Histogram([0.5, 1.5], [2**63 - 1] * 2)
    assert (Mean()(full), Std()(full), TrimmedMean("0.25")(full)) == (1.0, 0.5, 1.0)


def test_thresholds_are_compared_as_they_are() -> None:
    assert CountAbove(0.1)(Histogram.from_values([0.1, 0.2])) == 1
    assert CountAbove("1/3")(Histogram.from_values([Fraction(1, 3), Fraction(1, 2)])) == 1
    assert CountAbove(dt.date(2020, 1, 1))(Histogram.from_values([dt.date(2020, 1, 2)])) == 1
    assert CountAbove(0)(Histogram([], [])) == 0
    with pytest.raises(InputError, match="threshold"):
        CountAbove(0)(Histogram.from_values(["a"]))
    for bad in ("nan", None, dt.datetime(2020, 1, 1), True):
        with pytest.raises(InputError, match="threshold"):
            CountAbove(bad)  # type: ignore[arg-type]


def test_undefined_moments() -> None:
    assert SampleVariance()(Histogram.from_values([1])) is None
    for statistic in (Mean(), Std(), Sum(), TrimmedMean(0), MidpointMedian()):
        with pytest.raises(InputError, match="needs keys that are numbers"):
            statistic(Histogram.from_values(["a"]))
    assert KthLargest(3)(Histogram.from_values([1, 2])) is None


@pytest.mark.parametrize("bad", [-0.1, 0.5, "nan"])
def test_bad_trims(bad: object) -> None:
    with pytest.raises(InputError, match="trim"):
        TrimmedMean(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1, 0, "inf"])
def test_bad_spans(bad: object) -> None:
    with pytest.raises(InputError, match="span"):
        Variance(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "statistic",
    [Max(), Quantile("0.2"), KthLargest(1), KthLargest(2), InterpolatedQuantile(1), TrimmedMean("0.1"), CountAbove(3)],
)
def test_every_statistic_has_a_name(statistic: Statistic) -> None:
    assert isinstance(statistic, Statistic)
    assert statistic.name
    assert statistic.ordered


def test_statistics_that_jump_have_no_finite_sensitivity() -> None:
    for statistic in (Mode(), Distinct()):
        assert statistic.sensitivity(0) == 0
        assert statistic.sensitivity(0.1) == math.inf
    for statistic in (MaxAtLeast(3), Top(2)):
        assert statistic.sensitivity(0) == math.inf
        assert equal_size_sensitivity(statistic, 0) == 0
        assert equal_size_sensitivity(statistic, 0.1) == math.inf


def _number_gap(a: Any, b: Any) -> float:
    if a is None or b is None:
        return 0.0 if a is b else math.inf
    return float(abs(a - b))


def _set_gap(a: Any, b: Any) -> float:
    return float(max(max(min(abs(x - y) for y in b) for x in a), max(min(abs(x - y) for y in a) for x in b)))


def _other(a: Any, b: Any) -> float:
    return 0.0 if a == b else math.inf


SIZED: list[tuple[Statistic, Callable[[Any, Any], float]]] = [  # not the same for x and 2x
    (MaxAtLeast(2), _other),
    (MaxAtLeast(4), _number_gap),
    (Top(1), _other),
    (Top(2), _other),
    (Count(), _number_gap),
    (CountAbove(0), _number_gap),
    (Sum(), _number_gap),
    (KthLargest(2), _number_gap),
    (KthLargest(3), _number_gap),
    (InterpolatedQuantile("1/4"), _number_gap),
    (InterpolatedQuantile("0.9"), _number_gap),
    (SampleVariance(), _number_gap),
]
SHAPED: list[tuple[Statistic, Callable[[Any, Any], float]]] = [
    (Max(), _number_gap),
    (Min(), _number_gap),
    (Range(), _number_gap),
    (Median(), _number_gap),
    (MidpointMedian(), _number_gap),
    (IQR(), _number_gap),
    *((Quantile(level), _number_gap) for level in ("0", "0.1", "1/4", "1/3", "1/2", "2/3", "0.9", "1")),
    (Support(), _set_gap),
    (Mode(), _other),
    (Distinct(), _number_gap),
    (Mean(), _number_gap),
    (TrimmedMean("0.1"), _number_gap),
    (TrimmedMean("1/3"), _number_gap),
    (Std(), _number_gap),
    (Variance(3), _number_gap),
]


def _winf(x: tuple[int, ...], y: tuple[int, ...], keys: tuple[int, ...]) -> int:
    """The distance of the normalised histograms: as often repeated as the other is large, in order."""
    one, two = sum(x), sum(y)
    xs = [key for key, count in zip(keys, x, strict=True) for _ in range(count * two)]
    ys = [key for key, count in zip(keys, y, strict=True) for _ in range(count * one)]
    return max(abs(a - b) for a, b in zip(xs, ys, strict=True))


@pytest.fixture(scope="module")
def small() -> tuple[list[Histogram], list[tuple[int, int, int]]]:
    """All histograms of up to four records at each of three keys, and the distances of all pairs."""
    keys = (0, 1, 3)
    shapes = [counts for counts in product(range(5), repeat=3) if any(counts)]
    tables = [Histogram.from_counts({k: n for k, n in zip(keys, counts, strict=True) if n}) for counts in shapes]
    apart = [(i, j, _winf(shapes[i], shapes[j], keys)) for i, j in combinations(range(len(shapes)), 2)]
    return tables, apart


@pytest.mark.parametrize(("statistic", "gap"), [*SIZED, *SHAPED], ids=lambda each: getattr(each, "name", ""))
def test_sensitivities_cover_all_pairs_of_small_histograms(
    statistic: Statistic,
    gap: Callable[[Any, Any], float],
    small: tuple[list[Histogram], list[tuple[int, int, int]]],
) -> None:
    """Between histograms of any size, by the distance of their shapes; and between those of equal size."""
    tables, apart = small
    values = [statistic(table) for table in tables]
    worst, equal = dict.fromkeys(range(4), 0.0), dict.fromkeys(range(4), 0.0)
    for i, j, distance in apart:
        if not isinstance(statistic, SampleVariance) or None not in (values[i], values[j]):
            found = gap(values[i], values[j])
            worst[distance] = max(worst[distance], found)
            if tables[i].size == tables[j].size:
                equal[distance] = max(equal[distance], found)
    for distance in range(4):
        assert worst[distance] <= statistic.sensitivity(distance) + 1e-12, f"{statistic.name} at {distance}"
        assert equal[distance] <= equal_size_sensitivity(statistic, distance) + 1e-12, f"{statistic.name} at {distance}"
    sized = (statistic, gap) in SIZED
    assert (worst[0] > 1e-12) is sized and (statistic.sensitivity(0) == math.inf) is sized
    assert equal[0] == 0


def test_counts_beyond_64_bits_in_total() -> None:
    h = Histogram([1, 2, 3], [2**63 - 1] * 3)
    assert Median()(h) == 2
    assert Quantile(1)(h) == 3


def test_dates_and_texts() -> None:
    days = Histogram.from_values([dt.date(2020, 1, 1), dt.date(2020, 1, 5)])
    assert Range()(days) == dt.timedelta(days=4)
    assert Mode()(Histogram.from_values(["b", "a", "b"])) == "b"


@pytest.mark.parametrize("statistic", [Max(), Min(), Range(), Median(), Quantile("0.2"), Mode(), Mean(), IQR(), Std()])
def test_undefined_on_nothing(statistic: Max) -> None:
    with pytest.raises(InputError, match="empty histogram"):
        statistic(Histogram([], []))


@pytest.mark.parametrize("bad", [-0.1, 1.1, "nan", None])
def test_bad_levels(bad: object) -> None:
    with pytest.raises(InputError, match="quantile"):
        Quantile(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, 1.5, "x"])
def test_bad_thresholds(bad: object) -> None:
    for statistic in (MaxAtLeast, Top):
        with pytest.raises(InputError, match="count"):
            statistic(bad)  # type: ignore[arg-type]
