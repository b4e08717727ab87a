"""Rows that are not records: what one more record does to them, and the refusal, on engines in this process."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import flexdp
from flexdp import InputError, Release
from flexdp._release.api import prepare
from flexdp.tables import count

REFUSED = [
    "SELECT x - avg(x) OVER () AS y FROM t",
    "SELECT x - (SELECT max(x) FROM t) AS y FROM t",
    "SELECT x - (SELECT count(*) FROM t) AS y FROM t",
    "SELECT x AS y FROM t LIMIT 3",
    "SELECT x AS y FROM t ORDER BY x LIMIT 3",
    "SELECT max(x) AS y FROM t",
    "SELECT max(x) AS y FROM t GROUP BY k",
    "SELECT DISTINCT x AS y FROM t",
    "SELECT a.x AS y FROM t AS a JOIN t AS b ON a.k < b.k",
    "SELECT a.x AS y FROM t AS a, t AS b",
    "SELECT x AS y FROM t UNION ALL SELECT x FROM t",
    "SELECT x AS y FROM t UNION SELECT x FROM other",
    "SELECT x AS y FROM t EXCEPT SELECT x FROM other",
    "SELECT x AS y FROM t WHERE x IN (SELECT max(x) FROM t)",
    "SELECT y FROM (SELECT y FROM (SELECT x - avg(x) OVER () AS y FROM t) AS a) AS b",
    "SELECT row_number() OVER () AS y FROM t",
    "SELECT y FROM centred",
    "WITH a AS (SELECT avg(x) AS m FROM t) SELECT x - m AS y FROM t, a",
]
IN_DUCKDB = [
    "SELECT x AS y FROM t USING SAMPLE 3", "SELECT x AS y FROM t TABLESAMPLE 50%", "SELECT unnest([x, x]) AS y FROM t",
    "SELECT x AS y FROM t QUALIFY row_number() OVER (ORDER BY x) < 3", "SELECT t.x AS y FROM t POSITIONAL JOIN other",
    "SELECT a.x AS y FROM t AS a ASOF JOIN other AS b ON a.x >= b.x",
]  # fmt: skip
PASSED = [
    "SELECT x AS y FROM t",
    "SELECT CASE WHEN x > 3 THEN x * 2 ELSE abs(x) END AS y FROM t WHERE k > 0 OR x IS NULL",
    "SELECT x AS y FROM t ORDER BY x",
    "SELECT coalesce(x, 0) AS y FROM t AS a WHERE x > 1",
    "SELECT y FROM shifted WHERE y > 2",
]


def fill(con: Any, rows: int = 9) -> None:
    con.execute("CREATE TABLE t (k INTEGER, x DOUBLE)")
    con.execute("CREATE TABLE other (k INTEGER, x DOUBLE)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [(i, float(i)) for i in range(rows)])
    con.execute("CREATE VIEW centred AS SELECT x - avg(x) OVER () AS y FROM t")
    con.execute("CREATE VIEW shifted AS SELECT x + 1 AS y FROM t")


def bars(source: Any, **options: Any) -> dict[Any, int]:
    (question,) = prepare(source, "y", width=1, kind="number", **options).questions
    found = count(question.table, [question.counting])[0]
    return dict(zip(found.parts[0].tolist(), found.counts.tolist(), strict=True))


def moved(first: dict[Any, int], second: dict[Any, int]) -> int:
    return sum(abs(first.get(key, 0) - second.get(key, 0)) for key in {*first, *second})


def refused(source: Any) -> str:
    with pytest.raises(InputError, match="rows need not be records") as refusal:
        prepare(source, "y", width=1, kind="number")
    message = str(refusal.value)
    assert not any(char.isdigit() for char in message)  # neither constants nor numbers of rows
    assert "rows_are_records=True" in message
    return message


@pytest.mark.parametrize("text", [*REFUSED, *IN_DUCKDB])
def test_relations_of_duckdb_that_are_refused(text: str) -> None:
    con = duckdb.connect()
    fill(con)
    refused(con.sql(text))
    con.execute(f"CREATE VIEW v AS {text}")
    refused((con, "v"))
    assert bars((con, "v"), rows_are_records=True) is not None
    assert con.execute("SELECT current_setting('explain_output')").fetchall() == [("physical_only",)]


@pytest.mark.parametrize("text", [*PASSED, "SELECT x AS y FROM t UNION ALL SELECT x FROM other"])
def test_relations_of_duckdb_that_pass(text: str) -> None:
    con = duckdb.connect()
    fill(con)
    assert bars(con.sql(text))
    con.execute(f"CREATE VIEW v AS {text}")
    assert bars((con, "v")) == bars(con.sql(text)) == bars((con, "v"), rows_are_records=True)


@pytest.mark.parametrize("text", REFUSED)
def test_views_of_sqlite_that_are_refused(text: str) -> None:
    con = sqlite3.connect(":memory:")
    fill(con)
    con.execute(f"CREATE VIEW v AS {text}")
    refused((con, "v"))
    con.execute('CREATE TEMP VIEW "out er" AS SELECT * FROM v')
    refused((con, "out er"))


@pytest.mark.parametrize("text", PASSED)
def test_views_of_sqlite_that_pass(text: str) -> None:
    con = sqlite3.connect(":memory:")
    fill(con)
    con.execute(f"CREATE VIEW v (y) AS {text} -- as it is; LIMIT 3")
    assert bars((con, "v"))
    con.execute('CREATE TEMP VIEW "out er" AS SELECT y FROM main.v')
    assert bars((con, "out er")) == bars((con, "v"))


FRAMES: dict[str, Any] = {
    "mean": lambda f: f.select(y=pl.col("x") - pl.col("x").mean()),
    "over": lambda f: f.select(y=pl.col("x").sum().over("k")),
    "limit": lambda f: f.select(y="x").head(3),
    "rank": lambda f: f.select(y=pl.col("x").rank()),
    "shift": lambda f: f.select(y=pl.col("x").shift(1)),
    "fill": lambda f: f.select(y=pl.col("x").fill_null(strategy="forward")),
    "length": lambda f: f.select(y=pl.col("x") / pl.len()),
    "groups": lambda f: f.group_by("k").agg(y=pl.col("x").max()),
    "join": lambda f: f.join(f, on="k").select(y="x"),
    "unique": lambda f: f.select(y="x").unique(),
    "twice": lambda f: pl.concat([f, f]).select(y="x"),
    "explode": lambda f: f.select(y=pl.concat_list("x", "x")).explode("y"),
    "code": lambda f: f.select(y="x").map_batches(lambda frame: frame),
    "python": lambda f: f.select(y=pl.col("x").map_elements(lambda x: x, return_dtype=pl.Float64)),
    "index": lambda f: f.with_row_index("y").select(pl.col("y").cast(pl.Float64)),
    "among": lambda f: f.filter(pl.col("x").is_in(pl.col("x").head(1).implode())).select(y="x"),
    "beside": lambda f: f.select(y=pl.col("x") + pl.Series([float(i) for i in range(9)])),
    "sum": lambda f: f.select(y=pl.col("x").cum_sum()),
    "sorted": lambda f: f.select(y=pl.col("x").sort()),
    "reversed": lambda f: f.reverse().select(y="x"),
}
ROW_BY_ROW: dict[str, Any] = {
    "as it is": lambda f: f.rename({"x": "y"}),
    "filter": lambda f: f.filter((pl.col("x") > 1) & (pl.col("k") != 5)).select(y="x"),
    "arithmetic": lambda f: f.select(y=pl.col("x") * 2 - pl.col("k").cast(pl.Float64)),
    "choice": lambda f: f.with_columns(y=pl.when(pl.col("x") > 3).then(pl.col("x")).otherwise(0.0)),
    "sorted": lambda f: f.sort("x", descending=True).select(y="x"),
    "functions": lambda f: f.select(y=pl.col("x").fill_null(0).abs().round(1).clip(0, 5)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_lazy_frames_that_are_refused(name: str) -> None:
    frame = pl.LazyFrame({"k": list(range(9)), "x": [float(i) for i in range(9)]})
    refused(FRAMES[name](frame))


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_lazy_frames_that_pass(name: str, tmp_path: Any) -> None:
    frame = pl.LazyFrame({"k": list(range(9)), "x": [float(i) for i in range(9)]})
    made = ROW_BY_ROW[name](frame)
    assert bars(made) == bars(made.collect())
    frame.collect().write_parquet(tmp_path / "x.parquet")
    assert bars(ROW_BY_ROW[name](pl.scan_parquet(tmp_path / "x.parquet"))) == bars(made)
    refused(ROW_BY_ROW[name](pl.scan_parquet(tmp_path / "x.parquet", n_rows=3)))


def test_one_record_moves_every_row_of_a_query() -> None:
    """The promise that the refusal protects: adding one record changes one bucket by one. Here it moves them all."""
    values = [float(i % 10) for i in range(50)]
    found = {}
    for rows in (values, [*values, 1000.0]):
        lazy = pl.LazyFrame({"x": rows}).select(y=pl.col("x") - pl.col("x").mean())
        con = duckdb.connect()
        con.execute("CREATE TABLE t AS SELECT unnest(?) AS x", [rows])
        light = sqlite3.connect(":memory:")
        light.execute("CREATE TABLE t (x REAL)")
        light.executemany("INSERT INTO t VALUES (?)", [(row,) for row in rows])
        text = "SELECT x - avg(x) OVER () AS y FROM t"
        light.execute(f"CREATE VIEW v AS {text}")
        plain = pl.LazyFrame({"y": rows})
        for name, source in {"lazy": lazy, "duckdb": con.sql(text), "sqlite": (light, "v"), "plain": plain}.items():
            if name != "plain":
                refused(source)
            found.setdefault(name, []).append(bars(source, rows_are_records=True))
    assert {name: moved(*pair) > 50 for name, pair in found.items()} == {
        "lazy": True, "duckdb": True, "sqlite": True, "plain": False,
    }  # fmt: skip
    assert moved(*found["plain"]) == 1


def test_a_query_that_is_vouched_for_is_named_in_every_sentence() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT range % 50 AS x FROM range(5000)")
    rows = con.sql("SELECT DISTINCT ON (x, rowid) x FROM t")
    made = flexdp.release(rows, "x", epsilon=1, delta=1e-6, width=10, rows_are_records=True)
    words = "of the rows of the given query"
    answers = [made.max(), made.median(), made.range(), made.mode(), made.counts()]
    assert all(words in answer.statement for answer in answers)
    assert words in made.conditions[0]
    assert words in str(made.certificate())
    assert words in made._repr_html_()
    assert Release.from_json(made.to_json()).conditions == made.conditions
    asked = flexdp.release(rows, "x", epsilon=1, delta=0, ask=["max", "median"], rows_are_records=True, where="x > 3")
    assert all(words in answer.statement and "x > 3" in answer.statement for answer in (asked.max(), asked.median()))


def test_only_queries_can_be_vouched_for() -> None:
    for source in ([1.0, 2.0], pd.DataFrame({"y": [1.0]}), pl.DataFrame({"y": [1.0]}), "x.parquet"):
        with pytest.raises(InputError, match="rows_are_records applies to"):
            prepare(source, None if isinstance(source, list) else "y", kind="number", rows_are_records=True)
    with pytest.raises(InputError, match="rows_are_records"):
        prepare(pl.LazyFrame({"y": [1.0]}), "y", rows_are_records="yes")
