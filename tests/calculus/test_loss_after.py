"""Loss after a release, against every data set that could have given it: enumerated, not derived."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import flexdp
from flexdp.calculus.loss import (
    alpha_after,
    alpha_before,
    buckets_beyond,
    histogram_accuracy,
    most_lost,
    paid_loss,
    quantile_hull,
    survives_from,
    together,
)
from flexdp.noise import DropNoise

RELEASES = [(0, 0, 1), (3, 0, 2), (1, 1, 1), (0, 5, 0), (4, 0, 0)]


def behind(released: tuple[int, ...], drop: int, total: int = 10**9) -> list[tuple[int, ...]]:
    """Every data set that could have given a release: y ≤ x ≤ y + D in each bucket, and no more than m in all."""
    return [
        tuple(n + more for n, more in zip(released, lost, strict=True))
        for lost in product(range(drop + 1), repeat=len(released))
        if sum(lost) <= total
    ]


@pytest.mark.parametrize("released", RELEASES)
@pytest.mark.parametrize("drop", [1, 2, 3])
@pytest.mark.parametrize("total", [None, 1, 2, 4])
def test_the_share_left_out_is_bounded_and_tight(released: tuple[int, ...], drop: int, total: int | None) -> None:
    size, data = sum(released), behind(released, drop, 10**9 if total is None else total)
    shares = [Fraction(sum(x) - size, sum(x)) for x in data]
    lost = most_lost(drop, len(released), total=total)
    assert lost is not None and max(shares) == alpha_after(lost, size)
    n = max(sum(x) for x in data)
    assert alpha_after(lost, size) <= alpha_before(drop, len(released), n, total=total)


@pytest.mark.parametrize("released", RELEASES)
@pytest.mark.parametrize("drop", [1, 2])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("total", [10**9, 3])
def test_only_buckets_beyond_an_extreme_can_hide_anything(
    released: tuple[int, ...], drop: int, above: bool, total: int
) -> None:
    there = [place for place, n in enumerate(released) if n]
    extreme = there[-1] if above else there[0]
    hidden = buckets_beyond(0, len(released), extreme, above=above)
    assert hidden is not None
    shares = []
    for x in behind(released, drop, total):
        beyond = sum(x[extreme + 1 :] if above else x[:extreme])
        shares.append(Fraction(beyond, sum(x)))
    assert max(shares) == alpha_after(min(drop * hidden, total), sum(released))


@pytest.mark.parametrize("paid", [0, 1, 2, 5])
def test_a_paid_bound_counts_where_it_is_the_better_one(paid: int) -> None:
    released, drop = (3, 0, 2), 1
    possible = [x for x in behind(released, drop) if sum(x) - 5 <= paid]
    lost = most_lost(drop, 3, total=paid_loss(5 + paid, 5))
    assert lost == max(sum(x) - 5 for x in possible)
    assert most_lost(drop, None, total=paid) == paid and most_lost(drop, None) is None
    assert paid_loss(None, 5) is None


@pytest.mark.parametrize("released", RELEASES)
@pytest.mark.parametrize("drop", [1, 2])
@pytest.mark.parametrize("level", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("total", [None, 1, 2, 3])
def test_the_hull_of_a_quantile_is_that_of_all_data(
    released: tuple[int, ...], drop: int, level: Fraction, total: int | None
) -> None:
    found = set()
    for x in behind(released, drop, 10**9 if total is None else total):
        records = [place for place, n in enumerate(x) for _ in range(n)]
        found.add(records[max(1, math.ceil(level * len(records))) - 1])
    there = np.array([place for place, n in enumerate(released) if n])
    counts = np.array([n for n in released if n])
    hull = quantile_hull(there, counts, level, buckets=len(released), drop=drop, total=total)
    assert hull == (min(found), max(found))


@pytest.mark.parametrize("summed", [1, 2, 3])
def test_a_count_falls_short_by_the_losses_of_all_it_adds_up(summed: int) -> None:
    noise = DropNoise(1, "1e-6")
    most = max(place for place, weight in enumerate(noise.weights) if weight)
    assert most_lost(noise.max_drop, summed) == summed * most and most_lost(noise.max_drop, None) is None
    assert survives_from(noise.max_drop) == next(n for n in range(100) if all(n - lost > 0 for lost in range(most + 1)))
    assert together(1, 2, summed) == 3 + summed and together(summed, None) is None


TABLE = pl.DataFrame({"x": [float(i % 40) for i in range(4000)], "y": [i % 7 for i in range(4000)]})


@pytest.mark.parametrize(
    ("column", "parameters"),
    [
        ("x", {"exact": True}),
        ("x", {"width": 5}),
        ("x", {"width": "0.3", "bounds": (0, 40)}),
        ("x", {"relative": "0.05"}),
        ("x", {"edges": [0, 10, 40]}),
        ("y", {"width": 3}),
        (["x", "y"], {"width": [5, 2]}),
    ],
)
def test_a_release_derives_its_accuracy_as_its_mechanism_does(column: Any, parameters: dict[str, Any]) -> None:
    """One derivation: what answers start from is what Bucketing >> Dropping promises."""
    release = flexdp.release(TABLE, column, epsilon=1, delta="1e-6", **parameters)
    partition = release.partition
    derived = histogram_accuracy(
        alpha=None,
        beta=partition.beta,
        max_drop=release.max_drop,
        relative=partition.relative,
        unit=partition.unit,
    )
    assert derived == release.mechanism.accuracy()
