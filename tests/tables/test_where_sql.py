"""Conditions and derived values as SQL, part by part, on cells whose values are known."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import polars as pl
import pytest

import flexdp
from flexdp.buckets.base import LARGEST_INTEGER, Kind
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.sql.query import Reading
from flexdp.tables.where import ReadColumn, derived_sql, test_sql, tree

test_sql.__test__ = False  # type: ignore[attr-defined]  # it writes SQL
MICROS = 86_400 * 10**6


def leaf(kind: Kind, name: str = "a") -> ReadColumn:
    return ReadColumn(Column(name=name, type_name="", kind=kind), kind)


def computed(value: tree.Value, kind: Kind, cells: list[Any], of: str = "BIGINT", *, wide: bool = False) -> list[Any]:
    """Evaluate for each cell ``a``; ``b`` is always 5."""
    sql, _ = derived_sql(value, kind, DUCKDB, lambda column, _: Reading(column.name, wide))
    return _selected(sql, cells, of)


def passing(test: tree.Test, cells: list[Any], of: str = "BIGINT", *, wide: bool = False) -> list[Any]:
    sql = test_sql(test, DUCKDB, lambda column, _: Reading(column.name, wide))
    return _selected(f"CASE WHEN {sql} THEN 1 ELSE 0 END", cells, of)


def _selected(sql: str, cells: list[Any], of: str) -> list[Any]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (a {of}, b {of}, i INT)")
        connection.executemany(f"INSERT INTO t VALUES (CAST(? AS {of}), 5, ?)", [(c, i) for i, c in enumerate(cells)])
        return [row[0] for row in connection.execute(f"SELECT {sql} FROM t ORDER BY i").fetchall()]


def test_days_are_read_as_times_and_times_as_days() -> None:
    cells = [-719162 * MICROS, -MICROS, -MICROS - 1, -1, 0, MICROS - 1, 19_000 * MICROS + 7, None]
    assert computed(leaf("datetime"), "datetime", cells) == cells
    days = [None if cell is None else cell // MICROS for cell in cells]
    assert computed(leaf("datetime"), "date", cells) == days
    assert computed(leaf("date"), "date", days) == days
    assert computed(leaf("date"), "datetime", days) == [None if day is None else day * MICROS for day in days]
    assert computed(leaf("integer"), "number", [1, None]) == [1.0, None]


def test_parts_of_days_and_times() -> None:
    days = [dt.date(year, month, day) for year in (1, 1600, 1899, 1970, 2000, 2024, 9999) for month, day in
            ((1, 1), (2, 28), (3, 1), (12, 31))]  # fmt: skip
    since = [(day - dt.date(1970, 1, 1)).days for day in days]
    for kind, cells in (("date", since), ("datetime", [each * MICROS + 5 for each in since])):
        of: Kind = "date" if kind == "date" else "datetime"
        assert computed(tree.Call("year", (leaf(of),)), "integer", cells) == [day.year for day in days]
        assert computed(tree.Call("month", (leaf(of),)), "integer", cells) == [day.month for day in days]


def test_differences_of_times_are_seconds() -> None:
    value = tree.Call("seconds", (tree.Arithmetic("-", leaf("datetime"), leaf("datetime", "b")),))
    assert computed(value, "number", [5, 2_500_005, -1_999_995, None]) == [0.0, 2.5, -2.0, None]
    sql, wide = derived_sql(
        tree.Arithmetic("*", value, value), "number", DUCKDB, lambda column, _: Reading(column.name)
    )
    assert not wide and _selected(sql, [2_500_005], "BIGINT") == [6.25]


def test_integers_beyond_the_largest_are_missing() -> None:
    cells = [LARGEST_INTEGER, LARGEST_INTEGER + 1, -LARGEST_INTEGER, -LARGEST_INTEGER - 1, 7, None]
    own, kept = leaf("integer"), [1, 0, 1, 0, 1, 0]
    read = [cell if cell is not None and abs(cell) <= LARGEST_INTEGER else None for cell in cells]
    assert computed(own, "integer", cells, "HUGEINT", wide=True) == read
    assert passing(tree.IsNull(own, True), cells, "HUGEINT", wide=True) == kept
    assert passing(tree.IsNull(own, False), cells, "HUGEINT", wide=True) == [1 - each for each in kept]
    assert passing(tree.Compare("<>", own, tree.Const("integer", 7)), cells, "HUGEINT", wide=True) == [1, 0, 1, 0, 0, 0]
    sql, wide = derived_sql(
        tree.Call("coalesce", (own,)), "integer", DUCKDB, lambda column, _: Reading(column.name, True)
    )
    assert wide and _selected(sql, [7], "HUGEINT") == [7]


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
def test_literals_beyond_the_cells(op: str) -> None:
    cells = [-(2**63), 0, 2**63 - 1, None]
    for literal in (2**63, -(2**63) - 1, 10**30, -(10**30)):
        holds = {"=": False, "<>": True, "<": literal > 0, "<=": literal > 0, ">": literal < 0, ">=": literal < 0}[op]
        test = tree.Compare(op, leaf("integer"), tree.Const("integer", literal))
        assert passing(test, cells) == [*[int(holds)] * 3, 0]


SHORT, OWN = 'octet_length(CAST("t" AS TEXT)) <= 65536', '(CAST("t" AS TEXT)) COLLATE "C"'
NUL = {
    "t = 'a\0b'": "1 = 0",
    "t <> 'a\0b'": SHORT,
    "t < 'a\0b'": f"({OWN} <= 'a' AND {SHORT})",
    "t <= 'a\0b'": f"({OWN} <= 'a' AND {SHORT})",
    "t > 'a\0b'": f"({OWN} > 'a' AND {SHORT})",
    "t >= 'a\0b'": f"({OWN} > 'a' AND {SHORT})",
    "t IN ('a\0b')": "1 = 0",
    "t NOT IN ('a\0b')": SHORT,
    "t IN ('a\0b', 'c')": f"({OWN} IN ('c') AND {SHORT})",
    "t LIKE 'a\0%'": "1 = 0",
    "t NOT LIKE 'a\0%'": SHORT,
}


@pytest.mark.parametrize("where", NUL, ids=lambda where: where.replace("\0", "0"))
def test_literals_with_a_nul_where_no_text_has_one(where: str) -> None:
    """What is less than 'a' NUL 'b' is at most 'a'."""
    frame = pl.DataFrame({"x": [1.0], "t": ["a"]})
    written = flexdp.query(frame, "x", width=5, where=where, dialect="postgres")
    assert f"FROM source WHERE {NUL[where]}) AS t" in written
    groups = flexdp.query(frame, "x", width=5, by="t", groups=["a\0", "b", "\0c"], dialect="postgres")
    assert """v0 COLLATE "C" IN ('b')""" in groups
