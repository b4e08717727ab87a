"""Functions of anybody's: what the search finds and what a statistic declares, against all data sets on a grid."""

from __future__ import annotations

import datetime as dt
import math
import random
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from flexdp import Histogram, InputError
from flexdp.distortions import DropMove, Move
from flexdp.errors import BoundsWarning
from flexdp.measure import accuracy_curve, errors_of, flexible_error, flexible_error_bounds
from flexdp.measure.ball import within
from flexdp.statistics import Distinct, Max, Mean, SampleVariance, Std, Variance


def values(h: Histogram) -> Any:
    return np.repeat(h.keys.astype(float), h.counts)


FUNCTIONS: dict[str, Callable[[Histogram], Any]] = {
    "std": lambda h: float(values(h).std()),
    "mean": lambda h: float(values(h).mean()),
    "distinct": len,
    "mode": lambda h: float(h.keys[int(np.argmax(h.counts))]),
    "tallest": lambda h: int(h.counts.max()),
    "between": lambda h: int(((values(h) >= 2) & (values(h) <= 3)).sum()),
    "squares": lambda h: float((values(h) ** 2).sum()),
    "second": lambda h: float(values(h)[1]) if h.size > 1 else None,
    "gap": lambda h: float(np.diff(h.keys).max()) if len(h) > 1 else None,
    "odd": lambda h: float(h.size % 2),
    "waves": lambda h: float(np.sin(3 * values(h).mean())),
}


def reachable(x: list[int], most: int, grid: list[float], *, drops: bool) -> list[Histogram]:
    """All data sets on a grid within α = most, or α = most/n with η = 1/n where records may be left out."""
    found = set()
    for lost in range(min(most, len(x) - 1) + 1 if drops else 1):
        for kept in combinations(x, len(x) - lost):
            near = [[place for place in grid if abs(place - value) <= most - lost] for value in kept]
            found |= {tuple(sorted(places)) for places in product(*near)}
    return [Histogram.from_values(places) for places in found]


@pytest.mark.parametrize("seed", range(6))
def test_found_errors_are_attained_and_close_to_those_of_all_data_sets(seed: int) -> None:
    """At most twice the least error on a grid of halves (of whole numbers with six records), and attained."""
    draw = random.Random(seed)
    size = 6 if seed == 0 else draw.randint(2, 4)
    x, most = sorted(draw.randint(0, 6) for _ in range(size)), draw.randint(0, 1 if size > 4 else 2)
    drops, grid = draw.random() < 0.5, [place / 2 for place in range(-4, 18)] if size < 5 else list(range(-2, 10))
    histogram, distortion = Histogram.from_values(x), DropMove(Fraction(1, size)) if drops else Move()
    alpha = Fraction(most, size) if drops else Fraction(most)
    known = reachable(x, most, grid, drops=drops)  # type: ignore[arg-type]
    outputs = [draw.uniform(-1, 8), draw.uniform(-1, 8), draw.randint(0, 6)]
    for name, f in FUNCTIONS.items():
        seen: list[Histogram] = []

        def watched(h: Histogram, f: Any = f, seen: list[Histogram] = seen) -> Any:
            seen.append(h)
            return f(h)

        found = flexible_error_bounds(histogram, outputs, watched, alpha, distortion=distortion)
        assert found.how == "found"
        assert not found.lower.any()
        assert all(within(distortion, histogram, each, alpha) for each in draw.sample(seen, min(60, len(seen)))), name
        attained = {f(each) for each in known}
        for output, error in zip(outputs, found.upper.tolist(), strict=True):
            least = min((abs(value - output) for value in attained if value is not None), default=math.inf)
            assert error <= 2 * least + 1e-9, (name, x, most, drops, output)
            assert error in {abs(output - value) for value in map(f, seen) if value is not None} | {math.inf}, name


def test_a_search_that_tries_the_data_alone_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: without families and steps, errors are more than twice the least."""
    histogram = Histogram.from_values([0, 2, 5])
    assert flexible_error_bounds(histogram, [4.0], FUNCTIONS["mean"], 2, distortion=Move()).upper[0] < 1e-9
    monkeypatch.setattr("flexdp.measure.search._MOST_WORK", 0)
    monkeypatch.setattr("flexdp.measure.search._Search.explore", lambda self: self.tried(self._scattered(0)))
    monkeypatch.setattr("flexdp.measure.search._Search.approach", lambda *_: None)
    with pytest.raises(AssertionError):
        assert flexible_error_bounds(histogram, [4.0], FUNCTIONS["mean"], 2, distortion=Move()).upper[0] < 0.1


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("statistic", [Std(), Variance(9), Distinct()])
def test_declared_bounds_hold_the_least_error_between_them(statistic: Any, drops: bool) -> None:
    draw = random.Random(4)
    for _ in range(6):
        x = [draw.randint(0, 6) for _ in range(3)]
        distortion: Any = DropMove(Fraction(1, 3)) if drops else Move()
        alpha = Fraction(1, 3) if drops else 1
        known = reachable(x, 1, [place / 4 for place in range(-4, 30)], drops=drops)
        outputs = [draw.uniform(0, 9) for _ in range(4)]
        found = flexible_error_bounds(Histogram.from_values(x), outputs, statistic, alpha, distortion=distortion)
        least = [min(abs(statistic(each) - output) for each in known) for output in outputs]
        assert (found.lower <= np.array(least) + 1e-12).all()
        assert (found.upper <= np.array(least) + 1e-9).all()
        assert found.how == ("listed" if isinstance(statistic, Distinct) else "declared")


def test_lower_bounds_of_many_records_hold() -> None:
    """Of more data sets than can be listed: each one drawn has an error above the lower bound."""
    draw = np.random.default_rng(3)
    x = Histogram.from_values(draw.normal(0, 1, 60))
    outputs = [-2.0, 0.0, 3.0]

    class Own:
        name, ordered = "mean", True

        def __call__(self, h: Histogram) -> float:
            return float(values(h).mean())

        def sensitivity(self, beta: float) -> float:
            return beta

    found = flexible_error_bounds(x, outputs, Own(), "0.2", distortion=DropMove(1))
    assert found.how == "declared"
    assert found.lower[2] > 0.3
    for _ in range(200):
        kept = np.sort(draw.choice(values(x), 60 - draw.integers(0, 13), replace=False))
        moved = kept + draw.uniform(-1, 1, len(kept)) * (0.2 - (60 - len(kept)) / 60)
        assert (np.abs(moved.mean() - np.array(outputs)) >= found.lower).all()
    assert (found.upper >= found.lower).all()


def test_ten_thousand_records_take_seconds() -> None:
    data = Histogram.from_values(np.random.default_rng(1).normal(50, 20, 10_000))
    started = time.process_time()
    found = flexible_error_bounds(
        data,
        [49.0, 50.0, 51.0, 60.0],
        lambda h: float(np.abs(values(h) - 40).mean()),
        "0.01",
        distortion=DropMove("0.1"),
    )
    assert time.process_time() - started < 60
    assert found.upper.argmin() < 3


class Middle:
    """The midrange, which knows what it becomes where records are left out and move."""

    asked: list[tuple[Fraction, Fraction]]

    def __init__(self) -> None:
        self.asked = []

    def __call__(self, h: Histogram) -> float:
        return float(h.keys[0] + h.keys[-1]) / 2

    def attainable_moving(self, h: Histogram, alpha: Fraction, moved: Fraction) -> list[Any]:
        self.asked.append((alpha, moved))
        x, lost, found = values(h), math.floor(alpha * h.size), []
        for low in range(lost + 1):
            for high in range(lost - low + 1):
                middle, radius = float(x[low] + x[len(x) - 1 - high]) / 2, float(moved)
                found.append((middle - radius, middle + radius))
        return found


def test_a_statistic_that_knows_what_it_becomes_is_asked() -> None:
    x = [0, 1, 4, 9]
    histogram, outputs = Histogram.from_values(x), [-3.0, 1.5, 4.0, 7.0, 20.0]
    known = reachable(x, 2, [place / 2 for place in range(-5, 25)], drops=True)
    least = [min(abs(float(each.keys[0] + each.keys[-1]) / 2 - output) for each in known) for output in outputs]
    hooked = Middle()
    found = flexible_error_bounds(histogram, outputs, hooked, "1/2", distortion=DropMove("1/4"))
    assert found.exact
    assert found.upper.tolist() == least
    assert hooked.asked == [(0, 2), (Fraction(1, 4), 1), (Fraction(1, 2), 0)]
    assert flexible_error(histogram, outputs, Middle(), 1, distortion=Move()).tolist() == [6.5, 2.0, 0.0, 1.5, 14.5]


def test_a_hook_is_asked_for_some_numbers_of_records_and_bounds_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    x, outputs = Histogram.from_values(range(12)), [-9.0, 0.3, 2.7, 6.0, 30.0]
    exact = flexible_error_bounds(x, outputs, Middle(), "1/2", distortion=DropMove("1/20"))
    monkeypatch.setattr("flexdp.measure.moving._MOST_ASKED", 2)
    some = flexible_error_bounds(x, outputs, Middle(), "1/2", distortion=DropMove("1/20"))
    assert (exact.how, some.how) == ("listed", "hook")
    assert (some.lower <= exact.upper).all() and (exact.upper <= some.upper).all()
    assert (some.lower < some.upper).any()


def test_no_value_is_a_value_that_an_output_may_lack() -> None:
    x = Histogram.from_values([1, 4])
    spread = SampleVariance()
    assert spread(Histogram.from_values([3])) is None
    assert flexible_error(x, [None, 4.5, 5.0], spread, 0).tolist() == [math.inf, 0.0, 0.5]
    assert flexible_error(x, [None, 4.5, 5.0], spread, "1/2").tolist() == [0.0, 0.0, 0.5]
    own = flexible_error_bounds(x, [None, 4.5], lambda h: spread(h), "1/2", distortion=DropMove(10))
    assert own.upper.tolist() == [0.0, 0.0]
    assert errors_of(x, [None, 4.5], spread, "1/2", empty=0).values.tolist() == [0.0, 0.0]
    assert errors_of(x, [None, 1.0], spread, 0, empty=0).values.tolist() == [4.5, 3.5]


def test_days_move_by_whole_days() -> None:
    days = Histogram.from_values([dt.date(2024, 1, 1), dt.date(2024, 1, 9)])
    last = lambda h: h.keys[-1]  # noqa: E731
    outputs = [dt.date(2024, 1, 12), dt.date(2024, 1, 5)]
    found = flexible_error_bounds(days, outputs, last, "2.5", distortion=Move())
    assert found.upper.tolist() == [1.0, 2.0]


def test_a_distance_of_ones_own_where_records_move() -> None:
    x = Histogram.from_values([0, 5, 7])
    ring = flexible_error_bounds(
        x, [11.0], Max(), 1, distortion=Move(), distance=lambda a, b: min(abs(a - b), 12 - abs(a - b))
    )
    assert ring.upper.tolist() == [3.0]


def test_searched_errors_warn_and_curves_say_so() -> None:
    x = Histogram(range(50), [40] * 50)
    with pytest.warns(BoundsWarning, match="above the exact distances"):
        flexible_error(x, [24.0], Std(), "0.1")
    curve = accuracy_curve(x, [24.0, 14.0], Std(), ["0.1"], [0])
    assert "by the sensitivity that the statistic declares" in str(curve)
    assert 0 < curve.lower[0, 0] <= curve.beta[0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Each" not in str(accuracy_curve(x, [24.0], Max(), ["0.1"], [0]))
    assert flexible_error_bounds(x, [24.5], Mean(), 0).exact


def test_a_sensitivity_must_be_a_bound() -> None:
    class Odd:
        def __call__(self, h: Histogram) -> float:
            return float(h.size)

        def sensitivity(self, beta: float) -> float:
            return -beta

    with pytest.raises(InputError, match="non-negative"):
        flexible_error(Histogram(range(50), [40] * 50), [1.0], Odd(), "0.1")

    class TooSmall:
        def __call__(self, h: Histogram) -> float:
            return float(values(h).mean())

        def sensitivity(self, beta: float) -> float:
            return beta / 2

    with pytest.raises(InputError, match="declares a smaller sensitivity than it has"):
        flexible_error_bounds(Histogram.from_values([1, 2, 7]), [9.0], TooSmall(), 1, distortion=Move())
