"""Columns in pieces: every reply is that of the sorted column, however records are in pieces, or there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flexdp._core.faults import FaultError
from flexdp.sharp import column as column_module
from flexdp.sharp.column import Column, Pieces
from flexdp.sharp.goal import Goal
from flexdp.sharp.ranks import Near, Request, Span, Tally
from flexdp.sharp.scale import INTEGERS, NUMBERS

GOALS = [Goal.quantile(Fraction(1, 2)), Goal.quantile(Fraction(3, 4)), Goal.beyond(3, 1), Goal.beyond(2, -1)]
CUTS = st.one_of(st.none(), st.integers(-60, 60))
NEARS = st.builds(
    lambda goal, reach, low, high: Near(
        goal=goal,
        reach=reach,
        span=Span(*((high, low) if low is not None and high is not None and low > high else (low, high))),
    ),
    st.sampled_from(GOALS),
    st.integers(0, 5),
    CUTS,
    CUTS,
)
REQUESTS = st.builds(
    lambda cuts, windows, enough: Request(cuts=tuple(cuts), windows=tuple(windows), enough=enough),
    st.lists(st.integers(-60, 60), max_size=6),
    st.lists(NEARS, max_size=3),
    st.one_of(st.none(), st.integers(0, 9)),
)


@dataclass
class Engine:
    """Records in Python, put into pieces by any function of a value; notes what is looked at."""

    data: list[int]
    cell: Callable[[int], float]
    few: int = -1
    looks: list[tuple[int, bool]] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)

    def column(self) -> Column:
        return Column(INTEGERS, self.pieces(self.data, self.cell).in_order(), self)

    def pieces(self, data: list[int], cell: Callable[[int], Any]) -> Pieces:
        groups: dict[Any, list[int]] = {}
        for value in data:
            groups.setdefault(cell(value), []).append(value)
        parts = [(min(each), max(each), len(each), key) for key, each in groups.items()]
        low, high, records, key = zip(*parts, strict=True) if parts else ((), (), (), ())
        least, most, counts = (np.array(part, dtype=np.int64) for part in (low, high, records))
        return Pieces(least, most, counts, np.array(key, dtype=np.float64))

    def everything(self, total: int, wanted: int = 0) -> Pieces | None:  # noqa: ARG002
        return self.pieces(self.data, lambda value: value) if total <= self.few else None

    def before(self, cuts: Sequence[int]) -> list[int]:
        self.counted.append(len(cuts))
        return [sum(value < cut for value in self.data) for cut in cuts]

    def look(self, pieces: Pieces, *, split: bool) -> Pieces:
        self.looks.append((len(pieces.low), split))
        found = [self.pieces(self.data[:0], self.cell)]
        for low, high, _, cell in zip(*(part.tolist() for part in pieces), strict=True):
            inside = [value for value in self.data if self.cell(value) == cell and low <= value <= high]
            parts = self.pieces(
                inside, lambda value, low=low, high=high: (value - low) * 4 // (high - low) if split else value
            )
            found.append(parts._replace(cell=np.full(len(parts.low), cell)))
        return Pieces(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def tally(self, wanted: Tally) -> int:
        return 7 * wanted.cells


@given(
    st.lists(st.integers(-50, 50), max_size=40),
    st.integers(1, 40),
    st.lists(REQUESTS, min_size=1, max_size=4),
    st.integers(1, 30),
)
@example([0, 1], 2, [Request(windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=0, span=Span(high=1)),))], 30)
def test_replies_are_those_of_the_sorted_column(
    data: list[int], width: int, requests: list[Request], crowded: int
) -> None:
    engine, plain = (
        Engine(data, lambda value: float(value // width)),
        Column.from_values(data or np.zeros(0, dtype=np.int64)),
    )
    column = engine.column()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_module, "CROWDED", crowded)
        for request in requests:
            found, sought = column.fetch(request), plain.fetch(request)
            assert found.total == sought.total == len(data)
            for own, true in zip(found.windows, sought.windows, strict=True):
                assert own.total == true.total
                for name in ("values", "below", "upto"):
                    np.testing.assert_array_equal(getattr(own, name), getattr(true, name))
            for own, true in zip(found.before, sought.before, strict=True):
                enough = request.enough
                coarse = enough is not None and min(true, len(data) - true) >= enough
                assert own == true or (coarse and enough <= own <= len(data) - enough)


def test_cuts_are_counted_only_where_they_divide_a_piece() -> None:
    engine = Engine(list(range(100)), lambda value: float(value // 10))
    column = engine.column()
    assert column.fetch(Request()).total == 100
    assert column.fetch(Request(cuts=(-5, 30, 200))).before == [0, 30, 100]  # 30 lies between two pieces
    assert column.fetch(Request(cuts=(55,), enough=40)).before == [50]  # there are enough on both sides
    assert not engine.counted
    assert column.fetch(Request(cuts=(38, 30, 31, 38))).before == [38, 30, 31, 38]
    assert engine.counted == [2] and not engine.looks


def test_only_pieces_that_matter_are_looked_into() -> None:
    engine = Engine(list(range(100)), lambda value: float(value // 10))
    column, near = engine.column(), Near(goal=GOALS[0], reach=3)
    column.fetch(Request(likely=(near,)))
    assert not engine.looks
    column.fetch(Request(windows=(Near(goal=GOALS[0], reach=1, span=Span(30, 40)),), likely=(near,)))
    assert engine.looks == [(3, False)]  # what is likely needs no look of its own later
    column.fetch(Request(cuts=(33, 52), windows=(near,)))
    assert len(engine.looks) == 1 and not engine.counted


def test_a_crowded_piece_is_split_before_its_values_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_module, "CROWDED", 8)
    engine = Engine(list(range(64)), lambda _value: 0.0)
    (window,) = engine.column().fetch(Request(windows=(Near(goal=Goal.beyond(21, -1), reach=0),))).windows
    assert [window.value(i) for i in range(len(window))] == [20, 21]
    assert [split for _, split in engine.looks] == [True, True, False]


def test_few_records_are_read_at_once() -> None:
    engine = Engine([3, 3, 9, 27, 40], lambda value: float(value // 20), few=5)
    column = engine.column()
    assert column.fetch(Request(cuts=(4,))).before == [2] and not engine.looks
    engine.data.append(1)  # reads the table no more
    assert column.fetch(Request(cuts=(4, 28))).before == [2, 4]
    with pytest.raises(FaultError):
        (late := Engine([1, 2], lambda _value: 0.0, few=9).column())._records.data.append(2)  # type: ignore[union-attr]
        late.fetch(Request(cuts=(2,)))


def test_pieces_that_overlap_are_refused() -> None:
    """Cells that are not monotone: 1 lies in a higher cell than 2."""
    with pytest.raises(FaultError):
        Engine([0, 1, 2, 4], lambda value: {0: 0.0, 1: 2.0, 2: 0.0, 4: 3.0}[value]).column()
    Engine([0, 1, 2, 4], lambda value: {0: 0.0, 1: 9.0, 2: 5.0, 4: 3.0}[value]).column()  # any function will do


@pytest.mark.parametrize("fault", ["one more", "one less", "elsewhere"])
def test_parts_with_other_records_than_their_piece_are_refused(fault: str) -> None:
    """The records are those of one snapshot, or there is no reply."""
    engine = Engine([0, 3, 5, 9], lambda value: float(value // 8))
    column = engine.column()
    engine.data = {"one more": [0, 3, 3, 5, 9], "one less": [0, 5, 9], "elsewhere": [0, 3, 9, 5000]}[fault]
    engine.cell = lambda value: 0.0 if value in (0, 3, 5, 5000) else 1.0
    with pytest.raises(FaultError):
        column.fetch(Request(windows=(Near(goal=GOALS[0], reach=9),)))


def test_counts_of_other_records_are_refused() -> None:
    engine = Engine([0, 3, 5, 9], lambda value: float(value // 8))
    column = engine.column()
    engine.data = [0, 0, 0, 0, 3, 9]
    with pytest.raises(FaultError):
        column.fetch(Request(cuts=(4,)))


def test_a_tally_of_unknown_values_is_computed_where_they_are() -> None:
    wanted = Request(tallies=(Tally(low=0, step=2, cells=3),))
    assert Engine([1, 2], lambda _value: 0.0).column().fetch(wanted).tallies == [21]
    assert Engine([1, 2], float).column().fetch(wanted).tallies == [2]
    assert Column.from_values([1, 2]).fetch(wanted).tallies == [2]


@given(
    st.lists(
        st.one_of(
            st.integers(-(10**70), 10**70), st.integers(-4, 4), st.builds(lambda i: 10**60 + i, st.integers(-3, 3))
        ),
        max_size=20,
    )
)
def test_many_cuts_are_compared_as_few(cuts: list[int]) -> None:
    """Different cuts may share a double."""
    column = Column.from_counts(np.array([-7, 0, 3, 10**39 - 1, 10**60], dtype=object), np.array([1, 2, 1, 5, 1]))
    counts = Counter(
        {-7: 1, 0: 2, 3: 1, 10**39 - 1: 5, 10**39: 1}
    )  # integers beyond the limit of their scale count there
    true = [sum(n for value, n in counts.items() if value < cut) for cut in cuts]
    assert column.fetch(Request(cuts=tuple(cuts))).before == true
    assert column.fetch(Request(cuts=tuple(cuts) * 9)).before == true * 9


def test_numbers_in_pieces() -> None:
    """Doubles are compared by the shortest decimals that stand for them."""
    values = np.array([0.1, 0.1, 0.30000000000000004, 2.5])
    pieces = Pieces(np.array([0.1, 2.5]), np.array([0.30000000000000004, 2.5]), np.array([3, 1]), np.zeros(2))

    class Values:
        def everything(self, total: int, wanted: int = 0) -> Pieces:  # noqa: ARG002
            found, counts = np.unique(values, return_counts=True)
            return Pieces(found, found.copy(), counts, np.zeros(len(found)))

    column = Column(NUMBERS, pieces, Values())  # type: ignore[arg-type]
    tenth = NUMBERS.units(0.1)
    assert column.fetch(Request(cuts=(tenth, tenth + 1, 3 * tenth, 3 * tenth + 1, 25 * tenth, 26 * tenth))).before == [
        0, 2, 2, 2, 3, 4,
    ]  # fmt: skip
    assert "0.1" not in repr(column) + repr(pieces)
