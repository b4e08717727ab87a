"""Cells written in a declared way: read as Python reads them, and left out where they are written otherwise."""

from __future__ import annotations

import datetime as dt
import math
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _support.command import flexdp as command
from _support.corpus import WRITTEN
from _support.private import private_bars, private_counts
from pyarrow import feather

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.dialect import read_cell
from flexdp.tables.memory.cells import read_cells
from flexdp.tables.written import DateFormat, Written, read_written

ROUNDS = 1500
EPOCH = dt.datetime(1970, 1, 1)
SPACES = "\u00a0\u202f\u2009"


def csv_of(folder: Path, cells: list[str], name: str = "t.csv") -> Path:
    """One column of quoted cells."""
    path = folder / name
    path.write_text("x\n" + "".join('"' + cell.replace('"', '""') + '"\n' for cell in cells), encoding="utf-8")
    return path


def read(folder: Path, cells: list[str], **options: Any) -> dict[Any, int]:
    return private_counts(csv_of(folder, cells), "x", **options)


def each(cells: list[str], kind: Any, written: Written, *, zoned: bool = False) -> list[Any]:
    """What the engine reads, cell by cell."""
    column = Column(name="x", type_name="undeclared", kind=None, undeclared=True, written=written, zoned=zoned)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT unnest(range(?)) AS i, unnest(?::VARCHAR[]) AS x", [len(cells), cells])
        rows = con.execute(f"SELECT {read_cell('x', column, kind).value} FROM t ORDER BY i").fetchall()
    return [row[0] for row in rows]


def in_memory(cells: list[str], kind: Any, written: Written) -> list[Any]:
    """What is read of a list, cell by cell."""
    column = Column(name=None, type_name="list", kind=None, undeclared=True, written=written)
    values, present = read_cells(cells, column, kind)
    return [value if there else None for value, there in zip(values.tolist(), present, strict=True)]


def taken_apart(cell: str, written: Written) -> tuple[str, str, str, str] | None:
    """The sign, the digits before and after the decimal mark, and the exponent; no pattern of the product is used."""
    blanks, signs = " \t" + SPACES, sorted(written.currency, key=len, reverse=True)
    text, sign = cell.strip(blanks), ""
    if text[:1] in ("+", "-"):
        sign, text = text[0], text[1:]
    first = next((mark for mark in signs if text.startswith(mark)), "")
    text = text[len(first) :].lstrip(blanks) if first else text
    if first and not sign and text[:1] in ("+", "-"):
        sign, text = text[0], text[1:]
    last = next((mark for mark in signs if text.endswith(mark)), "")
    text = text[: len(text) - len(last)].rstrip(blanks) if last else text
    mantissa, letter, exponent = text.replace("E", "e").partition("e")
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    if letter and not (is_digits(power) and len(power) <= 5):
        return None
    whole, _, part = mantissa.partition(written.decimal)
    same = {None: "", " ": " " + SPACES, "'": "'\u2019"}.get(written.thousands, written.thousands)
    groups = "".join("|" if char in same else char for char in whole).split("|")
    if len(groups) > 1:
        if not 1 <= len(groups[0]) <= 3 or not all(len(g) in (2, 3) for g in groups[1:]) or len(groups[-1]) != 3:
            return None
        whole = "".join(groups)
    if (whole and not is_digits(whole)) or (part and not is_digits(part)) or not whole + part:
        return None
    return sign, whole, part, exponent if letter else ""


def is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


WAYS: list[tuple[str, str | None, tuple[str, ...]]] = [
    (",", ".", ("€",)),
    (".", ",", ("$", "USD")),
    (",", " ", ("kr.", "SEK")),
    (".", "'", ("CHF",)),
    (",", None, ()),
    (".", "_", ("%",)),
]


@pytest.mark.parametrize(("decimal", "thousands", "currency"), WAYS)
def test_numbers_are_those_of_an_oracle_that_uses_no_pattern(
    decimal: str, thousands: str | None, currency: tuple[str, ...]
) -> None:
    rng = random.Random(f"{decimal}{thousands}")
    pieces = ["1", "12", "123", "1234", "0", "000", "+", "-", ".", ",", " ", "'", "_", "E5", "e-2", "x", "\t", decimal]
    pieces += [*SPACES, "\u2019", *currency, f"1{thousands or ''}234", f"12{decimal}5", f"7{decimal}0", "", "٣"]
    cells = ["".join(rng.choices(pieces, k=rng.randint(0, 6))) for _ in range(ROUNDS)]
    written = Written(decimal=decimal, thousands=thousands, currency=currency)
    found = [taken_apart(cell, written) for cell in cells]
    numbers = each(cells, "number", written)
    finite = [value if value is None or math.isfinite(value) else None for value in numbers]  # others are left out
    assert in_memory(cells, "number", written) == finite
    assert sum(value is not None for value in numbers) > 100
    for cell, parts, value in zip(cells, found, numbers, strict=True):
        assert value == (None if parts is None else float("{}{}.{}e{}".format(*parts[:3], parts[3] or 0))), cell
    integers = each(cells, "integer", written)
    assert in_memory(cells, "integer", written) == integers
    assert sum(value is not None for value in integers) > 100
    for cell, parts, value in zip(cells, found, integers, strict=True):
        whole = parts is not None and parts[1] and not parts[2].strip("0") and not parts[3]
        assert value == (int(parts[0] + parts[1]) if parts and whole else None), cell


def test_a_reader_that_drops_every_mark_is_noticed() -> None:
    """Reading '1,5' as 15 is the mistake that the last group of three digits prevents."""
    assert float("1,5".replace(",", "")) == 15
    assert each(["1,5", "1,500"], "number", Written(thousands=",")) == [None, 1500]


def test_the_export_that_lost_every_thousand(tmp_path: Path) -> None:
    cells = ["1,234.56", "999.5", "1,041,000"]
    assert read(tmp_path, cells, kind="number") == {999.5: 1}
    assert read(tmp_path, cells, kind="number", thousands=",") == {999.5: 1, 1234.56: 1, 1041000.0: 1}


@pytest.mark.parametrize("source", ["file", "list"])
def test_whole_numbers_may_end_in_a_point_and_zeros(tmp_path: Path, source: str) -> None:
    cells = ["54.0", "54", " +54. ", "-3.000", "54.5", "5.4e1", ".0", "54.0.0", "9" * 37 + ".0", "54,0", "٥"]
    wanted = {54: 3, -3: 1, int("9" * 37): 1}
    table: Any = csv_of(tmp_path, cells) if source == "file" else cells
    assert private_counts(table, "x" if source == "file" else None, kind="integer") == wanted


FORMATS = [
    "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%b-%Y", "%B %d, %Y", "%y-%m-%d", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M:%S %p",
    "%Y-%m-%d %H:%M:%S.%f", "%d%b%y", "%Y-%m-%dT%H:%M:%S%z", "le %d/%m/%Y à %H h %M", "%d%%%m%%%Y",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_dates_are_those_of_strptime(form: str) -> None:
    rng = random.Random(form)
    zoned, cells = "%z" in form, []
    for _ in range(300):
        stamp = dt.datetime(rng.randint(1970, 2067), 1, 1) + dt.timedelta(
            days=rng.randint(0, 364), seconds=rng.randint(0, 86399), microseconds=rng.randint(0, 999999)
        )
        if zoned:
            stamp = stamp.replace(tzinfo=dt.timezone(dt.timedelta(minutes=30 * rng.randint(-20, 20))))
        text = stamp.strftime(form)
        place = rng.randrange(len(text))
        cells += [text, text[:place] + rng.choice("0139x") + text[place + 1 :], text[:place] + text[place + 1 :]]
    if form == "%Y%m%d":
        cells = [cell for cell in cells if len(cell) == 8]  # strptime divides fewer digits as it likes
    written = Written(dates=DateFormat.parse(form))
    days, stamps = each(cells, "date", written), each(cells, "datetime", written, zoned=zoned)
    assert sum(value is None for value in days) > 20
    if not zoned:
        assert (in_memory(cells, "date", written), in_memory(cells, "datetime", written)) == (days, stamps)
    for cell, day, micros in zip(cells, days, stamps, strict=True):
        try:
            found = dt.datetime.strptime(cell, form)
        except ValueError:
            assert day is None and micros is None, cell
            continue
        local = found.replace(tzinfo=None)
        assert day == (local.date() - EPOCH.date()).days, cell
        exact = found.astimezone(dt.UTC).replace(tzinfo=None) if zoned else local
        assert micros == (exact - EPOCH) // dt.timedelta(microseconds=1), cell


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_format_writes_it_reads(tmp_path: Path, form: str) -> None:
    stamp = dt.datetime(2024, 2, 29, 23, 59, 58, 123456, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30)))
    written = DateFormat.parse(form)
    options: dict[str, Any] = {"zone": "UTC"} if written.zoned else {}
    (found,) = read(tmp_path, [written.write(stamp)], kind="datetime", date_format=form, **options)
    exact = stamp.astimezone(dt.UTC).replace(tzinfo=None) if written.zoned else stamp.replace(tzinfo=None)
    dropped = {"fraction": {"microsecond": 0}, "second": {"second": 0}, "minute": {"minute": 0}}
    for part, zero in dropped.items():
        exact = exact if part in written.parts else exact.replace(**zero)  # type: ignore[arg-type]
    assert found == (exact if written.timed else exact.replace(hour=0))


def test_impossible_dates_are_left_out(tmp_path: Path) -> None:
    cells = ["29.02.2023", "31.04.2024", "00.01.2024", "01.13.2024", "01.01.0000", "1.1.24", "01.01.2024", "2024-01-01"]
    assert read(tmp_path, cells, kind="date", date_format="%d.%m.%Y") == {dt.date(2024, 1, 1): 1}


def test_groups_and_units_are_read_as_declared_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{i % 7},5;0{1 + i % 3}.02.2024;1.00{i % 5}\n" for i in range(900))
    path.write_text("x;day;id\n" + rows)
    request = prepare(
        path, "x", kind="number", decimal=",", thousands=".", date_format="%d.%m.%Y", by="day", by_kind="date",
        unit="id", unit_kind="integer", max_buckets_per_unit=21, width=1,
    )  # fmt: skip
    bars = private_bars(request)
    assert set(bars.parts[0].tolist()) == {(dt.date(2024, 2, day) - EPOCH.date()).days for day in (1, 2, 3)}
    assert bars.counts.tolist() == [5] * 21, "five ids, in every bucket of every day"


def test_texts_in_parquet_are_read_as_declared(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["1.234,5", "7", "8.5", None]}), tmp_path / "t.parquet")
    options = {"kind": "number", "decimal": ",", "thousands": "."}
    assert private_counts(tmp_path / "t.parquet", "x", **options) == {1234.5: 1, 7.0: 1}


CELLS = ["1.234,5 €", "7", "8.5", "x", "1.234"]
TAGS = ["31.12.2024", "1.2.2024", "2024-12-31", "31.02.2024", ""]


def tables() -> dict[str, tuple[Any, str | None]]:
    """The same texts in every kind of table that is not a file."""
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT unnest(?::VARCHAR[]) AS x, unnest(?::VARCHAR[]) AS day", [CELLS, TAGS])
    columns = {"x": CELLS, "day": TAGS}
    return {
        "list": (CELLS, None), "objects": (np.array(CELLS, dtype=object), None), "texts": (np.array(CELLS), None),
        "dict": (columns, "x"), "pandas": (pd.DataFrame(columns, dtype="string"), "x"),
        "series": (pd.Series(CELLS, dtype="string"), None),
        "arrow in pandas": (pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype), "x"),
        "polars": (pl.DataFrame(columns), "x"), "lazy": (pl.LazyFrame(columns), "x"),
        "polars series": (pl.Series(CELLS), None), "arrow": (pa.table(columns), "x"),
        "array": (pa.chunked_array([CELLS]), None), "relation": (con.table("t"), "x"), "duckdb": ((con, "t"), "x"),
    }  # fmt: skip


@pytest.mark.parametrize("name", tables())
def test_texts_that_are_not_in_files_are_read_as_declared(name: str) -> None:
    source, column = tables()[name]
    options: dict[str, Any] = {"decimal": ",", "thousands": ".", "currency": "€"}
    assert private_counts(source, column, kind="number", exact=True, **options) == {1234.5: 1, 7.0: 1, 1234.0: 1}
    assert private_counts(source, column, kind="integer", exact=True, **options) == {7: 1, 1234: 1}
    (checked,) = flexdp.check(source, column, kind="number", **options).columns
    assert (checked.read, checked.reasons) == (3, {"marks": 1, "other": 1})
    assert flexdp.check(source, column, kind="number").columns[0].read == 3, "1.234, 7 and 8.5, and no more"
    if column is not None:
        days = private_counts(source, "day", kind="date", date_format="%d.%m.%Y", exact=True)
        assert days == {dt.date(2024, 12, 31): 1, dt.date(2024, 2, 1): 1}
    if name == "dict":
        both: dict[str, Any] = {"by": "day", "by_kind": "date", "date_format": "%d.%m.%Y", "width": 1000, **options}
        assert private_bars(prepare(source, "x", kind="number", **both)).counts.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [object, "str", "category", "float64"])
def test_what_pandas_may_have_turned_into_numbers_of_another_value_is_refused(dtype: Any) -> None:
    """'1.234' is one thousand and more if any cell of its column is no number to pandas, and 1.234 otherwise."""
    frame = pd.DataFrame({"x": ["1.234", "5"]}).astype(dtype)
    for kind, options, name in (
        ("number", {"decimal": ","}, "decimal"),
        ("integer", {"decimal": ",", "thousands": "."}, "decimal"),
        ("date", {"date_format": "%Y%m%d"}, "date_format"),
        ("datetime", {"date_format": "%d%m.%Y"}, "date_format"),
    ):
        with pytest.raises(InputError, match=f"^{name} does not fit column 'x': pandas infers its type"):
            flexdp.query(frame, "x", kind=kind, exact=True, **options)
    with pytest.raises(InputError, match=r"^decimal does not fit column 'x'"):
        flexdp.query(pd.DataFrame({"x": ["1"], "y": ["2"]}), "y", kind="text", by="x", by_kind="integer", decimal=",")
    calm = private_counts(frame, "x", kind="number", exact=True, thousands=",", currency="€")
    assert calm == {1.234: 1, 5.0: 1}, "as with any other dtype"


def test_offsets_and_databases_are_refused_with_the_reason(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": CELLS}), tmp_path / "t.parquet")
    for source in (CELLS, pl.Series(CELLS), tmp_path / "t.parquet"):
        name = "x" if isinstance(source, Path) else None
        with pytest.raises(InputError, match="date_format must not contain %z here"):
            flexdp.query(source, name, kind="datetime", date_format="%d.%m.%Y %H:%M %z", zone="UTC")
    con = sqlite3.connect(":memory:")
    con.execute("CREATE TABLE t (x TEXT)")
    with pytest.raises(InputError, match="decimal applies to files, frames, lists and DuckDB only"):
        flexdp.query((con, "t"), "x", width=5, decimal=",")
    con.close()
    for name, value in {"encoding": "cp1252", "sheet": "a", "delimiter": ";", "format": "csv"}.items():
        with pytest.raises(InputError, match=f"{name} applies to files only"):
            flexdp.query([1.0], width=5, **{name: value})  # type: ignore[arg-type]


TYPED = {"x": [1.5, 2.5], "t": ["1,5", "2"], "d": [dt.date(2024, 12, 31)] * 2}
OF_TEXTS: list[dict[str, Any]] = [
    {"decimal": ","}, {"thousands": ","}, {"currency": ["€"]}, {"date_format": "%d.%m.%Y"},
]  # fmt: skip


@pytest.mark.parametrize("name", ["parquet", "feather", "polars", "lazy", "pyarrow", "pandas", "duckdb", "numpy"])
def test_ways_of_writing_texts_are_refused_where_no_text_is_read(tmp_path: Path, name: str) -> None:
    table = pa.table(TYPED)
    pq.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    frame = pl.DataFrame(TYPED)
    con = duckdb.connect()
    con.from_arrow(table).create("stored")
    source: Any = {
        "parquet": tmp_path / "t.parquet", "feather": tmp_path / "t.feather", "polars": frame, "lazy": frame.lazy(),
        "pyarrow": table, "pandas": table.to_pandas(types_mapper=pd.ArrowDtype), "numpy": np.array([1.5, 2.5]),
        "duckdb": con.table("stored"),
    }[name]  # fmt: skip
    x = None if name == "numpy" else "x"
    for way in OF_TEXTS:
        (parameter,) = way
        label = "this column of values" if x is None else "column 'x'"
        rule = rf"^{parameter} applies to cells of text, but {label} is declared as .*\. Leave it out\.$"
        with pytest.raises(InputError, match=rule):
            flexdp.release(source, x, epsilon=1, delta=1e-6, width=1, **way)
        with pytest.raises(InputError, match=rule):
            flexdp.check(source, x, **way)
        if x is None:
            continue
        with pytest.raises(InputError, match="but no column that is read holds texts"):
            flexdp.summary(source, ["x", "d"], epsilon=1, delta=1e-6, **way)
        with pytest.raises(InputError, match="but no column that is read holds texts"):
            flexdp.query(source, "x", width=1, where="d > DATE '2024-01-01'", **way)
        flexdp.query(source, "t", kind="number", width=1, **way)
        flexdp.query(source, "x", width=1, where="t LIKE '1%'", **way)
        flexdp.query(source, "x", width=1, by="t", **way)
        flexdp.query(source, "y", exact=True, derive={"y": "coalesce(t, 'none')"}, **way)
        flexdp.query(source, ["x", "t"], separately=True, exact=True, **way)
        assert len(flexdp.check(source, **way).columns) == 3
    con.close()


def test_ways_of_writing_texts_are_taken_wherever_a_cell_may_be_a_text(tmp_path: Path) -> None:
    """A list, an object or a dtype that pandas inferred may hold texts: no cell decides whether a way is refused."""
    (tmp_path / "t.jsonl").write_text('{"x": 1.5}\n')
    ways = {"thousands": ",", "currency": "€"}
    for source in ([1.5], {"x": [1.5]}, pd.DataFrame({"x": [1.5]}), pd.DataFrame({"x": ["a"]}), tmp_path / "t.jsonl"):
        flexdp.query(source, None if isinstance(source, list) else "x", kind="number", width=1, **ways)  # type: ignore[arg-type]


def test_the_command_line_refuses_ways_that_change_nothing(tmp_path: Path) -> None:
    pq.write_table(pa.table(TYPED), tmp_path / "t.parquet")
    ran = command("release", tmp_path / "t.parquet", "x", "--decimal", ",", "-e", "1", "-d", "1e-6")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--decimal applies to cells of text, but column 'x' is declared as DOUBLE. Leave it out." in ran.stderr
    assert command("check", tmp_path / "t.parquet", "--decimal", ",").returncode == 0


@pytest.mark.parametrize("source", ["file", "list"])
@pytest.mark.parametrize("kind", ["number", "integer", "date", "datetime"])
def test_one_strange_cell_moves_its_own_bucket_alone(tmp_path: Path, kind: str, source: str) -> None:
    def read(cells: list[str]) -> dict[Any, int]:
        table: Any = csv_of(tmp_path, cells) if source == "file" else cells
        return private_counts(table, "x" if source == "file" else None, kind=kind, **options)

    options = {"decimal": ",", "thousands": ".", "currency": ["€", "kr."], "date_format": "%d.%m.%Y %H:%M"}
    calm = [f"{i % 9}.{i % 7}00,0 €" for i in range(50)]
    calm += [f"0{1 + i % 9}.01.2024 {i % 24}:05" for i in range(50)]
    before = read(calm)
    assert sum(before.values()) == 50
    for cell in [*WRITTEN, "x" * 70_000, "31.02.2024 00:00", "01.01.99999 00:00", "٣"]:
        after = read([*calm[:30], cell, *calm[30:]])
        more = Counter(after)
        more.subtract(before)
        assert sorted(set(more.values()) - {0}) in ([], [1]), cell
        assert sum(more.values()) <= 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decimal": ";"}, "decimal must be '.' or ','; got ';'."),
        ({"decimal": 5}, "decimal must be '.' or ','; got 5."),
        ({"thousands": "."}, "thousands must differ from the decimal mark; got '.'. Set decimal=',' as well."),
        ({"thousands": "x"}, "thousands must be"),
        ({"currency": "5"}, "currency must be a short sign"),
        ({"currency": ""}, "currency must be a short sign"),
        ({"currency": []}, "currency must be a sign, or a list"),
        ({"currency": ["€", None]}, "currency must be a short sign"),
        ({"currency": "e"}, "currency must be a short sign"),
        ({"date_format": "%d.%m"}, "date_format must name day, month and year, each once; got '%d.%m'."),
        ({"date_format": "%d.%m.%Y %y"}, "date_format must name day, month and year, each once"),
        ({"date_format": "%d.%d.%Y"}, "date_format names a part of the date twice"),
        ({"date_format": "%d.%m.%Y %Q"}, "date_format contains %Q; known are %d %m"),
        ({"date_format": "%d.%m.%Y%"}, "date_format contains %;"),
        ({"date_format": "%d.%m.%Y %I:%M"}, "date_format must name the larger parts"),
        ({"date_format": "%d.%m.%Y %M"}, "date_format must name the larger parts"),
        ({"date_format": 7}, "date_format must be a text"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_read(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refusal:
        flexdp.query(csv_of(tmp_path, ["1"]), "x", width=5, **options)
    assert str(refusal.value).startswith(words), str(refusal.value)
    with pytest.raises(InputError) as refusal:
        flexdp.query([1.0], width=5, **options)
    assert str(refusal.value).startswith(words), str(refusal.value)


def test_an_offset_needs_a_zone_and_a_zone_an_offset(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["1"])
    with pytest.raises(InputError, match="zone is missing"):
        flexdp.query(path, "x", kind="datetime", date_format="%d.%m.%Y %H:%M %z")
    with pytest.raises(InputError, match="zone fits a column of datetimes with a time zone only"):
        flexdp.query(path, "x", kind="datetime", date_format="%d.%m.%Y %H:%M", zone="UTC")


def test_the_default_is_what_it_was() -> None:
    assert read_written() == Written()
    assert Written().example("number") == "numbers written like 1234.5"
    assert read_written(decimal=",", thousands=" ", currency="€").example("integer") == (
        "whole numbers written like 1 234 or € 1 234"
    )


def test_the_command_line_takes_the_same_options(tmp_path: Path) -> None:
    path = csv_of(tmp_path, ["1.234,56 €"] * 300 + ["31.12.2024"] * 3000)
    options = ("--decimal", ",", "--thousands", ".", "--currency", "€", "--epsilon", "1", "--delta", "1e-6")
    out = command("release", path, "x", *options, "--kind", "number", "--width", "1000", "--stat", "max")
    assert out.returncode == 0 and "Highest x: 1000–2000 or more. At most 27 " in out.stdout, out
    out = command(
        "release", path, "x", "--date-format", "%d.%m.%Y", "--kind", "date", "-e", "1", "-d", "1e-6", "--stat", "max"
    )
    assert out.returncode == 0 and "2024-12-31" in out.stdout, out
    out = command("release", path, "x", "--date-format", "%d.%m.%Y", "-e", "1", "-d", "1e-6")
    assert (
        out.returncode == 2 and "Use --kind date or --kind datetime for automatic buckets, --kind text" in out.stderr
    ), out
    out = command("release", path, "x", "-e", "1", "-d", "1e-6")
    assert "Use --kind number, --kind date or --kind datetime for automatic buckets, --kind text" in out.stderr, out
    line = ("release", path, "x", "--kind", "text", "--where", "year(x) = 2024", "-e", "1", "-d", "1e-6")
    assert "column 'x' was read as dates written like 31.12.2024;" in command(*line, "--date-format", "%d.%m.%Y").stderr
    out = command(
        "release", path, "x", "--kind", "number", "--decimal", ",", "--thousands", ",", "-e", "1", "-d", "1e-6"
    )
    assert out.stderr.endswith("got ','. Set --decimal . as well.\n"), out
    out = command("release", path, "x", "--date-format", "%d", "--kind", "date", "-e", "1", "-d", "1e-6")
    assert out.returncode == 2 and out.stderr.startswith("Error: --date-format must name day, month and year"), out
