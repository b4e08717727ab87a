"""Promises of asked answers on data made to break them, and controls: half or a third of each bound must fail.

A promise fails with probability at most 1/20. A test alarms at so many failures that a true promise has them with
probability below 10^−7; the bits are seeded, so it does so always or never.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import flexdp
from flexdp._release import asked_checks
from flexdp._release.asked import Asked, Column, Result, answer
from flexdp._release.asked_promises import GAMMA, mean_promise, rank_promises
from flexdp._release.asking import AskedBudget, Wanted
from flexdp.noise.bits import Bits
from flexdp.sharp.column import Column as Values
from flexdp.sharp.mean import steps_between
from flexdp.sharp.ranks import Span
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

HALF, TOP = Fraction(1, 2), Fraction(1)
LEAST = 70_001  # an integer of the least weight below 100 000


def alarm(runs: int) -> int:
    """The fewest failures of so many that a promise of 19/20 has with probability below 10^−7."""
    tail, failures = 1.0, 0
    while tail >= 1e-7:
        tail -= math.comb(runs, failures) * 0.05**failures * 0.95 ** (runs - failures)
        failures += 1
    return failures


def test_alarms() -> None:
    assert 5 < alarm(100) < 30 and alarm(1000) < 100


def outcomes(
    words: tuple[str, ...], values: Any, runs: int, *, epsilon: int = 1, column: Column | None = None
) -> Iterator[tuple[Asked, Result]]:
    """Answers with seeded bits."""
    ranks, wanted, budget = Values.from_values(values), Wanted(words), AskedBudget(Fraction(epsilon))
    own = Column(scale=ranks.scale) if column is None else column
    bits = Bits(random.Random(" ".join(words)).randbytes)
    for _ in range(runs):
        result = answer(wanted, budget.parts(wanted), own, ranks, bits)
        yield Asked(wanted=wanted, budget=budget, column=own, results={(): result}), result


def cluster(size: int, below: int, above: int) -> np.ndarray:
    """Records far below, 2·size + 1 neighbouring integers of small weight, and records far above."""
    middle = np.arange(LEAST - size, LEAST + size + 1)
    return np.concatenate([np.full(below - size, -90_000), middle, np.full(above - size, 99_999)])


@pytest.mark.parametrize(
    ("words", "level", "records", "runs"),
    [
        (("median",), HALF, 1001, 1000),
        (("q0.4", "median", "q0.6"), HALF, 3001, 400),
        (("q0.97",), Fraction(97, 100), 4001, 300),
        (("median", "q0.97"), Fraction(97, 100), 8001, 150),
    ],
)
@pytest.mark.parametrize("part", [1, 3], ids=["promise", "control"])
def test_records_between(words: tuple[str, ...], level: Fraction, records: int, runs: int, part: int) -> None:
    """Few neighbours around the exact quantile, and most of the prior beyond them.

    The bound that is stated where an answer has as many digits as the exact one holds of all answers: those with more
    state a larger one, and those with fewer a condition that the exact one does not meet.
    """
    rank = math.ceil(level * records)
    first = cluster(9, rank - 1, records - rank)
    stated = [rank_promises(*each)[level] for each in outcomes(words, first, 20)]
    bound = max(each.between or 0 for each in stated if each.decades == 5) // part
    assert bound > 0
    values = cluster(bound + 1, rank - 1, records - rank)
    assert values[rank - 1] == LEAST and len(values) == records
    failed = 0
    for _, result in outcomes(words, values, runs):
        found = result.at(level)
        assert found is not None
        low, high = sorted((found.value, LEAST))
        failed += int(((values > low) & (values < high)).sum()) > bound
    assert (failed >= alarm(runs)) == (part > 1), failed


@pytest.mark.parametrize(("bulk", "runs"), [(3000, 60), (1_100_000, 30)], ids=["few", "many"])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("part", [1, 2], ids=["promise", "control"])
def test_records_beyond(bulk: int, runs: int, side: int, part: int) -> None:
    """A few records at the far end of the ladder: at every rung before them it may stop too early."""
    level = TOP if side > 0 else Fraction(0)
    words = ("max",) if side > 0 else ("min",)
    plain = np.full(bulk, 7.0)
    bound = max(rank_promises(*each)[level].beyond or 0 for each in outcomes(words, plain, 20)) // part
    values = np.concatenate([plain, np.full(bound + 1, 1e37 * side)])
    failed = 0
    for asked, result in outcomes(words, values, runs):
        promise, found = rank_promises(asked, result)[level], result.at(level)
        assert found is not None and promise.beyond is not None
        limit = float(NUMBERS.value(found.value))
        failed += int((values * side > limit * side).sum()) > promise.beyond // part
    assert (failed >= alarm(runs)) == (part > 1), failed


@pytest.mark.parametrize(
    ("words", "top"), [(("max",), 5000.0), (("max",), 7.0), (("median", "q0.98", "q0.99", "max"), 5000.0)]
)
@pytest.mark.parametrize("later", [0, 1], ids=["promise", "control"])
def test_the_highest_reaches(words: tuple[str, ...], top: float, later: int) -> None:
    """The control takes the answer itself for the value that the highest lies beyond."""
    values, runs = np.concatenate([np.full(2000, 7.0), np.full(80, top)]), 80
    failed = stated = 0
    for asked, result in outcomes(words, values, runs):
        promise, found = rank_promises(asked, result)[TOP], result.at(TOP)
        assert found is not None
        if promise.reaches is not None or later:
            stated += 1
            failed += top <= float(NUMBERS.value(found.value if later else promise.reaches or 0))
    assert (failed >= alarm(runs)) == (later > 0), failed
    assert top == 7.0 or later or stated > runs // 2


@pytest.mark.parametrize("part", [1, 2], ids=["promise", "control"])
def test_means_and_sums_between_public_ends(part: int) -> None:
    """Nearly all records at the lower end: the noise of the first sum is the whole error."""
    values, runs = np.array([0] * 1000 + [10**6] * 20), 1200
    failed = {"mean": 0, "total": 0}
    for asked, result in outcomes(("mean",), values, runs, column=Column(scale=INTEGERS, ends=Span(0, 10**6 + 1))):
        assert result.mean is not None
        promise = mean_promise(asked, result.mean)
        if promise is not None:
            failed["mean"] += abs(result.mean.mean - Fraction(2 * 10**7, 1020)) > promise.mean / part
            failed["total"] += abs(result.mean.total - 2 * 10**7) > promise.total / part
    assert all((count >= alarm(runs)) == (part > 1) for count in failed.values()), failed


@pytest.mark.parametrize("part", [1, 2], ids=["promise", "control"])
def test_records_beyond_the_ends_of_a_mean(part: int) -> None:
    plain, runs = np.full(3000, 7.0), 40
    known = []
    for asked, result in outcomes(("mean",), np.concatenate([plain, np.linspace(0, 90, 300)]), 20):
        assert result.mean is not None
        promise = mean_promise(asked, result.mean)
        known += [promise.outside] if promise is not None and promise.outside is not None else []
    bound = max(known) // part
    values = np.concatenate([plain, np.full(bound + 1, 1e37)])
    failed = 0
    for asked, result in outcomes(("mean",), values, runs):
        assert result.mean is not None and result.mean.high is not None
        promise = mean_promise(asked, result.mean)
        stated = 0 if promise is None or promise.outside is None else promise.outside
        failed += int((values > float(NUMBERS.value(result.mean.high))).sum()) > stated // part
    assert (failed >= alarm(runs)) == (part > 1), failed


COLUMNS: dict[str, tuple[Scale, Callable[[int], Any], int]] = {
    "constant": (NUMBERS, lambda n: np.full(n, 7.25), 600),
    "two values": (INTEGERS, lambda n: np.repeat([0, 1000], [n - n // 2, n // 2]), 700),
    "ties at the anchor": (NUMBERS, lambda n: np.maximum(0.0, np.arange(n) - n * 97 // 100), 6000),
    "few": (INTEGERS, lambda n: np.arange(n) ** 2, 160),
    "negative": (NUMBERS, lambda n: -np.round(np.random.default_rng(1).lognormal(6, 2, n), 2), 2500),
    "days": (INTEGERS, lambda n: 19_700 + np.arange(n) % 366, 2500),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_all_promises_hold_together(name: str) -> None:
    scale, make, size = COLUMNS[name]
    values, runs = np.sort(make(size)), 25
    column = Column(scale=scale, decades=7 if name == "days" else 1)
    words = ("min", "q0.03", "q0.2", "median", "q0.97", "max")
    failed = 0
    for asked, result in outcomes(words, values, runs, column=column):
        wrong = False
        for level, promise in rank_promises(asked, result).items():
            exact = values[max(1, math.ceil(level * size)) - 1]
            found = result.at(level)
            assert found is not None
            told, upper = float(scale.value(found.value)), level > HALF
            if promise.between is not None:
                low, high = sorted((exact, told))
                wrong |= int(((values > low) & (values < high)).sum()) > promise.between
            if promise.beyond is not None:
                wrong |= int((values > told).sum() if upper else (values < told).sum()) > promise.beyond
        failed += wrong
    assert failed < alarm(runs), failed


# What a promise must not say.


def test_a_mean_is_that_of_values_limited_to_the_bounds_themselves() -> None:
    """The steps end a little beyond a bound that they do not divide; records beyond it count at the bound."""
    high = 333.33319
    tally = steps_between(0, NUMBERS.units(high))
    assert tally.high > NUMBERS.units(high)
    for outside, word in (("clamp", "limited to"), ("drop", "within")):
        told = flexdp.release(
            [1.0, 900.0] * 2000, epsilon=1, delta=0, ask=["mean"], bounds=(0, high), outside=outside
        ).mean()
        assert f" of the mean of the values {word} 0–333.33319." in str(told)


def test_the_error_of_a_mean_covers_the_rounding_of_what_is_shown() -> None:
    found = flexdp.release(
        [float(i % 977) for i in range(5000)], epsilon=1, delta=0, ask=["mean", "sum"], bounds=(0, 1000)
    )
    for told, exact in (
        (found.mean(), found.asked.results[()].mean.mean),
        (found.sum(), found.asked.results[()].mean.total),
    ):
        shown, error = (
            Fraction(text.replace(" ", ""))
            for text in (told.text.removeprefix("about "), str(told).split("it is within ")[1].split(" of the")[0])
        )
        own = told.promise.mean if told.name == "mean" else told.promise.total
        assert error >= own + abs(shown - exact)


def test_several_values_a_unit_are_not_counted_as_units() -> None:
    table = pl.DataFrame({"pid": [i // 3 for i in range(6000)], "x": [i * 7 % 1000 for i in range(6000)]})
    options: dict[str, Any] = {"epsilon": 2, "delta": 0, "ask": ["median", "count"], "unit": "pid"}
    two = flexdp.release(table, "x", max_buckets_per_unit=2, **options)
    assert str(two.records_about).startswith("Number of values, at most 2 different values of each unit (pid): about ")
    assert " values of units (pid) lie between" in str(two.median())
    assert str(two.median()).startswith("Median x, at most 2 different values of each unit (pid): about ")
    one = flexdp.release(table, "x", max_buckets_per_unit=1, **options)
    assert str(one.records_about).startswith("Number of units (pid): about ")
    assert abs(two.records_about.value - 4000) < 200 and abs(one.records_about.value - 2000) < 100


def test_conditions_name_every_level_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_checks, "Bits", lambda: Bits(random.Random(1).randbytes))
    values = np.arange(40_000) / 4
    day = dt.date(2024, 1, 1)
    for words, told in (
        (["median"], "if values there are below"),
        (["median", "max"], "if values there are below"),
        (["q0.4", "median"], "if values near all asked levels are below"),
        (["q0.97", "max"], "if values there are below"),
        (["q0.97"], "if values near all asked levels are below"),
        (["q0.03", "q0.97"], "if values near all asked levels are below"),
    ):
        found = flexdp.release(values, epsilon=1, delta=0, ask=words)
        assert any(told in str(each) for each in found.answers()), words
    dates = flexdp.release([day + dt.timedelta(days=i % 99) for i in range(4000)], epsilon=1, delta=0, ask=["median"])
    assert "if values" not in str(dates.median())


def test_gamma_is_the_probability_in_the_sentences() -> None:
    assert Fraction(1, 20) == GAMMA
