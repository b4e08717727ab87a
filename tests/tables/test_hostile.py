"""Hostile records: two tables that differ in one record must differ in that record's bucket alone.

Each case is a pair. The neighbour without the hostile record gives the counts. With it, every other bucket, the kind,
the keys and the absence of an error must be the same; the record itself may add one to the bucket of its value.
"""

from __future__ import annotations

import datetime as dt
import enum
import math
import subprocess
import sys
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from _support.corpus import CELLS, CSV_LINES, ENGINE_DAYS, INTEGERS, JSON_LINES, NUMBERS, OBJECTS
from _support.private import private_bars, private_counts

import flexdp
from flexdp import DataError, InputError
from flexdp._release.api import prepare

BUCKETINGS: list[dict[str, Any]] = [
    {"width": 5},
    {"width": 5, "bounds": (0, 120)},
    {"width": 5, "bounds": (0, 120), "outside": "drop"},
    {"relative": "0.05"},
    {"relative": "0.05", "bounds": (-10, 120)},
    {"edges": [0, 18, 65, 120]},
    {},
]
ROWS = 400


def difference(before: dict[Any, int], after: dict[Any, int]) -> dict[Any, int]:
    return {k: after.get(k, 0) - before.get(k, 0) for k in before | after if after.get(k, 0) != before.get(k, 0)}


def at_most_one_record(before: dict[Any, int], after: dict[Any, int]) -> None:
    assert list(difference(before, after).values()) in ([], [1])
    assert {type(key) for key in before} >= {type(key) for key in after}


@pytest.mark.parametrize("parameters", BUCKETINGS, ids=str)
@pytest.mark.parametrize("hostile", NUMBERS, ids=repr)
def test_one_strange_number(hostile: float | None, parameters: dict[str, Any]) -> None:
    calm = [float(i % 90) for i in range(ROWS)]
    for build, column, said in [
        (lambda v: pa.table({"x": pa.array(v, pa.float64())}), "x", {}),
        (lambda v: pl.DataFrame({"x": pl.Series(v, dtype=pl.Float64)}), "x", {}),
        (lambda v: np.array([math.nan if c is None else c for c in v]), None, {}),
        (lambda v: list(v), None, {"kind": "number"}),
        (lambda v: pd.DataFrame({"x": pd.Series(v, dtype=object)}), "x", {"kind": "number"}),
    ]:
        before = private_counts(build(calm), column, **said, **parameters)
        after = private_counts(build([*calm, hostile]), column, **said, **parameters)
        at_most_one_record(before, after)


def test_infinities_are_left_out_and_large_numbers_clamped() -> None:
    for hostile, counted in [(math.inf, 0), (-math.inf, 0), (math.nan, 0), (1e300, 1), (-1e300, 1)]:
        for source in (np.array([hostile]), pa.array([hostile])):
            found = private_counts(source, width=5, bounds=(0, 120))
            assert sum(found.values()) == counted, hostile
    assert private_counts(np.array([1e300]), width=5, bounds=(0, 120)) == {117.5: 1}
    assert private_counts(np.array([1e300, 7.0]), width=5) == {7.5: 1}, "beyond 2^53 buckets lies outside"


@pytest.mark.parametrize(
    "parameters", [{"width": 5}, {"width": 5, "bounds": (0, 120)}, {}, {"edges": [0, 9, 120]}], ids=str
)
@pytest.mark.parametrize("hostile", INTEGERS)
def test_one_strange_integer(hostile: int | None, parameters: dict[str, Any]) -> None:
    calm = [i % 90 for i in range(ROWS)]
    for build in (
        lambda v: pa.table({"x": pa.array(v, pa.int64())}),
        lambda v: pl.DataFrame({"x": pl.Series(v, dtype=pl.Int64)}),
        lambda v: pa.table({"x": pa.array(v, pa.decimal128(25, 0))}),
    ):
        at_most_one_record(
            private_counts(build(calm), "x", **parameters), private_counts(build([*calm, hostile]), "x", **parameters)
        )


@pytest.mark.parametrize("kind", ["number", "integer", "text", "date"])
@pytest.mark.parametrize("hostile", [*CELLS, *OBJECTS], ids=[f"cell{i}" for i in range(len(CELLS) + len(OBJECTS))])
def test_one_strange_cell_in_a_list_or_object_column(hostile: Any, kind: str) -> None:
    calm: list[Any] = {
        "number": [float(i % 90) for i in range(ROWS)],
        "integer": [i % 90 for i in range(ROWS)],
        "text": [f"w{i % 9}" for i in range(ROWS)],
        "date": [dt.date(2020, 1, 1 + i % 28) for i in range(ROWS)],
    }[kind]
    for build, column in ((list, None), (lambda v: pd.DataFrame({"x": pd.Series(v, dtype=object)}), "x")):
        for parameters in [{}] if kind == "text" else [{}, {"width": 2}]:
            before = private_counts(build(calm), column, kind=kind, **parameters)
            at_most_one_record(before, private_counts(build([*calm, hostile]), column, kind=kind, **parameters))


PLACES = [(name, place) for name in CSV_LINES for place in ("first", "middle", "last")]
PLACES += [("no newline at the end", "last")]


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_one_strange_line_of_csv(tmp_path: Path, name: str, place: str) -> None:
    calm = [f"r{i},{i % 90}\n".encode() for i in range(ROWS)]
    at = {"first": 0, "middle": ROWS // 2, "last": ROWS}[place]
    hostile = [*calm[:at], CSV_LINES.get(name, b"a,5"), *calm[at:]]
    counts = {}
    for file, lines in (("calm.csv", calm), ("hostile.csv", hostile)):
        path = tmp_path / file
        path.write_bytes(b"name,age\n" + b"".join(lines))
        for kind, column in (("number", "age"), ("integer", "age"), ("text", "name"), ("date", "age")):
            counts[file, kind] = private_counts(path, column, kind=kind)
    for kind in ("number", "integer", "date"):
        before, after = counts["calm.csv", kind], counts["hostile.csv", kind]
        assert sum(difference(before, after).values()) in (0, 1)
        at_most_one_record(before, after)
    before, after = counts["calm.csv", "text"], counts["hostile.csv", "text"]
    # A carriage return ends a physical line, so a new line follows it.
    assert sum(difference(before, after).values()) <= (2 if name == "lone carriage return" else 1)
    assert all(change == 1 for change in difference(before, after).values())


def test_quoted_cells_are_unquoted(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text('name,"my age",z\n"a ""b"", c",7,1\nplain," 8 ",2\n"",9,3\n')
    assert private_counts(path, "name") == {'a "b", c': 1, "plain": 1}
    assert private_counts(path, "my age", kind="integer") == {7: 1, 8: 1, 9: 1}
    assert private_counts(path, "z", kind="integer") == {1: 1, 2: 1, 3: 1}


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_the_header_tells_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "d.csv"
    rows = [["a", "b", "c"], ["1", "2,5;7|8"[:3] if delimiter == ";" else "2", "3"]]
    path.write_text("\n".join(delimiter.join(row) for row in rows))
    assert private_counts(path, "c", kind="integer") == {3: 1}
    assert private_counts(path, "a", kind="integer", delimiter=delimiter) == {1: 1}


@pytest.mark.parametrize("kind", ["number", "integer", "text", "date"])
@pytest.mark.parametrize("name", JSON_LINES)
def test_one_strange_line_of_json(tmp_path: Path, name: str, kind: str) -> None:
    calm = [b'{"id": %d, "age": %d}\n' % (i, i % 90) for i in range(ROWS)]
    hostile = [*calm[: ROWS // 2], JSON_LINES[name], *calm[ROWS // 2 :]]
    counts = []
    for lines in (calm, hostile):
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"".join(lines))
        counts.append(private_counts(path, "age", kind=kind))
    at_most_one_record(*counts)


def test_keys_of_json_need_no_escaping_by_the_user(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    path.write_text('{"a.b": 1, "c/d~e": 2, "q\'": 3, "$": 4}\n')
    for key, value in (("a.b", 1), ("c/d~e", 2), ("q'", 3), ("$", 4)):
        assert private_counts(path, key, kind="integer") == {value: 1}
    assert private_counts(path, "absent", kind="integer") == {}


@pytest.mark.parametrize("days", ENGINE_DAYS)
def test_one_strange_date(days: str | None) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT DATE '2020-01-01' + CAST(i % 20 AS INTEGER) AS d FROM range(400) r(i)")
    before = private_counts(con.table("t"), "d"), private_counts(con.table("t"), "d", width=7)
    con.execute("INSERT INTO t VALUES (CAST(? AS DATE))", [days])
    at_most_one_record(before[0], private_counts(con.table("t"), "d"))
    at_most_one_record(before[1], private_counts(con.table("t"), "d", width=7))


def test_pandas_numbers_are_numbers_with_or_without_a_missing_cell() -> None:
    whole = pd.DataFrame({"x": [1, 2, 3]})
    holed = pd.DataFrame({"x": [1, 2, 3, None]})
    assert whole["x"].dtype != holed["x"].dtype
    assert private_counts(whole, "x", width=2) == private_counts(holed, "x", width=2) == {1.0: 1, 3.0: 2}
    asked = [private_counts(frame, "x", width=2, kind="integer") for frame in (whole, holed)]
    assert asked == [{0.5: 1, 2.5: 2}] * 2


def test_partitioned_folders_add_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    con = duckdb.connect()
    con.execute(f"COPY (SELECT 5.0 AS x) TO '{folder / 'a.parquet'}' (FORMAT parquet)")
    with pytest.raises(Exception, match="no column named 'year'"):
        private_counts(str(tmp_path / "*" / "*.parquet"), "year")
    assert private_counts(str(tmp_path / "**" / "*.parquet"), "x") == {5.0: 1}


def test_file_names_are_not_patterns(tmp_path: Path) -> None:
    (tmp_path / "a[1]*?.csv").write_text("x\n1\n")
    (tmp_path / "a1b.csv").write_text("x\n2\n")
    (tmp_path / "it's.csv").write_text("x\n3\n")
    assert private_counts(tmp_path / "a[1]*?.csv", "x") == {"1": 1}
    assert private_counts(tmp_path / "it's.csv", "x") == {"3": 1}


def test_column_names_are_not_sql(tmp_path: Path) -> None:
    name = 'x"; DROP TABLE t; --'
    assert private_counts(pa.table({name: [1.0]}), name) == {1.0: 1}
    con = duckdb.connect()
    con.register("frame", pa.table({name: [1.0], "y": [2.0]}))
    con.execute(f"COPY frame TO '{tmp_path / 'a.parquet'}' (FORMAT parquet)")
    assert private_counts(tmp_path / "a.parquet", name) == {1.0: 1}
    con.execute("CREATE TABLE held AS FROM frame")
    assert private_counts(con.table("held"), name) == {1.0: 1}


def test_equal_keys_are_summed_before_the_noise() -> None:
    assert private_counts(pa.table({"x": [0.0, -0.0]}), "x") == {0.0: 2}
    assert private_counts(np.array([0.0, -0.0])) == {0.0: 2}
    assert private_counts([1, 1.0, True, "1"], kind="number") == {1.0: 4}
    assert private_counts([1, 1.0, True, "1"], kind="integer") == {1: 4}


def test_every_line_end_ends_a_line_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    for raw, wanted in [
        (b"n,t\r\n1,a\r\n5,x\r\r\n2,b\r\n", {1: 1, 5: 1, 2: 1}),
        (b"n,t\r1,a\r2,b", {1: 1, 2: 1}),
        (b"n,t\n1,a\n\r2,b\n\n\n3,c", {1: 1, 2: 1, 3: 1}),
        (b"n\n5\x1f6\n7\n8\x1f9\x1f1\n", {7: 1}),
    ]:
        path.write_bytes(raw)
        assert private_counts(path, "n", kind="integer") == wanted


def test_text_that_is_no_text_fails_like_any_damage() -> None:
    bad = pa.array([b"a", b"SECRET\xff"], pa.binary()).view(pa.string())
    frames = [pa.table({"x": bad}).to_pandas(types_mapper=pd.ArrowDtype)]
    if int(pd.__version__.split(".")[0]) > 2:  # the texts of pandas 2 are decoded here and now
        frames.append(pa.table({"x": bad}).to_pandas())
    for source, column in ((bad, None), (pa.table({"x": bad}), "x"), *((frame, "x") for frame in frames)):
        with pytest.raises(DataError) as failure:
            private_counts(source, column, kind="text")
        assert "SECRET" not in "".join(traceback.format_exception(failure.value))


def test_distant_datetimes_are_outside() -> None:
    day = dt.date(1970, 1, 1)
    for source in (
        pl.Series([0, 10**17]).cast(pl.Datetime("ms")),
        pa.array([0, 10**14], pa.int64()).view(pa.timestamp("s")),
        np.array([0, 10**17], dtype="datetime64[s]"),
        np.array([0, 10**14], dtype="datetime64[Y]"),
        np.array([0, 10**14], dtype="datetime64[M]"),
        np.array([0, 10**18], dtype="datetime64[W]"),
        np.array([0], dtype="datetime64[25h]"),
        np.array([0], dtype="datetime64[as]"),
        np.array([0, "NaT"], dtype="datetime64[ps]"),
    ):
        assert private_counts(source, kind="date") == {day: 1}, source
    assert private_counts(pd.Series([pd.Timestamp.min]), kind="date") == {dt.date(1677, 9, 21): 1}
    assert private_counts([np.datetime64(-(2**63) + 1, "ns")], kind="date") == {dt.date(1677, 9, 21): 1}
    assert private_counts(np.array(["1969-12-31T23:59:59"], dtype="datetime64[s]"), kind="date") == {
        dt.date(1969, 12, 31): 1
    }


@pytest.mark.parametrize(
    ("values", "parameters", "wanted"),
    [
        ([-5, 5], {"width": 2**62, "bounds": (-(2**63), 2**63 - 1)}, [1, 2]),
        ([1], {"bounds": (0, 10**20)}, [1]),
        ([1, 10**19], {"bounds": (0, 10**20)}, [1, 10**19]),
        ([1, 2**63], {"width": 2**62, "bounds": (0, 2**64 - 1)}, [0, 2]),
    ],
)
def test_integers_at_the_limits_of_a_type(values: list[int], parameters: dict[str, Any], wanted: list[int]) -> None:
    sources: list[tuple[Any, dict[str, Any]]] = [(values, {"kind": "integer"})]
    sources += [(pa.array([Decimal(v) for v in values], pa.decimal128(38, 0)), {})]
    if max(values) < 2**63:
        sources += [(np.array(values), {}), (pa.array(values, pa.int64()), {})]
    if min(values) >= 0:
        sources += [(np.array(values, dtype=np.uint64), {}), (np.array(values, dtype=">u8"), {})]
    for source, said in sources:
        request = prepare(source, **parameters, **said)
        assert private_bars(request).parts[0].tolist() == wanted, source


def test_whole_numbers_are_compared_as_whole_numbers() -> None:
    for values, low in (([2.0**24], 2**24 + 1), ([2.0**53], 2**53 + 1)):
        for dtype in (np.float32, np.float64):
            found = private_counts(
                np.array(values, dtype=dtype), kind="integer", width=10, bounds=(low, low + 99), outside="drop"
            )
            assert found == {}
    for source in ([1.0, 1e300, 2e37], np.array([1.0, 1e300, 2e37]), pa.array([1.0, 1e300, 2e37])):
        assert private_counts(source, kind="integer", width=10, bounds=(0, 100)) == {4.5: 1}
    exact = Decimal("12345678901234567.00")
    for source in ([exact], pa.array([exact], pa.decimal128(30, 2))):
        assert private_counts(source, kind="integer") == {12345678901234567: 1}
    assert private_counts([Decimal(10**29)], kind="integer") == {10**29: 1}


def test_collations_do_not_merge_keys() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE n (x VARCHAR COLLATE nocase)")
    con.execute("INSERT INTO n VALUES ('Bob'), ('bob'), ('bob')")
    con.execute("CREATE TABLE source (y INTEGER)")
    assert private_counts(con.table("n"), "x") == {"Bob": 1, "bob": 2}
    con.execute("SET default_collation = 'nocase'")
    con.execute("CREATE TABLE m AS SELECT * FROM (VALUES ('Bob'), ('bob')) t(x)")
    assert private_counts(con.table("m"), "x") == {"Bob": 1, "bob": 1}


def test_names_that_differ_in_case_are_different_columns(tmp_path: Path) -> None:
    import pyarrow.parquet

    table = pa.table({"x": [1.0], "X": [2.0]})
    path = tmp_path / "case.parquet"
    pyarrow.parquet.write_table(table, path)
    for source in (path, table, pl.from_arrow(table)):
        assert private_counts(source, "x") == {1.0: 1}
        assert private_counts(source, "X") == {2.0: 1}


def test_no_warning_tells_of_a_cell() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        huge = np.array([1.0, np.longdouble("1e4000")])
        assert private_counts(huge, width=5) == private_counts(huge, width=5, bounds=(0, 9)) == {2.5: 1}
        assert private_counts([np.float16(5), np.float16("inf")], kind="integer") == {5: 1}


def test_keys_keep_their_type_beside_any_neighbour() -> None:
    for calm, hostile, parameters in [
        ([1, 2], 2**60, {"width": 2}),
        ([1], 10, {"width": 3, "bounds": (0, 10)}),
        ([1], 2**70, {}),
    ]:
        before = prepare(calm, kind="integer", **parameters)  # type: ignore[arg-type]
        keys = [
            request.partition.centres(private_bars(request).parts[0]).tolist()
            for request in (before, prepare([*calm, hostile], kind="integer", **parameters))  # type: ignore[arg-type]
        ]
        assert [(key, type(key)) for key in keys[0]] == [(key, type(key)) for key in keys[1][: len(keys[0])]]


def test_keys_at_the_end_of_the_doubles_can_be_read() -> None:
    largest = 1.7976931348623157e308
    for parameters in ({"relative": "0.4775"}, {"width": "1e300"}, {"width": "1e295"}, {"exact": True}):
        released: Any = flexdp.release(np.array([1.0] * 500 + [largest] * 500), epsilon=1, delta=1e-3, **parameters)  # type: ignore[call-overload]
        assert released.max().value >= 1e300
        assert "Highest value: " in str(released.max())
        assert str(released.range())
    near = flexdp.release(np.array([2.0**51 + 1, 2.0**51 - 1] * 500), epsilon=1, delta=1e-3, width=1)
    assert len(near.histogram) == len(near.bars)


def test_columns_beyond_the_thousandth_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"c{i}" for i in range(1200)]
    path.write_text(",".join(names) + "\n" + ",".join(["7"] * 1200) + "\n")
    assert private_counts(path, "c999", kind="integer") == {7: 1}
    with pytest.raises(InputError, match="beyond the first 1001 columns"):
        private_counts(path, "c1150", kind="integer")


def test_decimals_near_the_limit_of_their_type() -> None:
    for scale, cells in [
        (38, ["0", "-0.5"]),
        (20, ["5", "-999999999999999999.5"]),
        (1, ["5", "-999999999999999999999999999999999999.5"]),
    ]:
        array = pa.array([Decimal(cell) for cell in cells], pa.decimal128(38, scale))
        for parameters in ({}, {"width": 2}, {"width": 2, "bounds": (0, 9)}):
            found = private_counts(array, kind="integer", **parameters)
            assert sum(found.values()) == 1


def test_a_datetime_before_1970_is_of_its_own_day() -> None:
    for unit in ("s", "ms", "us", "ns"):
        before = {dt.date(1969, 12, 31): 1}
        assert private_counts(pa.array([-1], pa.int64()).view(pa.timestamp(unit)), kind="date") == before, unit
        assert private_counts(np.array([-1], dtype=f"datetime64[{unit}]"), kind="date") == before


def test_one_file_named_twice_is_refused(tmp_path: Path) -> None:
    path, link = tmp_path / "d.csv", tmp_path / "link.csv"
    path.write_text("a\n1\n")
    link.symlink_to(path)
    for files in ([path, path], [str(tmp_path / "d*.csv"), path], [path, link]):
        with pytest.raises(InputError, match="more than once"):
            private_counts(files, "a")


def test_tiny_decimals_do_not_hang() -> None:
    assert private_counts([Decimal("1E-9999999"), Decimal("1E+9999999"), 1], kind="integer") == {1: 1}
    assert private_counts([Decimal("1E-9999999"), 1], kind="number") == {0.0: 1, 1.0: 1}


def test_integers_at_the_limit_are_read_alike() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE h AS SELECT CAST('10000000000000000000000000000000000000' AS HUGEINT) AS x")
    for outside in ("clamp", "drop"):
        for source, column, said in ((con.table("h"), "x", {}), ([10**37], None, {"kind": "integer"})):
            assert private_counts(source, column, bounds=(0, 10**37), outside=outside, **said) == {}


@pytest.mark.parametrize(
    "parameters",
    [
        {"width": 5}, {"relative": 0.05}, {"edges": [0, 10, 50]}, {"width": 5, "bounds": (0, 50)},
        {"width": 5, "bounds": (0, 50), "outside": "drop"}, {"ask": ["max", "median"]}, {}, {"width": 5, "by": "g"},
        {"ask": ["mean"], "bounds": (0, 50)}, {"width": 5, "unit": "g", "max_buckets_per_unit": 1},
        {"width": 5, "where": "x + g >= 0 OR x BETWEEN -3 AND 2.5 OR 1.5 * g > x"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_one_unsigned_integer_beyond_127_bits_raises_nothing(parameters: dict[str, Any], kind: str) -> None:
    """Neighbouring tables: one more record, of the largest value that fits, or of the first that does not."""
    for more in (None, 2**127 - 1, 2**127, 2**128 - 1):
        con = duckdb.connect()
        con.execute("CREATE TABLE t AS SELECT (range % 50)::UHUGEINT AS x, (range % 3)::UHUGEINT AS g FROM range(3000)")
        if more is not None:
            con.execute(f"INSERT INTO t VALUES ({more}, {more})")
        assert flexdp.release((con, "t"), "x", epsilon=1, delta=1e-6, kind=kind, **parameters).privacy.epsilon == 1


def test_one_unsigned_integer_beyond_127_bits_moves_one_bar() -> None:
    found = {}
    for column in ("UHUGEINT", "HUGEINT"):
        for more in ((), (2**127 - 1,), (2**127,), (2**128 - 1,)):
            if column == "HUGEINT" and more > (2**127 - 1,):
                continue
            con = duckdb.connect()
            con.execute(f"CREATE TABLE t (x {column})")
            for cell in (1, 2, 2, 10**16, *more):
                con.execute(f"INSERT INTO t VALUES ({cell})")
            found[column, more] = [
                private_counts((con, "t"), "x", **how)
                for how in ({"width": 1}, {"width": 1, "bounds": (0, 9)}, {"kind": "number", "width": 1}, {})
            ]
    for (column, more), counts in found.items():
        for before, after in zip(found[column, ()], counts, strict=True):
            moved = {key for key in {*before, *after} if before.get(key) != after.get(key)}
            assert len(moved) <= 1 and sum(after.values()) - sum(before.values()) == len(moved), (column, more)
        if (same := found.get(("HUGEINT", more))) is not None:
            assert counts == same
    assert found["UHUGEINT", (2**127,)][1] == found["UHUGEINT", (2**127 - 1,)][1]  # clamped alike, or left out alike


@pytest.mark.parametrize("lazy", [False, True])
def test_names_with_nul_are_refused_before_polars_ends_the_process(lazy: bool) -> None:
    """Each in a process of its own: what is tested for cannot be caught."""
    program = """
import sys
import polars as pl
import flexdp
nested = [[{"f\\0g": 1}]] * 9
frame = pl.DataFrame({"a\\0b": [1] * 9, "t\\0": pl.Series([0] * 9, dtype=pl.Datetime), "n": nested, "x": [1] * 9})
frame = frame.lazy() if sys.argv[1] == "True" else frame
for options in ({"column": "a\\0b"}, {"column": "t\\0"}, {"column": "n"}, {"column": "x", "by": "a\\0b"},
                {"column": "x", "unit": "a\\0b", "max_buckets_per_unit": 1}):
    try:
        flexdp.release(frame, **options, epsilon=1, delta=1e-6, width=1)
    except flexdp.InputError as error:
        print("NUL" in str(error), error.__context__)
print(flexdp.release(frame, "x", epsilon=1, delta=1e-6, width=1).max_drop > 0)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, str(lazy)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ran.returncode, ran.stdout.split()) == (0, ["True", "None"] * 5 + ["True"])


def test_subclasses_of_text_are_their_text() -> None:
    class Colour(str, enum.Enum):  # noqa: UP042
        RED = "red"

    assert private_counts([Colour.RED, "red"], kind="text") == {"red": 2}


def test_edges_whose_middles_coincide_are_refused() -> None:
    ulp = Fraction(1, 2**52)
    with pytest.raises(InputError, match="too close"):
        private_counts(np.array([1.0]), edges=[1 + ulp, 1 + 2 * ulp, 1 + 3 * ulp])


@pytest.mark.parametrize(
    "parameters",
    [
        {"width": Fraction(10**5000)}, {"width": Fraction(1, 10**5000)}, {"bounds": (0, Fraction(10**5000))},
        {"kind": 10**5000}, {"outside": 10**5000}, {"kind": np.array(["a", "b"])}, {"outside": np.array(["a", "b"])},
        {"kind": pd.NA}, {"bounds": np.array(5)}, {"edges": np.array(5)}, {"bounds": {8, 1}}, {"bounds": {5: 0, 2: 0}},
        {"bounds": pd.Series([5, 1], index=["a", "b"])}, {"edges": iter([1, 2])},
    ],
    ids=[f"case{i}" for i in range(14)],
)  # fmt: skip
def test_parameters_of_the_wrong_make_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(parameters))):
        private_counts([1.0], **{"kind": "number", **parameters})


def test_odd_declarations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        private_counts(np.array(["NaT"], dtype="datetime64"), kind="date")
    path = tmp_path / "j.jsonl"
    path.write_text("{}\n")
    with pytest.raises(InputError, match="UTF-8"):
        private_counts(path, "\ud800")
    wide = tmp_path / "w.csv"
    wide.write_text("x" * 200_000 + ",y\n1,2\n")
    with pytest.raises(InputError, match="header"):
        private_counts(wide, "y")


@pytest.mark.parametrize(
    "parameters",
    [
        {"column": "\ud800", "width": 1}, {"column": "x", "width": 1, "by": "\ud800"},
        {"column": ["x", "\ud800"], "width": 1}, {"column": ["x", "\ud800"], "width": 1, "separately": True},
        {"column": "x", "width": 1, "unit": "\ud800", "max_buckets_per_unit": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_column_whose_name_cannot_be_written_is_refused(parameters: dict[str, Any]) -> None:
    """pandas allows such names, but no document, page or terminal could show them."""
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1, 2]})
    frame.columns = pd.Index(["x", "\ud800"], dtype=object)
    with pytest.raises(InputError, match="must be a text that UTF-8 can represent"):
        prepare(frame, **parameters)


def test_other_texts_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(InputError, match="delimiter must be a single character"):
        prepare(path, "x", delimiter="\ud800")
    for name in ("\ud800.db", "\0.db"):
        with pytest.raises(InputError, match="must name a file"):
            prepare((name, "visits"), "x")
