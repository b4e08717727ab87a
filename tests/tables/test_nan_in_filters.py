"""Filters on Parquet files whose statistics hide NaN: the records that pass are those of plain Python.

DuckDB trusts statistics, so that comparisons alone let NaN pass. Where the key is a double, a zero that is added to the
released number leaves such records out, and elsewhere a test. The oracle knows neither.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _support.filters import Truth, both, compare, either, limited, negation, negative, plus
from _support.private import private_bars

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.sharp.ranks import Request
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.session import engines_kept
from flexdp.tables.ranks import open_ranks

NAN, INF = math.nan, math.inf
Row = dict[str, Any]
Test = tuple[str, Callable[[Row], Truth]]

# Each of these is a column of numbers; the statistics of most leave no trace of what does not count.
COLUMNS: dict[str, list[float | None]] = {
    "one value": [5.0, NAN],
    "one value or none": [5.0, NAN, None],
    "two values": [2.0, 5.0, NAN],
    "both signs": [-2.0, 0.0, -0.0, NAN],
    "an infinity": [2.0, 5.0, NAN, INF],
    "the other infinity": [2.0, 5.0, NAN, -INF],
    "everything": [2.0, None, 5.0, INF, NAN, -INF],
    "nothing": [NAN, None],
    "zero": [0.0, NAN],
    "the smallest": [5e-324, NAN],
    "the largest": [-sys.float_info.max, sys.float_info.max, NAN],
}
SIGNS = ("=", "<>", "<", "<=", ">", ">=")


def rows_of(column: Sequence[float | None]) -> list[Row]:
    """Every pair of cells y and z, three times, each time in a row group of its own, whose statistics hide NaN."""
    pairs = list(product(column, [1.0, 5.0, NAN]))
    start = dt.datetime(2024, 3, 31, tzinfo=dt.UTC)
    return [
        {
            "k": k,
            "x": float(k),
            "y": y,
            "z": z,
            "g": "ab"[k % 2],
            "u": k // 4,
            "i": 10 * k - 40,
            "s": start + dt.timedelta(hours=k),
        }
        for k, (y, z) in enumerate(pairs * 3)
    ]


def written(path: Path, rows: Sequence[Row], *, number: Any = None) -> Path:
    types = {"k": pa.int64(), "x": pa.float64(), "y": number or pa.float64(), "z": pa.float64(), "g": pa.string()}
    types |= {"u": pa.int64(), "i": pa.int64(), "s": pa.timestamp("us", "UTC")}
    table = {name: pa.array([row[name] for row in rows], kind, from_pandas=False) for name, kind in types.items()}
    pq.write_table(pa.table(table), path, row_group_size=max(1, len(rows) // 3))
    return path


def cell(row: Row, name: str) -> Any:
    value = row[name]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def comparison(name: str, sign: str, value: float) -> Test:
    return f"{name} {sign} {value}", lambda row: compare(sign, cell(row, name), value)


def known(name: str, test: Callable[[Any], bool]) -> Callable[[Row], Truth]:
    return lambda row: None if cell(row, name) is None else test(cell(row, name))


ATOMS: list[Test] = [
    *(comparison("y", sign, value) for sign in SIGNS for value in (-9, 0, 2, 5, 9)),
    *((f"y {sign} z", lambda row, sign=sign: compare(sign, cell(row, "y"), cell(row, "z"))) for sign in SIGNS),
    ("9 > y", known("y", lambda y: y < 9)),
    ("y BETWEEN 2 AND 5", known("y", lambda y: 2 <= y <= 5)),
    ("y BETWEEN -1e300 AND 1e300", known("y", lambda y: abs(y) <= 1e300)),
    ("y NOT BETWEEN 3 AND 4", known("y", lambda y: not 3 <= y <= 4)),
    ("y IN (2, 5, 7)", known("y", lambda y: y in (2, 5, 7))),
    ("y IN (5)", known("y", lambda y: y == 5)),
    ("y NOT IN (2, 7)", known("y", lambda y: y not in (2, 7))),
    ("y NOT IN (7)", known("y", lambda y: y != 7)),
    ("y IS NULL", lambda row: cell(row, "y") is None),
    ("y IS NOT NULL", lambda row: cell(row, "y") is not None),
    ("y + 1 > 0", lambda row: compare(">", plus(limited(cell(row, "y")), 1.0), 0)),
    ("-y < 9", lambda row: compare("<", negative(limited(cell(row, "y"))), 9)),
    ("y + z > 0", lambda row: compare(">", plus(limited(cell(row, "y")), limited(cell(row, "z"))), 0)),
    ("coalesce(y, 7) >= 5", lambda row: compare(">=", 7.0 if cell(row, "y") is None else cell(row, "y"), 5)),
    ("CASE WHEN y < 9 THEN 1 ELSE 0 END = 0", lambda row: compare("<", cell(row, "y"), 9) is not True),
]
OTHERS: list[Test] = [
    comparison("y", "<", 9),
    comparison("z", ">=", 1),
    comparison("x", "<", 1000),
    comparison("k", "<>", 4),
    ("g = 'a'", known("g", lambda g: g == "a")),
    ("y IS NULL", lambda row: cell(row, "y") is None),
]
FEW = [
    (text, oracle)
    for text, oracle in ATOMS
    if text in ("y < 9", "y > 0", "y <> 9", "y <= z", "y NOT BETWEEN 3 AND 4", "y NOT IN (7)", "y IS NOT NULL")
]


def joined(first: Test, word: str, second: Test) -> Test:
    combine = both if word == "AND" else either
    return f"({first[0]}) {word} ({second[0]})", lambda row: combine(first[1](row), second[1](row))


def negated(test: Test) -> Test:
    return f"NOT ({test[0]})", lambda row: negation(test[1](row))


def composed() -> Iterator[Test]:
    for word, (first, second) in product(("AND", "OR"), product(FEW, OTHERS)):
        yield joined(first, word, second)
        yield negated(joined(first, word, second))
    y, z = comparison("y", "<", 9), comparison("z", "<", 9)
    yield joined(joined(y, "AND", z), "OR", joined(z, "AND", comparison("y", ">", 1)))  # both numbers in both
    yield joined(joined(y, "OR", OTHERS[4]), "AND", z)  # only z in all
    yield joined(joined(y, "AND", z), "OR", negated(y))  # only y in all


SIMPLE = [*ATOMS, *(negated(atom) for atom in ATOMS)]
COMPOSED = list(composed())
MOST = ("one value", "everything")  # which the longer tests are made with
EACH_ITS_OWN = {"column": "x", "width": 1}  # one bucket for every record
PARTITIONS: list[dict[str, Any]] = [
    EACH_ITS_OWN,
    {"column": "x", "width": 5},
    {"column": "x", "width": 5, "bounds": (3, 20)},
    {"column": "x", "width": 5, "bounds": (-10, 20)},
    {"column": "x", "width": 5, "bounds": (3, 20), "outside": "drop"},
    {"column": "x", "edges": [0, 5, 120]},
    {"column": "x", "relative": "0.1"},
    {"column": "x", "exact": True},
    {"column": "k", "exact": True},
    {"column": "k", "width": 5},
    {"column": "g", "exact": True},
    {"column": "s", "width": "1 day", "zone": "Europe/Berlin"},
    {"column": "y", "width": 1},
    {"column": "y", "width": 1, "bounds": (0, 4)},
    {"column": "y", "exact": True},
    {"column": "x", "width": 5, "by": "g"},
    {"column": "x", "width": 5, "by": "g", "groups": ["a", "c"]},
    {"column": "x", "width": 5, "by": "i"},
    {"column": "x", "width": 5, "bounds": (0, 20), "by": ["g", "u"]},
    {"column": ["x", "i"], "width": 5},
    {"column": ["k", "y"], "width": 5},
    {"column": ["x", "y"], "width": 5, "bounds": (0, 20)},
    {"column": "x", "width": 5, "unit": "u", "max_buckets_per_unit": 1},
    {"column": "x", "width": 1, "unit": "u", "max_buckets_per_unit": 2},
    {"column": "x", "width": 1, "unit": "u", "per_unit": "max"},
    {"column": "x", "width": 1, "by": "g", "unit": "u", "per_unit": "min"},
    {"column": "x", "width": 1, "bounds": (0, 99), "unit": "u", "per_unit": "mean"},
    {"column": "sum", "derive": {"sum": "x + y"}, "width": 1},
    {"column": "x", "derive": {"half": "y / 2"}, "width": 1, "and": "half < 99"},
]


def bars(source: Any, options: dict[str, Any], where: str | None = None) -> dict[Any, int]:
    extra = options.get("and")
    options = {name: value for name, value in options.items() if name != "and"}
    tests = [f"({test})" for test in (where, extra) if test is not None]
    found = private_bars(prepare(source, **options, where=" AND ".join(tests) or None))
    return dict(zip(found.rows(slice(None)), found.counts.tolist(), strict=True))


def wrong(folder: Path, column: Sequence[float | None], tests: Sequence[Test], options: dict[str, Any]) -> list[str]:
    """The tests that let other records pass than the oracle."""
    rows, out = rows_of(column), []
    whole, some = written(folder / "whole.parquet", rows), folder / "some.parquet"
    with engines_kept():
        for where, oracle in tests:
            written(some, [row for row in rows if oracle(row) is True])
            if bars(whole, options, where) != bars(some, options):
                out.append(where)
    return out


@pytest.mark.parametrize("column", COLUMNS)
def test_the_records_that_pass_are_those_of_plain_python(column: str, tmp_path: Path) -> None:
    rows = rows_of(COLUMNS[column])
    path = written(tmp_path / "t.parquet", rows)
    with engines_kept():
        for where, oracle in [*SIMPLE, *(COMPOSED if column in MOST else ())]:
            passed = [(row["k"],) for row in rows if oracle(row) is True]
            try:
                found = sorted(bars(path, EACH_ITS_OWN, where))
            except InputError as refusal:
                assert "no record can " in str(refusal), where
                found = []
            assert found == passed, where


@pytest.mark.parametrize("column", MOST)
def test_a_number_equals_itself_unless_it_is_missing(column: str, tmp_path: Path) -> None:
    rows = rows_of(COLUMNS[column])
    path = written(tmp_path / "t.parquet", rows)
    present = [(row["k"],) for row in rows if cell(row, "y") is not None]
    for where in ("y = y", "y >= y", "y <= y"):  # what no record can pass, NOT (y = y) too, is refused
        assert sorted(bars(path, EACH_ITS_OWN, where)) == present, where


@pytest.mark.parametrize("options", PARTITIONS, ids=str)
@pytest.mark.parametrize("column", MOST)
def test_the_same_records_are_counted_by_every_partition(column: str, options: dict[str, Any], tmp_path: Path) -> None:
    assert wrong(tmp_path, COLUMNS[column], FEW, options) == []


def test_narrow_numbers_and_relations_are_filtered_alike(tmp_path: Path) -> None:
    for column, number in product(MOST, (pa.float32(), pa.float64())):
        rows = rows_of(COLUMNS[column])
        relation = duckdb.connect().read_parquet(str(written(tmp_path / "t.parquet", rows, number=number)))
        for where, oracle in FEW:
            passed = [(row["k"],) for row in rows if oracle(row) is True]
            assert sorted(bars(relation, EACH_ITS_OWN, where)) == passed, where


def test_several_columns_are_counted_under_one_filter(tmp_path: Path) -> None:
    rows = rows_of(COLUMNS["one value"])
    path = written(tmp_path / "t.parquet", rows)
    for where, oracle in FEW:
        questions = prepare(path, ["x", "i"], width=1, separately=True, where=where).questions
        passed = [row for row in rows if oracle(row) is True]
        found = questions[0].table.count([question.counting for question in questions])
        assert [sorted(each.rows(slice(None))) for each in found] == [[(row[n],) for row in passed] for n in ("k", "i")]


def test_ranks_are_those_of_the_records_that_pass(tmp_path: Path) -> None:
    rows = rows_of(COLUMNS["one value"])
    path = written(tmp_path / "t.parquet", rows)
    for column, (where, oracle) in product(("x", "k"), FEW):
        (question,) = prepare(path, column, ask=["max"], where=where).questions
        with open_ranks(question.table, question.counting) as ranks:
            assert ranks.fetch(Request(cuts=())).total == sum(oracle(row) is True for row in rows), where


@pytest.mark.parametrize(
    "nought",
    ["0e0", "CASE WHEN isnan({0}) THEN 'nan' ELSE 0e0 END", "CASE WHEN {0} BETWEEN -1e308 AND 1e308 THEN 0e0 END"],
)
@pytest.mark.parametrize("options", PARTITIONS[:9], ids=str)
def test_without_the_difference_nan_passes(
    options: dict[str, Any], nought: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: none at all, and two that statistics decide."""
    monkeypatch.setattr(type(DUCKDB), "finite", lambda _, expression: f"{nought.format(f'({expression})')} = 0e0")
    assert wrong(tmp_path, COLUMNS["two values"], [comparison("y", "<", 9)], options) == ["y < 9"]


def test_every_number_in_a_filter_is_tested(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", rows_of(COLUMNS["everything"]))
    for options in PARTITIONS:
        where = f"y < 9 AND {options['and']}" if "and" in options else "y < 9"
        text = flexdp.query(path, **{n: v for n, v in options.items() if n != "and"}, where=where)
        assert '(CAST("y" AS DOUBLE)) - (CAST("y" AS DOUBLE)) = 0e0' in text, options
