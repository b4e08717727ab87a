"""Shares of records left out, against every histogram of a few records."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flexdp.calculus.loss import alpha_before, buckets_beyond, quantile_hull


@pytest.mark.parametrize(("drop", "buckets"), [(1, 1), (1, 3), (2, 2), (3, 2), (2, 3)])
def test_no_histogram_loses_a_larger_share_and_some_loses_it_all(drop: int, buckets: int) -> None:
    for records in range(1, 9):
        promised = alpha_before(drop, buckets, records)
        for more in range(3):  # the promise is about at least so many records
            shares = [
                Fraction(sum(min(height, drop) for height in heights), records + more)
                for heights in product(range(records + more + 1), repeat=buckets)
                if sum(heights) == records + more
            ]
            assert max(shares) <= promised, f"{records + more} records may lose more than {promised} of them"
            if more == 0 and records >= drop * buckets:
                assert max(shares) == promised, "the promise is looser than it needs to be"


@pytest.mark.parametrize(("drop", "buckets", "records"), [(27, 24, 50_000), (3, 5, 100), (3, 5, 15), (3, 5, 2)])
def test_what_a_release_certifies_afterwards_is_never_more(drop: int, buckets: int, records: int) -> None:
    total = drop * buckets
    for left in range(max(0, records - total), records + 1):
        assert Fraction(total, left + total) <= alpha_before(drop, buckets, records)


@pytest.mark.parametrize("first", [-3, 0, 7])
def test_the_buckets_beyond_one_are_those_that_can_be_counted_there(first: int) -> None:
    every = range(first, first + 5)
    for index in every:
        assert buckets_beyond(first, 5, index, above=True) == sum(other > index for other in every)
        assert buckets_beyond(first, 5, index, above=False) == sum(other < index for other in every)
    assert buckets_beyond(first, None, first, above=True) is None


def test_counts_that_add_up_beyond_64_bits_bound_a_quantile_as_small_ones_do() -> None:
    places = np.arange(4)
    for level in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        small, large = (np.array([each] * 4, dtype=np.int64) for each in (2**40, 2**62))
        found = quantile_hull(places, large, level, buckets=4, drop=27)
        assert found == quantile_hull(places, small, level, buckets=4, drop=27)
