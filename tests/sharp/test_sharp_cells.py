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
from flexdp.sharp import cell_codes as codes_module
from flexdp.sharp import cell_groups as groups_module
from flexdp.sharp import cells as cells_module
from flexdp.sharp.cell_codes import Cells
from flexdp.sharp.cell_groups import Groups
from flexdp.sharp.cell_window import CellWindow
from flexdp.sharp.cells import CellColumn, column_of
from flexdp.sharp.column import Column
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import Listed, universal
from flexdp.sharp.quantile import ExponentialQuantile, _length
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
def test_values_around_records_leave_few_between(data: st.DataObject) -> None:
    """At or beyond the record of every place, with at most ``slack`` others between; and always the same ones."""
    scale = data.draw(st.sampled_from([NUMBERS, INTEGERS]))
    drawn: list[Any] = data.draw(NUMBERS_OF) if scale is NUMBERS else data.draw(INTEGERS_OF)
    values = np.array([value for value in drawn if abs(value) <= 1e39] or [7])
    slack = data.draw(st.integers(0, 70))
    column = CellColumn(scale, values.astype(np.float64 if scale is NUMBERS else np.int64))
    records = sorted(scale.units(value) for value in values.tolist())
    places = list(range(len(records)))
    lower, upper = column.around(places, places, slack)
    for place, record in enumerate(records):
        assert lower[place] <= record <= upper[place]
        assert sum(lower[place] <= each < record for each in records) <= slack
        assert sum(record < each <= upper[place] for each in records) <= slack
        assert slack or lower[place] == record == upper[place]
    assert column.around(places[::3], [], slack)[0] == lower[::3]
    column.between(0, len(records))  # sorts all of them
    assert column._sorted is not None
    assert column.around(places, places, slack) == (lower, upper)


def test_an_integer_may_lie_below_the_double_that_it_is_rounded_to() -> None:
    values = np.arange(2**60, 2**61, 2**47)
    edges = [int(end) for end in Cells.of(INTEGERS, values).ends(np.arange(1000, 3000)).tolist()]
    values[1:2001] = [edge - 1 for edge in edges]
    column = CellColumn(INTEGERS, values.copy())
    records = np.sort(values).tolist()
    assert sum(float(edge - 1) == edge for edge in edges) > 1000  # in the cell that begins there
    lower, upper = column.around(range(len(values)), range(len(values)), 99)
    assert all(low <= record <= high for low, record, high in zip(lower, records, upper, strict=True))
    assert not len(column._held)


def test_a_cell_ends_where_the_next_one_begins() -> None:
    for values in (SPREAD, -SPREAD, SPREAD - 3, np.concatenate(([0.0, -0.0, 1e-35], SPREAD))):
        cells = Cells.of(NUMBERS, values)
        ends = cells.ends(np.arange(1, cells.number))
        inside = ends[(ends >= cells.least) & (ends <= cells.most)]
        assert len(inside) > 100
        np.testing.assert_array_equal(cells.codes(inside), 1 + np.flatnonzero(np.isin(ends, inside)))
        np.testing.assert_array_equal(cells.codes(np.nextafter(inside, -np.inf)), cells.codes(inside) - 1)
        assert (cells.ends(np.array([0])) <= values.min()).all()
        assert (cells.ends(np.array([cells.number])) > values.max()).all()


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


_FAR = 2**63 - 1


@pytest.mark.parametrize("law", ["normal", "ties", "one", "signs", "integers", "wide", "rounded"])
def test_groups_find_the_values_of_cells(law: str) -> None:
    rng = np.random.default_rng(7)
    size = 300_001  # more than two parts, the last of them not whole
    values = {
        "normal": lambda: rng.normal(3, 15, size),
        "ties": lambda: np.where(rng.random(size) < 0.9, 7.0, rng.exponential(100, size)),
        "one": lambda: np.full(size, 7.0),
        "signs": lambda: rng.choice([-3.0, -0.0, 0.0, 1e-40, 2.0], size),
        "integers": lambda: rng.integers(-5000, 10**8, size),
        "wide": lambda: rng.integers(-_FAR, _FAR, size, endpoint=True),
        "rounded": lambda: rng.choice([2**53 - 1, 2**53, 2**53 + 1, 2**62 - 1, 2**62, 2**62 + 257], size),
    }[law]()
    scale = NUMBERS if values.dtype == np.float64 else INTEGERS
    cells, own = Cells.of(scale, values), values.copy()
    groups = Groups(cells, own)
    for starts in groups._starts.tolist():
        part = groups._group[cells.codes(own[starts[0] : starts[-1]])]
        np.testing.assert_array_equal(np.searchsorted(part, np.arange(257)), np.array(starts) - starts[0])
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


@given(st.floats(-(2.0**63), 2.0**63))
def test_the_first_integer_of_a_cell_is_the_least_that_is_not_rounded_below_its_end(end: float) -> None:
    first = codes_module._first_integer(end)
    assert float(first - 1) < end <= float(first)


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


LAWS: dict[str, Any] = {
    "normal": lambda rng: rng.normal(3, 15, 60_000),
    "ties": lambda rng: np.round(rng.exponential(100, 60_000), 1),
    "narrow": lambda rng: rng.normal(1e9, 1e-3, 60_000),
}


@pytest.mark.parametrize("law", ["normal", "ties", "narrow"])
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", "5"])
def test_draws_are_those_from_the_sorted_column(law: str, epsilon: str) -> None:
    """From the same bits, whichever candidates cells decide on; and most records stay unsorted."""
    values = LAWS[law](np.random.default_rng(8))
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
                (window,) = each.fetch(Request(windows=(replace(mechanism.near, slack=0),))).windows
                drawn.append(mechanism.draw(Counted(window, exact, place), Bits(random.Random(seed).randbytes)))
            assert drawn[0] == drawn[1]
    assert exact[0] < draws // 2 and exact[1] == 0  # cells decide on most candidates
    assert column._sorted is None or epsilon == "0.02"


@pytest.mark.parametrize("law", ["normal", "ties", "narrow"])
def test_draws_may_look_at_no_record(law: str) -> None:
    """With a small ε the ends of cells tell enough, and nothing is sorted."""
    values = LAWS[law](np.random.default_rng(8))
    column = column_of(values, few=0)
    assert isinstance(column, CellColumn)
    mechanism = ExponentialQuantile(
        goal=Goal.quantile(Fraction(1, 2)), epsilon=Fraction(1, 300), prior=universal(NUMBERS)
    )
    assert column._sizes.max() < mechanism.near.slack
    exact = [0]
    for place in range(20):
        (window,) = column.fetch(Request(windows=(mechanism.near,))).windows
        assert not len(column._held) or place
        found = mechanism.draw(Counted(window, exact, 0), Bits(random.Random(place).randbytes))
        assert found is not None and np.quantile(values, 0.2) < NUMBERS.value(found) < np.quantile(values, 0.8)
    assert exact[0] <= 5 and column._sorted is None


class Counted:
    """A window that tells how often exact counts were needed."""

    def __init__(self, window: Looked, exact: list[int], place: int) -> None:
        self.window, self.exact, self.place = window, exact, place
        self.total, self.around = window.total, window.around

    def within(self, candidate: int) -> tuple[tuple[int, int], tuple[int, int]]:
        return self.window.within(candidate)

    def counts(self, candidate: int) -> tuple[int, int]:
        self.exact[self.place] += 1
        return self.window.counts(candidate)

    def listed(self) -> Window:
        return self.window.listed()


# ---------------------------------------------------------------- one function at a time


SPREAD = np.exp(np.random.default_rng(3).normal(0, 3, 2000))


def test_the_way_that_answers_soonest() -> None:
    """Few values and those that no array holds are sorted at once; others lie in groups."""
    wide = column_of([2**70, 5, -(2**70)], few=0)
    assert isinstance(wide, Column) and wide.fetch(Request(cuts=(5, 6))).before == [1, 2]
    assert isinstance(column_of([1.5, 2.5], few=2), Column)
    column = column_of([1.5, 2.5], few=1)
    assert isinstance(column, CellColumn) and column._groups is not None
    nothing = column_of([np.nan, np.inf], few=0)
    assert isinstance(nothing, Column) and nothing.fetch(Request(cuts=(0,))).before == [0]


def test_an_array_of_ones_own_is_not_copied() -> None:
    for values, own, shared in (
        (SPREAD.copy(), True, True),
        (SPREAD.copy(), False, False),
        (np.repeat(SPREAD, 2)[::2], True, False),
    ):
        column = column_of(values, few=0, own=own)
        assert isinstance(column, CellColumn)
        assert np.shares_memory(column._values, values) is shared and column._values.flags.c_contiguous
    fixed = SPREAD.copy()
    fixed.flags.writeable = False
    column = column_of(fixed, few=0, own=True)  # which rearranges its values
    np.testing.assert_array_equal(fixed, SPREAD)


def test_what_is_left_out_and_what_is_limited() -> None:
    for some, left in (
        ([-1e39, 3.0, 1e39], [-1e39, 3.0, 1e39]),
        ([1e300, 2.0], [2.0, 1e39]),
        ([-1e300, 2.0], [-1e39, 2.0]),
        ([np.inf, 2.0, -np.inf, np.nan], [2.0]),
        ([np.nan, -1e39, 1e300, -1e300], [-1e39, -1e39, 1e39]),
        ([np.nan, np.inf], []),
    ):
        column = column_of(np.array(some), few=0)
        assert isinstance(column, CellColumn | Column)
        assert np.sort(column._values).tolist() == left
    integers = np.array([2**62 + 1, 0, -3])
    assert cells_module._readable(integers) is integers
    tiny = np.array([1e-31, -1e-31, 1e-30, -1e-30, 0.5, 0.0, -7.0])
    assert cells_module._readable(tiny).tolist() == [0.0, 0.0, 1e-30, -1e-30, 0.5, 0.0, -7.0]


def test_tiny_values_are_zero_where_they_are_read() -> None:
    tiny = [-1e-30, -1e-31, -5e-324, 0.0, 1e-31, 1e-30]
    values = np.concatenate((-SPREAD, tiny, SPREAD))
    column = CellColumn(NUMBERS, values.copy())
    found = column.between(2000, 2006)
    assert column._sorted is None
    assert found.tolist() == [-1e-30, 0.0, 0.0, 0.0, 0.0, 1e-30]


def test_places_of_a_column_are_those_of_its_sorted_values() -> None:
    ordered = np.sort(SPREAD)
    for place in (0, 1, 700, 1998, 1999):
        column = CellColumn(NUMBERS, SPREAD.copy())
        assert column.at([place]) == [ordered[place]] and 0 < len(column._held) < 50
        assert column.at([place]) == [ordered[place]]
        assert column.at([1500, place, 300, place]) == ordered[[1500, place, 300, place]].tolist()
    column = CellColumn(NUMBERS, SPREAD.copy())
    assert not any(len(column.between(place, place)) for place in range(300)) and not len(column._held)
    for start, stop in ((900, 903), (10, 12), (1990, 2000), (0, 1), (899, 904)):
        np.testing.assert_array_equal(column.between(start, stop), ordered[start:stop])
    assert not len(column.between(7, 5)) and not len(column.between(900, 900)) and column._sorted is None
    # Once all are sorted, nothing of the rest is kept, and places that were held before are found, too.
    np.testing.assert_array_equal(column.between(0, 1500), ordered[:1500])
    assert column._sorted is not None and column._groups is None
    for kept in (column._values, column._held):
        assert not len(kept) and kept.base is None and kept.dtype == np.float64
    assert column.at((900, 11, 1999)) == ordered[[900, 11, 1999]].tolist()
    asked = [Request(windows=(Near(goal=Goal.quantile(Fraction(level, 9)), reach=4),)) for level in range(10)]
    assert replies(column, asked) == replies(Column.from_values(SPREAD), asked)


def test_sorted_integers_stay_integers() -> None:
    column = CellColumn(INTEGERS, np.arange(100) ** 3)
    assert column.between(0, 90).tolist() == [each**3 for each in range(90)]
    assert column._sorted is not None and column.between(5, 5).dtype == np.int64


def test_bounds_by_cells_are_the_numbers_of_records_in_lower_cells() -> None:
    column = CellColumn(NUMBERS, SPREAD.copy())
    codes, ordered = column._cells.codes(SPREAD), np.sort(SPREAD)
    cuts = [NUMBERS.units(float(ordered[place])) for place in range(1, 2000, 37)]
    own = column._cells.codes(np.array([NUMBERS.first_double(cut) for cut in cuts]))
    bounds = [int((codes < code).sum()) for code in own], [int((codes <= code).sum()) for code in own]
    assert column.within(cuts) == bounds and bounds[0] != bounds[1]
    assert column.within([-5, 10**75]) == ([0, 2000], [0, 2000]) and not len(column._held)
    column.between(0, 1500)
    exact = [int((NUMBERS.first_double(cut) > SPREAD).sum()) for cut in cuts]
    assert column.within(cuts) == (exact, exact)


def test_counts_may_be_approximate_where_enough_records_lie_on_both_sides() -> None:
    ordered = np.sort(SPREAD)
    for enough in (1, 30, 998, 999, 1000, 3000):
        column = CellColumn(NUMBERS, SPREAD.copy())
        cuts = tuple(NUMBERS.units(float(value)) for value in ordered)
        rough, needed = column._roughly(Request(cuts=cuts, enough=enough))
        # The cut at a record has as many before it as its place tells, and the rest from it on.
        exact = [place for place in range(2000) if not enough < place < 2000 - enough]
        if len(exact) < 2000:
            exact.remove(0)  # nothing lies before the least record
            assert rough[0] == 0 and {rough[place] for place in range(2000) if place not in exact} == {0, enough}
        assert needed == exact
    beyond = CellColumn(NUMBERS, SPREAD.copy())._roughly(Request(cuts=(-(10**80), cuts[-1] + 1, 10**80), enough=9))
    assert beyond == ([0, 2000, 2000], [])
    column = CellColumn(NUMBERS, SPREAD.copy())
    assert column._roughly(Request(cuts=cuts))[1] == list(range(2000)) and not len(column._held)


def test_cells_without_records_are_not_looked_for() -> None:
    column, ordered = CellColumn(NUMBERS, SPREAD.copy()), np.sort(SPREAD)
    gap = int(np.argmax(np.diff(ordered) / ordered[:-1]))
    empty = NUMBERS.units(float(ordered[gap : gap + 2].mean()))
    assert column.before([empty]) == [gap + 1] and not len(column._held)


def test_all_windows_of_a_request_are_looked_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    select = Groups.select
    monkeypatch.setattr(Groups, "select", lambda self, marked: passes.append(1) or select(self, marked))
    column, ordered = CellColumn(NUMBERS, SPREAD.copy()), np.sort(SPREAD)
    nears = [Near(goal=Goal.quantile(Fraction(level, 4)), reach=40, losses=(4, 80)) for level in (1, 2, 3)]
    windows = column.fetch(Request(windows=tuple(nears))).windows
    held = len(column._held)
    assert held and len(passes) == 1
    for near, window in zip(nears, windows, strict=True):
        below, above = near.ends(2000)
        assert window.around(below, above) == tuple(
            [NUMBERS.units(ordered[rank - 1]) for rank in ranks] for ranks in (below, above)
        )
    assert len(column._held) == held and len(passes) == 1


def test_integers_are_counted_one_by_one_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells_module, "_COUNTED", 16)
    values = np.concatenate((np.arange(100), [3, 3, 99]))  # ascending: no part has all of them
    column = column_of(values, few=0)
    assert isinstance(column, Column)
    assert column._upto is not None and column._upto.dtype == np.int64 and column._upto[-1] == 103
    assert column.fetch(Request(cuts=(-1, 3, 4, 99, 100))).before == [0, 3, 6, 101, 103]
    assert isinstance(column_of(np.array([0, 2, 1]), few=0), Column)
    assert isinstance(column_of(np.array([0, 3, 1]), few=0), CellColumn)


def test_parts_of_a_column_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are put into order, and counted, together: several of each, of values of which none has all."""
    monkeypatch.setattr(groups_module, "_PART", 32)
    monkeypatch.setattr(groups_module, "_COUNTED", 256)
    for values in (np.sort(SPREAD), np.sort(SPREAD)[::-1], SPREAD):
        cells, own = Cells.of(NUMBERS, values), values.copy()
        groups = Groups(cells, own)
        np.testing.assert_array_equal(groups.sizes, np.bincount(cells.codes(values), minlength=cells.number))
        for some in np.array_split(np.flatnonzero(groups.sizes), 40):
            marked = np.zeros(cells.number, dtype=bool)
            marked[some] = True
            np.testing.assert_array_equal(np.sort(groups.select(marked)), np.sort(cells.select(values, marked)))
        assert np.bincount(groups._group[cells.codes(values)]).max() < 40  # of 2000 in 256 groups


class Told:
    """A column of which a window is told what it asks for."""

    scale = INTEGERS

    def around(self, lower: Any, upper: Any, slack: int) -> tuple[list[int], list[int]]:
        return [place * 1000 - slack for place in lower], [place * 1000 + slack for place in upper]

    def between(self, start: int, stop: int) -> Any:
        return np.arange(start, stop)

    def before(self, cuts: Any) -> list[int]:
        return list(cuts)

    def within(self, cuts: Any) -> tuple[list[int], list[int]]:
        return [cut - 3 for cut in cuts], [cut + 3 for cut in cuts]


def test_a_window_counts_from_the_beginning_of_its_span() -> None:
    window = CellWindow(Told(), Near(goal=Goal.quantile(Fraction(1, 2)), reach=2, slack=7), 10, 30)
    assert window.total == 20 and window.around([1, 20], []) == ([9_993, 28_993], [])
    assert window.around([1], [2, 20]) == ([9_993], [11_007, 29_007])
    assert window.counts(17) == (7, 8)
    assert window.within(17) == ((4, 5), (10, 11))
    assert window.within(12) == ((0, 0), (5, 6)) and window.within(13) == ((0, 1), (6, 7))
    assert window.within(27) == ((14, 15), (20, 20)) and window.within(26) == ((13, 14), (19, 20))
    listed = window.listed()
    assert listed.scale is INTEGERS and listed.total == 20
    assert listed.values.tolist() == [17, 18, 19, 20, 21, 22]
    assert listed.below.tolist() == [7, 8, 9, 10, 11, 12] and listed.upto.tolist() == [8, 9, 10, 11, 12, 13]
    assert listed.below.dtype == listed.upto.dtype == np.int64
    nothing = CellWindow(Told(), Near(goal=Goal.quantile(Fraction(1, 2)), reach=2), 10, 10).listed()
    assert nothing.scale is INTEGERS and nothing.total == 0 and not len(nothing.values)


def test_places_that_a_draw_looks_at_first() -> None:
    goal = Goal.quantile(Fraction(1, 2))  # of 20 records: rank 10, in halves
    for losses, places in (
        ((4,), [10 + 8, 10 + 11]),
        ((19,), [10 + 0, 10 + 19]),
        ((20,), [10 + 0, 10 + 19]),
        ((21,), []),
        ((4, 30), [10 + 8, 10 + 11]),
    ):
        window = CellWindow(Told(), Near(goal=goal, reach=2, losses=losses), 10, 30)
        assert window.looked_at() == places, losses


# ---------------------------------------------------------------- blocks


@given(
    st.lists(st.integers(0, 60), max_size=150),
    st.sampled_from(["1/4", "1/2", "0.9", "0.99"]),
    st.sampled_from(["0.02", "0.2", "1", "4"]),
    st.sampled_from([(None, None), (10, None), (None, 40), (10, 40)]),
    st.sampled_from([None, 3, 5, 18]),
)
def test_blocks_are_those_that_rejection_needs(
    values: list[int], level: str, epsilon: str, ends: tuple[int | None, int | None], bits: int | None
) -> None:
    check_blocks(values, level, epsilon, ends, bits)


@pytest.mark.parametrize("lengths", [1, 3])
def test_blocks_of_a_table_that_ends_one_loss_after_the_last(lengths: int) -> None:
    for seed in range(30):
        check_blocks(random.Random(seed).choices(range(61), k=20), "1/2", "0.2", (None, None), 5, lengths)


def check_blocks(
    values: list[int],
    level: str,
    epsilon: str,
    ends: tuple[int | None, int | None],
    bits: int | None,
    lengths: int | None = None,
) -> None:
    """Every candidate lies in one block, weighs no more than its block says, and as much where it is flat.

    With that the law of a draw is prior × g exactly: each step returns a candidate with a probability proportional to
    its weight. What is cut once it is chosen has the same candidates, and its parts weigh no more together. In cells,
    of which few bits make full ones, blocks may begin further from the goal.
    """
    prior, goal = Listed({place: 1 + place % 7 for place in range(-5, 70)}), Goal.quantile(Fraction(level))
    depth = None if lengths is None else lengths * _length(Fraction(epsilon), goal.sensitivity) + 1
    mechanism = ExponentialQuantile(goal=goal, epsilon=Fraction(epsilon), prior=prior, span=Span(*ends), depth=depth)
    given = np.array(values, dtype=np.int64)
    column: Ranks = Column.from_values(given)
    if bits is not None and values:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(codes_module, "_CELL_BITS", bits)
            column = CellColumn(INTEGERS, given)
    (window,) = column.fetch(Request(windows=(mechanism.near,))).windows
    table = mechanism.table
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
