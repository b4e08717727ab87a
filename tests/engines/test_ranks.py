"""One contract for the ranks of all engines: every request is answered as plain Python would, record by record."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from engines.conftest import ENGINES, Cells, Engine, make_engine
from engines.oracle import bar_of, expected
from engines.test_contract import TABLE, loaded, refused, source_of  # noqa: F401
from flexdp import DataError, InputError
from flexdp._release.api import prepare
from flexdp.buckets import Cut, OpenEdges
from flexdp.sharp import column as column_module
from flexdp.sharp.goal import Goal
from flexdp.sharp.ranks import Near, Ranks, Request, Span, Tally
from flexdp.sharp.rungs import ladder_rungs
from flexdp.sharp.scale import NUMBERS, Scale
from flexdp.tables import ranks as ranks_module
from flexdp.tables.ranks import open_ranks, rank_query_of
from flexdp.tables.sql.rank_query import RankQuery, exactly

CASES: dict[str, dict[str, Any]] = {
    "numbers": {"column": "x", "width": 5},
    "numbers clamped": {"column": "x", "width": 5, "bounds": (-5, 120)},
    "numbers dropped": {"column": "x", "width": 5, "bounds": (-5, 120), "outside": "drop"},
    "integers": {"column": "i", "width": 5},
    "integers clamped": {"column": "i", "width": 5, "bounds": (-6, 120)},
    "integers as numbers": {"column": "i", "kind": "number", "width": 10},
    "wide": {"column": "w", "width": 1},
    "wide clamped": {"column": "w", "width": 3, "bounds": (-7, 100)},
    "decimals": {"column": "m", "width": 1},
    "days": {"column": "d", "width": "1 day"},
    "datetimes": {"column": "s", "width": "15 minutes"},
    "days of datetimes": {"column": "s", "kind": "date", "width": "1 day"},
    "datetimes of days": {"column": "d", "kind": "datetime", "width": "18 hours"},
    "zoned": {"column": "z", "width": "1 hour", "zone": "Europe/Berlin"},
    "zoned days": {"column": "z", "kind": "date", "width": "1 day", "zone": "America/New_York"},
    "groups": {"column": "x", "width": 5, "by": ["t", "b"]},
    "days as groups": {"column": "i", "width": 50, "by": "d"},
    "declared": {"column": "x", "width": 5, "by": "t", "groups": ["a", "A", "o'brien", "50%", "nobody"]},
    "units": {"column": "x", "width": 5, "unit": "u", "max_buckets_per_unit": 2},
    "units by days": {"column": "i", "width": 5, "unit": "d", "max_buckets_per_unit": 1, "bounds": (-7, 200)},
    "largest": {"column": "x", "width": 5, "unit": "u", "per_unit": "max"},
    "smallest by group": {"column": "i", "width": 5, "by": "b", "unit": "n", "per_unit": "min"},
    "mean": {"column": "x", "width": "0.5", "bounds": (-9, 200), "unit": "u", "per_unit": "mean"},
    "random": {"column": "d", "width": "1 year", "unit": "n", "per_unit": "random"},
}  # fmt: skip
# A statement takes these engines seconds, so that they run a case of each kind of value, group and unit.
FEWER = {
    "spark": (
        "numbers clamped",
        "integers",
        "wide",
        "zoned days",
        "units",
    ),
    "spark-lenient": ("numbers",),
    "clickhouse": ("numbers clamped", "integers", "wide", "decimals", "zoned days", "declared", "units", "mean"),
}
IN_PROCESS = ("duckdb", "polars", "lazy", "pyarrow")  # whose values may be sorted in this process
WAYS = {name: ("sorted" if name in IN_PROCESS else "all values", "pieces") for name in ENGINES}
TRIPLES = [(name, way, case) for name in ENGINES for way in WAYS[name] for case in FEWER.get(name, CASES)]


@pytest.fixture
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read all values of few records, or look into pieces as if there were many."""
    if request.param == "pieces":
        in_pieces(monkeypatch)
    return str(request.param)


def in_pieces(monkeypatch: pytest.MonkeyPatch, crowded: int = 60) -> None:
    """Look into pieces, and split crowded ones first, as if there were many records."""
    monkeypatch.setattr(ranks_module, "SORTED_AT_MOST", -1)
    monkeypatch.setattr(ranks_module, "FEW", -1)
    monkeypatch.setattr(column_module, "CROWDED", crowded)


def brute(counts: dict[int, int], request: Request) -> tuple[int, list[int], list[Any], list[range]]:
    """Answer a request by definition: the total, the counts before, the windows, and what each tally may be."""
    ordered = sorted(counts.items())
    windows = []
    for near in request.windows:
        low, high = near.span.low, near.span.high
        inside = [(v, m) for v, m in ordered if (low is None or v >= low) and (high is None or v < high)]
        size = sum(m for _, m in inside)
        goal = near.goal
        target = math.ceil(goal.units * goal.level * size) + goal.units * goal.offset
        target = min(max(target, 0), goal.units * size)  # fewer records than are wanted beyond
        least, most = target // goal.units - near.reach, -(-target // goal.units) + near.reach
        found, below = [], 0
        for value, m in inside:
            if below + m >= least and below <= most:
                found.append((value, below, below + m))
            below += m
        windows.append((size, found))
    tallies = []
    for tally in request.tallies:
        ends = []
        for lean in (Fraction(-1, 10**6), Fraction(1, 10**6)):
            places = [
                (min(max(v, tally.low), tally.high) - tally.low) / Fraction(tally.step) + Fraction(1, 2) + lean
                for v, _ in ordered
            ]
            whole = (min(max(math.floor(place), 0), tally.cells) for place in places)
            ends.append(sum(place * m for place, (_, m) in zip(whole, ordered, strict=True)))
        tallies.append(range(ends[0], ends[1] + 1))
    before = [sum(m for v, m in ordered if v < cut) for cut in request.cuts]
    return sum(counts.values()), before, windows, tallies


def requests_for(counts: dict[int, int], scale: Scale) -> list[Request]:
    """Requests that meet every value, both sides of it, a ladder, and windows of all kinds."""
    values = sorted(counts)
    middle = scale.short(values[len(values) // 2]) if values else 7 * scale.one
    ends = [-scale.limit, scale.limit, scale.limit + 1, 0, 1]
    cuts = {
        *ends,
        *(value + step for value in values for step in (-1, 0, 1)),
        *ladder_rungs(scale, middle, 1).values[::5],
    }
    half, most = Goal.quantile(Fraction(1, 2)), Goal.quantile(Fraction(99, 100))
    upper, lower = Span(middle + 1, None), Span(None, middle)
    inner = Span(-scale.limit, middle + 5 * scale.one)
    windows = (
        Near(goal=half, reach=2),
        Near(goal=half, reach=1000),
        Near(goal=most, reach=1, span=upper),
        Near(goal=Goal.beyond(3, 1), reach=2, span=upper),
        Near(goal=Goal.beyond(3, -1), reach=2, span=lower),
        Near(goal=Goal.beyond(10**6, 1), reach=2, span=upper),
        Near(goal=Goal.beyond(10**6, -1), reach=2, span=lower),
        Near(goal=Goal.quantile(Fraction(1, 3)), reach=0, span=inner),
        Near(goal=half, reach=3, span=Span(middle, middle + 1)),
        Near(goal=half, reach=3, span=Span(middle, middle)),
    )
    tally = Tally(low=-100 * scale.one, step=scale.one * 7, cells=40)
    far = Tally(low=-scale.limit, step=scale.limit // 10**6, cells=2 * 10**6)
    return [
        Request(),
        Request(cuts=tuple(sorted(cuts)), windows=windows),
        Request(cuts=tuple(sorted(cuts)), windows=windows[4:6], enough=4),
        Request(windows=windows[:1], tallies=(tally, far)),
    ]


def check(ranks: Ranks, counts: dict[int, int], requests: Iterable[Request] | None = None) -> None:
    for request in requests_for(counts, ranks.scale) if requests is None else requests:
        total, before, windows, tallies = brute(counts, request)
        reply = ranks.fetch(request)
        assert reply.total == total
        few = math.inf if request.enough is None else request.enough
        for found, exact in zip(reply.before, before, strict=True):
            assert found == exact or few <= found <= total - few
            assert found == exact or few <= exact <= total - few
        for near, asked, (size, found) in zip(request.windows, reply.windows, windows, strict=True):
            assert asked.total == size
            rows = [(asked.value(i), int(asked.below[i]), int(asked.upto[i])) for i in range(len(asked))]
            assert rows == found and len(rows) <= 2 * near.reach + 3
        assert all(tally in allowed for tally, allowed in zip(reply.tallies, tallies, strict=True))


def by_units(bars: Iterable[tuple[Any, int]], scale: Scale) -> dict[int, int]:
    out: Counter[int] = Counter()
    for value, records in bars:
        out[scale.units(value)] += records
    return dict(out)


@contextmanager
def opened(source: Any, parameters: dict[str, Any], engine: Engine, salt: str = "fixed") -> Any:
    """Yield the ranks with the question that an oracle can answer."""
    question = prepare(source, **parameters, **engine.parameters).questions[0]
    units = question.counting.units
    counting = exactly(replace(question.counting, units=None if units is None else replace(units, salt=salt)))
    with open_ranks(question.table, counting) as ranks:
        yield ranks, replace(question, counting=counting)


@pytest.mark.parametrize(("engine", "way", "case"), TRIPLES, indirect=["engine", "way"])
def test_every_engine_ranks_alike(engine: Engine, way: str, case: str, loaded: dict[str, Any]) -> None:  # noqa: ARG001, F811
    parameters = CASES[case]
    if refused(engine, parameters):
        with pytest.raises(InputError):
            prepare(source_of(engine, loaded), **parameters, **engine.parameters)
        return
    with opened(source_of(engine, loaded), parameters, engine) as (ranks, question):
        bars = expected(question, engine.held(TABLE))
        assert bars  # the oracle is not vacuous
        check_bars(ranks, question, bars)
        if not question.counting.groups:
            check(ranks, by_units(((bar[0], m) for bar, m in bars.items()), ranks.scale))
            return
        count = len(question.counting.groups)
        groups = sorted({bar[:count] for bar in bars}, key=str)
        found = ranks.group_counts()
        sizes = dict(zip(found.rows(slice(None)), found.counts.tolist(), strict=True))
        assert sizes == {group: sum(m for bar, m in bars.items() if bar[:count] == group) for group in groups}
        together = list(question.counting.declared or groups)
        asked = {*groups[:4], *(question.counting.declared or ())[-1:]}  # with every request; the others with one
        for group, each in ranks.together([*together]):
            own = by_units(((bar[-1], m) for bar, m in bars.items() if bar[:count] == group), ranks.scale)
            check(each, own, None if group in asked else requests_for(own, ranks.scale)[1:2])
            together.remove(group)
        assert not together  # each of them, once
        check(ranks.whole(), by_units(((bar[-1], m) for bar, m in bars.items()), ranks.scale))


def check_bars(ranks: Any, question: Any, bars: dict[Any, int]) -> None:
    """Counts in buckets with open ends, by group, are those of the values that count."""
    axis = question.counting.values[0]
    numbers = axis.kind == "number"
    cuts = [Cut(Fraction(value)) for value in (-6, 0, 5, 120, 10**17)]
    cuts += [Cut(Fraction(0), after=True), Cut(Fraction("0.3"), after=True)] if numbers else [Cut(Fraction(1))]
    own = replace(axis, buckets=OpenEdges.of(axis.kind, cuts))
    counts: Counter[Any] = Counter()
    for bar, records in bars.items():
        counts[(*bar[:-1], bar_of(bar[-1], own))] += records
    found = ranks.bars(own.buckets)
    assert dict(zip(found.rows(slice(None)), found.counts.tolist(), strict=True)) == dict(counts)


HARD: list[float] = [
    0.0, 5e-324, 1e-40, 1e-30, 1.0000000000000002e-30, 9.999999999999999e-31, 0.1, 0.3, 1.0, 2.0, 1e6, 1e15, 2.0**53,
    1e22, 1e38, 1e39, 1.0000000000000002e39, 1e300, 1.7976931348623157e308,
]  # fmt: skip


def near_edges() -> list[float]:
    """Numbers at and beside the edges of cells, where rounding to few bits is a tie."""
    out = set()
    for size in HARD:
        for number in (size, 3 * size / 2, size * (1 + 2.0**-10), size * (1 + 2.0**-9), size * (1 + 3 * 2.0**-10)):
            if math.isfinite(number):
                for each in (number, math.nextafter(number, 0), math.nextafter(number, math.inf)):
                    out |= {each, -each}
    return sorted(number for number in out if math.isfinite(number))


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_cells_are_monotone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A greater value never lies in a lower cell, and edges of cells are where the engine's arithmetic is hardest."""
    in_pieces(monkeypatch)
    values = near_edges()
    whole = sorted({int(v) + step for v in values if abs(v) < 2.0**62 for step in (-1, 0, 1)})
    whole = (whole * (len(values) // len(whole) + 1))[: len(values)]
    source = engine.load({"x": ("double", values), "i": ("bigint", whole)})
    for column in ("x", "i"):
        with opened(source, {"column": column, "width": 1}, engine) as (ranks, _):
            query, session = ranks._query, ranks._session
            rows = session.ask(f"SELECT v, {query._cell} AS c FROM {query.rows} ORDER BY v ASC")
            cells = [float(row[1]) for row in rows]
            assert len(cells) == len(values)
            assert cells == sorted(cells)
            assert len({row[0] for row in rows}) > len(set(cells)) > 20  # values share cells, but not all of them
            check(ranks, by_units(((value, 1) for value in (values if column == "x" else whole)), ranks.scale))


@pytest.mark.parametrize("engine", ["duckdb"], indirect=True)
def test_cells_that_are_not_monotone_are_caught(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces that overlap are no column."""
    in_pieces(monkeypatch)
    cells = property(lambda _self: "CAST(floor(abs(v)) % 7 AS DOUBLE)")
    monkeypatch.setattr(RankQuery, "_cell", cells)
    source = engine.load({"x": ("double", [float(i) for i in range(60)])})
    with pytest.raises(DataError), opened(source, {"column": "x", "width": 1}, engine) as (ranks, _):
        ranks.fetch(Request())


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres", "polars"], indirect=True)
def test_crowded_pieces_are_split(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many different values in one cell are told apart by parts of it; ties need none."""
    in_pieces(monkeypatch)
    rng = np.random.default_rng(4)
    cluster = [*(1e6 + rng.random(200)).tolist(), *(1e6 + 1e-7 * rng.random(100)).tolist(), 3.5, -2e9, 1e300]
    ties = [7.25] * 250 + [float(i) for i in range(53)]
    whole = [2**61 + int(i) for i in rng.integers(0, 10**5, 303)]
    source = engine.load({"x": ("double", cluster), "t": ("double", ties), "i": ("bigint", whole)})
    for column, values, crowded in (("x", cluster, True), ("t", ties, False), ("i", whole, True)):
        with opened(source, {"column": column, "width": 1}, engine) as (ranks, _):
            seen = watched(monkeypatch)
            check(ranks, by_units(((value, 1) for value in values), ranks.scale))
        assert (True in seen) is crowded and (column != "x" or False in seen)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note which looks split pieces."""
    seen: list[bool] = []
    kept = RankQuery.parts

    def parts(self: RankQuery, group: Any = (), *, split: bool = False) -> str:
        seen.append(split)
        return kept(self, group, split=split)

    monkeypatch.setattr(RankQuery, "parts", parts)
    return seen


@pytest.mark.parametrize("engine", ["duckdb"], indirect=True)
def test_no_copy_is_left_behind(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    import duckdb

    in_pieces(monkeypatch, crowded=10)
    con, lite = duckdb.connect(), sqlite3.connect(":memory:")
    con.execute("CREATE TABLE t AS SELECT 1e6 + i / 100.0 AS x FROM range(80) AS r(i)")
    lite.execute("CREATE TABLE t (x REAL)")
    lite.executemany("INSERT INTO t VALUES (?)", [(1e6 + i / 100,) for i in range(80)])
    for source in (con.table("t"), (lite, "t")):
        with opened(source, {"column": "x", "width": 1}, replace(engine, parameters={})) as (ranks, _):
            seen = watched(monkeypatch)
            (window,) = ranks.fetch(Request(windows=(Near(goal=Goal.beyond(5, -1), reach=0),))).windows
            assert window.values.tolist() == [1e6 + 0.04, 1e6 + 0.05]
            assert seen == [True]
    left = con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'flexdp%'").fetchone()
    assert left == (0,) and not lite.execute("SELECT name FROM sqlite_temp_master").fetchall()
    con.close()
    lite.close()


@pytest.mark.parametrize("way", ["sorted", "pieces"])
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_nodes_of_ranks_are_served_together(engine: Engine, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What recursive halving asks for: nodes are intervals of ranks, whose ends may lie among ties.

    All of a level come from one request: the values around the middles of many nodes, the ties of each, and the ranks
    before public values; also within a span of values.
    """
    if way == "pieces":
        in_pieces(monkeypatch)
    rng = np.random.default_rng(8)
    values = np.sort([*np.round(rng.lognormal(3, 1, 500), 1), *[20.0] * 300, *(1e6 + rng.random(200))])
    nodes = [(place * 62 + 3, place * 62 + 60) for place in range(16)]
    reach, cuts = 7, (-3.0, 12.5, 20.0, 20.1, 1e6 + 0.5, 1e9)
    low, high = 12.5, 1e6 + 0.5
    first, last = (int(np.searchsorted(values, end)) for end in (low, high))
    with opened(engine.load({"x": ("double", values.tolist())}), {"column": "x", "width": 1}, engine) as (ranks, _):
        units = ranks.scale.units
        middles = [Near(goal=Goal.beyond((start + stop) // 2, -1), reach=reach) for start, stop in nodes]
        span = Span(units(low), units(high))
        middles += [Near(goal=Goal.beyond(place, -1), reach=reach, span=span) for place in (0, 200, last - first)]
        seen = watched(monkeypatch)
        reply = ranks.fetch(Request(cuts=tuple(map(units, cuts)), windows=tuple(middles)))
        assert seen in ([], [False], [True, False])  # one look, of crowded pieces two
    assert list(reply.before) == np.searchsorted(values, cuts).tolist()
    for near, window in zip(middles, reply.windows, strict=True):
        own = values if near in middles[:16] else values[first:last]
        rank = near.goal.target(len(own))
        known = dict(
            zip(window.values.tolist(), zip(window.below.tolist(), window.upto.tolist(), strict=True), strict=True)
        )
        for value in own[max(0, rank - reach) : rank + reach].tolist():  # with all of its ties
            assert known[value] == tuple(int(np.searchsorted(own, value, side)) for side in ("left", "right"))


UNREADABLE: dict[str, list[Any]] = {"empty": [], "null": [None], "odd": [None, math.nan, math.inf, -math.inf] * 3}


@pytest.mark.parametrize(
    ("engine", "way", "case"),
    [
        (name, way, case)
        for name in ENGINES
        for way in WAYS[name]
        for case in UNREADABLE
        if name not in FEWER or case == "odd"
    ],
    indirect=["engine", "way"],
)
def test_tables_without_a_readable_record(engine: Engine, way: str, case: str) -> None:  # noqa: ARG001
    values = UNREADABLE[case]
    source = engine.load({"x": ("double", values), "g": ("text", ["a"] * len(values))})
    with opened(source, {"column": "x", "width": 1}, engine) as (ranks, _):
        check(ranks, {})
    with opened(source, {"column": "x", "width": 1, "by": "g"}, engine) as (ranks, _):
        ((_, own),) = ranks.together([("a",)])
        check(own, {})
        assert not len(ranks.group_counts().counts)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark-lenient"], indirect=True)
def test_one_record_moves_every_rank_by_at_most_one(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    in_pieces(monkeypatch)
    rng = np.random.default_rng(3)
    values = [*(1e6 + rng.normal(0, 1e-7, 60)).tolist(), *rng.lognormal(2, 3, 60).tolist(), 5.0, 5.0, -7.5]
    cuts = tuple(
        sorted({NUMBERS.units(v) + s for v in values for s in (0, 1)} | set(ladder_rungs(NUMBERS, 0, 1).values[::20]))
    )
    with opened(engine.load({"x": ("double", values)}), {"column": "x", "width": 1}, engine) as (ranks, _):
        full = ranks.fetch(Request(cuts=cuts))
    for left_out in (5, 80, 120):
        fewer = values[:left_out] + values[left_out + 1 :]
        with opened(engine.load({"x": ("double", fewer)}), {"column": "x", "width": 1}, engine) as (ranks, _):
            reply = ranks.fetch(Request(cuts=cuts))
        moved = [a - b for a, b in zip(full.before, reply.before, strict=True)]
        assert full.total - reply.total == 1
        assert moved == sorted(moved)
        assert set(moved) == {0, 1}


@pytest.mark.parametrize(
    ("engine", "way"),
    [(name, way) for name in ("duckdb", "sqlite", "postgres", "pg8000", "polars", "lazy") for way in WAYS[name]],
    indirect=True,
)
def test_all_requests_see_the_same_records(engine: Engine, way: str, request: pytest.FixtureRequest) -> None:  # noqa: ARG001
    """Records that arrive between two requests are not seen; control: a new session sees them."""
    cells: Cells = {"x": ("double", [float(i) for i in range(50)])}
    source = engine.load(cells)
    with opened(source, {"column": "x", "width": 1}, engine) as (ranks, _):
        assert ranks.fetch(Request()).total == 50
        if engine.name in ("polars", "lazy"):
            return
        con, name = source
        if engine.name in ("postgres", "pg8000"):  # by another connection: ours is in a transaction
            import psycopg

            with psycopg.connect(request.getfixturevalue("address")) as other:
                other.execute(f'INSERT INTO "{name}" VALUES (7.5)')
        else:
            con.execute(f'INSERT INTO "{name}" VALUES (7.5)')
        reply = ranks.fetch(Request(cuts=(NUMBERS.units(8.0),)))
        assert (reply.total, list(reply.before)) == (50, [8])
    if engine.name == "sqlite":
        con.commit()
    if engine.name == "pg8000":
        con.rollback()
    with opened(source, {"column": "x", "width": 1}, engine) as (ranks, _):
        assert ranks.fetch(Request()).total == 51


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"], indirect=True)
def test_nothing_is_left_behind(engine: Engine) -> None:
    source = engine.load({"x": ("double", [1.0, 2.0])})
    con, _ = source
    with opened(source, {"column": "x", "width": 1}, engine) as (ranks, _question):
        assert ranks.fetch(Request()).total == 2
        assert repr(ranks) == "<Ranks>"
    left = {
        "duckdb": "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'flexdp%'",
        "sqlite": "SELECT count(*) FROM sqlite_temp_master",
        "postgres": "SELECT count(*) FROM pg_class WHERE relname LIKE 'flexdp%'",
    }
    assert con.execute(left[engine.name]).fetchall()[0][0] == 0


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"], indirect=True)
def test_a_table_that_has_gone_is_the_one_error(engine: Engine) -> None:
    source = engine.load({"x": ("double", [1.0, 2.0])})
    question = prepare(source, "x", width=1, **engine.parameters).questions[0]
    con, name = source
    con.execute(f'DROP TABLE "{name}"')
    if engine.name != "duckdb":
        con.commit()
    with pytest.raises(DataError) as caught, open_ranks(question.table, question.counting):
        raise AssertionError("opened a table that does not exist")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres", "spark"], indirect=True)
def test_one_salt_chooses_the_same_records_for_every_request(engine: Engine) -> None:
    """A unit whose values lie on both sides of an anchor counts on one side; the salt decides on which."""
    units = [unit for unit in range(40) for _ in range(6)]
    values = [float(place % 6) for place in range(len(units))]
    cells: Cells = {"x": ("double", values), "u": ("bigint", units)}
    rule = {"column": "x", "width": 1, "unit": "u", "max_buckets_per_unit": 1}
    source = engine.load(cells)
    seen = []
    for salt in ("fixed", "another") if engine.name != "spark" else ("fixed",):
        with opened(source, rule, engine, salt) as (ranks, question):
            replies = [ranks.fetch(Request(cuts=(NUMBERS.units(float(cut)),))) for cut in range(7)]
            before = [reply.before[0] for reply in replies]
            counts = expected(question, cells, salt)
        assert {reply.total for reply in replies} == {40}
        assert before == [sum(m for (v,), m in counts.items() if v < cut) for cut in range(7)]
        seen.append(before)
    assert len(seen) == 1 or seen[0] != seen[1]


def test_the_statements_are_shown_and_hold_no_private_number(request: pytest.FixtureRequest) -> None:
    texts = []
    for values in ([12345.678], [98765.4321] * 9):
        source = make_engine("pyarrow", request).load({"x": ("double", values)})
        question = prepare(source, "x", width=1).questions[0]
        texts.append(rank_query_of(question.table, question.counting))
    assert texts[0] == texts[1]
    assert texts[0].count(";\n\n") == 2
    assert "12345" not in texts[0]


@pytest.mark.parametrize("engine", [name for name in ENGINES if name not in ("clickhouse", *IN_PROCESS)], indirect=True)
def test_texts_are_alike_whatever_the_records_are(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """On engines in other processes: two tables whose private numbers differ, and not a statement does."""
    in_pieces(monkeypatch, crowded=8)
    texts: list[set[str]] = []
    for start, count in ((1e6, 70), (3.25e-3, 90)):
        values, seen = [start * (1 + i / 2**20) for i in range(count)], set[str]()
        with opened(engine.load({"x": ("double", values)}), {"column": "x", "width": 1}, engine) as (ranks, _):
            ask = ranks._session.ask

            def noted(statement: str, ask: Any = ask, seen: set[str] = seen) -> Any:
                seen.add(re.sub(r"[0-9a-f]{32}", "…", statement))
                return ask(statement)

            object.__setattr__(ranks._session, "ask", noted)
            (window,) = ranks.fetch(Request(windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=0),))).windows
            assert values[count // 2 - 1] in window.values
        texts.append(seen)
    assert texts[0] == texts[1] and len(texts[0]) >= 2


def test_columns_without_ranks_are_refused(request: pytest.FixtureRequest) -> None:
    source = make_engine("pyarrow", request).load(
        {"t": ("text", ["a"]), "x": ("double", [1.0]), "y": ("double", [2.0])}
    )
    for column, message in (("t", "needs a column of numbers"), (["x", "y"], "needs one released column")):
        question = prepare(source, column, exact=True).questions[0]
        with pytest.raises(InputError, match=message), open_ranks(question.table, question.counting):
            raise AssertionError("opened a column without ranks")
