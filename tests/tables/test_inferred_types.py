"""Inferred types: one cell may change the type that a library infers, and must change nothing else."""

from __future__ import annotations

import datetime as dt
import io
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from _support.corpus import INFERRED
from _support.private import private_bars, private_counts

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp._release.reading import warn_of_reading
from flexdp.tables.column import Column
from flexdp.tables.opening import open_table

ROWS = 120
CALM = {
    "integer": [f"{i % 9 + 1:02d}" for i in range(ROWS)],
    "number": [f"{i % 9 + 1}.5" for i in range(ROWS)],
    "boolean": [("True", "False")[i % 2] for i in range(ROWS)],
    "date": [f"2024-05-{i % 9 + 10}" for i in range(ROWS)],
    "text": [f"w{i % 9}" for i in range(ROWS)],
}


def tally(source: Any, column: Any, salt: str = "fixed", **parameters: Any) -> dict[Any, int]:
    bars = private_bars(prepare(source, column, **parameters), salt)
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def moved(before: dict[Any, int], after: dict[Any, int]) -> list[int]:
    return [change for key in before | after if (change := after.get(key, 0) - before.get(key, 0))]


def read(cells: list[str], **options: Any) -> pd.DataFrame:
    lines = [f"{cell},{place % 40},u{place}" for place, cell in enumerate(cells)]
    return pd.read_csv(io.StringIO("\n".join(["c,x,id", *lines])), **options)


WAYS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "as read": lambda frame: frame,
    "category": lambda frame: frame.assign(c=frame["c"].astype("category")),
    "object": lambda frame: frame.assign(c=frame["c"].astype(object)),
}


ROLES = {
    "value": ("integer", "number", "boolean", "date"),
    "buckets": ("integer", "number", "boolean", "date"),
    "group": ("integer", "boolean", "date"),
    "unit": ("integer", "date"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("role", "kind"), [(role, kind) for role, kinds in ROLES.items() for kind in kinds])
def test_one_cell_that_changes_a_dtype_changes_no_other_bucket(role: str, kind: str, way: str) -> None:
    asked: dict[str, Any] = {
        "value": {"column": "c", "kind": kind},
        "buckets": {"column": "c"} | ({"width": 2} if kind != "date" else {"kind": "date", "width": "2 days"}),
        "group": {"column": "x", "width": 5, "by": "c", "by_kind": kind},
        "unit": {"column": "x", "width": 5, "unit": "c", "unit_kind": kind, "max_buckets_per_unit": 100},
    }[role]
    calm = WAYS[way](read(CALM[kind]))
    before = tally(calm, **asked)
    assert sum(before.values()) >= ROWS // 3 or (role, kind) == ("buckets", "boolean")
    dtypes = set()
    for hostile in INFERRED:
        frame = WAYS[way](read([*CALM[kind], hostile]))
        dtypes.add(str(frame["c"].dtype if way != "category" else frame["c"].cat.categories.dtype))
        assert moved(before, tally(frame, **asked)) in ([], [1]), hostile
    assert len(dtypes) > 1 or way == "object" or kind == "date"


@pytest.mark.parametrize("role", ["value", "group", "unit"])
def test_whole_numbers_written_as_decimals_stay_integers_beside_a_text(role: str) -> None:
    cells = ["2.0", "3.", "1e3", "07", " 5", "1e-400", "2.5", "9007199254740993", "9007199254740991"]
    question: dict[str, Any] = {
        "value": {"column": "g", "kind": "integer"},
        "group": {"column": "x", "kind": "number", "by": "g", "by_kind": "integer"},
        "unit": {"column": "x", "kind": "number", "unit": "g", "unit_kind": "integer", "max_buckets_per_unit": 1},
    }[role]
    rows = [f"{place},{cell}\n" for place, cell in enumerate(cells)]
    calm, beside = (
        tally(pd.read_csv(io.StringIO("x,g\n" + "".join(each))), **question) for each in (rows, [*rows, "99,X9\n"])
    )
    assert sum(calm.values()) == 7
    assert calm == beside


def test_the_dtype_decides_nothing() -> None:
    cells = [1, 0, 1, 7]
    frames = [
        pd.DataFrame({"c": pd.Series(cells, dtype=dtype), "x": [1.0, 2.0, 3.0, 4.0]})
        for dtype in (np.int64, np.uint8, np.float32, np.complex64, object, "str", "category", "Sparse[int64]")
    ]
    for asked in ({}, {"kind": "integer"}, {"kind": "number"}, {"width": 2}, {"kind": "date"}, {"kind": "boolean"},
                  {"kind": "text"}):  # fmt: skip
        counts = [tally(frame, "c", **asked) for frame in frames]
        assert all(each == counts[0] for each in counts), asked
    assert tally(frames[0], "c") == {(1.0,): 2, (0.0,): 1, (7.0,): 1}
    assert tally(frames[5], "c", kind="text") == {}  # a number is no text, since nobody knows how it was written
    groups = [tally(frame, "x", width=9, by="c", by_kind="integer") for frame in frames]
    assert all(each == {(0, 0): 1, (1, 0): 2, (7, 0): 1} for each in groups)


QUERIES: list[dict[str, Any]] = [
    *({"column": "c", "kind": kind} for kind in ("integer", "number", "text", "boolean", "date")),
    {"column": "c", "kind": "integer", "exact": True},
    {"column": "c", "width": 2, "where": "x > 1"},
    {"column": "c", "kind": "integer", "relative": "0.1", "where": "coalesce(c, x) > 1"},
    {"column": "c", "kind": "number", "ask": ["max"], "by": "x", "by_kind": "integer", "groups": [1]},
    {"column": "x", "width": 1, "unit": "c", "unit_kind": "integer", "max_buckets_per_unit": 1},
    {"column": "x", "width": 1, "by": "c", "by_kind": "text"},
    {"column": "z", "derive": {"z": "CASE WHEN c IS NULL THEN x ELSE c + 1 END"}, "width": 1},
]


@pytest.mark.parametrize("asked", QUERIES, ids=str)
def test_the_dtype_does_not_show_in_the_query(asked: dict[str, Any]) -> None:
    columns = [pd.Series([1, 0, 1, 7], dtype=dtype) for dtype in (np.int64, np.uint8, np.float32, object, "category")]
    columns += [pd.Series(["1", "a", "", "7"]), pd.Series([dt.datetime(2024, 5, 1)] * 4), pd.Series([True] * 4)]
    columns += [pd.Series([None] * 4), pd.arrays.SparseArray([1.5, 0.0, 0.0, 7.0])]
    shown = {flexdp.query(pd.DataFrame({"c": cells, "x": [1.0, 2.0, 3.0, 4.0]}), **asked) for cells in columns}
    assert len(shown) == 1


def test_a_column_that_nobody_declared_cannot_have_a_kind() -> None:
    for wrong in ({"kind": "number"}, {"timestamp": True}, {"wide": True}, {"strict": True}, {"follows": True}):
        with pytest.raises(TypeError):
            Column(name="c", type_name="inferred", undeclared=True, inferred=True, **{"kind": None, **wrong})
    with pytest.raises(TypeError):
        Column(name="c", type_name="int64", kind=None, inferred=True)
    series = [pd.Series([1]).astype(dtype) for dtype in (int, float, bool, object, "str", "category", "Sparse[int64]",
                                                         "datetime64[s]", "timedelta64[s]", complex)]  # fmt: skip
    series += [pd.Series([dt.datetime(2024, 5, 1, tzinfo=dt.UTC)]), pd.Series([dt.date(2024, 5, 1)])]
    series += [pd.Series(pd.period_range("2024", periods=1)), pd.Series(pd.interval_range(0, 1))]
    columns = {open_table(pd.DataFrame({"c": each})).column("c") for each in series}
    assert len(columns) == 1


@pytest.mark.parametrize("cells", [[7], [7.5], [True], ["a"], [None], [7, "a"], []], ids=str)
def test_nothing_said_of_labels_of_an_inferred_dtype_is_refused_whatever_it_is(cells: list[Any]) -> None:
    frame = pd.DataFrame({"c": cells, "x": [1.0] * len(cells)})
    for shape in (frame, frame.assign(c=frame["c"].astype("category"))):
        with pytest.raises(InputError, match="by_kind is missing: pandas infers the type of column 'c'"):
            prepare(shape, "x", width=1, by="c")
        with pytest.raises(InputError, match="unit_kind is missing: pandas infers the type of column 'c'"):
            prepare(shape, "x", width=1, unit="c", max_buckets_per_unit=1)
        assert prepare(shape, "c", width=5).kind == "number"


@pytest.mark.parametrize("cells", [["a"], [None], [7, "a"], [7], [True], [dt.datetime(2024, 5, 1)]], ids=str)
def test_a_column_without_a_kind_is_read_as_numbers_with_a_warning(cells: list[Any]) -> None:
    frame = pd.DataFrame({"c": pd.Series(cells), "n": pd.array([1] * len(cells), dtype="Int64")})
    words = r"^Column 'c' is read as numbers written like 1234\.5; other cells are not counted"
    for shape in (frame, frame.astype({"c": object}), frame.astype({"c": "category"})):
        assert prepare(shape, "c").kind == "number"
        with pytest.warns(flexdp.ReadingWarning, match=words):
            warn_of_reading(prepare(shape, "c"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for asked in ({"width": 5}, {"kind": "boolean"}, {"column": "n", "by": "c", "by_kind": "integer"}):
                warn_of_reading(prepare(shape, **{"column": "c", **asked}))
        for asked in ({"kind": "text"}, {"column": "n", "by": "c", "by_kind": "text"}):
            with pytest.warns(flexdp.ReadingWarning, match=r"^Column 'c' is read as texts; those that read as numbers"):
                warn_of_reading(prepare(shape, **{"column": "c", **asked}))


def test_texts_that_pandas_may_hold_as_numbers_are_not_asked_for() -> None:
    for zips in (["01234", "05678"], [1234, 5678], ["01234", "D-5"]):
        frame = pd.DataFrame({"z": zips, "x": [1.0, 2.0]})
        for where in ("z = '01234'", "z IN ('D-5', '01234')", "z <> '2024-05-01'"):
            with pytest.raises(InputError, match=r"where: pandas may hold '.*' in column 'z' as a number.*'string'"):
                prepare(frame, "x", kind="number", where=where)
        with pytest.raises(InputError, match=r"groups: pandas may hold texts of column 'z' .*dtype='string'"):
            prepare(frame, "x", kind="number", by="z", by_kind="text", groups=["01234"])
        declared = frame.astype({"z": "string"})
        assert sum(tally(declared, "x", kind="number", where="z <> '01234'").values()) == 2 - ("01234" in zips)


def test_without_a_literal_columns_of_pandas_are_not_compared() -> None:
    for u in ([1, 2], ["a", 2], [dt.datetime(2024, 5, 1)] * 2):
        frame = pd.DataFrame({"u": u, "w": u, "k": pd.array([1, 2], dtype="Int64")})
        for where, words in {
            "u = w": r"nothing shows how to compare them. Write number\(u\) = number\(w\)",
            "u < w": r"so nothing shows how to order them. Write number\(u\) < number\(w\)",
            "u - w > 3": r"so their difference is undefined. Write number\(u\) - number\(w\), or date",
            "coalesce(u, w) = w": r"so nothing shows how to compare them",
        }.items():
            with pytest.raises(InputError, match=words):
                prepare(frame, "k", where=where)
        with pytest.raises(InputError, match=r"nothing shows how to read it.*Write number\(u\)"):
            prepare(frame, "z", kind="number", derive={"z": "coalesce(u, w)"})
        for where in ("u = k", "number(u) = w", "u - w > 3 AND u > 1", "coalesce(u, w) IS NOT NULL"):
            prepare(frame, "k", where=where)


def test_declared_dtypes_of_pandas_need_no_kind() -> None:
    x = [1.0, 2.0, 3.0]
    for cells, dtype, key in [
        ([7, 8, None], "Int64", 7),
        ([7, 8, None], "Float64", 7),
        ([7, 8, None], pd.ArrowDtype(pa.int16()), 7),
        (["7", "8", None], "string", "7"),
        (["7", "8", None], "string[pyarrow]", "7"),
        (["7", "8", None], pd.ArrowDtype(pa.string()), "7"),
    ]:
        frame = pd.DataFrame({"c": pd.Series(cells, dtype=dtype), "x": x})
        assert tally(frame, "x", width=9, by="c")[key, 0] == 1
        assert sum(tally(frame, "x", width=9, unit="c", max_buckets_per_unit=1).values()) == 2
        assert sum(tally(frame, "c").values()) == 2
    flags = pd.DataFrame({"c": pd.Series([True, None, False], dtype="boolean"), "x": x})
    assert tally(flags, "x", width=9, by="c") == {(True, 0): 1, (False, 0): 1}
    assert tally(flags, "c") == {(True,): 1, (False,): 1}
    with pytest.raises(InputError, match="by_kind does not fit column 'c', which is declared as bool"):
        prepare(flags, "x", width=9, by="c", by_kind="text")


def test_nested_dtypes_of_pandas_are_refused_before_a_charge(tmp_path: Path) -> None:
    """A struct is no text, though its name begins like one; nothing of it could ever be counted."""
    ledger = flexdp.Ledger(tmp_path / "ledger.db")
    account = ledger.create("visits", epsilon=9, delta=1e-3)
    nested = [
        (pa.struct([("a", pa.int64())]), {"a": 1}),
        (pa.list_(pa.int64()), [1]),
        (pa.large_list(pa.int64()), [1]),
        (pa.list_(pa.int64(), 2), [1, 2]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    ]
    asked: list[dict[str, Any]] = [
        {"column": "c", "exact": True},
        {"column": "c", "exact": True, "kind": "text"},
        {"column": "x", "width": 9, "by": "c"},
        {"column": "x", "width": 9, "by": "c", "by_kind": "text"},
        {"column": "x", "width": 9, "where": "c IS NULL"},
    ]
    for declared, cell in nested:
        frame = pd.DataFrame({"c": pd.Series([cell, None], dtype=pd.ArrowDtype(declared)), "x": [1.0, 2.0]})
        for parameters in asked:
            with pytest.raises(InputError, match="declared as"):
                flexdp.release(frame, **parameters, epsilon=1, delta=1e-6, ledger=ledger, dataset="visits")
        assert tally(frame, "x", width=9) == {(0,): 2}
    assert ledger.account("visits").remaining_epsilon == account.remaining_epsilon


def test_integers_that_one_missing_cell_would_round_are_left_out() -> None:
    cells = [2**53 - 1, 2**53 + 1, 2**53 + 1, 2**60 + 1]
    whole = pd.DataFrame({"c": cells, "x": [1.0] * 4})
    holed = pd.DataFrame({"c": [*cells, None], "x": [1.0] * 5})
    texts = pd.DataFrame({"c": [*map(str, cells), "X9"], "x": [1.0] * 5})
    for frame in (whole, holed, texts):
        assert tally(frame, "c", kind="integer") == {(2**53 - 1,): 1}
        assert tally(frame, "x", width=9, by="c", by_kind="integer") == {(2**53 - 1, 0): 1}
        assert tally(frame, "c", kind="integer", width=2**52, bounds=(0, 2**54)) == {(1,): 1}
    declared = whole.assign(c=whole["c"].astype("Int64"))
    assert sum(tally(declared, "x", width=9, by="c").values()) == 4


def test_texts_of_groups_in_text_files_may_be_read_as_other_kinds(tmp_path: Path) -> None:
    lines = ["07,1,true,2024-01-01", "7,2,False,2024-01-01", "A7,3,yes,2024-02-30", " 8 ,4,TRUE,2024-01-02", ",5,,"]
    path, json_path = tmp_path / "t.csv", tmp_path / "t.jsonl"
    path.write_text("\n".join(["w,x,f,d", *lines]))
    names = ("w", "x", "f", "d")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    json_path.write_text("\n".join(str(row).replace("'", '"') for row in rows))
    for source in (path, json_path):
        said = {"kind": "integer", "width": 9}
        wanted = {("07", 0): 1, ("7", 0): 1, ("A7", 0): 1, (" 8 ", 0): 1}
        found = tally(source, "x", by="w", **said)
        assert {key: n for key, n in found.items() if key[0]} == wanted
        assert tally(source, "x", by="w", by_kind="integer", **said) == {(7, 0): 2, (8, 0): 1}
        assert tally(source, "x", by="w", by_kind=["integer"], groups=[7], **said) == {(7, 0): 2}
        assert tally(source, "x", by="f", by_kind="boolean", **said) == {(True, 0): 2, (False, 0): 1}
        assert tally(source, "f", kind="boolean") == {(True,): 2, (False,): 1}
        both = tally(source, "x", by=["d", "w"], by_kind={"d": "date", "w": "integer"}, **said)
        assert both == {(19723, 7, 0): 2, (19724, 8, 0): 1}
        units = {"unit": "w", "max_buckets_per_unit": 1}
        assert sum(tally(source, "x", unit_kind="integer", **units, **said).values()) == 2
        released = prepare(source, "x", by=["d", "w"], by_kind=["date", "integer"], **said)
        assert released.questions[0].spec.by_kinds == ("date", "integer")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"by_kind": "text"}, "by_kind needs by,"),
        ({"by": "w", "by_kind": "number"}, "by_kind must be 'text', 'integer', 'boolean' or 'date'; got 'number'"),
        ({"by": "w", "by_kind": 7}, "by_kind must be 'text'"),
        ({"by": "w", "by_kind": {"v": "text"}}, "by_kind names 'v', which is not among those in by"),
        ({"by": "w", "by_kind": ["text", "text"]}, "by_kind must be one kind for all columns of by, or 1; got 2"),
        ({"unit_kind": "text"}, "unit_kind needs unit,"),
        ({"unit": "w", "unit_kind": "boolean", "max_buckets_per_unit": 1}, "unit_kind must be 'text'"),
        ({"by": "n", "by_kind": "text"}, "by_kind does not fit column 'n', which is declared as BIGINT; got 'text'"),
    ],
)
def test_kinds_of_labels_are_checked(parameters: dict[str, Any], words: str) -> None:
    frame = pl.DataFrame({"x": [1.5], "w": ["a"], "n": [1]})
    with pytest.raises(InputError, match=words):
        prepare(frame, "x", width=1, **parameters)


def test_the_command_line_reads_groups_and_units_by_kind(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("w,v,x,id\n" + "".join(f"0{i % 2},{i % 2},5,{i:04d}\n" for i in range(400)))
    command = [sys.executable, "-m", "flexdp", "release", path, "x", "-e", "8", "-d", "1e-2", "--width", "10", "--json"]
    labels = ["--by", "w", "--by", "v", "--unit", "id", "--max-buckets-per-unit", "1", "--unit-kind", "integer"]
    for more, group, kinds in (
        (["--by-kind", "w=integer", "--by-kind", "v=text"], [0, "0"], ["integer", "text"]),
        (["--by-kind", "integer"], [0, 0], ["integer", "integer"]),
        ([], ["00", "0"], ["text", "text"]),
    ):
        out = subprocess.run([*map(str, command), *labels, *more], capture_output=True, text=True, check=True)
        release = flexdp.Release.from_json(out.stdout)
        assert release.cells.rows(slice(2))[0] == tuple(group)
        assert list(release.spec.by_kinds) == kinds
    bad = subprocess.run([*map(str, command), "--by", "w", "--by-kind", "float"], capture_output=True, text=True)
    assert bad.returncode == 2 and "--by-kind must be 'text'" in bad.stderr


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    lines, objects = tmp_path / "t.csv", tmp_path / "t.ndjson"
    lines.write_text("x,g\n1,a\n2,b\n")
    objects.write_text('{"x": 1, "g": "a"}\n')
    return lines, objects


def test_lazy_frames_over_text_files_are_refused(texts: tuple[Path, Path]) -> None:
    lines, objects = texts
    held = pl.LazyFrame({"x": [1], "g": ["csv scan"]}).with_columns(pl.lit("Csv SCAN [x]").alias("note"))
    assert tally(held, "x") == {(1,): 1}
    for source in (
        pl.scan_csv(lines),
        pl.scan_csv(lines, schema={"x": pl.Int64, "g": pl.String}),
        pl.scan_csv(lines).filter(pl.col("x") > 0).select("x"),
        pl.concat([held.select("x", "g"), pl.scan_csv(lines)]),
        pl.scan_ndjson(objects),
        held.join(pl.scan_ndjson(objects), on="g", how="left"),
        pl.scan_csv(io.BytesIO(lines.read_bytes())),
    ):
        with pytest.raises(InputError, match=r"lazy frame over a text file.*Pass the file's path itself"):
            prepare(source, "x")


def test_relations_over_text_files_and_frames_of_pandas_are_refused(texts: tuple[Path, Path]) -> None:
    lines, objects = texts
    con = duckdb.connect()
    con.execute(f"CREATE VIEW v AS SELECT x + 1 AS x FROM '{lines}'")
    con.execute(f"CREATE TABLE kept AS SELECT *, 'READ_CSV' AS \"READ_JSON\" FROM '{lines}'")
    con.execute(f"CREATE MACRO m() AS TABLE SELECT * FROM read_csv_auto('{lines}')")
    for source in (
        con.read_csv(str(lines)),
        con.sql(f"SELECT * FROM '{lines}'"),
        con.sql(f"SELECT x FROM read_csv('{lines}', columns={{'x': 'BIGINT', 'g': 'VARCHAR'}}) WHERE x > 0"),
        con.sql(f"SELECT k.x FROM kept k JOIN '{lines}' l ON k.x = l.x"),
        con.read_csv(str(lines)).filter("x > 0").project("x"),
        con.read_json(str(objects)),
        con.sql(f"SELECT * FROM '{objects}'"),
        con.sql("FROM m()"),
        con.table("v"),
        (con, "v"),
    ):
        with pytest.raises(InputError, match=r"relation over a text file.*Pass the file's path itself"):
            prepare(source, "x")
    con.register("arrow", pa.table({"x": [1, 2]}))
    held = pd.DataFrame({"x": [1, 2]})
    con.register("framed", held)
    con.register("arrays", {"x": np.array([1, 2])})
    con.execute("CREATE VIEW over AS FROM framed")
    for source in (
        (con, "framed"),
        con.table("arrays"),
        (con, "over"),
        con.sql("FROM held WHERE x > 0"),
        con.from_df(held).project("x + 1 AS x"),
        con.sql("SELECT x FROM kept UNION ALL SELECT x FROM held"),
    ):
        for asked in ({}, {"rows_are_records": True}):
            with pytest.raises(InputError, match=r"relation over a pandas frame.*Pass the frame itself"):
                prepare(source, "x", **asked)
    for source in (
        con.table("kept"),
        (con, "kept"),
        con.sql("FROM kept WHERE \"READ_JSON\" = 'READ_CSV'"),
        con.sql("FROM kept WHERE \"READ_JSON\" || x <> 'Function: READ_CSV'"),
    ):
        assert tally(source, "x") == {(1,): 1, (2,): 1}
    assert tally((con, "arrow"), "x", rows_are_records=True) == {(1,): 1, (2,): 1}


def test_a_notebook_shows_no_plan_and_refuses_the_same(
    texts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a notebook DuckDB displays plans, which tell how many rows a table has, instead of returning them."""
    import _duckdb

    monkeypatch.setattr(_duckdb, "__jupyter__", True)
    con = duckdb.connect()
    con.execute("CREATE TABLE kept AS SELECT 1 AS x FROM range(48317)")
    con.table("kept").explain()
    assert "HTML" in capsys.readouterr().out, "the control: a plan is displayed"
    with pytest.raises(InputError, match="relation over a text file"):
        prepare(con.read_csv(str(texts[0])), "x")
    for source in (con.table("kept"), (con, "kept")):
        assert tally(source, "x") == {(1,): 48317}
    assert capsys.readouterr().out == ""


def test_data_sets_of_text_files_are_refused(texts: tuple[Path, Path], tmp_path: Path) -> None:
    lines, objects = texts
    schema = pa.schema({"x": pa.int64(), "g": pa.string()})
    pq.write_table(pa.table({"x": [1], "g": ["a"]}), tmp_path / "t.parquet")
    kept = pa.dataset.dataset(tmp_path / "t.parquet")
    read_csv = pa.dataset.dataset(lines, format="csv")
    for source in (
        read_csv,
        read_csv.filter(pa.dataset.field("x") > 0),
        pa.dataset.dataset(lines, format="csv", schema=schema),
        pa.dataset.dataset(objects, format="json"),
        pa.dataset.dataset([kept, pa.dataset.dataset(lines, format="csv", schema=schema)]),
    ):
        with pytest.raises(InputError, match=r"data set of text files.*Pass the files' paths themselves"):
            prepare(source, "x")
    assert tally(kept, "x") == {(1,): 1}


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "UInt64"])
def test_declared_integers_that_a_double_would_round_are_left_out_as_numbers(dtype: str) -> None:
    """As doubles, 2^60 + 1 and 2^60 + 5 would be one value, and "exact" would be false; as integers they are two."""
    frame = pd.DataFrame({"a": pd.Series([7, 2**53 - 1, 2**60 + 1, 2**60 + 5], dtype=dtype)})
    assert tally(frame, "a") == {(7.0,): 1, (2.0**53 - 1,): 1}
    assert tally(frame, "a", kind="integer") == {(key,): 1 for key in (7, 2**53 - 1, 2**60 + 1, 2**60 + 5)}


def test_short_floats_have_the_integers_of_doubles() -> None:
    cells = [3.0, 2.0**53, np.inf, 1.5, np.nan]
    with np.errstate(over="ignore"):
        counted = [
            private_counts(pd.Series(np.array(cells, dtype=dtype)), kind="integer")
            for dtype in ("float16", "float32", "float64", "object")
        ]
    assert counted == [{3: 1}] * 4
