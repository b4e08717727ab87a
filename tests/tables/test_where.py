"""The grammar of filters: what parses, what is refused and why, how columns without a type are read."""

from __future__ import annotations

import datetime as dt
import json
import random
import sqlite3
import string
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _support.command import flexdp as flexdp_command
from _support.filters import CANONICAL, REFUSED
from _support.lite import opened
from _support.private import private_bars

import flexdp
from flexdp import InputError, Release
from flexdp._release.api import prepare
from flexdp.tables.where import filter_of, parse_test, parse_value, text_of

FRAME = pd.DataFrame(
    {
        "ward": pd.array(["ICU", "A", None, "o'brien"], dtype="string"),
        "age": pd.array([10.0, 20.0, None, 40.0], dtype="Float64"),
        "k": pd.array([0, 1, 2, 3], dtype="Int64"),
    }
)


def passing(source: Any, where: str, column: str = "k", **options: Any) -> list[Any]:
    (question,) = prepare(source, column, where=where, exact=True, **options).questions
    return sorted(question.table.count([question.counting])[0].parts[0].tolist())


@pytest.mark.parametrize(("given", "text"), CANONICAL.items())
def test_a_filter_has_one_canonical_text(given: str, text: str) -> None:
    parsed = parse_test("where", given)
    assert text_of(parsed) == text
    assert parse_test("where", text) == parsed


@pytest.mark.parametrize(("where", "why"), REFUSED.items(), ids=[str(i) for i in range(len(REFUSED))])
def test_everything_else_is_refused_before_anything_is_read(where: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as refusal:
        prepare(FRAME, "k", exact=True, where=where)
    assert refusal.value.parameter == "where"
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400


DATED = pl.DataFrame(
    {"k": [0], "d": ["2024-01-01"], "s": ["2024-01-01T10:00"]}, schema_overrides={"k": pl.Int64}
).with_columns(pl.col("d").str.to_date(), pl.col("s").str.to_datetime())


@pytest.mark.parametrize(
    ("where", "why"),
    {
        "month(d) = 13": "a month lies between 1 and 12; got 13",
        "month(s) IN (1, 0)": "a month lies between 1 and 12; got 0",
        "NOT month(d) < 13": "a month lies between 1 and 12",
        "month(d) BETWEEN 11 AND 2": "Swap the bounds, or write",
        "year(d) = 20244": "a year lies between 1 and 9999; got 20244",
        "year(s) > -5": "a year lies between 1 and 9999",
        "year(d) IN (2024, 24000)": "a year lies between 1 and 9999",
        "year(d) BETWEEN 2024 AND 2020": "its higher bound first",
        "year(d) = 2024.5": "no record can match",
        "year(d) = 2024 AND year(d) = 2023": "no record can match",
        "year(d) = 2024 AND d < DATE '2024-01-01'": "no record can match",
        "year(d) > 9999": "no record can match",
        "k = 2.5 AND d IS NOT NULL": "no record can match",
        "d BETWEEN '2024-12-31' AND '2024-01-01'": "its higher bound first",
        "s BETWEEN DATE '2024-12-31' AND TIMESTAMP '2024-12-30 23:59'": "its higher bound first",
        "s > '2024-01-01' AND s <= '2024-01-01'": "no record can match",
    }.items(),
)
def test_years_months_and_dates_that_no_record_can_have_are_refused(where: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        prepare(DATED, "k", exact=True, where=where)


@pytest.mark.parametrize(
    "where",
    [
        "d BETWEEN '2024-01-01' AND '2024-01-01'",
        "year(d) >= 1 AND year(d) <= 9999",
        "month(d) >= 11 OR month(d) <= 2",
        "month(d) < 6.5",
        "year(d) > 1999.5",
        "k >= 0 AND k <= 0",
        "(k = 1 AND k = 2) OR k = 0",
        "NOT (k > 3 AND k < 2)",
        "k <> 1 AND k < 1",
        "k IN (0, 1) AND k NOT IN (1, 2) AND k >= 0",
    ],
)
def test_filters_that_a_record_can_pass_are_not_refused(where: str) -> None:
    assert passing(DATED, where) == [0]


def test_derived_columns_are_not_divided_by_zero() -> None:
    with pytest.raises(InputError, match="derive: division by zero"):
        prepare(FRAME, "y", derive={"y": "age / 0"})


@pytest.mark.parametrize("where", [5, b"age > 1", ["age > 1"], "age > '\ud800'"])
def test_a_filter_is_a_text(where: Any) -> None:
    with pytest.raises(InputError, match="where must be a text"):
        prepare(FRAME, "k", exact=True, where=where)


def test_a_source_without_column_names_has_no_filter() -> None:
    for source in ([1, 2], np.array([1, 2]), pl.Series([1, 2])):
        with pytest.raises(InputError, match=r"where"):
            prepare(source, kind="integer" if isinstance(source, list) else None, where="value > 1")


def test_a_filter_is_read_as_its_table_declares() -> None:
    assert passing(FRAME, "ward = 'ICU' OR age > 15") == [0, 1, 3]
    assert passing(FRAME, "NOT (ward = 'ICU' OR age > 15)") == []  # unknown where a cell is missing, also negated
    assert passing(FRAME, "ward IS NULL") == [2]
    assert passing(FRAME, "ward = 'o''brien'") == [3]
    assert passing(FRAME, "k BETWEEN 1 AND 2.5") == [1, 2]


CSV = """k,age,ward,zip,day,when,id,at
0,10,ICU,01234,2024-02-29,2024-02-29T10:00+01:00,12345678901234567891,2024-02-29
1,20.5,A,1234,2023-12-31,2024-02-29T10:00Z,12345678901234567890,2023-12-31 23:30:00
2,old,"a ""b"", c",,x,no,7,2024-13-01
3,,,9,,,8,2024-02-30T10:00
"""
OF_TEXT = {
    "age > 15": [1],
    "age <= 10": [0],
    "age IS NULL": [3],
    "age IS NULL OR age < 15": [0, 2, 3],  # read as a number, 'old' is missing
    "zip = '01234'": [0],
    "zip = 1234": [0, 1],
    "zip < 100": [3],
    "ward LIKE '%\"b\"%'": [2],
    "ward LIKE ''": [],
    "day >= DATE '2024-01-01'": [0],
    "day = '2024-02-29'": [0],
    "day IS NULL OR year(day) = 2023": [1, 2, 3],
    "year(day) IN (2024, 2025)": [0],
    "year(at) = 2024": [0],  # a date and a datetime are read alike
    "month(at) = 12 AND at IS NOT NULL": [1],
    "month(at) + 1 = 13": [1],
    "at >= DATE '2024-01-01'": [0],
    "at BETWEEN TIMESTAMP '2023-12-31 23:00' AND DATE '2024-02-29'": [0, 1],
    "year(at) > 1999 OR at IS NULL": [0, 1, 2, 3],
    "at - DATE '2024-02-28' = 1": [0],  # the difference of dates is in days
    "\"when\" > TIMESTAMP '2024-02-29 09:30+00:00'": [1],
    "\"when\" = TIMESTAMP '2024-02-29 09:00+00:00'": [0],
    "id = 12345678901234567891": [0],
    "id > 12345678901234567890": [0],
    "age + 0 IS NULL": [2, 3],  # not a number, or nothing
    "age - k > 10": [1],
    "coalesce(age, 0) = 0": [2, 3],
    "coalesce(age, k) = 3": [3],  # kinds are found through coalesce and CASE
    "CASE WHEN ward = 'A' THEN age END > 20": [1],
    "coalesce(day, at) >= DATE '2024-01-01'": [0],
    "CASE WHEN k > 0 THEN at ELSE day END < TIMESTAMP '2024-01-01 00:00'": [1],
    "age > k AND k >= 0": [0, 1],  # k is a number, so that age is one
    "number(age) > number(k)": [0, 1],
    "number(age) > k": [0, 1],
    "integer(age) > integer(k)": [0],  # 20.5 is not whole
    "text(age) > '15'": [1, 2],
    "date(day) > date(at)": [],
    "date(day) >= date(at)": [0],
    "datetime(day) >= datetime(at)": [0],
    "datetime(at) - datetime(day) > 3600": [1],  # seconds
    "date(day) - DATE '2024-02-27' = 2": [0],
    "year(date(day)) = 2023": [1],
    "date(day) IN ('2024-02-29', '2023-12-30')": [0],
    "date(day) IS NULL AND text(day) IS NOT NULL": [2],
    "number(zip) = 1234 AND text(zip) <> '1234'": [0],
    "boolean(ward) IS NULL": [0, 1, 2, 3],
}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "pandas"])
def test_cells_without_a_type_are_read_as_what_they_are_compared_with(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    source: Any = path
    frame = pd.read_csv(path, dtype=object, keep_default_na=False, na_values=[""])
    if suffix == "jsonl":
        source = tmp_path / "t.jsonl"
        rows = [{k: v for k, v in row.items() if isinstance(v, str)} for row in frame.to_dict("records")]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == "pandas":
        source = frame
    for where, wanted in OF_TEXT.items():
        if suffix == "pandas" and ("id" in where or "'01234'" in where or "text(" in where or "= '2" in where):
            continue  # of integers those that any dtype could hold, and no texts that it could hold as numbers
        assert passing(source, where, kind="integer") == wanted, where


def test_dates_of_text_files_are_shown_in_every_dialect(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    for dialect in ("duckdb", "sqlite", "postgres", "spark", "mariadb", "clickhouse"):
        shown = flexdp.query(path, "k", kind="integer", exact=True, where="year(day) = 2024", dialect=dialect)
        assert "1704067200000000" in shown, dialect  # the first of January


def test_conflicting_uses_of_a_column_without_a_type_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    with pytest.raises(InputError, match="is used as a number and as a text"):
        prepare(path, "k", kind="integer", where="zip = '01234' OR zip > 5")
    with pytest.raises(InputError, match=r"an offset|a time zone"):
        prepare(pl.DataFrame({"k": [1], "s": [None]}, schema={"k": pl.Int64, "s": pl.Datetime}), "k",
                where="s > TIMESTAMP '2024-01-01 00:00Z'")  # fmt: skip


def test_a_filter_on_numbers_that_pandas_has_inferred() -> None:
    frame = pd.DataFrame({"k": [0, 1, 2], "x": [1.5, np.nan, np.inf], "i": [1, 2, 3], "b": [True, False, True]})
    assert passing(frame, "x > 1", kind="integer") == [0]
    assert passing(frame, "i >= 2 AND b = TRUE", kind="integer") == [2]
    assert passing(frame, "i = 'one' OR i LIKE '%'", kind="integer") == []
    with pytest.raises(
        InputError, match=r"pandas may hold '1' in column 'i' as a number.*Write a number without quotes"
    ):
        prepare(frame, "k", kind="integer", where="i = '1'")


def test_nan_passes_no_test_whatever_the_statistics_of_a_file(tmp_path: Path) -> None:
    """DuckDB trusts statistics, which leave NaN out; one more record must not let NaN pass or fail."""
    path = tmp_path / "x.parquet"
    for others in ([5.0] * 9, [5.0, 900.0]):
        pq.write_table(pa.table({"x": [*others, float("nan")], "k": range(len(others) + 1)}), path)
        last = len(others)
        for where in ("x = 5", "x >= 5", "x < 1000", "x <> 7", "x IN (5, 900)", "x NOT IN (7)", "x IS NOT NULL",
                      "x BETWEEN 5 AND 900", "x + 1 > 5", "NOT x > 1000", "coalesce(x, 5) <> 5"):  # fmt: skip
            assert last not in passing(path, where), where
        assert passing(path, "x IS NULL") == [last]
        assert last in passing(path, "coalesce(x, 7) = 7")


def test_numbers_that_are_too_large_for_an_integer_column() -> None:
    with pytest.raises(InputError, match="a number is too large"):
        prepare(DATED, "k", exact=True, where="k < 1e400")
    with pytest.raises(InputError, match="no record can match"):
        prepare(DATED, "k", exact=True, where="k > 1e38")
    assert passing(DATED, "k < 1e38") == passing(DATED, "k IS NOT NULL")


def test_a_literal_beyond_all_integers_is_a_double_on_every_frame() -> None:
    plain = pd.DataFrame({"k": [0, 1, 2], "i": [5, -7, 9]})
    for frame in (plain, plain.astype("Int64"), pl.from_pandas(plain), pa.Table.from_pandas(plain)):
        options = {"kind": "integer"} if frame is plain else {}
        assert passing(frame, "coalesce(1e300, i) > 5", **options) == [0, 1, 2]
        assert passing(frame, "coalesce(i, 1e300) >= 5", **options) == [0, 2]
        assert passing(frame, "i < 1e300 AND i > -1e38", **options) == [0, 1, 2]


def test_booleans_have_no_order() -> None:
    frame = pl.DataFrame({"k": [0, 1], "b": [True, False]})
    with pytest.raises(InputError, match="booleans support only = and <>"):
        prepare(frame, "k", exact=True, where="b > FALSE")


def test_a_zone_reads_literals_without_an_offset() -> None:
    frame = pl.DataFrame({"k": [0, 1], "z": ["2024-03-31T00:30:00Z", "2024-03-31T01:30:00Z"]}).with_columns(
        pl.col("z").str.to_datetime(time_zone="UTC")
    )
    with pytest.raises(InputError, match="Europe/Berlin"):
        prepare(frame, "k", where="z > '2024-03-31 02:00'")
    with pytest.raises(InputError, match=r"depends on the zone. Set zone='Europe/Berlin'"):
        prepare(frame, "k", where="year(z) = 2024")
    assert passing(frame, "z > '2024-03-31 01:45'", zone="Europe/Berlin") == [1]
    assert passing(frame, "year(z) = 2024", zone="Europe/Berlin") == [0, 1]
    assert passing(frame, "z > TIMESTAMP '2024-03-31 01:45+01:00'") == [1]


# ---- releases


def test_a_release_states_its_filter() -> None:
    table = pd.concat([FRAME] * 300)
    made = flexdp.release(table, "age", epsilon=2, delta=1e-3, width=10, where="ward='ICU'OR  ward='A'")
    text = "ward = 'ICU' OR ward = 'A'"
    assert made.conditions[0] == f"Counted: readable values of age, in records where {text}."
    assert text in made.max().statement
    document = json.loads(made.to_json())
    assert document["where"] == text
    again = Release.from_json(made.to_json())
    assert again.conditions == made.conditions
    for wrong in ("ward='ICU'", "avg(x) > 1", 5, "", ["a = 1"]):
        with pytest.raises(InputError):
            Release.from_json(json.dumps({**document, "where": wrong}))
    assert "ward = &#x27;ICU&#x27; OR ward = &#x27;A&#x27;" in made._repr_html_()
    assert text in str(made.certificate())


def test_a_derived_column_is_released_and_stated() -> None:
    table = pd.concat([FRAME] * 300)
    made = flexdp.release(table, "older", epsilon=2, delta=1e-3, width=10, derive={"older": "age+k"})
    assert "Here older is age + k." in made.conditions
    document = json.loads(made.to_json())
    assert document["derived"] == {"older": "age + k"}
    assert Release.from_json(made.to_json()).conditions == made.conditions
    for wrong in ({"older": "avg(age)"}, {"older": "age+k"}, ["age"], {"": "age + k"}):
        with pytest.raises(InputError):
            Release.from_json(json.dumps({**document, "derived": wrong}))
    grouped = flexdp.release(
        table,
        "k",
        epsilon=2,
        delta=1e-3,
        kind="integer",
        exact=True,
        by="band",
        derive={"band": "CASE WHEN age < 15 THEN 'a' END"},
    )
    assert list(grouped.by_group()) == [("a",)] or "a" in str(list(grouped.by_group()))


@pytest.mark.parametrize(
    ("derive", "why"),
    [
        ({"age": "k + 1"}, "there is a column 'age' already"),
        ({"y": "avg(k)"}, "looks at several records; a derived column looks at one"),
        ({"y": "k + 1", "z": "y * 2"}, "'y' is itself a derived column"),
        ({"z": "y * 2", "y": "k + 1"}, "'y' is itself a derived column"),
        ({"y": "coalesce(k, 'a')"}, "a number does not mix with a text"),
        ({"y": "5"}, "names no column"),
        ({"y": "k > 5"}, "a value is needed here, not a test"),
        ({"y": "k + 1", "z": "k"}, "'z' is not used"),
        ({}, "names with what they stand for"),
        ("k + 1", "names with what they stand for"),
        ({"y": "nothing + 1"}, "no column named 'nothing'"),
    ],
)
def test_derived_columns_that_are_refused(derive: Any, why: str) -> None:
    with pytest.raises(InputError, match=why) as refusal:
        prepare(FRAME, "y", derive=derive)
    assert refusal.value.parameter == "derive"


def test_the_command_line_filters_and_derives(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ward,arr,dep\n" + "ICU,10,4\nA,20,1\n" * 500)
    made = flexdp_command(
        "release", path, "stay", "--derive", "stay=arr - dep", "--where", "ward = 'ICU'", "--width", 2,
        "-e", 2, "-d", "1e-3", "-s", "max",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "where ward = 'ICU'" in made.stdout
    assert "6–8" in made.stdout
    shown = flexdp_command("query", path, "arr", "--where", "ward = 'ICU' AND dep < 5", "--width", 2)
    assert "'ICU'" in shown.stdout
    wrong = flexdp_command("release", path, "arr", "--where", "avg(arr) > 5", "-e", 2, "-d", "1e-3", "--width", 2)
    assert wrong.returncode == 2
    assert "--where" in wrong.stderr
    assert "looks at several records" in wrong.stderr
    for dialect in ("duckdb", "sqlite", "postgres", "spark"):
        sql = flexdp.query(FRAME, "age", width=5, where="ward = 'o''brien' AND k > 1", dialect=dialect)
        assert "WHERE" in sql


# ---- random texts

WORDS = [
    "age", "ward", "k", "AND", "OR", "NOT", "(", ")", "=", "<>", "<", ">=", "+", "-", "*", "/", ",", "1", "2.5", "1e9",
    "'ICU'", "'%'", "''", "IN", "BETWEEN", "IS", "NULL", "LIKE", "ESCAPE", "CASE", "WHEN", "THEN", "ELSE", "END",
    "TRUE", "DATE '2024-01-01'", "year", "coalesce", "month", "number", "text", "date", "integer(k)",
    '"ward"', "'; DROP TABLE t; --'", "'a\0b'", ";", "--",
    "SELECT", "\\", "'\\'", "%s", "?", ":x", "$1", "${k}", "`k`", "{k}", "NaN", "Infinity", "99999999999999999999",
]  # fmt: skip


def sensible(rng: random.Random, depth: int = 2) -> str:
    """A text that is mostly a filter."""
    if depth and rng.random() < 0.6:
        sign = rng.choice([" AND ", " OR "])
        return rng.choice(["({})", "NOT ({})", "{}"]).format(sign.join(sensible(rng, depth - 1) for _ in range(2)))
    number = rng.choice(
        [
            "age",
            "k",
            "age - k",
            "age / k",
            "-k",
            "coalesce(age, 1)",
            "k * 2.5",
            "1e10 * age * age",
            "number(age)",
            "integer(k) - number(k)",
        ]
    )
    text = rng.choice(["ward", "text(ward)", "coalesce(ward, '')", "CASE WHEN k > 1 THEN ward ELSE '''' END"])
    return rng.choice([
        f"{number} {rng.choice(['=', '<>', '<', '>='])} {rng.choice(['1', '-2.5', '1e-320', '1e308', 'k', 'age'])}",
        f"{text} {rng.choice(['=', '!=', '<', '>'])} '{rng.choice(['$', chr(0), '%', 'ICU', chr(92)])}'",
        f"{text} LIKE '%{rng.choice(['_', '', 'I', chr(92), '!'])}%'", f"{number} IN (1, 2.5, -3)",
        f"{number} IS NULL", f"{number} BETWEEN -1 AND {rng.choice(['k', '5'])}",
    ])  # fmt: skip


def texts(rng: random.Random, many: int) -> Any:
    """Random texts: filters, filters that were changed a little, the grammar's own words, any characters."""
    for _ in range(many):
        kind = rng.random()
        if kind < 0.2:
            yield sensible(rng)
        elif kind < 0.5:
            text = list(rng.choice([sensible(rng), rng.choice([*CANONICAL, *REFUSED])[:200]]))
            for _ in range(rng.randint(1, 3)):
                place = rng.randint(0, len(text))
                text[place : place + rng.randint(0, 2)] = rng.choice(string.printable)
            yield "".join(text)
        elif kind < 0.8:
            yield " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 14)))
        else:
            codes = (rng.choice([rng.randrange(128), rng.randrange(0x2FFF)]) for _ in range(rng.randint(0, 30)))
            yield "".join(map(chr, codes))


def fuzz(seed: int, many: int, source: Any, run_every: int) -> tuple[int, int]:
    """Parse random texts, and count with those that fit the table; return how many parsed and how many fit."""
    parsed = fitting = 0
    (question,) = prepare(source, "k", exact=True).questions
    table = question.table
    for text in texts(random.Random(seed), many):
        for parse in (parse_test, parse_value):
            try:
                tree: Any = parse("where", text)
            except InputError:
                continue
            parsed += 1
            written = text_of(tree)
            assert parse("where", written) == tree, text
            assert text_of(parse("where", written)) == written, text
        try:
            test = filter_of(text, table.column)
        except InputError:
            continue
        fitting += 1
        if fitting % run_every == 0:
            counting = replace(question.counting, where=test)
            assert set(table.count([counting])[0].parts[0].tolist()) <= {0, 1, 2, 3}, text
    return parsed, fitting


def test_random_texts_are_refused_or_counted() -> None:
    """Seed 14."""
    import duckdb

    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('ICU', 10.0::DOUBLE, 0), ('A', 20, 1), (NULL, NULL, 2), "
                "('o''brien', 'nan', 3)) AS r(ward, age, k)")  # fmt: skip
    parsed, fitting = fuzz(14, 2000, (con, "t"), run_every=4)
    assert parsed > 400
    assert fitting > 300
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(4,)]


def test_many_random_texts() -> None:
    """Seed 100; set FLEXDP_TEXTS=100000 for as many as docs/filters.md speaks of."""
    import os

    many = int(os.environ.get("FLEXDP_TEXTS", "2000"))

    con = opened()
    con.execute("CREATE TABLE t (ward TEXT, age REAL, k INTEGER)")
    rows = [("ICU", 10.0, 0), ("A", 20.0, 1), (None, None, 2), ("o'brien", float("inf"), 3)]
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    parsed, fitting = fuzz(100, many, (con, "t"), run_every=1 if many > 10_000 else 10)
    assert parsed > many / 5
    assert fitting > many / 7
    assert con.execute("SELECT * FROM t").fetchall() == rows


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("w == 'A'", "Equality is written with one =."),
        ("w = A", "no column named 'A'.* Write a text in single quotes"),
        ('w = "A"', "no column named 'A'.* Write a text in single quotes"),
        ("x > 1 && w = 'A'", "Combine tests with AND, OR and NOT."),
        ("x > 1 | x < 0", "Combine tests with AND, OR and NOT."),
        ("!(x > 1)", "Combine tests with AND, OR and NOT."),
    ],
)
def test_habits_of_other_languages_are_answered(written: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        flexdp.query(pl.DataFrame({"x": [1.0], "w": ["A"]}), "x", width=1, where=written)


NESTED = {
    "cases in ELSE": ("CASE WHEN x = 1 THEN 1 ELSE ", "2", " END"),
    "cases in THEN": ("CASE WHEN x = 1 THEN ", "x", " ELSE 2 END"),
    "cases in WHEN": ("CASE WHEN ", "x", " = 1 THEN 1 ELSE 2 END"),
    "coalesce": ("coalesce(x, ", "2", ")"),
    "brackets": ("(", "x", ")"),
    "sums": ("(", "x", " + 1)"),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_values_take_time_in_proportion(name: str) -> None:
    """Calls are counted, not seconds: twice the depth takes at most five times as many; it was 2 to that depth."""
    before, middle, after = NESTED[name]

    def calls(depth: int) -> int:
        text, seen = before * depth + middle + after * depth, 0

        def count(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal seen
            seen += event == "call"

        con = sqlite3.connect(":memory:")
        con.execute("CREATE TABLE t (x INTEGER)")
        outer = sys.getprofile()
        sys.setprofile(count)
        try:
            flexdp.query((con, "t"), "x", width=1, where=f"{text} > 0")
            flexdp.query((con, "t"), "z", width=1, derive={"z": text})
        finally:
            sys.setprofile(outer)
        con.close()
        return seen

    calls(2)  # loads modules
    assert calls(36) < 5 * calls(18)


def test_differences_of_times_name_their_unit() -> None:
    """A difference of datetimes is a number of seconds, of their days one of days; what is published says so."""
    arrivals = [dt.datetime(2024, 3, 1, 23, 59), dt.datetime(2024, 2, 28, 12), dt.datetime(1, 1, 1), None]
    departures = [dt.datetime(2024, 3, 2, 0, 1), dt.datetime(2024, 3, 1, 11), dt.datetime(1, 1, 1, 5), arrivals[0]]
    frame = pl.DataFrame({"i": [0, 1, 2, 3], "a": arrivals, "b": departures}, schema_overrides={"i": pl.Int64})
    pairs = [(after, before) for before, after in zip(arrivals, departures, strict=True) if before is not None]
    for text, stated, wanted in (
        ("b - a", "seconds(b - a)", [(after - before).total_seconds() for after, before in pairs]),
        (
            "seconds(b-a) / 60",
            "seconds(b - a) / 60",
            [(after - before).total_seconds() / 60 for after, before in pairs],
        ),
        ("date(b) - date(a)", "date(b) - date(a)", [(after.date() - before.date()).days for after, before in pairs]),
        ("date(b)", "date(b)", [after.date() for after in departures]),
    ):
        request = prepare(frame, "stay", derive={"stay": text}, exact=True)
        assert request.questions[0].spec.derived == (("stay", stated),)
        keys = request.partition.centres(private_bars(request).parts[0])
        assert sorted(keys.tolist()) == sorted(set(wanted))
    for where, kept in {
        "b - a > 7200": [1, 2], "seconds(b - a) > 7200": [1, 2], "date(b) - date(a) >= 1": [0, 1],
        "date(b) = DATE '2024-03-01'": [1, 3], "date(a) < date(b)": [0, 1], "date(a) IS NULL": [3],
    }.items():  # fmt: skip
        request = prepare(frame, "i", where=where, exact=True)
        assert sorted(private_bars(request).parts[0].tolist()) == kept
        assert request.questions[0].spec.where == where.replace("b - a > 7200", "seconds(b - a) > 7200").replace(
            "seconds(seconds(b - a))", "seconds(b - a)"
        )


def test_days_of_datetimes_that_no_type_declares(tmp_path: Path) -> None:
    """In a text file date(a) reads dates, so a cell with a time of day is missing; date(datetime(a)) is its day."""
    cells = [("2024-03-01 23:59:00", "2024-03-02 00:01:00"), ("2024-02-28", "2024-03-01 11:00:00"), ("x", "2024-03-01")]
    path = tmp_path / "stays.csv"
    path.write_text("i,a,b,c\n" + "".join(f"{i},{a},{b},2024-03-01\n" for i, (a, b) in enumerate(cells)))
    request = prepare(path, "stay", derive={"stay": "date(datetime(b)) - date(datetime(a))"}, exact=True)
    assert request.questions[0].spec.derived == (("stay", "date(datetime(b)) - date(datetime(a))"),)
    assert sorted(request.partition.centres(private_bars(request).parts[0]).tolist()) == [1, 2]
    for where, kept in {
        "date(datetime(b)) = DATE '2024-03-01'": [1, 2], "date(datetime(b)) = c": [1, 2],
        "date(datetime(a)) IS NULL": [2], "date(b) IS NULL": [0, 1],
    }.items():  # fmt: skip
        request = prepare(path, "i", kind="integer", where=where, exact=True)
        assert sorted(private_bars(request).parts[0].tolist()) == kept, where
    with pytest.raises(InputError, match=r"date\(…\) says how one column is read, and takes nothing else"):
        prepare(path, "stay", derive={"stay": "date(text(b))"}, exact=True)


@pytest.mark.parametrize("text", ["i --1 > 0", "i /* of all */ > 0", "i > 0 -- of all", "i > 0--1"])
def test_a_filter_has_no_comments(text: str) -> None:
    """In SQL each is a comment, or hides one."""
    with pytest.raises(InputError, match="a filter has no comments"):
        flexdp.query(pl.DataFrame({"i": [1]}), "i", where=text)
    assert "GROUP BY" in flexdp.query(pl.DataFrame({"i": [1]}), "i", where="i - -1 > 0 AND i <> -(-1)", exact=True)
