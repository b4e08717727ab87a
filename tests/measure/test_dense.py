"""Bounds of flexible errors where attainable sets are too large to list: against all sub-histograms, exactly."""

from __future__ import annotations

import math
import os
import warnings
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp._core.exact import root_up
from flexdp.errors import BoundsWarning
from flexdp.measure import accuracy_curve, bounds, dense, flexible_error, flexible_error_bounds
from flexdp.measure.dense import moment_bounds
from flexdp.measure.ordered import spread_evenly
from flexdp.statistics import Max, Mean, SampleVariance, Std, Sum, TrimmedMean, Variance

MOMENTS: Any = (Std(), Variance(100), SampleVariance(), Mean(), Sum(), TrimmedMean("0.1"), TrimmedMean("3/7"))
keys = st.one_of(st.integers(-4, 9), st.floats(-4, 9, width=32), st.sampled_from([1e-9, 1 / 3, 1e6, 1e6 + 1]))
small = st.dictionaries(keys, st.integers(1, 3), min_size=1, max_size=4).map(Histogram.from_counts)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_DRAWS", 2**9)


def exactly(statistic: Any, records: list[Fraction]) -> Fraction:
    """The value of a moment by its definition; of a standard deviation within 10⁻³⁰."""
    size, total = len(records), sum(records, Fraction(0))
    if isinstance(statistic, Sum):
        return total
    if isinstance(statistic, Mean):
        return total / size
    if isinstance(statistic, TrimmedMean):
        low, high = statistic.trim * size, (1 - statistic.trim) * size
        parts = [max(Fraction(0), min(high, Fraction(i + 1)) - max(low, Fraction(i))) for i in range(size)]
        return sum((x * part for x, part in zip(records, parts, strict=True)), Fraction(0)) / (high - low)
    squares = sum(((x - total / size) ** 2 for x in records), Fraction(0))
    if isinstance(statistic, SampleVariance):
        return squares / (size - 1)
    return root_up(squares / size, 30) if isinstance(statistic, Std) else squares / size


def attainable(statistic: Any, histogram: Histogram, dropped: int) -> list[Fraction]:
    places = [Fraction(key) for key in histogram.keys.tolist()]
    out = set()
    for left in product(*(range(count + 1) for count in histogram.counts.tolist())):
        if sum(left) >= histogram.size - dropped:
            out.add(exactly(statistic, [x for x, many in zip(places, left, strict=True) for _ in range(many)]))
    return sorted(out)


def sound(statistic: Any, histogram: Histogram, dropped: int) -> bool:
    """Whether all bounds hold, and are tight beyond both ends; outputs at, between and beyond all attainable values."""
    values = attainable(statistic, histogram, dropped)
    wide = values[-1] - values[0] + 1
    middles = [(one + two) / 2 for one, two in pairwise(values)]
    outputs = np.array([float(t) for t in (values[0] - wide, *values, *middles, values[-1] + wide / 3)])
    found = moment_bounds(histogram, dropped, statistic, outputs)
    assert found is not None
    for t, lower, upper in zip(outputs.tolist(), found.lower.tolist(), found.upper.tolist(), strict=True):
        true = min(abs(Fraction(t) - value) for value in values)
        if not Fraction(lower) - Fraction(1, 10**25) <= true <= Fraction(upper) + Fraction(1, 10**25):
            return False
    scale = 1 + abs(float(values[0])) + abs(float(values[-1]))
    return bool((found.upper - found.lower)[[0, -1]].max() <= 1e-5 * scale)


@settings(max_examples=300 if os.environ.get("FLEXDP_DEEP") == "1" else 6, deadline=None)
@given(histogram=small, share=st.fractions(0, 1, max_denominator=8))
@example(histogram=Histogram.from_values([0, 0, 1, 1]), share=Fraction(1))  # dropping one lowers the largest variance
@example(histogram=Histogram([5], [4]), share=Fraction(1, 2))
def test_bounds_hold_against_all_sub_histograms(histogram: Histogram, share: Fraction) -> None:
    dropped = min(math.floor(share * histogram.size), histogram.size - 1)
    for statistic in MOMENTS:
        if not isinstance(statistic, SampleVariance) or histogram.size - dropped > 1:
            assert sound(statistic, histogram, dropped), statistic


@pytest.mark.parametrize("fault", ["one record too many", "rows dropped at the bottom", "a tail of one record less"])
def test_faults_that_are_planted_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "one record too many":
        monkeypatch.setattr(
            dense,
            "spread_evenly",
            lambda size, most, draws, to: spread_evenly(size, min(most + 1, size - 1), draws, to),
        )
    elif fault == "rows dropped at the bottom":
        monkeypatch.setattr(dense, "_rows_to_drop", lambda _records, most: np.zeros(most + 1, dtype=np.int64))
    else:
        monkeypatch.setattr(dense._Moment, "_kept_beside", lambda _self, _chosen, wanted: iter([wanted, wanted]))
    histograms = [Histogram.from_values(each) for each in ([0, 3, 4, 9], [0, 1, 1, 2, 9, 9], [0.5, 2.25, 7, 7, 8])]
    assert not all(sound(Variance(9), histogram, 2) for histogram in histograms)


def test_a_hundred_thousand_records_are_bounded_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    many = Histogram(np.arange(100), np.full(100, 1000))
    distinct = Histogram.from_values(100 + np.sin(np.arange(10_000)) * 50)
    for histogram, statistic in product((many, distinct), MOMENTS):
        exact = float(statistic(histogram))
        outputs = exact * np.linspace(0.9, 1.1, 401)
        found = flexible_error_bounds(histogram, [*outputs, None, math.inf], statistic, "0.02")
        assert not found.exact
        assert (found.lower <= found.upper).all()
        assert found.lower[200] == 0  # the exact value itself
        assert found.upper[200] < 1e-5 * abs(exact)
        assert found.excess <= max(1e-3 * abs(exact), 1e-6), statistic
        assert found.upper[-2:].tolist() == found.lower[-2:].tolist() == [math.inf, math.inf]


def test_bounds_are_never_silent() -> None:
    many = Histogram(np.arange(100), np.full(100, 1000))
    with pytest.warns(BoundsWarning, match=r"upper bounds, at most .* above the exact distances") as caught:
        errors = flexible_error(many, [28.9, 30.0], Std(), "0.005")
    assert caught[0].filename == __file__
    assert errors.tolist() == flexible_error_bounds(many, [28.9, 30.0], Std(), "0.005").upper.tolist()
    curve = accuracy_curve(many, [28.9, 30.0, 31.0], Std(), ["0.005"], [0, "1/3"])
    assert 0 < curve.excess < 1e-3
    assert str(curve).endswith("above the smallest one.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert flexible_error(many, [28.9], Max(), "0.005").tolist() == [70.1]
        assert flexible_error(many, np.array([]), Std(), "0.005").tolist() == []
        assert flexible_error(many, ["x", None], Std(), 0).tolist() == [math.inf, math.inf]
    assert accuracy_curve(many, [28.9], Max(), ["0.005"], [0]).excess == 0


def test_small_searches_stay_exact_and_larger_ones_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    histogram = Histogram.from_counts({0: 3, 1: 5, 4: 2, 9: 4})
    for statistic in (Std(), Variance(9), TrimmedMean("0.2"), Mean()):
        outputs = np.linspace(-1, 12, 60)
        monkeypatch.setattr(bounds, "_MOST_CELLS", 10**6)
        exact = flexible_error_bounds(histogram, outputs, statistic, "0.3")
        assert exact.exact and exact.excess == 0
        monkeypatch.setattr(bounds, "_MOST_CELLS", 0)
        monkeypatch.setattr(bounds, "fits_a_lattice", lambda *_: False)
        bounded = flexible_error_bounds(histogram, outputs, statistic, "0.3")
        assert not bounded.exact
        assert (bounded.lower <= exact.lower + 1e-12).all() and (bounded.upper >= exact.upper - 1e-12).all()
        monkeypatch.undo()
        monkeypatch.setattr(dense, "_DRAWS", 2**9)


def test_single_records_have_no_sample_variance() -> None:
    with pytest.raises(InputError, match="sample variance of a single record"):
        flexible_error_bounds(Histogram(np.arange(2), [10**5, 10**5]), [1.0], SampleVariance(), 1)
