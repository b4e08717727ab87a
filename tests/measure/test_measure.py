"""Flexible error against brute force, accuracy curves against their definition, statistics of one's own."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexdp import Histogram, InputError
from flexdp.measure import accuracy_curve, flexible_error
from flexdp.noise import DropNoise
from flexdp.statistics import Max, MaxAtLeast, Mean, Median, Min, Mode, Quantile, Range, Support, Top

small = st.dictionaries(st.integers(-3, 9), st.integers(1, 3), min_size=1, max_size=4).map(Histogram.from_counts)
shares = st.fractions(0, 1, max_denominator=10)
answers = st.lists(st.one_of(st.integers(-6, 12), st.floats(-6, 12), st.none()), min_size=1, max_size=6)


def values(statistic: Any, histogram: Histogram, alpha: Fraction) -> list[Any]:
    out = []
    for kept in product(*(range(count + 1) for count in histogram.counts.tolist())):
        if sum(kept) and histogram.size - sum(kept) <= alpha * histogram.size:
            out.append(statistic(Histogram(histogram.keys, kept)))
    return out


def hausdorff(one: tuple[int, ...], two: tuple[int, ...]) -> float:
    ways = [(one, two), (two, one)]
    return max(max(min(abs(a - b) for b in there) for a in here) for here, there in ways)


def nearest(output: Any, attainable: list[Any]) -> float:
    if output is None:
        return 0.0 if None in attainable else math.inf
    return min((abs(output - v) for v in attainable if v is not None), default=math.inf)


@settings(max_examples=40, deadline=None)
@given(histogram=small, alpha=shares, outputs=answers)
def test_error_is_the_distance_to_what_could_have_been(
    histogram: Histogram, alpha: Fraction, outputs: list[Any]
) -> None:
    for statistic in (Max(), Min(), Range(), Median(), Quantile("0.9"), Mode(), MaxAtLeast(2), Mean()):
        wanted = [nearest(output, values(statistic, histogram, alpha)) for output in outputs]
        assert flexible_error(histogram, outputs, statistic, alpha).tolist() == wanted, statistic


@settings(max_examples=40, deadline=None)
@given(
    histogram=small, alpha=shares, outputs=st.lists(st.sets(st.integers(-6, 12), min_size=1, max_size=4), max_size=4)
)
def test_support_error_is_the_nearest_hausdorff_distance(
    histogram: Histogram, alpha: Fraction, outputs: list[set[int]]
) -> None:
    possible = values(Support(), histogram, alpha)
    wanted = [min(hausdorff(tuple(output), support) for support in possible) for output in outputs]
    assert flexible_error(histogram, outputs, Support(), alpha).tolist() == wanted
    listed = flexible_error(histogram, outputs, Support(), alpha, distance=lambda y, s: hausdorff(tuple(y), s))
    assert listed.tolist() == wanted


def test_supports_of_texts_dates_and_nothing() -> None:
    words = Histogram.from_counts({"a": 5, "b": 1})
    reports: list[Any] = [("a",), ("a", "b"), ("b",), ("c",), (), None]
    inf = math.inf
    assert flexible_error(words, reports, Support(), "0.2").tolist() == [0, 0, inf, inf, inf, inf]
    days = Histogram.from_values([dt.date(2020, 1, 1), dt.date(2020, 1, 9)])
    assert flexible_error(days, [[dt.date(2020, 1, 3)]], Support(), 0).tolist() == [6]
    thirds = Histogram.from_values([Fraction(1, 3), Fraction(2, 3)])
    assert flexible_error(thirds, [[Fraction(1, 3)]], Support(), "0.5").tolist() == [0]


def test_outputs_that_are_missing_or_infinite() -> None:
    histogram = Histogram([1, 2], [3, 3])
    outputs = np.array([1.0, np.nan, np.inf, 2.5])
    assert flexible_error(histogram, outputs, Max(), 0).tolist() == [1.0, math.inf, math.inf, 0.5]
    assert flexible_error(histogram, outputs, MaxAtLeast(3), "1/3").tolist() == [0.0, 0.0, math.inf, 0.5]
    assert flexible_error(histogram, [None, 4], MaxAtLeast(4), 0).tolist() == [0.0, math.inf]
    assert flexible_error(histogram, [], Max(), 0).tolist() == []


def test_large_integers_and_rationals_keep_their_digits() -> None:
    large = Histogram([2**60, 2**60 + 1], [1, 1])
    assert flexible_error(large, np.array([2**60 + 3]), Max(), 0).tolist() == [2.0]
    assert flexible_error(large, [2**60 + 1, 2**60], Max(), "1/2").tolist() == [0.0, 0.0]
    thirds = Histogram.from_values([Fraction(1, 3), Fraction(2, 3)])
    assert flexible_error(thirds, [Fraction(2, 3), Fraction(1, 3)], Max(), 0).tolist() == [0.0, 1 / 3]


def test_dates_and_texts() -> None:
    days = Histogram.from_values([dt.date(2020, 1, 1), dt.date(2020, 1, 5)])
    assert flexible_error(days, [dt.date(2020, 1, 8), None], Max(), 0).tolist() == [3.0, math.inf]
    assert flexible_error(days, [dt.timedelta(days=3)], Range(), 0).tolist() == [1.0]
    words = Histogram.from_values(["a", "b", "b"])
    assert flexible_error(words, ["a", "b", "c"], Mode(), 0).tolist() == [math.inf, 0.0, math.inf]
    top = flexible_error(words, [(("b", 2),), (("b", 1),), (("a", 1),)], Top(1), "1/3")
    assert top.tolist() == [0.0, math.inf, 0.0]


def test_a_million_runs_at_once() -> None:
    histogram = Histogram(np.arange(1000), np.full(1000, 50))
    outputs = np.linspace(0, 1100, 1_000_000)
    errors = flexible_error(histogram, outputs, Max(), "0.01")
    assert errors.shape == outputs.shape
    assert errors.max() == 989.0
    assert errors[-1] == 101.0


def test_the_drop_mechanism_keeps_to_its_promise() -> None:
    noise = DropNoise(1, "1e-3")
    histogram = Histogram([0, 10, 20, 30], [400, 300, 200, 5])
    alpha = Fraction(noise.max_drop * 4, histogram.size)
    outputs = [
        Max()(Histogram(histogram.keys, noise.thin(histogram.counts))) + shift
        for shift in (-1, 0, 1)
        for _ in range(50)
    ]
    assert accuracy_curve(histogram, outputs, Max(), [alpha], [0]).at(alpha) <= 1
    assert accuracy_curve(histogram, outputs, Max(), [alpha], ["2/3"]).at(alpha, "2/3") == 0


@settings(max_examples=40, deadline=None)
@given(
    histogram=small,
    alphas=st.lists(shares, min_size=1, max_size=3),
    gammas=st.lists(st.fractions(0, 1, max_denominator=7), min_size=1, max_size=3),
    outputs=answers,
)
def test_curve_is_the_smallest_error_that_enough_runs_keep_to(
    histogram: Histogram, alphas: list[Fraction], gammas: list[Fraction], outputs: list[Any]
) -> None:
    curve = accuracy_curve(histogram, outputs, Max(), alphas, gammas)
    assert curve.beta.shape == (len(alphas), len(gammas))
    assert curve.runs == len(outputs)
    for i, alpha in enumerate(alphas):
        errors = flexible_error(histogram, outputs, Max(), alpha).tolist()
        for j, gamma in enumerate(gammas):
            enough = [b for b in [0.0, *errors] if Fraction(sum(e <= b for e in errors), len(errors)) >= 1 - gamma]
            assert curve.beta[i, j] == min(enough)


def test_the_rank_is_exact() -> None:
    histogram = Histogram([0], [1])
    outputs = list(range(10))  # errors 0, …, 9; in doubles 10·(1 − 0.7) is above 3
    assert accuracy_curve(histogram, outputs, Max(), [0], [0.7, 0.3, 0, 1]).beta.tolist() == [[2, 6, 9, 0]]


def test_a_curve_reads_aloud_and_is_frozen() -> None:
    curve = accuracy_curve(Histogram([0, 5], [9, 1]), [5, 3], Max(), [0, "0.1"], [0, "0.5"])
    assert str(curve).splitlines() == [
        "Measured over 2 runs: the error exceeds β in at most a fraction γ of them.",
        "α = 0: β = 2 at γ = 0, 0 at γ = 0.5.",
        "α = 0.1: β = 2 at γ = 0, 0 at γ = 0.5.",
    ]
    with pytest.raises(ValueError, match="read-only"):
        curve.beta[0, 0] = 1
    with pytest.raises(InputError, match="among the values"):
        curve.at("0.2")


def test_a_statistic_of_ones_own() -> None:
    histogram = Histogram.from_counts({0: 2, 10: 1})

    def spread(h: Histogram) -> int:
        return int(h.keys[-1] - h.keys[0])

    assert flexible_error(histogram, [10, 0, 4], spread, "1/3").tolist() == [0.0, 0.0, 4.0]

    class Known:
        def __call__(self, histogram: Histogram, /) -> float:
            return float(histogram.keys[0])

        def attainable(self, histogram: Histogram, alpha: Fraction) -> NDArray[np.float64]:  # noqa: ARG002
            return np.array([7.0])

    assert flexible_error(histogram, [8], Known(), 0).tolist() == [1.0]


def test_a_distance_of_ones_own() -> None:
    histogram = Histogram.from_counts({0: 2, 10: 1})
    circle = flexible_error(histogram, [11, 1], Max(), 0, distance=lambda a, b: min(abs(a - b), 12 - abs(a - b)))
    assert circle.tolist() == [1.0, 3.0]

    def both(h: Histogram) -> tuple[Any, Any]:
        return Min()(h), Max()(h)

    far = flexible_error(
        histogram, np.array([[0.0, 9.0]]), both, 0, distance=lambda a, b: float(np.abs(np.subtract(a, b)).max())
    )
    assert far.tolist() == [1.0]
    with pytest.raises(InputError, match="distance"):
        flexible_error(histogram, [1], Max(), 0, distance=lambda a, b: -1.0)  # noqa: ARG005
    assert flexible_error(histogram, np.array([[0.0, 9.0], [3.0, 14.0]]), both, 0).tolist() == [1.0, 5.0]
    with pytest.raises(InputError, match="distance"):
        flexible_error(histogram, [[0.0, 9.0]], lambda h: [*both(h)], 0)


def test_a_large_histogram_with_a_small_budget_is_searched() -> None:
    histogram = Histogram(list(range(100)), [10**9] * 100)
    assert flexible_error(histogram, [49.5], Mean(), "1e-11")[0] < 1e-9


@pytest.mark.parametrize("bad", [-0.1, 1.5, "nan", None, "x"])
def test_bad_fractions(bad: Any) -> None:
    histogram = Histogram([0], [1])
    with pytest.raises(InputError, match="alpha"):
        flexible_error(histogram, [0], Max(), bad)
    with pytest.raises(InputError, match="gamma"):
        accuracy_curve(histogram, [0], Max(), [0], [bad])


@pytest.mark.parametrize("bad", [5, "texts", np.array(3.0)])
def test_outputs_are_a_sequence(bad: Any) -> None:
    with pytest.raises(InputError, match="outputs"):
        flexible_error(Histogram([0], [1]), bad, Max(), 0)


def test_nothing_to_measure() -> None:
    with pytest.raises(InputError, match="histogram must not be empty"):
        flexible_error(Histogram([], []), [0], Max(), 0)
    with pytest.raises(InputError, match="at least one run"):
        accuracy_curve(Histogram([0], [1]), [], Max(), [0], [0])
