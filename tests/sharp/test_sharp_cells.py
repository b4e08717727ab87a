"""Columns of which only some cells are sorted reply as sorted ones do, whatever their values and the requests."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp.noise.bits import Bits
from flexdp.sharp.cell_codes import Cells
from flexdp.sharp.cell_groups import Groups
from flexdp.sharp.cells import CellColumn, column_of
from flexdp.sharp.column import Column
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import Listed, universal
from flexdp.sharp.quantile import ExponentialQuantile
from flexdp.sharp.ranks import Looked, Near, Ranks, Request, Span, Tally, Window
from flexdp.sharp.rungs import ladder_rungs
from flexdp.sharp.scale import INTEGERS, NUMBERS

NUMBERS_OF = st.lists(
    st.one_of(
        st.sampled_from([0.0, -0.0, 1e-30, -1e-30, 1e-31, -5e-324, 1e39, 1e300, -1e39, 0.1, 0.30000000000000004, 7.0]),
        st.floats(-100, 100),
        st.floats(),
    ),
    min_size=1,
    max_size=60,
)
INTEGERS_OF = st.lists(
    st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**53, 2**53 + 1, 2**62])),
    min_size=1,
    max_size=60,
)


def replies(ranks: Ranks, requests: list[Request]) -> list[Any]:
    out = []
    for request in requests:
        reply = ranks.fetch(request)
        windows = [
            (each.total, each.values.tolist(), each.below.tolist(), each.upto.tolist())
            for each in (window.listed() for window in reply.windows)
        ]
        out.append((reply.total, list(reply.before), windows, list(reply.tallies)))
    return out


@st.composite
def requests(draw: Any, units: list[int]) -> list[Request]:
    """Cuts and spans at and beside the values, in several requests one after the other."""
    cut = st.sampled_from(sorted({*units, *(unit + 1 for unit in units), 0, 1, -(10**50), 10**90}))
    made = []
    for _ in range(draw(st.integers(1, 3))):
        windows = []
        for _ in range(draw(st.integers(0, 2))):
            low, high = draw(st.none() | cut), draw(st.none() | cut)
            if low is not None and high is not None and high < low:
                low, high = high, low
            level = Fraction(draw(st.integers(0, 8)), 8)
            windows.append(Near(goal=Goal.quantile(level), reach=draw(st.integers(0, 9)), span=Span(low, high)))
        tallies = (Tally(low=-5, step=2, cells=9),) if draw(st.booleans()) else ()
        made.append(Request(cuts=tuple(draw(st.lists(cut, max_size=4))), windows=tuple(windows), tallies=tallies))
    return made


@given(st.data())
def test_numbers(data: st.DataObject) -> None:
    values = np.array(data.draw(NUMBERS_OF))
    finite = [value for value in values.tolist() if np.isfinite(value)]
    asked = data.draw(requests([NUMBERS.units(value) for value in finite]))
    expected = replies(Column.from_values(values), asked)
    before = values.copy()
    assert replies(column_of(values, few=0), asked) == expected
    np.testing.assert_array_equal(values, before)


@given(st.data())
def test_integers(data: st.DataObject) -> None:
    values = np.array(data.draw(INTEGERS_OF))
    asked = data.draw(requests([int(value) for value in values]))
    expected = replies(Column.from_values(values), asked)
    assert replies(column_of(values, few=0), asked) == expected
    assert replies(CellColumn(INTEGERS, values), asked) == expected


@given(st.data())
def test_counts_are_exact_where_few_records_lie_on_a_side(data: st.DataObject) -> None:
    values = np.array(data.draw(INTEGERS_OF))
    asked = [replace(each, enough=data.draw(st.integers(0, 9))) for each in data.draw(requests(values.tolist()))]
    column, plain = CellColumn(INTEGERS, values.copy()), Column.from_values(values)
    for request in asked:
        found, exact = (list(ranks.fetch(request).before) for ranks in (column, plain))
        for rough, count in zip(found, exact, strict=True):
            few = count < request.enough or len(values) - count < request.enough
            assert rough == count or not few
            assert few or request.enough <= rough <= len(values) - request.enough


def test_a_ladder_looks_into_few_cells() -> None:
    """Most of its rungs lie where counts are alike, which cells tell."""
    values = np.random.default_rng(8).exponential(1000, 100_000)
    ladder = Ladder(rungs=ladder_rungs(NUMBERS, NUMBERS.units(700.0), 1), side=1, target=3, epsilon=Fraction(1))
    plain = Column.from_values(values)
    exact = ladder.beyond(100_000, plain.fetch(Request(cuts=ladder.cuts)).before)
    held = []
    for enough in (ladder.limit, None):
        column = column_of(values, few=0)
        assert isinstance(column, CellColumn)
        reply = column.fetch(Request(cuts=ladder.cuts, enough=enough))
        assert ladder.beyond(reply.total, reply.before) == exact
        held.append(len(column._held))
    assert 4 * held[0] < held[1]


@pytest.mark.parametrize("law", ["normal", "ties", "one"])
def test_groups_find_the_values_of_cells(law: str) -> None:
    rng = np.random.default_rng(7)
    size = 300_001  # more than two parts, the last of them not whole
    values = {
        "normal": lambda: rng.normal(3, 15, size),
        "ties": lambda: np.where(rng.random(size) < 0.9, 7.0, rng.exponential(100, size)),
        "one": lambda: np.full(size, 7.0),
    }[law]()
    cells, own = Cells.of(NUMBERS, values), values.copy()
    groups = Groups(cells, own)
    np.testing.assert_array_equal(np.sort(own), np.sort(values))
    np.testing.assert_array_equal(groups.sizes, np.bincount(cells.codes(values), minlength=cells.number))
    present = np.flatnonzero(groups.sizes)
    for some in (present[:1], present[-1:], present[::1000], rng.choice(present, 5), present):
        marked = np.zeros(cells.number, dtype=bool)
        marked[some] = True
        np.testing.assert_array_equal(np.sort(groups.select(marked)), np.sort(cells.select(values, marked)))
    assert "7" not in repr(groups)


@pytest.mark.parametrize("law", ["normal", "ties", "narrow", "wide", "negative"])
def test_only_some_cells_are_sorted(law: str) -> None:
    rng = np.random.default_rng(5)
    values = {
        "normal": lambda: rng.normal(3, 15, 50_000),
        "ties": lambda: np.where(rng.random(50_000) < 0.6, 0.0, np.round(rng.exponential(100, 50_000), 1)),
        "narrow": lambda: rng.normal(1e9, 1e-3, 50_000),
        "wide": lambda: np.exp(rng.normal(0, 3, 50_000)),
        "negative": lambda: -rng.exponential(1e-6, 50_000),
    }[law]()
    column, plain = column_of(values, few=0), Column.from_values(values)
    assert isinstance(column, CellColumn)
    middle = NUMBERS.units(float(np.median(values)))
    asked = [Request(windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=30),))]
    asked += [
        Request(
            cuts=(middle, middle + 1, 0, 1),
            windows=tuple(
                Near(goal=Goal.quantile(Fraction(level, 4)), reach=30, span=span)
                for level in range(5)
                for span in (Span(None, middle), Span(middle, None))
            ),
        )
    ]
    assert replies(column, asked) == replies(plain, asked)
    if law != "ties":  # where most records share a value, their cell has nearly all
        assert column._sorted is None and 0 < len(column._held) < len(values) // 2
    every = [Request(windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=49_000),)), *asked]
    assert replies(column, every) == replies(plain, every)
    assert column._sorted is not None
    assert "3" not in repr(column)


def test_integers_that_lie_close_together_are_counted() -> None:
    values = np.random.default_rng(5).integers(-500, 500, 5000)
    column = column_of(values, few=0)
    assert isinstance(column, Column)
    asked = [Request(cuts=(-500, 0, 3, 4000), windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=30),))]
    assert replies(column, asked) == replies(Column.from_values(values), asked)


def test_a_greater_value_never_lies_in_a_lower_cell() -> None:
    rng = np.random.default_rng(6)
    for values in (np.exp(rng.normal(0, 3, 5000)) * rng.choice([-1, 0, 1], 5000), rng.uniform(5, 6, 5000)):
        column = CellColumn(NUMBERS, np.clip(values, -1e39, 1e39))
        order = np.argsort(column._values, kind="stable")
        codes = column._cells.codes(column._values)
        assert (np.diff(codes[order]) >= 0).all()
        assert len(np.unique(codes)) > 2000  # and cells tell most of them apart


def test_an_array_that_changes_meanwhile_does_not_change_the_column() -> None:
    values = np.random.default_rng(7).normal(0, 1, 5000)
    column, plain = column_of(values, few=0), Column.from_values(values)
    values[:] = 9.0
    asked = [Request(cuts=(0, NUMBERS.units(0.5)))]
    assert replies(column, asked) == replies(plain, asked)


@pytest.mark.parametrize("law", ["normal", "ties", "narrow"])
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", "5"])
def test_draws_are_those_from_the_sorted_column(law: str, epsilon: str) -> None:
    """From the same bits, whichever candidates cells decide on; and most records stay unsorted."""
    rng = np.random.default_rng(8)
    values = {
        "normal": lambda: rng.normal(3, 15, 60_000),
        "ties": lambda: np.round(rng.exponential(100, 60_000), 1),
        "narrow": lambda: rng.normal(1e9, 1e-3, 60_000),
    }[law]()
    column, plain = column_of(values, few=0), Column.from_values(values)
    assert isinstance(column, CellColumn)
    cut = NUMBERS.units(float(np.quantile(values, 0.7)))
    exact, draws = [0, 0], 90
    for seed in range(draws // 3):
        for span in (Span(), Span(None, cut), Span(cut, None)):
            mechanism = ExponentialQuantile(
                goal=Goal.quantile(Fraction(1 + seed % 3, 4)),
                epsilon=Fraction(epsilon),
                prior=universal(NUMBERS),
                span=span,
            )
            drawn = []
            both: tuple[Ranks, ...] = (column, plain)
            for place, each in enumerate(both):
                (window,) = each.fetch(Request(windows=(mechanism.near,))).windows
                drawn.append(mechanism.draw(Counted(window, exact, place), Bits(random.Random(seed).randbytes)))
            assert drawn[0] == drawn[1]
    assert exact[0] < draws // 2 and exact[1] == 0  # cells decide on most candidates
    assert column._sorted is None or epsilon == "0.02"


class Counted:
    """A window that tells how often exact counts were needed."""

    def __init__(self, window: Looked, exact: list[int], place: int) -> None:
        self.window, self.exact, self.place = window, exact, place
        self.total, self.at = window.total, window.at

    def within(self, candidate: int) -> tuple[tuple[int, int], tuple[int, int]]:
        return self.window.within(candidate)

    def counts(self, candidate: int) -> tuple[int, int]:
        self.exact[self.place] += 1
        return self.window.counts(candidate)

    def listed(self) -> Window:
        return self.window.listed()


# ---------------------------------------------------------------- blocks


@given(
    st.lists(st.integers(0, 60), max_size=150),
    st.sampled_from(["1/4", "1/2", "0.9", "0.99"]),
    st.sampled_from(["0.2", "1", "4"]),
    st.sampled_from([(None, None), (10, None), (None, 40), (10, 40)]),
)
def test_blocks_are_those_that_rejection_needs(
    values: list[int], level: str, epsilon: str, ends: tuple[int | None, int | None]
) -> None:
    """Every candidate lies in one block, weighs no more than its block says, and as much where it is flat.

    With that the law of a draw is prior × g exactly: each step returns a candidate with a probability proportional to
    its weight. What is cut once it is chosen has the same candidates, and its parts weigh no more together.
    """
    prior = Listed({place: 1 + place % 7 for place in range(-5, 70)})
    mechanism = ExponentialQuantile(
        goal=Goal.quantile(Fraction(level)), epsilon=Fraction(epsilon), prior=prior, span=Span(*ends)
    )
    column = Column.from_values(np.array(values, dtype=np.int64))
    (window,) = column.fetch(Request(windows=(mechanism.near,))).windows
    table, goal = mechanism.table, mechanism.goal
    inside = [each for each in values if _inside(each, *ends)]
    target = goal.target(len(inside))
    assert window.total == len(inside)
    rough, fine = (mechanism._blocks(window, every=every) for every in (False, True))
    for blocks in (rough, fine):
        found = 0
        for block in blocks:
            assert block.weight == table.weight(block.loss) * _mass(prior, block.low, block.high)
            for candidate in prior.candidates:
                if _inside(candidate, block.low, block.high):
                    below, upto = (sum(each < cut for each in inside) for cut in (candidate, candidate + 1))
                    weight = table.weight(goal.loss(below, upto, target))
                    assert weight == table.weight(block.loss) if block.flat else weight <= table.weight(block.loss)
                    found += 1
        assert found == sum(_inside(candidate, *ends) for candidate in prior.candidates)
    for block in rough:
        if block.rough:
            parts = [each for each in fine if each.side == block.side and each.loss >= block.loss]
            assert sum(_mass(prior, part.low, part.high) for part in parts) == _mass(prior, block.low, block.high)
            assert sum(part.weight for part in parts) <= block.weight
    assert not any(block.rough for block in fine)


def _mass(prior: Listed, low: int | None, high: int | None) -> int:
    weights = zip(prior.candidates, prior.weights, strict=True)
    return sum(weight for candidate, weight in weights if _inside(candidate, low, high))


def _inside(value: int, low: int | None, high: int | None) -> bool:
    return (low is None or low <= value) and (high is None or value < high)
