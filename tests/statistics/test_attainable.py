"""Attainable sets against the enumeration of all ways to leave records out."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from itertools import product
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
    Median,
    MidpointMedian,
    Min,
    Mode,
    Quantile,
    Range,
    Support,
    Top,
)
from flexdp.statistics.attainable import reachable

STATISTICS: Any = [
    Max(),
    Min(),
    Range(),
    Median(),
    Quantile(0),
    Quantile("1/3"),
    Quantile("0.9"),
    Quantile(1),
    Mode(),
    MaxAtLeast(1),
    MaxAtLeast(2),
    MaxAtLeast(4),
    Support(),
    Distinct(),
    Count(),
    CountAbove(2),
    KthLargest(1),
    KthLargest(3),
    MidpointMedian(),
    IQR(),
    InterpolatedQuantile("0.3"),
    InterpolatedQuantile("0.9"),
]

small = st.dictionaries(st.integers(-3, 9), st.integers(1, 4), min_size=1, max_size=5).map(Histogram.from_counts)
shares = st.fractions(0, 1, max_denominator=12)


def remaining(histogram: Histogram, alpha: Fraction) -> list[Histogram]:
    """Every non-empty x′ ≤ x with drop(x, x′) ≤ α, by brute force."""
    out = []
    for kept in product(*(range(count + 1) for count in histogram.counts.tolist())):
        if sum(kept) and Fraction(histogram.size - sum(kept), histogram.size) <= alpha:
            out.append(Histogram(histogram.keys, kept))
    return out


def brute(statistic: Any, histogram: Histogram, alpha: Fraction) -> set[Any]:
    return {statistic(rest) for rest in remaining(histogram, alpha)}


@settings(max_examples=60, deadline=None)
@given(histogram=small, alpha=shares)
def test_sets_are_those_of_the_enumeration(histogram: Histogram, alpha: Fraction) -> None:
    rests = remaining(histogram, alpha)
    for statistic in STATISTICS:
        found = statistic.attainable(histogram, alpha).tolist()
        values = [value for value in found if value is not None]
        assert values == sorted(set(values)), statistic
        least: dict[Any, int] = {}
        for rest in rests:
            value, lost = statistic(rest), histogram.size - rest.size
            least[value] = min(lost, least.get(value, lost))
        assert set(found) == set(least), statistic
        assert statistic(histogram) in found
        costs = reachable(statistic, histogram, histogram.size - max(1, histogram.size - int(alpha * histogram.size)))
        assert dict(zip(costs.values.tolist(), costs.drops.tolist(), strict=True)) == least, statistic


@settings(deadline=None)
@given(histogram=small, alpha=shares, count=st.integers(1, 4))
def test_lists_of_frequent_keys_are_those_of_the_enumeration(histogram: Histogram, alpha: Fraction, count: int) -> None:
    top = Top(count)
    every = {top(rest) for rest in remaining(histogram, Fraction(1))}
    wanted = {top(rest) for rest in remaining(histogram, alpha)}
    outputs = [*sorted(every), (), None, ((99, 1),), 3, ((0, 1.5),)]
    found = top.flexible_error(histogram, outputs, alpha)
    assert [error == 0 for error in found] == [output in wanted for output in outputs]
    assert set(found.tolist()) <= {0.0, float("inf")}


@settings(max_examples=40, deadline=None)
@given(histogram=small, alpha=shares, level=st.fractions(0, 1, max_denominator=20))
def test_quantile_sets_at_any_level(histogram: Histogram, alpha: Fraction, level: Fraction) -> None:
    assert set(Quantile(level).attainable(histogram, alpha).tolist()) == brute(Quantile(level), histogram, alpha)


@settings(max_examples=20, deadline=None)
@given(counts=st.lists(st.integers(1, 50), min_size=1, max_size=120), share=shares)
def test_mode_sets_of_many_bars(counts: list[int], share: Fraction) -> None:
    histogram = Histogram(list(range(len(counts))), counts)
    budget = min(int(share * sum(counts)), sum(counts) - 1)
    costs = [
        sum(max(0, other - own + (j < i)) for j, other in enumerate(counts) if j != i) for i, own in enumerate(counts)
    ]
    assert Mode().attainable(histogram, share).tolist() == [i for i, cost in enumerate(costs) if cost <= budget]


def test_the_budget_is_exact() -> None:
    histogram = Histogram([0, 1], [90, 10])
    assert Max().attainable(histogram, 0.1).tolist() == [0, 1]
    assert Max().attainable(histogram, "0.0999999999999999999999").tolist() == [1]


def test_no_answer_is_attainable_where_all_bars_can_be_cut() -> None:
    histogram = Histogram([1, 2], [3, 3])
    assert MaxAtLeast(3).attainable(histogram, "1/6").tolist() == [1, 2]
    cut = MaxAtLeast(3).attainable(histogram, "1/3")
    assert cut.dtype == object
    assert cut.tolist() == [1, 2, None]
    assert MaxAtLeast(1).attainable(histogram, 1).tolist() == [1, 2]  # nothing left is no histogram


def test_counts_beyond_64_bits_in_total() -> None:
    histogram = Histogram([1, 2, 3], [2**63 - 1] * 3)
    assert Median().attainable(histogram, 0).tolist() == [2]
    assert Median().attainable(histogram, "2/3").tolist() == [1, 2, 3]
    assert Mode().attainable(histogram, "1e-18").tolist() == [1, 2, 3]
    assert Mode().attainable(histogram, "1e-20").tolist() == [1]
    assert Max().attainable(histogram, "1/3").tolist() == [2, 3]
    assert Range().attainable(histogram, "1/3").tolist() == [1, 2]
    assert MaxAtLeast(2**63 - 1).attainable(histogram, "5e-20").tolist() == [2, 3]
    assert Distinct().attainable(histogram, "1/3").tolist() == [2, 3]
    assert Quantile("0.3333333333333333").attainable(histogram, 0).tolist() == [1]


def test_keys_of_every_kind() -> None:
    days = Histogram.from_values([dt.date(2020, 1, d) for d in (1, 1, 5)])
    assert Max().attainable(days, "1/3").tolist() == [dt.date(2020, 1, 1), dt.date(2020, 1, 5)]
    assert Range().attainable(days, "1/3").tolist() == [dt.timedelta(0), dt.timedelta(4)]
    assert Mode().attainable(Histogram.from_values(["a", "b", "b"]), "1/3").tolist() == ["a", "b"]
    assert Range().attainable(Histogram.from_values([True, False]), "1/2").tolist() == [0, 1]
    far = Histogram([-(2**63), 2**63 - 1], [1, 1])
    assert Range().attainable(far, 0).tolist() == [2**64 - 1]


def test_many_bars_are_no_trouble() -> None:
    histogram = Histogram(np.arange(200_000), np.arange(200_000) % 997 + 1)
    assert len(Quantile("0.5").attainable(histogram, "0.01")) > 1000
    assert Mode().attainable(histogram, 0).tolist() == [996]


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("bad", [-0.1, 1.1, "nan", None, "x"])
def test_alpha_is_a_fraction(statistic: Any, bad: Any) -> None:
    with pytest.raises(InputError, match="alpha"):
        statistic.attainable(Histogram([3], [1]), bad)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_nothing_is_attainable_from_nothing(statistic: Any) -> None:
    with pytest.raises(InputError, match="empty histogram"):
        statistic.attainable(Histogram([], []), 0)


def test_sets_too_large_to_write_out_are_refused() -> None:
    wide = Histogram(np.arange(5000), np.ones(5000, dtype=np.int64))
    with pytest.raises(InputError, match="too large"):
        Range().attainable(wide, 1)
    with pytest.raises(InputError, match="too large"):
        Support().attainable(wide, 1)
    with pytest.raises(InputError, match="too large"):
        Count().attainable(Histogram([0], [10**9]), 1)
