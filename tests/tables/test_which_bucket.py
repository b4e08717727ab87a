"""The bucket of a record or a unit, in handmade tables whose counts can be checked by eye."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from _support.lite import opened
from _support.private import private_bars

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.buckets import RelativeWidth
from flexdp.tables.counting import counted_together, named_columns
from flexdp.tables.engines.registry import ENGINES


def bars_of(source: Any, column: Any = "x", **parameters: Any) -> dict[Any, int]:
    bars = private_bars(prepare(source, column, **parameters))
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def in_duckdb(columns: str, rows: str) -> tuple[Any, str]:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE visits ({columns})")
    con.execute(f"INSERT INTO visits VALUES {rows}")
    return con, "visits"


def in_sqlite(columns: str, rows: str) -> tuple[Any, str]:
    con = opened()
    con.execute(f"CREATE TABLE visits ({columns})")
    con.execute(f"INSERT INTO visits VALUES {rows}")
    return con, "visits"


@pytest.mark.parametrize("rule", [{"max_buckets_per_unit": 1}, {"max_buckets_per_unit": 3}, {"per_unit": "max"},
                                  {"per_unit": "min"}, {"per_unit": "mean"}])  # fmt: skip
@pytest.mark.parametrize("declared", ["VARCHAR COLLATE nocase", "VARCHAR COLLATE noaccent", "VARCHAR"])
def test_units_that_a_collation_takes_for_one_are_several(declared: str, rule: dict[str, Any]) -> None:
    """Five people whose names differ in case or accents are five units."""
    rows = "('bob', 1), ('Bob', 1), ('BOB', 1), ('zoe', 1), ('zoé', 1), ('bob', 1)"
    con, table = in_duckdb(f"w {declared}, x DOUBLE", rows)
    merged = con.execute("SELECT count(*) FROM (SELECT w FROM visits GROUP BY w)").fetchall()[0][0]
    assert (merged < 5) == ("COLLATE" in declared)  # control: the collation does merge
    for source in ((con, table), con.table(table)):
        assert bars_of(source, width=1, unit="w", **rule) == {(1,): 5}


def test_units_stay_apart_where_a_connection_s_own_collation_merges_them() -> None:
    con = duckdb.connect()
    con.execute("SET default_collation = 'nocase'")
    con.execute("CREATE TABLE visits AS SELECT * FROM (VALUES ('bob', 1.0::DOUBLE), ('Bob', 1.0)) t(w, x)")
    assert con.execute("SELECT count(*) FROM visits WHERE w = 'bob'").fetchall() == [(2,)]  # control
    assert bars_of((con, "visits"), width=1, unit="w", max_buckets_per_unit=1) == {(1,): 2}
    assert bars_of((con, "visits"), width=1, by="w", groups=["bob"]) == {("bob", 1): 1}
    assert bars_of((con, "visits"), "w") == {("bob",): 1, ("Bob",): 1}


def test_a_declared_group_is_not_another_one_that_a_collation_takes_for_it() -> None:
    con, table = in_duckdb("g VARCHAR COLLATE nocase, x DOUBLE", "('a', 1), ('A', 1), ('a', 2), ('b', 1)")
    for groups, wanted in ((["a"], {("a", 1): 1, ("a", 2): 1}), (["A", "b"], {("A", 1): 1, ("b", 1): 1})):
        assert bars_of((con, table), width=1, by="g", groups=groups) == wanted


# Unit 1 is highest in b and lowest in a; unit 2 the other way round; unit 3 is only in a; unit 4 has no group.
VISITS = "(1, 'a', 5), (1, 'b', 25), (1, 'a', 15), (2, 'a', 35), (2, 'b', 12), (3, 'a', 8), (3, 'a', 7), (4, NULL, 9)"


@pytest.mark.parametrize("make", [in_duckdb, in_sqlite])
def test_of_each_unit_the_largest_or_the_smallest_counts_in_its_own_group(make: Any) -> None:
    source = make("u BIGINT, g VARCHAR, x BIGINT", VISITS)
    grouped = {"width": 10, "by": "g", "unit": "u"}
    assert bars_of(source, per_unit="max", **grouped) == {("b", 2): 1, ("a", 3): 1, ("a", 0): 1}
    assert bars_of(source, per_unit="min", **grouped) == {("a", 0): 2, ("b", 1): 1}
    assert bars_of(source, per_unit="max", groups=["a"], **grouped) == {("a", 1): 1, ("a", 3): 1, ("a", 0): 1}
    alone = {"width": 10, "unit": "u"}
    assert bars_of(source, per_unit="max", **alone) == {(2,): 1, (3,): 1, (0,): 2}
    assert bars_of(source, per_unit="min", **alone) == {(0,): 3, (1,): 1}


def test_the_largest_of_dates_and_datetimes_counts_in_its_own_group() -> None:
    days = [dt.date(2024, 1, 5), dt.date(1969, 3, 1), dt.date(2024, 2, 7)]
    table = pa.table({"u": [1, 1, 1], "g": ["a", "b", "c"], "x": days})
    for rule, group in (("max", "c"), ("min", "b")):
        (bar,) = bars_of(table, by="g", unit="u", per_unit=rule)
        assert bar[0] == group
    datetimes = table.set_column(2, "x", pa.array([dt.datetime(d.year, d.month, d.day, 9) for d in days]))
    for rule, group in (("max", "c"), ("min", "b")):
        (bar,) = bars_of(datetimes, by="g", unit="u", per_unit=rule, width="1 hour")
        assert bar[0] == group


def test_zeros_of_both_signs_are_one_bucket_of_a_unit() -> None:
    """Otherwise one unit would count twice in the bucket of zero."""
    values, units = [0.0, -0.0, 0.0, -0.0, 5.0], [1, 1, 2, 3, 3]
    con = opened()
    con.execute("CREATE TABLE visits (x REAL, u INTEGER)")
    con.executemany("INSERT INTO visits VALUES (?, ?)", zip(values, units, strict=True))
    table = pa.table({"x": values, "u": units})
    held = duckdb.connect()
    held.register("table_", table)
    held.execute("CREATE TABLE visits AS FROM table_")
    for source in (table, pl.from_arrow(table), (held, "visits"), (con, "visits")):
        for bounds in ({}, {"bounds": (-1, 9)}, {"bounds": (0, 9), "outside": "drop"}):
            assert bars_of(source, unit="u", max_buckets_per_unit=2, **bounds) == {(0.0,): 3, (5.0,): 1}
            assert bars_of(source, unit="u", per_unit="max", **bounds) == {(0.0,): 2, (5.0,): 1}
        assert bars_of(source) == {(0.0,): 4, (5.0,): 1}


@pytest.mark.parametrize("rho", ["0.3", "0.05", "0.01"])
def test_values_at_the_edges_of_relative_buckets_are_where_comparing_puts_them(rho: str) -> None:
    """A logarithm may be off by an ulp; the buckets of an edge and of its neighbouring doubles must not be."""
    request = prepare(np.array([1.0]), relative=rho)
    buckets = request.partition
    assert isinstance(buckets, RelativeWidth)
    ladder = buckets.ladder[(buckets.ladder > 1e-3) & (buckets.ladder < 1e6)]
    edges = ladder[:: max(1, len(ladder) // 300)]
    values = np.concatenate([sign * np.nextafter(edges, to) for sign in (1, -1) for to in (0, edges, math.inf)])
    places = np.searchsorted(buckets.ladder, np.abs(values), side="right") * np.sign(values).astype(int)
    index, counts = np.unique(places, return_counts=True)
    wanted = {(int(place),): int(n) for place, n in zip(index, counts, strict=True)}
    con = duckdb.connect()
    con.register("held", pa.table({"x": values}))
    con.execute("CREATE TABLE visits AS FROM held")
    for source in ((con, "visits"), pa.table({"x": values})):
        assert bars_of(source, relative=rho) == wanted


def test_integers_at_the_ends_of_wide_bounds() -> None:
    """Bounds whose difference needs more than 64 bits: nothing overflows, and each value is in its own bucket."""
    low, high, width = -(2**63), 2**63 - 1, 2**60
    values = [low, low + 1, -1, 0, 1, high - 1, high]
    wanted: dict[Any, int] = {}
    for value in values:
        bar = ((value - low) // width,)
        wanted[bar] = wanted.get(bar, 0) + 1
    con = duckdb.connect()
    con.register("held", pa.table({"x": pa.array(values, pa.int64())}))
    con.execute("CREATE TABLE visits AS FROM held")
    for source in ((con, "visits"), pa.table({"x": pa.array(values, pa.int64())})):
        assert bars_of(source, width=width, bounds=(low, high)) == wanted
        assert bars_of(source, width=width, bounds=(low, high), outside="drop") == wanted


def test_each_of_several_columns_counts_its_own_declared_groups_and_none_of_its_missing_cells() -> None:
    """Two columns in one pass: a record missing in one counts in the other; undeclared groups count in neither."""
    table = pa.table(
        {
            "x": pa.array([1.5, None, 2.5, math.nan, 9.5, 3.5]),
            "y": pa.array([10, 20, None, 20, 90, 10], pa.int64()),
            "g": ["a", "a", "b", "b", "c", None],
        }
    )
    con = duckdb.connect()
    con.register("held", table)
    con.execute("CREATE TABLE visits AS FROM held")
    for source in (table, pl.from_arrow(table), (con, "visits")):
        for parameters, wanted in (
            ({}, [{(1,): 1, (2,): 1, (3,): 1, (9,): 1}, {(10,): 2, (20,): 2, (90,): 1}]),
            ({"edges": {"x": [0, 2, 9]}, "width": {"y": 1}},
             [{(0,): 1, (1,): 3}, {(10,): 2, (20,): 2, (90,): 1}]),
            ({"by": "g", "groups": ["a", "b"]},
             [{("a", 1): 1, ("b", 2): 1}, {("a", 10): 1, ("a", 20): 1, ("b", 20): 1}]),
        ):  # fmt: skip
            request = prepare(source, ["x", "y"], separately=True, **{"width": 1, **parameters})
            together = request.questions[0].table.count([each.counting for each in request.questions])
            assert [dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)) for bars in together] == wanted


def test_values_at_the_bounds_and_beyond_are_in_the_outermost_buckets() -> None:
    """Four buckets of width 5 within 0–20: 20, the double before it and 1e300 are in the last, −1e300 in the first."""
    below = math.nextafter(20, 0)
    values = [-1e300, -0.5, 0.0, 4.999, 5.0, below, 20.0, 20.5, 1e300, math.inf, -math.inf, math.nan]
    table = pa.table({"x": values, "u": list(range(len(values)))})
    con = duckdb.connect()
    con.register("held", table)
    con.execute("CREATE TABLE visits AS FROM held")
    lite = opened()
    lite.execute("CREATE TABLE visits (x REAL, u INTEGER)")
    lite.executemany("INSERT INTO visits VALUES (?, ?)", zip(values, range(len(values)), strict=True))
    for source in (table, pl.from_arrow(table), (con, "visits"), (lite, "visits")):
        for unit in ({}, {"unit": "u", "max_buckets_per_unit": 1}):
            assert bars_of(source, width=5, bounds=(0, 20), **unit) == {(0,): 4, (1,): 1, (3,): 4}
            dropped = bars_of(source, width=5, bounds=(0, 20), outside="drop", **unit)
            assert dropped == {(0,): 2, (1,): 1, (3,): 2}


def test_the_mean_of_equal_values_is_that_value() -> None:
    """However shares are rounded: unit n has 0.1 n times, and n shares of 0.1/n need not add up to 0.1."""
    sums = []
    for n in range(1, 41):
        total = 0.0
        for _ in range(n):
            total += 0.1 / n
        sums.append(total)
    assert any(total != 0.1 for total in sums)  # control: plain sums do show the rounding
    table = pa.table({"x": [0.1] * 820, "u": [n for n in range(1, 41) for _ in range(n)]})
    con = duckdb.connect()
    con.register("held", table)
    con.execute("CREATE TABLE visits AS FROM held")
    for source in (table, (con, "visits")):
        assert bars_of(source, unit="u", per_unit="mean") == {(0.1,): 40}


def test_the_day_of_a_datetime_before_1970_is_the_one_its_clock_shows() -> None:
    """Days since 1970-01-01, rounded down: one microsecond before it is day −1, midnight before that too."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    micro, day = dt.timedelta(microseconds=1), dt.timedelta(days=1)
    datetimes = [epoch, epoch - micro, epoch - day, epoch - day - micro, epoch + day - micro]
    table = pa.table({"x": pa.array(datetimes, pa.timestamp("us", tz="UTC"))})
    assert bars_of(table, kind="date", zone="UTC") == {(0,): 2, (-1,): 2, (-2,): 1}
    assert bars_of(table, kind="date", zone="Asia/Tokyo") == {(0,): 2, (-1,): 2, (1,): 1}  # nine hours ahead


def test_wide_integers_are_divided_exactly_or_not_at_all() -> None:
    """Decimals are divided with a remainder: both sides of zero by a function that rounds down, or refused."""
    wide = pa.table({"x": pa.array([], pa.decimal128(37, 0))})
    shown = flexdp.query(wide, "x", width=5, dialect="postgres")
    assert shown.count("div(") == shown.count(", CAST(5 AS NUMERIC))") == 2
    assert "/" not in shown
    with pytest.raises(InputError, match="would divide integers beyond 64 bits"):
        flexdp.query(wide, "x", width=5, dialect="spark")
    assert "DIV" not in flexdp.query(wide, "x", width=1, dialect="spark")  # control: that needs no division


def test_wide_integers_count_together_with_another_column() -> None:
    table = pa.table({"x": pa.array([2**64 + 1, -7, None, -7], pa.decimal128(37, 0)), "y": [1, 2, 3, 3]})
    con = duckdb.connect()
    con.register("held", table)
    con.execute("CREATE TABLE visits AS FROM held")
    request = prepare((con, "visits"), ["x", "y"], separately=True, width=1)
    wide, narrow = request.questions[0].table.count([each.counting for each in request.questions])
    assert dict(zip(wide.rows(slice(None)), wide.counts.tolist(), strict=True)) == {(2**64 + 1,): 1, (-7,): 2}
    assert dict(zip(narrow.rows(slice(None)), narrow.counts.tolist(), strict=True)) == {(1,): 1, (2,): 1, (3,): 2}


def test_a_missing_key_in_the_rows_of_a_driver_is_no_bucket() -> None:
    """Two columns in one pass: each row belongs to one of them, and misses the key of the other, or its own."""
    table = pa.table({"t": ["a"], "y": [1]})
    countings = [each.counting for each in prepare(table, ["t", "y"], separately=True, width={"y": 1}).questions]
    rows = [(0, "a", None, 3), (0, None, None, 5), (1, None, 7, 2), (1, None, 0, 4), (1, None, None, 6)]
    columns = named_columns(rows, ["whose", "c0_b0", "c1_b0", "records"], {"c0_b0"})
    texts, numbers = counted_together(columns, countings)
    assert (texts.keys[0].tolist(), texts.records.tolist()) == (["a"], [3])
    assert (numbers.keys[0].tolist(), numbers.records.tolist()) == ([7, 0], [2, 4])


def test_a_boolean_is_its_own_key() -> None:
    """PostgreSQL has no cast from booleans to BIGINT, the type of other keys."""
    booleans = pa.table({"x": pa.array([], pa.bool_())})
    assert all(
        re.search(r"SELECT v0 AS b0[\n,]", flexdp.query(booleans, "x", dialect=engine.name)) for engine in ENGINES
    )


def test_rows_of_a_driver_become_named_columns_the_same_types_whatever_they_hold() -> None:
    """Texts, and integers that come as texts, are objects; other keys and counts are integers, also if one misses."""
    names = ["b0", "b1", "b2", "records"]
    columns = named_columns([("a", str(2**64), None, 3), (None, None, 7, 2)], names, {"b0"})
    assert [columns[name].dtype.kind for name in names] == ["O", "O", "i", "i"]
    assert columns["b1"].tolist() == [str(2**64), None]
    nothing = named_columns([], names, {"b0"})
    assert [len(nothing[name]) for name in names] == [0] * 4
    assert [nothing[name].dtype.kind == "O" for name in names] == [True, False, False, False]
