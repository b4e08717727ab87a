"""Statistics against brute force over the expanded list of records."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp.statistics import Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Support, Top

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


def test_statistics_that_jump_have_no_finite_sensitivity() -> None:
    for statistic in (Mode(), MaxAtLeast(3), Top(2)):
        assert statistic.sensitivity(0) == 0
        assert statistic.sensitivity(0.1) == math.inf


def test_counts_beyond_64_bits_in_total() -> None:
    h = Histogram([1, 2, 3], [2**63 - 1] * 3)
    assert Median()(h) == 2
    assert Quantile(1)(h) == 3


def test_dates_and_texts() -> None:
    days = Histogram.from_values([dt.date(2020, 1, 1), dt.date(2020, 1, 5)])
    assert Range()(days) == dt.timedelta(days=4)
    assert Mode()(Histogram.from_values(["b", "a", "b"])) == "b"


@pytest.mark.parametrize("statistic", [Max(), Min(), Range(), Median(), Quantile("0.2"), Mode()])
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
