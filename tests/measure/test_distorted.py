"""Flexible error under move, drop-move and distortions of one's own, against the enumeration of all data sets."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp.distances import Cyclic, EditDistance, Weighted
from flexdp.distortions import Drop, DropMove, Move
from flexdp.measure import accuracy_curve, flexible_error
from flexdp.statistics import (
    IQR,
    Count,
    CountAbove,
    Distinct,
    KthLargest,
    Max,
    MaxAtLeast,
    Mean,
    Median,
    Min,
    Mode,
    Quantile,
    Range,
    Sum,
    Support,
    Top,
)

records = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(sorted)
ORDER = (Max(), Min(), Median(), Quantile("0.9"), Range(), IQR(), KthLargest(2), Count(), CountAbove("1.5"), Sum())


def radius(x: tuple[Any, ...], y: tuple[Any, ...]) -> Any:
    """The least b within which y is matched into x, over all ways to match them."""
    return min(max((abs(a - b) for a, b in zip(part, y, strict=True)), default=0) for part in permutations(x, len(y)))


def within(x: list[int], most: int, grid: list[Any], *, drops: bool) -> list[tuple[Any, ...]]:
    """All data sets on a grid with (dropped + radius) ≤ most, dropping none unless allowed."""
    found = []
    for lost in range(min(most, len(x) - 1) + 1 if drops else 1):
        for y in combinations_with_replacement(grid, len(x) - lost):
            if lost + radius(tuple(x), y) <= most:
                found.append(y)
    return found


def wanted(statistic: Any, data_sets: list[tuple[Any, ...]], outputs: list[Any]) -> list[float]:
    values = {statistic(Histogram.from_values(y)) for y in data_sets}
    known = [value for value in values if value is not None]
    return [
        (0.0 if None in values else math.inf)
        if output is None
        else min((float(abs(output - value)) for value in known), default=math.inf)
        for output in outputs
    ]


@settings(deadline=None)
@given(x=records, most=st.integers(0, 2), drops=st.booleans())
def test_records_that_move_on_the_line(x: list[int], most: int, drops: bool) -> None:
    """With η = 1/n and α = a/n, k dropped records leave a radius of a − k: whole numbers, so a grid shows all ends."""
    grid = list(range(-most, 5 + most))
    data_sets, histogram = within(x, most, grid, drops=drops), Histogram.from_values(x)
    distortion: Any = DropMove(Fraction(1, len(x))) if drops else Move()
    alpha = Fraction(most, len(x)) if drops else most
    outputs = [*range(-4, 10), None]
    for statistic in ORDER:
        found = flexible_error(histogram, outputs, statistic, alpha, distortion=distortion)
        assert found.tolist() == wanted(statistic, data_sets, outputs), statistic
    # The same data sets, listed by the library.
    for statistic in (Mode(), Distinct(), Max()):
        found = flexible_error(histogram, outputs, statistic, alpha, distortion=distortion, domain=grid)
        assert found.tolist() == wanted(statistic, data_sets, outputs), statistic


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("x", [[0], [0, 0], [0, 1], [0, 2], [0, 0, 2], [0, 1, 2], [0, 2, 2]])
def test_modes_of_records_that_move_on_the_line(x: list[int], drops: bool) -> None:
    """On a grid of halves three records can be moved apart, so that it shows what a line does."""
    grid = [Fraction(k, 2) for k in range(-2, 7)]
    data_sets, histogram = within(x, 1, grid, drops=drops), Histogram.from_values(x)
    distortion: Any = DropMove(Fraction(1, len(x))) if drops else Move()
    alpha = Fraction(1, len(x)) if drops else 1
    outputs: list[Any] = [float(place) for place in grid] + [-3.0, 7.5, None]
    for statistic in (Mode(), MaxAtLeast(2), MaxAtLeast(1), MaxAtLeast(3)):
        found = flexible_error(histogram, outputs, statistic, alpha, distortion=distortion)
        assert found.tolist() == wanted(statistic, data_sets, outputs), statistic


def test_dropping_is_drop_move_in_which_moving_is_dear() -> None:
    histogram = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    outputs = [70, 20, 12, 60, None]
    for statistic in (Max(), Min(), Range(), Median(), Count()):
        dropped = flexible_error(histogram, outputs, statistic, "0.01")
        assert flexible_error(histogram, outputs, statistic, "0.01", distortion=Drop()).tolist() == dropped.tolist()
        near = flexible_error(histogram, outputs, statistic, "0.01", distortion=DropMove(10**9))
        assert np.allclose(near, dropped, atol=1e-9), statistic
        named = flexible_error(histogram, outputs, statistic, "0.01", distortion=Drop())
        assert named.tolist() == dropped.tolist()
    priced = DropMove("0.005")
    for constant, own in ((Move(), Move()), (priced, DropMove("0.005"))):
        found = flexible_error(histogram, outputs, Max(), "0.02", distortion=constant)
        assert found.tolist() == flexible_error(histogram, outputs, Max(), "0.02", distortion=own).tolist()


def test_texts_move_by_an_edit_distance() -> None:
    words = Histogram.from_values(["cat", "cat", "dog"])
    found = flexible_error(
        words, ["cut", "dog", "cat"], Mode(), 1, distortion=Move(EditDistance()), domain=["cat", "cut", "dog"]
    )
    assert found.tolist() == [0.0, math.inf, 0.0]
    ring = Histogram.from_values([350, 10])
    turned = flexible_error(ring, [0, 5, 180], Max(), 10, distortion=Move(Cyclic(360)), domain=range(0, 360, 5))
    assert turned.tolist() == [0.0, 0.0, 160.0]


def test_dates_move_by_days() -> None:
    days = Histogram.from_values([dt.date(2020, 1, 1), dt.date(2020, 1, 5)])
    outputs = [dt.date(2020, 1, 8), dt.date(2020, 1, 6), None]
    assert flexible_error(days, outputs, Max(), 2, distortion=Move()).tolist() == [1.0, 0.0, math.inf]
    assert flexible_error(days, [dt.timedelta(days=9)], Range(), 2, distortion=Move()).tolist() == [1.0]


def test_a_distortion_of_ones_own() -> None:
    x = Histogram.from_values([0, 0, 10])
    replaced = [Histogram.from_values(values) for values in ([0, 0, 10], [0, 0, 0], [0, 3, 10], [9, 9, 9], [])]

    def swaps(here: Histogram, there: Histogram) -> float:
        one, two = dict(here.items()), dict(there.items())
        return sum(abs(one.get(key, 0) - two.get(key, 0)) for key in {*one, *two}) / 2

    found = flexible_error(x, [10, 0, 8, 4], Max(), 1, distortion=swaps, candidates=replaced)
    assert found.tolist() == [0.0, 0.0, 2.0, 4.0]
    assert flexible_error(x, [8], Max(), 3, distortion=swaps, candidates=replaced).tolist() == [1.0]
    assert flexible_error(x, [8], Max(), 0, distortion=lambda *_: 1.0, candidates=replaced).tolist() == [math.inf]
    sets = flexible_error(x, [{0}, {0, 4}], Support(), 1, distortion=swaps, candidates=replaced)
    assert sets.tolist() == [0.0, 4.0]
    top = flexible_error(x, [((0, 3),), ((0, 1),), ((9, 3),)], Top(1), 1, distortion=swaps, candidates=replaced)
    assert top.tolist() == [0.0, 0.0, math.inf]


def test_points_move_on_a_domain() -> None:
    plane = Histogram([(0, 0), (3, 4)], [1, 1])
    corners = [(0, 0), (0, 1), (3, 4)]
    found = flexible_error(plane, [(0, 1), (3, 4), (3, 0)], Mode(), 1, distortion=Move(), domain=corners)
    assert found.tolist() == [0.0, math.sqrt(18), 3.0]


def test_modes_in_the_plane() -> None:
    plane = Histogram([(0, 0), (3, 4), (9, 9)], [5, 4, 1])
    found = flexible_error(plane, [(0, 0), (3, 4), (3, 3), None], Mode(), "0.2")
    assert found.tolist() == [0.0, 0.0, 1.0, math.inf]
    assert flexible_error(plane, np.array([[3.0, 4.0], [9.0, 9.0]]), Mode(), 0).tolist() == [5.0, math.sqrt(162)]
    assert flexible_error(plane, [(((0, 0), 5),), (((3, 4), 4),)], Top(1), "0.2").tolist() == [0.0, 0.0]


def brute_support(keys: list[tuple[int, int]], counts: list[int], allowed: int, report: list[tuple[int, int]]) -> float:
    best = math.inf
    for mask in range(1, 2 ** len(keys)):
        kept = [key for place, key in enumerate(keys) if mask >> place & 1]
        if sum(counts) - sum(c for place, c in enumerate(counts) if mask >> place & 1) <= allowed:
            ways = ((kept, report), (report, kept))
            best = min(best, max(max(min(math.dist(a, b) for b in two) for a in one) for one, two in ways))
    return best


points = st.tuples(st.integers(0, 4), st.integers(0, 4))


@settings(deadline=None)
@given(
    data=st.dictionaries(points, st.integers(1, 3), min_size=1, max_size=4),
    alpha=st.fractions(0, 1, max_denominator=6),
    reports=st.lists(st.lists(points, min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_supports_in_the_plane(data: dict[Any, int], alpha: Fraction, reports: list[Any]) -> None:
    histogram = Histogram.from_counts(data)
    allowed = min(math.floor(alpha * histogram.size), histogram.size - 1)
    expected = [brute_support(list(data), list(data.values()), allowed, report) for report in reports]
    assert flexible_error(histogram, reports, Support(), alpha) == pytest.approx(expected, abs=1e-12)
    assert flexible_error(histogram, [*reports, None], Support(), alpha)[-1] == math.inf


def test_many_reports_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    histogram = Histogram(np.arange(7), [5, 1, 4, 1, 9, 2, 1])
    reports = [generator.integers(-2, 9, size=generator.integers(0, 6)).tolist() for _ in range(300)]
    whole = flexible_error(histogram, reports, Support(), "0.2")
    monkeypatch.setattr("flexdp.statistics.set_errors._CELLS", 20)
    assert flexible_error(histogram, reports, Support(), "0.2").tolist() == whole.tolist()
    assert [flexible_error(histogram, [one], Support(), "0.2")[0] for one in reports] == whole.tolist()


@settings(deadline=None)
@given(
    weights=st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any),
    gammas=st.lists(st.fractions(0, 1, max_denominator=7), min_size=1, max_size=3),
)
def test_a_law_is_measured_as_that_many_runs(weights: list[int], gammas: list[Fraction]) -> None:
    histogram, outputs = Histogram.from_counts({10: 90, 20: 9, 70: 1}), [70, 12, None, 60]
    runs = [output for output, many in zip(outputs, weights, strict=True) for _ in range(many)]
    law = {output: Fraction(many, sum(weights)) for output, many in zip(outputs, weights, strict=True)}
    expected = accuracy_curve(histogram, runs, Max(), [0, "0.01"], gammas)
    for given_law in (law, Weighted(outputs, weights)):
        found = accuracy_curve(histogram, given_law, Max(), [0, "0.01"], gammas)
        assert found.beta.tolist() == expected.beta.tolist()
        assert found.runs is None


def test_curves_under_move() -> None:
    histogram = Histogram.from_values([0, 10])
    curve = accuracy_curve(histogram, [10, 13, 20], Max(), [0, 2, 100], [0, "1/3"], distortion=Move())
    assert curve.beta.tolist() == [[10.0, 3.0], [8.0, 1.0], [0.0, 0.0]]
    assert curve.at(2, "1/3") == 1.0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"distortion": 3}, "distortion must be a function"),
        ({"distortion": Move(), "alpha": -1}, "alpha must be at least 0"),
        ({"distortion": Drop(), "alpha": 2}, r"alpha must be in \[0, 1\]"),
        ({"distortion": lambda x, y: 0.0}, "cannot be listed"),  # noqa: ARG005
        ({"distortion": lambda x, y: -1.0, "candidates": [Histogram([0], [1])]}, "non-negative"),  # noqa: ARG005
        ({"candidates": [3]}, "candidates must be a list of histograms"),
        ({"candidates": 3}, "candidates must be a list of histograms"),
        ({"domain": [1, 2]}, r"domain is for the distortions Move\(\) and DropMove"),
        ({"distortion": Move(), "domain": []}, "domain must be a list of keys"),
        ({"distortion": Move(), "domain": [1], "candidates": [Histogram([0], [1])]}, "exclude each other"),
        ({"distortion": Move(), "domain": list(range(500)), "alpha": 500}, "100 000 data sets"),
        ({"statistic": lambda h: math.nan}, "must not return NaN"),  # noqa: ARG005
        ({"statistic": lambda h: {0: 1}}, "must be deterministic"),  # noqa: ARG005
        ({"outputs": {0: -1}}, "probabilities of at least 0"),
        ({"outputs": {0: 0}}, "not all of them 0"),
        ({"outputs": Weighted([1, 2], [1])}, "one weight per point"),
    ],
)
def test_what_cannot_be_measured(more: dict[str, Any], told: str) -> None:
    histogram = Histogram([0, 5, 6], [2, 1, 1])
    parameters = {"outputs": [0], "statistic": Max(), "alpha": "0.25", **more}
    with pytest.raises(InputError, match=told):
        flexible_error(histogram, **parameters)


def test_what_a_function_of_the_caller_raises_is_not_rewritten() -> None:
    histogram = Histogram([0, 5, 6], [2, 1, 1])
    with pytest.raises(ZeroDivisionError):
        flexible_error(histogram, [0], lambda h: 1 / (h.size - 3), "0.25")
    with pytest.raises(AttributeError):
        flexible_error(histogram, [1], Max(), "0.25", distance=lambda a, b: a.no)  # noqa: ARG005
    with pytest.raises(ZeroDivisionError):
        flexible_error(histogram, [1], Max(), 0, distortion=lambda x, y: 1 / 0, candidates=[histogram])  # noqa: ARG005


def test_texts_do_not_move() -> None:
    with pytest.raises(InputError, match="numbers or dates"):
        flexible_error(Histogram(["a"], [1]), ["a"], Mode(), 1, distortion=Move())
    with pytest.raises(InputError, match="single values"):
        flexible_error(Histogram([1], [1]), [[(1, 2)]], Support(), 0)
    with pytest.raises(InputError, match="2 coordinates"):
        flexible_error(Histogram([(1, 2)], [1]), [[1]], Support(), 0)


def test_means_move_with_their_records() -> None:
    histogram = Histogram.from_values([0, 3, 9])
    assert flexible_error(histogram, [4, 6, 9], Mean(), 1, distortion=Move()).tolist() == [0.0, 1.0, 4.0]
