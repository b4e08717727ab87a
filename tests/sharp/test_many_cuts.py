"""Many cuts that are compared with a bound at once, which must be the exact comparisons."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flexdp.sharp.column import Column
from flexdp.sharp.many_cuts import ManyCuts
from flexdp.sharp.ranks import Request
from flexdp.sharp.scale import INTEGERS

UNITS = st.one_of(
    st.integers(-(10**70), 10**70), st.integers(-4, 4), st.builds(lambda i: 10**60 + i, st.integers(-3, 3))
)


@given(st.lists(UNITS, max_size=20), UNITS)
def test_comparisons_are_exact(cuts: list[int], bound: int) -> None:
    assert ManyCuts(cuts).above(bound).tolist() == [cut > bound for cut in cuts]


def test_cuts_that_share_a_double_are_told_apart() -> None:
    cuts = [10**60 + more for more in range(-3, 4)]
    assert len({float(cut) for cut in cuts}) == 1  # else this tests nothing
    assert ManyCuts(cuts).above(10**60).tolist() == [False] * 4 + [True] * 3


def test_a_column_counts_before_many_cuts_as_before_few() -> None:
    column = Column(INTEGERS, np.array([-7, 0, 3, 2**62]), np.array([1, 3, 4, 9]))
    cuts = [-(10**40), -7, -6, 0, 1, 3, 4, 2**62, 2**62 + 1, 10**40] * 20
    one_by_one = [column.fetch(Request(cuts=(cut,))).before[0] for cut in cuts]
    assert column.fetch(Request(cuts=tuple(cuts))).before == one_by_one
    assert one_by_one[:10] == [0, 0, 1, 1, 3, 3, 4, 4, 9, 9]
