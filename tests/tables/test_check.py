"""The custodian's check: its counts are those of a release, its reasons those of Python, and no cell is repeated."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
from _support.command import flexdp as command
from _support.private import private_counts

import flexdp
from flexdp import DataError, InputError

SECRET = "SECRET7"
REASONS: dict[str, dict[str, list[str]]] = {
    "number": {
        "read": ["7", " -1.5e3 ", ".5"],
        "empty": ["", "  "],
        "placeholder": ["n/a", "NULL", "-", "NaN"],
        "range": ["1e999", "-9e400"],
        "marks": ["1,234.56", "1.234,5", "1 234", "1'000", "1_000", "-1,5"],
        "sign": ["€5", "5 %", "USD 1,234.50", "12kg"],
        "date": ["2024-01-01", "1.2.2024", "31/12/24", "2024-01-01T05:00"],
        "other": [SECRET, "0x10", "twelve", "1-2", "--5"],
    },
    "integer": {
        "read": ["7", "54.0", "+3."],
        "fraction": ["54.5", "1e3", ".5"],
        "marks": ["1,000"],
        "other": [SECRET],
    },
    "date": {
        "read": ["2024-02-29", " 0001-01-01 "],
        "impossible": ["2023-02-29", "2024-13-01", "0000-01-01"],
        "datetime": ["2024-01-01T05:00", "2024-01-01 05:00:07.5"],
        "offset": ["2024-01-01T05:00Z", "2024-01-01T05:00+01:00"],
        "format": ["31.12.2024", "12/31/2024 6:30 PM", "20241231", "31-Dec-2024", "Dec 31, 2024"],
        "other": [SECRET, "5", "soon"],
    },
    "datetime": {
        "read": ["2024-01-01T05:00"],
        "day": ["2024-01-01"],
        "impossible": ["2024-01-01T25:00"],
        "offset": ["2024-01-01T05:00Z"],
        "format": ["1.1.2024 05:00"],
    },
    "boolean": {"read": ["true", "FALSE "], "other": ["yes", "1", SECRET], "placeholder": ["?"]},
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
    found = flexdp.check(tmp_path / "t.json", "x", kind="number")
    assert (found.records, found.columns[0].read, found.columns[0].reasons) == (
        5,
        1,
        {"empty": 2, "placeholder": 1, "marks": 1},
    )
    book = openpyxl.Workbook()
    for row in (["x"], [1], ["1,5"], ["abc"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    found = flexdp.check(tmp_path / "t.xlsx", kind="number", decimal=",")
    assert (found.records, found.columns[0].read, found.columns[0].reasons) == (3, 2, {"other": 1})
    with pytest.raises(InputError, match="source cannot be checked"):
        flexdp.check([1.0, 2.0])
    with pytest.raises(InputError, match="column is missing"):
        flexdp.check(tmp_path / "t.json")


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
