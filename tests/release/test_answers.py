"""What answers say, against every data set that could have given the release: enumerated, not derived."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from _support.published import published

import flexdp
from flexdp import Histogram, Release
from flexdp._release.api import prepare
from flexdp.accounting.budget import Budget
from flexdp.distances import hausdorff
from flexdp.histogram import KeyedHistogram
from flexdp.noise import TotalNoise

LEVELS = [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


def quantile(counts: list[int], level: Fraction) -> int:
    """The bucket of the quantile, counted off record by record."""
    wanted, seen = max(1, math.ceil(level * sum(counts))), 0
    for bucket, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return bucket
    raise AssertionError("no records")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "cells", [{("a", 1): 5}, {("a", 0): 3, ("b", 2): 4}, {("a", 2): 9, ("b", 2): 2}, {("b", 1): 1, ("a", 2): 1}]
)
def test_the_interval_of_summed_groups_is_the_hull_of_all_their_quantiles(
    cells: dict[Any, int], level: Fraction
) -> None:
    """Two declared groups, three buckets: each of the six bars may have lost 0, …, D of its own."""
    released = published(cells, epsilon=20, by="g", groups=["a", "b"], width=1, bounds=(0, 3), outside="drop")
    drop = released.max_drop
    assert drop >= 1
    found = set()
    for lost in product(range(drop + 1), repeat=6):
        if sum(lost) > TotalNoise(20, "1e-6", 6).total:
            continue
        truth = [cells.get(("a", i), 0) + lost[i] + cells.get(("b", i), 0) + lost[3 + i] for i in range(3)]
        found.add(quantile(truth, level))
    assert released.quantile(level).interval == (min(found), max(found) + 1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("y", [(0, 0, 5, 0), (0, 2, 0, 3), (1, 0, 0, 0), (0, 0, 0, 1), (4, 4, 4, 4)])
def test_the_interval_of_one_group_is_the_hull_of_all_its_quantiles(y: tuple[int, ...], level: Fraction) -> None:
    """At level 0, the minimum, too: with nothing released in the lowest bucket it is not sure to be there."""
    released = published({(i,): n for i, n in enumerate(y) if n}, epsilon=20, width=1, bounds=(0, 4), outside="drop")
    lost = product(range(released.max_drop + 1), repeat=4)
    found = {quantile([n + more for n, more in zip(y, extra, strict=True)], level) for extra in lost}
    assert released.quantile(level).interval == (min(found), max(found) + 1)


def test_intervals_of_very_many_records_do_not_overflow() -> None:
    """Three bars of 2^62 records: their sum exceeds 64 bits, and the losses are nothing beside it."""
    released = published({(i,): 2**62 for i in range(3)}, epsilon=20, width=1, bounds=(0, 3), outside="drop")
    assert released.median().interval == (1, 2)
    assert released.quantile("0.9").interval == (2, 3)
    assert released.quantile("0.1").interval == (0, 1)


def test_printed_intervals_contain_the_interval() -> None:
    """The lower end is rounded down, the upper one up, from the exact edges of the one bucket that holds records."""
    third = Fraction(1, 3)
    for low in (-2 - third, Fraction(0), 123 + third):
        released = published({(1,): 500}, epsilon=20, width=third, bounds=(low, low + 1))
        said = re.search(r"guaranteed to lie between (\S+) and (\S+)\.$", str(released.median()))
        assert said is not None
        assert low + third - Fraction(1, 10**12) <= Fraction(said[1]) <= low + third
        assert low + 2 * third <= Fraction(said[2]) <= low + 2 * third + Fraction(1, 10**12)


def number_in(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, text
    return int(found[1].replace(" ", ""))


@pytest.mark.parametrize(
    ("parameters", "cells", "bars"),
    [
        ({"width": 1, "bounds": (0, 3)}, {(1,): 9}, 1),
        ({"width": 1, "by": "g", "groups": ["a", "b", "c"]}, {("a", 1): 9}, 3),
        ({"width": 1, "by": "g", "groups": ["a"]}, {("a", 1): 9}, 1),
    ],
)
def test_a_count_is_too_low_by_what_all_of_its_bars_can_have_lost(
    parameters: dict[str, Any], cells: dict[Any, int], bars: int
) -> None:
    """The most that is lost in all is the sum of the most of each: every bar has a loss of its own."""
    released = published(cells, **parameters)
    most = sum(max(j for j, weight in enumerate(released.noise.weights) if weight) for _ in range(bars))
    assert number_in(r"at most (\d+) too low", str(released.counts())) == most
    assert (
        number_in(r"The lower end of each count is at most (\d+) too low", "\n".join(released.certificate().promises))
        == most
    )


def test_a_marginal_is_too_low_by_the_losses_of_all_cells_and_groups_in_it() -> None:
    """Of x: 4 buckets of y in each of 2 groups make 8 cells; above the one that is there lie 2 buckets of x."""
    released = published(
        {("a", 0, 0): 90, ("b", 0, 3): 60}, ["x", "y"],
        by="g", groups=["a", "b"], width=1, bounds=[(0, 3), (0, 4)], outside="drop",
    )  # fmt: skip
    marginal = released.marginal("x")
    total = TotalNoise(1, "1e-6", 24).total
    assert number_in(r"at most (\d+) too low", str(marginal.counts())) == 8 * 27
    lost = min(2 * 8 * 27, total)
    assert marginal.max().accuracy.alpha == pytest.approx(lost / (150 + lost))
    whole = total
    assert released.support().accuracy.alpha == pytest.approx(whole / (150 + whole))


@pytest.mark.parametrize(("epsilon", "most"), [("1", 1), ("3", 1), ("1", 2)])
def test_a_bar_is_said_to_be_present_from_the_first_height_that_surely_is(epsilon: str, most: int) -> None:
    """The heights named are the least of which no drop that the table holds leaves nothing."""
    frame = pl.DataFrame({"x": [1.0], "u": [1]})
    request = prepare(frame, "x", width=1, unit="u", max_buckets_per_unit=most)
    budget = Budget(epsilon, "1e-6", most=most)
    released = Release(spec=request.questions[0].spec, budget=budget, cells=KeyedHistogram([[1]], [900]))
    possible = [j for j, weight in enumerate(budget.bars.weights) if weight]
    surely = next(height for height in range(1000) if all(height - j > 0 for j in possible))
    assert number_in(r"with at least (\d+) units \(u\) is present", str(released.certificate())) == surely
    assert number_in(r"for buckets of at least (\d+) units \(u\);", str(released.counts(debias=True))) == surely
    nothing = replace(released, cells=KeyedHistogram([np.empty(0, dtype=np.int64)], []))
    assert number_in(r"only if at least (\d+) units \(u\) are counted in it\.", str(nothing.max())) == surely


@pytest.mark.parametrize(
    ("there", "beta"), [([0], 5), ([0, 1], 45), ([0, 2], 450), ([1, 2], 450), ([0, 1, 2], 450), ([1], 45)]
)
def test_the_error_of_the_support_is_that_of_the_widest_bucket_there(there: list[int], beta: float) -> None:
    """The furthest that any data in these buckets can have its support from the centres, tried at the edges."""
    edges = [0, 10, 100, 1000]
    released = published({(i,): 100 for i in there}, edges=edges)
    furthest = 0.0
    for places in product((0.0, 1.0), repeat=len(there)):
        values = [edges[i] + place * (edges[i + 1] - edges[i]) for i, place in zip(there, places, strict=True)]
        data = Histogram.from_values(np.array(values))
        furthest = max(furthest, hausdorff(data, released.histogram).value)
    assert released.support().accuracy.beta == beta == furthest


def test_the_error_of_a_quantile_reaches_to_the_ends_of_the_bucket_among_the_rest() -> None:
    """Edges 0, 10, 100, 1000, equal counts: 3/10 and 1/2 of a bucket; in the last one, which thins out, less than 7/10.

    There the density at the edge is a quarter of the one before, 113.5/90/4, and e^−2.232 of it at the end gives 113.5.
    """
    released = published({(0,): 100, (1,): 100, (2,): 100}, edges=[0, 10, 100, 1000], outside="drop")
    levels = ("0.1", "0.5", "0.9")
    assert [released.quantile(level).value for level in levels] == [3, 55, 495]
    assert [released.quantile(level).accuracy.beta for level in levels] == [7, 45, 505]


def test_the_range_counts_what_both_ends_can_have_hidden() -> None:
    """Of ten buckets the third is there: two below and seven above can have lost 27 records each."""
    released = published({(2,): 900}, width=1, bounds=(0, 10))
    for answer, buckets in ((released.min(), 2), (released.max(), 7), (released.range(), 9), (released.mode(), 10)):
        assert answer.accuracy is not None
        lost = min(27 * buckets, TotalNoise(1, "1e-6", 10).total)
        assert answer.accuracy.alpha == pytest.approx(lost / (900 + lost), rel=1e-15)
        assert Fraction(answer.accuracy.alpha) >= Fraction(lost, 900 + lost)


def test_the_whole_of_a_release_is_what_its_groups_are_together() -> None:
    """Asked of all groups, counts are sums over groups; asked of one, they are its own."""
    frame = pl.DataFrame({"x": [1.0] * 300 + [2.0] * 300, "g": ["a", "b"] * 300})
    released = flexdp.release(frame, "x", by="g", width=1, epsilon=1, delta="1e-6")
    groups = released.by_group()
    for key, count in released.histogram.items():
        assert count == sum(dict(groups[name].histogram.items()).get(key, 0) for name in groups)
