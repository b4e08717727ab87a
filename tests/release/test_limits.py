"""Quantiles read off buckets agree with the answers that were asked for beside them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from _support.bits import seed

import flexdp
from flexdp._release.claims import Population
from flexdp._release.interpolation import Profile, on_line
from flexdp._release.reconcile import Fact, reconcile
from flexdp.buckets.parse import make_buckets

SPEND: dict[str, Any] = {"delta": "1e-6"}
LEVELS = [Fraction(level, 100) for level in (0, 1, 5, 25, 50, 75, 90, 95, 99, 100)]


def ages(rng: Any) -> list[Any]:
    return [int(age) for age in rng.integers(0, 100, 4000)]


def days(rng: Any) -> list[Any]:
    return [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 366, 4000)]


def times(rng: Any) -> list[Any]:
    return [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=int(minute)) for minute in rng.integers(0, 9999, 4000)]


def costs(rng: Any) -> list[Any]:
    return [float(cost) for cost in rng.lognormal(5, 1, 4000).round(2)]


CASES = {"integer": ages, "date": days, "datetime": times, "number": costs}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("more", [{}, {"ask": ["min", "q0.9", "max"]}], ids=["ends", "q0.9"])
def test_quantiles_ascend_from_the_asked_minimum_to_the_asked_maximum(
    kind: Any, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, 7)
    rng, beyond = np.random.default_rng(7), 0
    for epsilon in ("0.43", 1, 3):
        released = flexdp.release(CASES[kind](rng), kind=kind, epsilon=epsilon, **SPEND, **more)
        answers = [released.quantile(level) for level in LEVELS]
        values = [on_line(answer.value) for answer in answers]
        assert all(low <= high for low, high in pairwise(values)), (epsilon, values)
        assert answers[0].value == released.min().value and answers[-1].value == released.max().value
        for level in LEVELS[1:-1]:
            alone, told = released._reader.quantile(flexdp.statistics.Quantile(level), level), released.quantile(level)
            beyond += alone.opened is not None
            if level != Fraction(9, 10):
                assert told.interval == alone.interval, "what is guaranteed is that of the buckets alone"
    assert beyond, "the control: without the answers, some estimate lies in an open bucket"


def test_ages_are_estimated_better_with_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve releases by seeded bits: both ends of a uniform column have open buckets, which the answers close."""
    seed(monkeypatch, 11)
    rng = np.random.default_rng(11)
    errors: dict[str, list[int]] = {"alone": [], "limited": []}
    for _ in range(12):
        released = flexdp.release(ages(rng), kind="integer", epsilon="0.5", **SPEND)
        for level, truth in ((Fraction(1, 100), 0), (Fraction(99, 100), 98)):
            alone = released._reader.quantile(flexdp.statistics.Quantile(level), level).value
            errors["alone"].append(abs(alone - truth))
            errors["limited"].append(abs(released.quantile(level).value - truth))
    assert sum(errors["limited"]) * 3 < sum(errors["alone"])


def test_an_asked_end_that_is_near_closes_an_open_bucket() -> None:
    """Records of 0–10 and 10–20 are as dense as those beyond 20 are between 20 and 30."""
    buckets = make_buckets("number", edges=["0", "10", "20"], open=True)
    index, counts = np.array([1, 2, 3]), np.array([100, 100, 100])
    closed = Profile(buckets, index, counts, Fraction(0), ends=(None, 30.0))  # type: ignore[arg-type]
    assert (closed.stretch(2).low, closed.stretch(2).high) == (20, 30)
    assert [closed.quantile(Fraction(level, 300)).value for level in (210, 250, 300)] == [21.0, 25.0, 30.0]
    far = Profile(buckets, index, counts, Fraction(0), ends=(None, 35.0))  # type: ignore[arg-type]
    assert far.stretch(2).high is None, "a tail that is longer than its scale may go on beyond an asked end"
    wrong = Profile(buckets, index, counts, Fraction(0), ends=(None, 20.0))  # type: ignore[arg-type]
    assert wrong.stretch(2).high is None
    below = Profile(buckets, np.array([0, 1, 2]), counts, Fraction(0), ends=(-10.0, None))  # type: ignore[arg-type]
    assert below.quantile(Fraction(50, 300)).value == -5.0
    whole = make_buckets("integer", edges=[0, 10, 20], open=True)
    last = Profile(whole, index, counts, Fraction(0), ends=(None, 29))  # type: ignore[arg-type]
    assert last.stretch(2).high == 30 and last.quantile(Fraction(1)).value == 29


def drawn(*answers: tuple[str, float]) -> tuple[Fact, ...]:
    """Asked quantiles, by level."""
    return tuple(
        Fact(quantity=flexdp.statistics.Quantile(level), population=Population(), point=Fraction(value), drawn=True)
        for level, value in answers
    )


def estimated(level: str, value: float, *answers: tuple[str, float]) -> float | None:
    """An estimate beside asked quantiles."""
    own = Fact(quantity=flexdp.statistics.Quantile(level), population=Population(), point=Fraction(value))
    point = reconcile((*drawn(*answers), own))[-1].point
    return None if point is None else float(point)


def test_estimates_lie_between_the_answers_around_their_level() -> None:
    answers = (("0", 3), ("0.9", 70), ("1", 99))
    assert estimated("0.5", 80, *answers) == 70 and estimated("0.95", 60, *answers) == 70
    assert estimated("0.5", 2, *answers) == 3 and estimated("0.9", 5, *answers) == 70
    assert estimated("0.99", 107, ("0.5", 40), ("1", 99)) == 99
    assert estimated("0.9", 5, ("0.5", 5)) == 5 and estimated("0.9", 4, ("0.5", 5)) == 5


def test_a_bucket_that_certainly_holds_records_is_not_left_for_an_answer_that_is_too_low() -> None:
    """Without bounds nothing is guaranteed, but released buckets hold records."""
    low = drawn(("1", 55.0))
    last = flexdp.release([52.0] * 3000 + [62.0] * 3000, epsilon=1, width=10, **SPEND)._reader
    assert replace(last, facts=low).quantile(flexdp.statistics.Quantile("0.99"), Fraction(99, 100)).value == 60.0
    wide = flexdp.release([52.0] * 3000 + [62.0] * 3000, epsilon=1, width=10, bounds=(0, 100), **SPEND)._reader
    assert replace(wide, facts=low).quantile(flexdp.statistics.Quantile("0.99"), Fraction(99, 100)).value == 60.0
    single = flexdp.release([50] * 3000 + [60] * 3000, kind="integer", exact=True, epsilon=1, **SPEND)._reader
    assert replace(single, facts=low).quantile(flexdp.statistics.Quantile("0.99"), Fraction(99, 100)).value == 60


def test_an_asked_answer_closes_an_open_bucket() -> None:
    """Values beyond a bound count in the last bucket: a quantile there is its edge, unless an answer is above it."""
    opened = flexdp.release([2.0] * 900 + [70.0] * 9000, epsilon=1, width=5, bounds=(0, 10), **SPEND)._reader
    alone = opened.quantile(flexdp.statistics.Median(), Fraction(1, 2))
    assert (alone.value, alone.opened) == (5.0, 1)
    closed = replace(opened, facts=drawn(("1", 8.0))).quantile(flexdp.statistics.Median(), Fraction(1, 2))
    assert 5 < closed.value <= 8 and closed.opened is None


def test_the_mean_of_an_open_end_is_within_an_asked_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 13)
    rng = np.random.default_rng(13)
    found = [flexdp.release(ages(rng), kind="integer", epsilon="0.5", **SPEND) for _ in range(8)]
    assert all(abs(each.mean().value - 49.5) < 2.5 for each in found)
