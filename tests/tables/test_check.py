"""The custodian's check: its counts are those of a release, its reasons those of Python, and no cell is repeated."""

from __future__ import annotations

import datetime as dt
import json
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _support.command import flexdp as command
from _support.command import process
from _support.lite import opened
from _support.private import private_bars, private_counts

import flexdp
from flexdp import DataError, InputError
from flexdp._release.api import prepare

SECRET = "SECRET7"
REASONS: dict[str, dict[str, list[str]]] = {
    "number": {
        "read": ["7", " -1.5e3 ", ".5"],
        "empty": ["", "  "],
        "placeholder": ["n/a", "NULL", "-", "NaN"],
        "range": ["1e999", "-9e400"],
        "marks": ["1,234.56", "1.234,5", "1 234", "1'000", "1_000", "-1,5"],
        "sign": ["€5", "5 %", "USD 1,234.50", "12kg"],
        "date": ["2024-01-01", " 2024-13-01"],
        "datetime": ["2024-01-01T05:00"],
        "offset": ["2024-01-01T05:00Z"],
        "format": ["1.2.2024", "31/12/24"],
        "datetime format": ["31.12.2024 18:30", "1/2/24, 7:05:09", "31 Dec 2024 18:30"],
        "12-hour format": ["12/31/2024 6:30 PM", "12/31/2024 6 p.m."],
        "other": [SECRET, "0x10", "twelve", "1-2", "--5"],
    },
    "integer": {
        "read": ["7", "54.0", "+3."],
        "fraction": ["54.5", "1e3", ".5"],
        "digits": ["1" * 38, f"-{'9' * 400}.0"],
        "marks": ["1,000"],
        "other": [SECRET],
    },
    "date": {
        "read": ["2024-02-29", " 0001-01-01 "],
        "impossible": ["2023-02-29", "2024-13-01", "0000-01-01"],
        "datetime": ["2024-01-01T05:00", "2024-01-01 05:00:07.5"],
        "offset": ["2024-01-01T05:00Z", "2024-01-01T05:00+01:00"],
        "format": ["31.12.2024", "20241231", "31-Dec-2024", "Dec 31, 2024"],
        "datetime format": ["31.12.2024 18:30:05"],
        "12-hour format": ["12/31/2024 6:30 PM", "Dec 31, 2024 6:30 pm"],
        "other": [SECRET, "5", "soon"],
    },
    "datetime": {
        "read": ["2024-01-01T05:00"],
        "day": ["2024-01-01"],
        "impossible": ["2024-01-01T25:00"],
        "offset": ["2024-01-01T05:00Z"],
        "format": ["1.1.2024"],
        "datetime format": ["1.1.2024 05:00"],
    },
    "boolean": {"read": ["true", "FALSE "], "spelling": ["yes", "1", "t", SECRET], "placeholder": ["?"]},
    "text": {"read": ["x", SECRET], "long": ["y" * 70_000]},
}


def csv_of(folder: Path, cells: list[str]) -> Path:
    path = folder / "t.csv"
    path.write_text("x,y\n" + "".join(f'"{cell}",z\n' for cell in cells), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", REASONS)
def test_every_cell_has_its_reason(tmp_path: Path, kind: Any) -> None:
    rng = random.Random(kind)
    wanted: Counter[str] = Counter()
    cells = []
    for reason, examples in REASONS[kind].items():
        for cell in examples:
            times = rng.randint(1, 4)
            wanted[reason] += times
            cells += [cell] * times
    rng.shuffle(cells)
    path = csv_of(tmp_path, cells)
    found = flexdp.check(path, "x", kind=kind)
    (column,) = found.columns
    assert found.records == len(cells) and found.lines == {}
    assert {"read": column.read, **column.reasons} == dict(wanted)
    assert column.read == sum(private_counts(path, "x", kind=kind).values()), "as many as a release counts"
    for text in (str(found), repr(found), json.dumps(found.to_dict())):
        assert "INTERNAL" in text and SECRET not in text
    assert str(len(cells)) not in repr(found) and repr(column).count("read=") == 0


def test_each_example_alone_has_its_reason(tmp_path: Path) -> None:
    for kind, examples in REASONS.items():
        for reason, cells in examples.items():
            for cell in cells:
                (column,) = flexdp.check(csv_of(tmp_path, [cell]), "x", kind=kind).columns  # type: ignore[arg-type]
                assert {"read": column.read, **column.reasons}[reason] == 1, (kind, reason, cell)


def test_datetimes_in_another_format_are_advised_as_such(tmp_path: Path) -> None:
    half = "12/31/2024 6:30 PM"
    path = csv_of(tmp_path, ["31.12.2024 18:30", "1.2.2024 7:05", half])
    named = "a datetime in another format: --kind datetime and, for example, --date-format"
    for kind in ("number", "date"):
        ran = command("check", path, "x", "--kind", kind)
        assert f"       2  {named} '%d.%m.%Y %H:%M' (with seconds, %H:%M:%S)\n" in ran.stdout
        assert f"       1  {named} '%m/%d/%Y %I:%M %p'\n" in ran.stdout
    for given, read in (("%d.%m.%Y %H:%M", 2), ("%m/%d/%Y %I:%M %p", 1)):
        found = flexdp.check(path, "x", kind="datetime", date_format=given)
        assert found.columns[0].read == read, "the advice holds"
        assert "a datetime in another format: for example, date_format='" in str(found)
        assert "18:30" not in str(found).split("\n", 2)[2] and half not in str(found)


def test_lines_that_cannot_be_read_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    long = b"x" * (1 << 20) + b"y,1\n"
    path.write_bytes(b"x,y\n1,a\n\n\r\ncaf\xe9,1\n,,\n2,b\n" + long + b"3,c\n" + long + long.strip())
    found = flexdp.check(path, "x")
    assert (found.records, found.lines) == (3, {"encoding": 1, "length": 3})
    assert found.columns[0].read == 3
    assert "4 lines cannot be read:" in str(found)
    path.write_bytes(b"x,y\n1,a\ncaf\xe9,1\n")
    assert flexdp.check(path, "x", encoding="cp1252").lines == {}


def test_the_kinds_that_would_read_a_column(tmp_path: Path) -> None:
    found = flexdp.check(csv_of(tmp_path, ["7", "7.5", "2024-01-01", "true", ""]), "x").columns[0]
    assert found.kind == "number"
    assert found.readable_as == {"integer": 1, "number": 2, "text": 4, "date": 1, "datetime": 0, "boolean": 1}


def test_all_columns_in_one_pass_and_only_those_that_are_named(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["7", "x"])
    assert [each.column for each in flexdp.check(path).columns] == ["x", "y"]
    assert [each.read for each in flexdp.check(path, ["y", "x"]).columns] == [0, 1]
    with pytest.raises(InputError, match="no column named 'nope'"):
        flexdp.check(path, "nope")


def test_declared_types_other_formats_and_tables(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.0, None, float("nan"), float("inf")], "t": ["1,5", "x", None, "2"]})
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        (column,) = flexdp.check(source, "x").columns
        assert (column.read, column.reasons) == (1, {"empty": 1, "not finite": 2})
        (column,) = flexdp.check(source, "t", kind="number").columns
        assert (column.read, column.reasons) == (1, {"empty": 1, "marks": 1, "other": 1})
    (tmp_path / "t.json").write_text('[{"x": 1}, {"x": "1,5"}, {"x": NaN}, {"x": [1]}, 5]')
    with pytest.raises(InputError, match=r"^column is missing: the source declares no columns, .*\. Name the columns"):
        flexdp.check(tmp_path / "t.json")
    found = flexdp.check(tmp_path / "t.json", "x", kind="number")
    assert (found.records, found.columns[0].read, found.columns[0].reasons) == (
        5,
        1,
        {"record": 1, "nested": 1, "placeholder": 1, "marks": 1},
    )
    book = openpyxl.Workbook()
    for row in (["x"], [1], ["1,5"], ["abc"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    found = flexdp.check(tmp_path / "t.xlsx", kind="number", decimal=",")
    assert (found.records, found.columns[0].read, found.columns[0].reasons) == (3, 2, {"other": 1})
    with pytest.raises(InputError, match="column is missing"):
        flexdp.check(tmp_path / "t.json")


def test_cells_of_damaged_records_are_not_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('x,y,z\n1,2,3\n"4,5,6\n,,\n7\n"8",9\n8,a"b,\n,5,"6\n"9",,"a""b"\n')
    reasons = {each.column: {"read": each.read, **each.reasons} for each in flexdp.check(path).columns}
    assert reasons == {  # the third line is blank, and no record
        "x": {"read": 5, "empty": 1, "line": 1},
        "y": {"read": 3, "empty": 2, "line": 2},
        "z": {"read": 1, "empty": 2, "line": 3, "other": 1},
    }
    assert "       3  in a line with an unclosed or stray quote" in str(flexdp.check(path, "z", kind="number"))
    elements = ["{}", '{"x": null}', '{"x": [1]}', '{"x": {"y": 1}}', "3", '"x"', "null", "{x: 1}", '{"x": "7"}']
    (tmp_path / "t.json").write_text(f"[{','.join(elements)}]")
    (tmp_path / "t.jsonl").write_text("\n".join(elements))
    for name in ("t.json", "t.jsonl"):
        for way in ({}, {"decimal": ","}):
            found = flexdp.check(tmp_path / name, "x", kind="text", **way)
            assert found.records == 9 and found.columns[0].read == 1, name
            assert found.columns[0].reasons == {"empty": 2, "record": 4, "nested": 2}, name


def test_declared_numbers_that_are_not_whole_are_not_called_empty(tmp_path: Path) -> None:
    table = pa.table(
        {
            "x": pa.array([1.0, 1.5, 1e300, float("nan"), float("inf"), None]),
            "d": pa.array(["7.00", "7.01", "-0.10", None, None, None], pa.string()).cast(pa.decimal128(10, 2)),
            "t": pa.array(["y" * 70_000, None, "", "", "", ""]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet", duckdb.from_arrow(table)):
        (x,), (d,) = (flexdp.check(source, name, kind="integer", **vouched(source)).columns for name in ("x", "d"))
        assert (x.read, x.reasons) == (1, {"empty": 1, "fraction": 1, "digits": 1, "not finite": 2})
        assert (d.read, d.reasons) == (1, {"empty": 3, "fraction": 2})
        (t,) = flexdp.check(source, "t", **vouched(source)).columns
        assert (t.read, t.reasons) == (4, {"empty": 1, "long": 1})
    (x,) = flexdp.check(table.column("x").to_pylist(), kind="integer").columns
    assert (x.read, x.reasons) == (1, {"empty": 2, "fraction": 1, "digits": 1, "not finite": 1})


def vouched(source: Any) -> dict[str, Any]:
    return {"rows_are_records": True} if isinstance(source, duckdb.DuckDBPyRelation) else {}


def test_columns_are_read_as_a_release_reads_them_and_said_to_be_what_they_are(tmp_path: Path) -> None:
    frame = pd.DataFrame({"seen": [True, False] * 5, "n": [1, 2] * 5, "cost": ["1", "x"] * 5})
    found = flexdp.check(frame)
    assert [(each.kind, each.read) for each in found.columns] == [("number", 10), ("number", 10), ("number", 5)]
    assert found.columns[0].kind == prepare(frame, "seen").kind
    assert {each.manner for each in found.columns} == {"numbers written like 1234.5"}
    assert [each.readable_as["boolean"] for each in found.columns] == [10, 5, 5]  # 1 is true, as it may become
    pl.DataFrame({"ward": ["A"], "cost": [1.5]}).write_parquet(tmp_path / "t.parquet")
    manners = [
        flexdp.check(tmp_path / "t.parquet", name, kind=kind).columns[0].manner  # type: ignore[arg-type]
        for name, kind in (("ward", None), ("ward", "number"), ("cost", None), ("cost", "integer"))
    ]
    assert manners == [
        "declared as text", "declared as text, read as numbers written like 1234.5", "declared as number",
        "declared as number, read as integer",
    ]  # fmt: skip
    assert "These values, declared as integer: 2 of 2 records" in str(flexdp.check(np.array([1, 2])))


def test_a_declared_sign_is_no_reason(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["1000.123,5 €", "€ 7", "$ 7", "1,5,5"])
    (column,) = flexdp.check(path, "x", kind="number", decimal=",", thousands=".", currency="€").columns
    assert (column.read, column.reasons) == (1, {"marks": 2, "sign": 1})


def test_offsets_are_checked_with_a_zone(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["2024-01-01T05:00Z", "2024-01-01T05:00"])
    (column,) = flexdp.check(path, "x", kind="datetime", zone="UTC").columns
    assert (column.read, sum(column.reasons.values())) == (1, 1)
    with pytest.raises(InputError, match="zone is missing"):
        flexdp.check(path, "x", kind="datetime", date_format="%d.%m.%Y %H:%M%z")


def test_damage_is_the_same_error_as_in_a_release(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(DataError):
        flexdp.check(tmp_path / "t.csv.gz", "x")


def test_the_command_line(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["7", "1,234.56", SECRET])
    out = command("check", path, "x")
    assert out.returncode == 0 and out.stdout.splitlines() == [
        "INTERNAL: true counts of the records, not private. Do not publish them.",
        "Column 'x', numbers written like 1234.5: 1 of 3 records are read.",
        "       1  digits with other marks between them: set --decimal and --thousands",
        "       1  something else",
        "  Readable by --kind: integer 1, number 1, text 3, date 0, datetime 0, boolean 0.",
    ]
    out = command("check", path, "x", "y", "--thousands", ",", "--kind", "number", "--json")
    assert [each["read"] for each in json.loads(out.stdout)["columns"]] == [2, 0]
    assert command("check", path, "nope").returncode == 2


CELLS: list[Any] = [
    1,
    2.5,
    None,
    float("nan"),
    float("inf"),
    "7",
    " 8 ",
    SECRET,
    "1,234.5",
    "n/a",
    "",
    True,
    dt.date(2024, 1, 1),
]


def light(cells: list[Any]) -> Any:
    con = opened()
    con.execute("CREATE TABLE t (x)")
    plain = [str(cell) if isinstance(cell, dt.date) else cell for cell in cells]
    con.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in plain])
    return con, "t"


@pytest.mark.parametrize("kind", ["number", "integer", "text", "date", "boolean"])
def test_lists_dicts_frames_and_databases_are_read_as_a_release_reads_them(kind: Any) -> None:
    mixed = pd.DataFrame({"x": pd.Series(CELLS, dtype=object)})
    sources = {
        "list": (CELLS, None), "array": (np.array(CELLS, dtype=object), None), "dict": ({"x": CELLS, "y": CELLS}, "x"),
        "pandas": (mixed, "x"), "series": (mixed["x"], None), "sqlite": (light(CELLS), "x"),
    }  # fmt: skip
    for name, (source, column) in sources.items():
        found = flexdp.check(source, column, kind=kind)
        exact = {} if kind in ("text", "boolean") else {"exact": True}
        released = private_counts(source, column, kind=kind, **exact)
        assert found.columns[0].read == sum(released.values()), name
        assert found.columns[0].read + sum(found.columns[0].reasons.values()) == found.records == len(CELLS), name
        assert str(found).startswith("INTERNAL") and "INTERNAL" in repr(found)
        assert not any(word in str(found) + repr(found) for word in (SECRET, "1,234.5"))
    assert flexdp.check(CELLS).columns[0].readable_as == flexdp.check({"x": CELLS}).columns[0].readable_as


def test_declared_columns_in_memory_and_in_databases(tmp_path: Path) -> None:
    holes = [1.0, None, float("nan"), float("inf"), 2.5]
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE t (x REAL)")
        con.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in holes])
    con.close()
    for source, name in (
        (np.array(holes, dtype=float), None), (pd.DataFrame({"x": holes}), "x"), (pl.Series(holes), None),
        (pa.chunked_array([pa.array(holes)]), None), ({"x": np.array(holes, dtype=float)}, "x"), ((path, "t"), "x"),
        ((duckdb.connect(), "missing"), "x"),
    ):  # fmt: skip
        if isinstance(source, tuple) and source[1] == "missing":
            source[0].execute("CREATE TABLE missing (x DOUBLE)")
            source[0].executemany("INSERT INTO missing VALUES (?)", [[cell] for cell in holes])
        (found,) = flexdp.check(source, name).columns
        assert (found.read, sum(found.reasons.values()), found.reasons["not finite"] >= 1) == (2, 3, True)
    (whole,) = flexdp.check(np.array(holes, dtype=float), kind="integer").columns
    assert (whole.read, whole.reasons["fraction"]) == (1, 1)
    assert flexdp.check(np.array(["2024-01-01", "NaT"], dtype="datetime64[D]")).columns[0].reasons == {"empty": 1}
    coded = pd.DataFrame({"x": pd.Series(["7", SECRET, None, SECRET], dtype="string")})
    assert flexdp.check(coded, "x", kind="number").columns[0].reasons == {"empty": 1, "other": 2}
    done = command("check", path, "x", "--table", "t")
    assert done.returncode == 0 and done.stdout.startswith("INTERNAL") and "2 of 5 records are read" in done.stdout
    with pytest.raises(InputError, match="kind does not fit SQLite"):
        flexdp.check(light([1]), "x", kind="datetime")
    assert "datetime" not in flexdp.check(light([1]), "x").columns[0].readable_as


def test_a_dict_of_columns_is_released_like_a_frame() -> None:
    columns = {"x": [float(i % 5) for i in range(500)], "w": np.array(["A", "B"] * 250)}
    options: dict[str, Any] = {"width": 1, "kind": "number", "by": "w", "by_kind": "text"}
    own, framed = (private_bars(prepare(table, "x", **options)) for table in (columns, pd.DataFrame(columns)))
    assert sorted(own.rows(slice(None))) == sorted(framed.rows(slice(None)))
    assert own.counts.tolist() == [50] * 10 == framed.counts.tolist()
    for wrong in ({"x": "abc"}, {1: [2]}, {"x": 5}, {"x": [1], "y": [1, 2]}, {"x": np.zeros((2, 2))}):
        with pytest.raises(InputError, match="source must be"):
            flexdp.check(wrong, "x")
    with pytest.raises(InputError, match="rows need not be records"):
        flexdp.check(duckdb.sql("SELECT max(1) AS x"), "x")
    assert flexdp.check(duckdb.sql("SELECT max(1) AS x"), "x", rows_are_records=True).records == 1


def wide_cells(columns: int, rows: int) -> list[list[str]]:
    """Columns of numbers, dates and words, with another number of empty cells in each."""
    kinds = (lambda row: str(row), lambda row: f"2024-01-{1 + row % 28:02}", lambda row: f"word {row}")
    return [["" if row < place else kinds[place % len(kinds)](row) for row in range(rows)] for place in range(columns)]


def check_wide(found: flexdp.tables.check.Check, columns: list[list[str]]) -> None:
    rows = len(columns[0])
    assert found.records == rows
    assert len(found.columns) == len(columns)
    for place, each in enumerate(found.columns):
        filled = rows - place
        assert each.column == f"c{place}"
        assert each.read == (filled if place % 3 == 0 else 0)
        why = {} if place % 3 == 0 else {"date" if place % 3 == 1 else "other": filled}
        assert each.reasons == ({"empty": place} if place else {}) | why
        wanted = {"integer": 0, "number": 0, "text": filled, "date": 0, "datetime": 0, "boolean": 0}
        wanted |= [{"integer": filled, "number": filled}, {"date": filled}, {}][place % 3]
        assert each.readable_as == wanted


def test_many_columns_of_many_rows_fit_into_memory(tmp_path: Path) -> None:
    columns = wide_cells(40, 9_000)
    path = tmp_path / "wide.csv"
    lines = [",".join(f"c{place}" for place in range(len(columns))), *map(",".join, zip(*columns, strict=True))]
    path.write_text("\n".join(lines) + "\n\xff", encoding="latin-1")
    found = flexdp.check(path)
    check_wide(found, columns)
    assert found.lines == {"encoding": 1}  # counted once, though the lines are read several times
    with path.open(encoding="latin-1") as stream:
        piped = process("check", "-", "--format", "csv", "--json", stdin=stream)
    assert json.loads(piped.stdout)["columns"] == found.to_dict()["columns"]


def test_many_columns_of_a_sheet_are_checked(tmp_path: Path) -> None:
    columns = wide_cells(40, 50)
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in [[f"c{place}" for place in range(len(columns))], *zip(*columns, strict=True)]:
        sheet.append(list(row))
    book.save(tmp_path / "wide.xlsx")
    check_wide(flexdp.check(tmp_path / "wide.xlsx"), columns)


def test_many_declared_columns_are_checked(tmp_path: Path) -> None:
    columns = wide_cells(60, 100)
    names = [f"c{place}" for place in range(len(columns))]
    frame = pl.DataFrame({name: pl.Series(cells, dtype=pl.Utf8) for name, cells in zip(names, columns, strict=True)})
    frame.write_parquet(tmp_path / "wide.parquet")
    for source in (frame, tmp_path / "wide.parquet"):
        found = flexdp.check(source, kind="date")
        assert [each.read for each in found.columns] == [100 - p if p % 3 == 1 else 0 for p in range(len(columns))]
