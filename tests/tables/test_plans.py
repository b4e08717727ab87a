"""Rows that are not records: what one more record does to them, and the refusal, on engines in this process."""

from __future__ import annotations

import datetime as dt
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from _support.lite import opened
from polars.io.plugins import register_io_source
from pyarrow import dataset

import flexdp
from flexdp import InputError, Release
from flexdp._release.api import prepare

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
    "SELECT a.x AS y FROM t AS a ASOF JOIN other AS b ON a.x >= b.x", "SELECT DISTINCT ON (k) x AS y FROM t",
    "WITH RECURSIVE r(y) AS (SELECT x FROM t UNION ALL SELECT y + 1 FROM r WHERE y < 3) FROM r",
    "SELECT g.range::DOUBLE AS y FROM t, range(t.k) AS g", "SELECT y FROM t, LATERAL (SELECT t.x AS y)",
    "SELECT x AS y FROM t SEMI JOIN other USING (k)", "SELECT random() AS y FROM t", "SELECT rowid::DOUBLE AS y FROM t",
    'SELECT x AS y FROM t WHERE "Random" /* at */ () < 0.5', "SELECT len(stats(x)::VARCHAR)::DOUBLE AS y FROM t",
    "SELECT CASE WHEN x > 99 THEN error('99') ELSE x END::DOUBLE AS y FROM t", "SELECT drawn(x) AS y FROM t",
    "SELECT y FROM over_drawn", "SELECT greatest_of() AS y FROM t", "SELECT twice(x) AS y FROM t",
    "SELECT y FROM query_table('centred')", "SELECT x + txid_current() AS y FROM t",
    "SELECT x AS y FROM t WHERE txid_current() % 2 = 0", "SELECT x + current_setting('threads') AS y FROM t",
    "SELECT x AS y FROM t WHERE assert_true(x < 99) IS NULL", "SELECT x + pg_sleep(x / 1e9) AS y FROM t",
    "SELECT y FROM numbered", "SELECT x + y AS y FROM drawn_columns", "SELECT y FROM main.same_name",
    "SELECT y FROM another.same_words",
    "SELECT overloaded(x, 1) AS y FROM t", "SELECT estimated_size::DOUBLE AS y FROM duckdb_tables()",
    "SELECT reltuples::DOUBLE AS y FROM pg_class", "SELECT x AS y FROM t UNION ALL SELECT x FROM other",
]  # fmt: skip
ALSO_IN_DUCKDB = [
    "SELECT more(x) AS y FROM t", "SELECT list_sum([x, k]) AS y FROM t", "WITH a AS (SELECT x AS y FROM t) FROM a",
    "SELECT x AS y FROM t WHERE now() > DATE '2020-01-01' AND 'random' || x <> 'nextval'",
    "SELECT x AS y FROM t WHERE today() > DATE '2020-01-01' AND current_database() <> current_schema()",
    "SELECT y FROM doubled",
]  # fmt: skip
NUMBERED = ["SELECT rowid AS y FROM t", "SELECT x AS y FROM t WHERE _rowid_ < 3", 'SELECT "oid" AS y FROM t']
IN_SQLITE = [
    *NUMBERED, "SELECT x AS y FROM t WHERE k IN ids", "SELECT x AS y FROM t WHERE k NOT IN main.ids",
    "SELECT x AS y FROM t WHERE x REGEXP 'a'", "SELECT length(x) AS y FROM t", "SELECT seq AS y FROM sqlite_sequence",
    "SELECT ncol AS y FROM pragma_table_list", "SELECT cnt AS y FROM counted",
    "SELECT min(x, 3) AS y FROM t", "SELECT y FROM (SELECT y FROM centred)",
    "SELECT y FROM (SELECT x AS y FROM t LIMIT 3)",
    "WITH a AS (SELECT x - avg(x) OVER () AS y FROM t) SELECT y FROM a",
    "SELECT y FROM (SELECT max(x) AS y FROM t) AS a",
    "WITH a AS (SELECT y FROM centred) SELECT y FROM (WITH centred AS (SELECT x AS y FROM t) SELECT y FROM a)",
    "WITH a AS (SELECT x AS y FROM t), b AS (SELECT y FROM a UNION ALL SELECT y FROM a) SELECT y FROM b",
    "WITH RECURSIVE a(y) AS (SELECT x FROM t UNION ALL SELECT y + 1 FROM a WHERE y < 3) SELECT y FROM a",
    "SELECT y FROM (SELECT x AS y FROM t) AS a, (SELECT x FROM other) AS b", "SELECT value AS y FROM json_each('[1]')",
    "SELECT max((x), (SELECT max(k) FROM t)) AS y FROM t", "SELECT max(coalesce(x, k)) AS y FROM t",
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


def fill_duckdb(con: Any) -> None:
    """What only DuckDB has: macros, views over them, functions in Python."""
    fill(con)
    con.execute("CREATE MACRO drawn(a) AS a + random()")
    con.execute("CREATE MACRO greatest_of() AS (SELECT max(x) FROM t)")
    con.execute("CREATE MACRO more(a) AS a + 1")
    con.execute("CREATE VIEW drawings AS SELECT drawn(x) AS y FROM t")
    con.execute("CREATE VIEW over_drawn AS SELECT y FROM drawings")
    con.execute("CREATE SEQUENCE numbers")
    con.execute("CREATE TABLE numbered (x DOUBLE DEFAULT nextval('numbers'), y DOUBLE AS (x + txid_current()))")
    con.execute("CREATE TABLE drawn_columns (x DOUBLE, y DOUBLE AS (x + random()))")
    con.execute("CREATE TABLE doubled (x DOUBLE DEFAULT nextval('numbers'), y DOUBLE AS (2 * x))")
    con.execute("INSERT INTO doubled (x) VALUES (1), (2)")
    con.execute("CREATE SCHEMA another")
    con.execute("CREATE VIEW main.same_name AS SELECT x + random() AS y FROM t")
    con.execute("CREATE VIEW another.same_name AS SELECT x AS y FROM t")
    con.execute("CREATE VIEW main.same_words AS SELECT x AS y FROM t")
    con.execute("CREATE VIEW another.same_words AS SELECT x + random() AS y FROM t")
    con.execute("CREATE MACRO overloaded(a, b) AS a + b + random(), (a) AS a")
    con.create_function("twice", lambda x: 2 * x, ["DOUBLE"], "DOUBLE")


def bars(source: Any, **options: Any) -> dict[Any, int]:
    (question,) = prepare(source, "y", width=1, kind="number", **options).questions
    found = question.table.count([question.counting])[0]
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
    fill_duckdb(con)
    refused(con.sql(text))
    con.execute(f"CREATE VIEW v AS {text}")
    refused((con, "v"))
    assert bars((con, "v"), rows_are_records=True) is not None
    assert con.execute("SELECT current_setting('explain_output')").fetchall() == [("physical_only",)]


def test_a_connection_with_locked_settings_gives_its_tables() -> None:
    """Its plans cannot be shown, so that all of its queries are refused."""
    con = duckdb.connect()
    fill_duckdb(con)
    con.execute("CREATE VIEW v AS SELECT x AS y FROM t WHERE x > 3")
    con.execute("CREATE TABLE stored AS FROM v")
    con.execute("CREATE TABLE drawn (x DOUBLE, y AS (x + random()))")
    con.execute("SET lock_configuration = true")
    assert bars((con, "stored")) == bars((con, "v"), rows_are_records=True) != {}
    for source in ((con, "v"), con.sql("SELECT x AS y FROM t LIMIT 3")):
        refused(source)
    refused((con, "drawn"))


@pytest.mark.parametrize("text", [*PASSED, *ALSO_IN_DUCKDB])
def test_relations_of_duckdb_that_pass(text: str) -> None:
    con = duckdb.connect()
    fill_duckdb(con)
    assert bars(con.sql(text))
    con.execute(f"CREATE VIEW v AS {text}")
    assert bars((con, "v")) == bars(con.sql(text)) == bars((con, "v"), rows_are_records=True)


@pytest.mark.parametrize("text", [*REFUSED, *IN_SQLITE, *PASSED])
def test_views_of_sqlite_are_refused(text: str) -> None:
    """SQLite shows no plan of nodes, so that all of its views need a word."""
    con = opened()
    fill(con)
    con.execute("CREATE TABLE ids (k INTEGER PRIMARY KEY AUTOINCREMENT)")
    con.execute("CREATE VIRTUAL TABLE words USING fts5(x)")
    con.execute("CREATE VIRTUAL TABLE counted USING fts5vocab(words, row)")
    con.create_function("regexp", 2, max)
    for view in ("VIEW v", 'TEMP VIEW "out er"'):
        con.execute(f"CREATE {view} AS {text}")
        refused((con, view.split(maxsplit=view.count("TEMP") + 1)[-1].strip('"')))
    if text in PASSED:
        assert bars((con, "v"), rows_are_records=True)


def test_tables_of_sqlite_whose_rows_are_computed() -> None:
    con = opened()
    fill(con)
    con.execute("CREATE TABLE ids (y INTEGER PRIMARY KEY AUTOINCREMENT)")
    con.execute("CREATE VIRTUAL TABLE words USING fts5(y)")
    con.execute("CREATE VIRTUAL TABLE counted USING fts5vocab(words, row)")
    for name in ("words", "counted", "sqlite_sequence", "sqlite_schema"):
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query((con, name), None, width=1)
    assert bars((con, "ids")) == {}


def test_names_are_looked_up_where_sqlite_does() -> None:
    """A name without its database is that of temp first, then of main, then of what is attached."""
    con = sqlite3.connect(":memory:")
    con.execute("ATTACH ':memory:' AS OTHER")
    for place in ("main", "other"):
        con.execute(f"CREATE TABLE {place}.t (x INTEGER)")
        con.execute(f"CREATE TABLE {place}.hidden (x INTEGER)")
    con.execute("CREATE VIEW other.far AS SELECT x FROM t")
    con.execute("CREATE TABLE main.far (x INTEGER)")
    con.execute("CREATE VIEW main.near AS SELECT x FROM t")
    con.execute("CREATE TEMP TABLE near (x INTEGER)")
    con.execute("CREATE TEMP VIEW hidden AS SELECT x - (SELECT max(x) FROM main.t) AS x FROM main.t")
    for name in ("hidden", "HIDDEN", "temp.hidden", "other.far", "main.near", "Other.Far"):
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query((con, name), "x", width=1)
    for name in ("t", "main.t", "other.t", "main.hidden", "other.hidden", "far", "near", "temp.near", "NEAR"):
        assert "GROUP BY" in flexdp.query((con, name), "x", width=1)


DAY = dt.datetime(2024, 5, 3, 10, 30)
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
    "among a column": lambda f: f.filter(pl.col("k").is_in(pl.col("k"))).select(y="x"),
    "beside": lambda f: f.select(y=pl.col("x") + pl.Series([float(i) for i in range(9)])),
    "sum": lambda f: f.select(y=pl.col("x").cum_sum()),
    "sorted": lambda f: f.select(y=pl.col("x").sort()),
    "reversed": lambda f: f.reverse().select(y="x"),
    "quoted": lambda f: f.select(
        y=pl.lit('"').str.len_chars() + pl.col("x") - pl.col("x").max() + pl.lit('"').str.len_chars()
    ),
    "script": lambda f: register_io_source(lambda *_: iter([f.collect()]), schema=f.collect_schema()).select(y="x"),
    "query": lambda f: pl.SQLContext(t=f).execute("SELECT x - AVG(x) OVER () AS y FROM t"),
    "runs": lambda f: f.select(y=pl.col("k").rle_id().cast(pl.Float64)),
    "top": lambda f: f.top_k(3, by="x").select(y="x"),
    "repeated": lambda f: f.select(y=pl.col("x").is_duplicated().cast(pl.Float64)),
    "replaced": lambda f: f.select(y=pl.col("x").replace(pl.col("x").first(), 3.0)),
    "replaced by columns": lambda f: f.select(y=pl.col("k").replace(pl.col("k"), pl.col("k") + 1)),
    "beside others": lambda f: f.select(y=pl.sum_horizontal("x", pl.Series([float(i) for i in range(9)]))),
    "guessed": lambda f: f.select(y=pl.col("x").cast(pl.String).str.to_date(strict=False)),
    "merged": lambda f: f.merge_sorted(f, "k").select(y="x"),
    "numbered": lambda f: f.select(y=pl.col("x").cast(pl.String).cast(pl.Categorical).cast(pl.UInt32)),
    "named by numbers": lambda f: f.select(y=pl.col("k").cast(pl.Categorical)),
}
ROW_BY_ROW: dict[str, Any] = {
    "as it is": lambda f: f.rename({"x": "y"}),
    "filter": lambda f: f.filter((pl.col("x") > 1) & (pl.col("k") != 5)).select(y="x"),
    "arithmetic": lambda f: f.select(y=pl.col("x") * 2 - pl.col("k").cast(pl.Float64)),
    "choice": lambda f: f.with_columns(y=pl.when(pl.col("x") > 3).then(pl.col("x")).otherwise(0.0)),
    "sorted": lambda f: f.sort("x", descending=True).select(y="x"),
    "functions": lambda f: f.select(y=pl.col("x").fill_null(0).abs().round(1).clip(0, 5)),
    "across": lambda f: f.select(y=pl.sum_horizontal("x", "k") + pl.max_horizontal("x", pl.lit(3))),
    "means": lambda f: f.select(y=pl.mean_horizontal("x", "k") - pl.min_horizontal("x", "k")),
    "replaced": lambda f: f.select(y=pl.col("x").replace({1.0: 5.0, 2.0: 5.0})),
    "texts": lambda f: f.select(y=pl.concat_str("x", "k", separator="-").str.len_chars()),
    "times": lambda f: f.select(
        y=(pl.lit(DAY) - pl.lit(DAY).dt.truncate("1mo")).dt.total_minutes() + pl.col("x"),
    ),
}


@pytest.mark.filterwarnings("ignore:.*cut.*is deprecated:DeprecationWarning")
def test_a_lazy_frame_that_is_cut_at_given_places_passes() -> None:
    frame = pl.LazyFrame({"x": [float(i) for i in range(9)]})
    made = frame.select(y=pl.col("x").cut([2.5, 5.5], labels=["a", "bc", "def"]).cast(pl.String).str.len_chars())
    assert bars(made) == bars(made.collect())
    refused(frame.select(y=pl.col("x").qcut(3, labels=["a", "bc", "def"]).cast(pl.String).str.len_chars()))


@pytest.mark.filterwarnings("ignore:.*cut.*is deprecated:DeprecationWarning")
def test_a_lazy_frame_that_numbers_its_categories_is_refused() -> None:
    """Up to polars 1.44 the number of a category is its place among those seen so far: one record moves all others."""
    for first in ([], [8.0]):
        cut = pl.LazyFrame({"x": [*first, 1.0, 4.0]}).with_columns(c=pl.col("x").cut([2.5, 5.5]))
        refused(cut.select(y=pl.col("c").cast(pl.UInt32)))
        refused(cut.select(y=pl.col("c").cast(pl.Float64, strict=False)))
        assert bars(cut.select("c", y=pl.col("x") + 1))


def test_a_lazy_frame_that_numbers_stored_categories_is_refused(tmp_path: Any) -> None:
    """Also those of a struct, and where the numbers only decide which rows are left."""
    kinds = {"c": pl.Categorical, "s": pl.Struct({"c": pl.Categorical})}
    frame = pl.DataFrame({"x": [1.5, 2.5], "c": ["a", "b"], "s": [{"c": "a"}, {"c": "b"}]}, schema_overrides=kinds)
    frame.select("x", "c").write_parquet(tmp_path / "c.parquet")
    for lazy in (frame.lazy(), pl.scan_parquet(tmp_path / "c.parquet")):
        refused(lazy.select(y=pl.col("c").cast(pl.UInt32)))
        refused(lazy.filter(pl.col("c").cast(pl.Int64, strict=False) > 0).select(y="x"))
        assert bars(lazy.select("c", y=pl.col("x") + 1))
        assert bars(lazy.select(y=pl.col("x").cast(pl.Int64)))
    refused(frame.lazy().select(y=pl.col("s").struct.field("c").cast(pl.UInt32)))


def test_a_lazy_frame_of_which_polars_shows_no_nodes_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"y": [1.5, 2.5]}).write_ipc(tmp_path / "y.arrow")
    refused(pl.scan_ipc(tmp_path / "y.arrow"))
    assert bars(pl.scan_ipc(tmp_path / "y.arrow"), rows_are_records=True)


@pytest.mark.parametrize("name", FRAMES)
def test_lazy_frames_that_are_refused(name: str) -> None:
    """However many rows there are: a limit that cuts nothing off is refused as well."""
    for rows in (0, 2, 9):
        frame = pl.LazyFrame(
            {"k": list(range(rows)), "x": [float(i) for i in range(rows)]}, schema={"k": pl.Int64, "x": pl.Float64}
        )
        refused(FRAMES[name](frame))


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_lazy_frames_that_pass(name: str, tmp_path: Any) -> None:
    frame = pl.LazyFrame({"k": list(range(9)), "x": [float(i) for i in range(9)]})
    made = ROW_BY_ROW[name](frame)
    assert bars(made) == bars(made.collect())
    frame.collect().write_parquet(tmp_path / "x.parquet")
    assert bars(ROW_BY_ROW[name](pl.scan_parquet(tmp_path / "x.parquet"))) == bars(made)
    refused(ROW_BY_ROW[name](pl.scan_parquet(tmp_path / "x.parquet", n_rows=3)))


def test_files_that_are_read_twice_or_with_numbers_of_rows(tmp_path: Any) -> None:
    """One record of the file is two rows, or shifts the numbers of the others."""
    con, found = duckdb.connect(), {}
    for rows in ([1.0, 2.0, 3.0], [9.0, 1.0, 2.0, 3.0]):
        path = str(tmp_path / f"{len(rows)}.parquet")
        pl.DataFrame({"y": rows}).write_parquet(path)
        sources = {
            "relation": con.read_parquet([path, path]),
            "text": con.sql(f"FROM read_parquet(['{path}', '{tmp_path}/./{len(rows)}.parquet'])"),
            "numbers": con.sql(f"SELECT file_row_number AS y FROM read_parquet('{path}', file_row_number = true)"),
            "lazy": pl.scan_parquet([path, path]),
        }
        for name, source in sources.items():
            refused(source)
            found.setdefault(name, []).append(bars(source, rows_are_records=True))
        for data in (dataset.dataset([path, path]), dataset.dataset([dataset.dataset(path), dataset.dataset(path)])):
            with pytest.raises(InputError, match="the same file more than once"):
                prepare(data, "y", width=1)
        assert sum(bars(dataset.dataset(path)).values()) == sum(bars(con.read_parquet(path)).values()) == len(rows)
    assert {name: moved(*pair) for name, pair in found.items()} == {"relation": 2, "text": 2, "numbers": 1, "lazy": 2}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to be in, with three files of two records each, and one more name of the first elsewhere."""
    monkeypatch.chdir(tmp_path)
    for name in ("t", "u", "v, w"):
        pl.DataFrame({"y": [1.0, 2.0]}).write_parquet(f"{name}.parquet")
    Path("linked").mkdir()
    Path("linked/t.parquet").symlink_to(tmp_path / "t.parquet")
    Path("linked/hard.parquet").hardlink_to(tmp_path / "t.parquet")
    Path("part").mkdir()
    for name in "abc":
        pl.DataFrame({"y": [1.0, 2.0]}).write_parquet(f"part/{name}.parquet")
    return tmp_path


TWICE_IN_DUCKDB = [
    "read_parquet(list_value('t.parquet', 't.parquet'))", "read_parquet(['t.parquet'] || ['t.parquet'])",
    "read_parquet(['t.parquet', concat('t', '.parquet')])", "read_parquet(['t.parquet', 't*.parquet'])",
    "parquet_scan(['t.parquet', 't?parquet'])", "read_parquet('linked/*.parquet')", "'linked/*.parquet'",
    '"linked/*.parquet"', "read_parquet(['t.parquet', 'linked/hard.parquet'])", "read_parquet('linked')",
    "read_parquet(['t.parquet', e't\\x2Eparquet'])",
    "read_parquet(['t.parquet', $$t.parquet$$])", "\"read_parquet\" /* of ['u.parquet'] */ (files())",
    "read_parquet(getvariable('files'))", "doubled('t.parquet')",
    "query('FROM read_parquet([''t.parquet'', ''t.parquet''])')",
]  # fmt: skip
ONCE_IN_DUCKDB = {
    "'t.parquet'": 2, '"t.parquet"': 2, "read_parquet('t.parquet')": 2, "read_parquet(['t.parquet', 'u.parquet'])": 4,
    "parquet_scan('part/?.parquet', filename = true) -- all of them": 6, "read_parquet('part')": 6,
    "(FROM read_parquet( ['t.parquet', 'part/[ab].parquet']))": 6, "'v, w.parquet'": 2,
}  # fmt: skip


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("files", TWICE_IN_DUCKDB)
def test_relations_that_may_read_a_file_twice(files: str) -> None:
    con = duckdb.connect()
    con.execute("SET VARIABLE files = ['t.parquet', 't.parquet']")
    con.execute("CREATE MACRO files() AS ['t.parquet', 't.parquet']")
    con.execute("CREATE MACRO doubled(file) AS TABLE FROM read_parquet([file, file])")
    relation = con.sql(f"SELECT y FROM {files}")
    assert sum(bars(relation, rows_are_records=True).values()) == 4, "two records, twice"
    refused(relation)
    con.execute(f"CREATE VIEW v AS SELECT y FROM {files}")
    refused((con, "v"))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("files", ONCE_IN_DUCKDB)
def test_relations_that_read_each_file_once(files: str) -> None:
    con = duckdb.connect()
    relation = con.sql(f"SELECT y FROM {files}")
    assert sum(bars(relation).values()) == ONCE_IN_DUCKDB[files]
    con.execute(f"CREATE VIEW v AS SELECT y FROM {files}")
    assert bars((con, "v")) == bars(relation)


@pytest.mark.usefixtures("folder")
def test_what_the_text_of_a_relation_does_not_show() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 1.0::DOUBLE AS y")
    con.execute("SET VARIABLE most = (SELECT max(y) FROM t)")
    refused(con.sql("SELECT y - getvariable('most') AS y FROM t"))
    twice, drawn = con.read_parquet(["t.parquet", "t.parquet"]), con.sql("SELECT y + random() AS y FROM t")
    frame, arrow = pd.DataFrame({"y": [1.0, 2.0]}), pa.table({"y": [1.0, 2.0]})
    assert twice is not drawn
    refused(con.sql("SELECT y FROM twice"))
    refused(con.sql("SELECT y FROM twice -- FROM 'u.parquet'"))
    refused(con.sql("SELECT y FROM drawn"))
    moving = pl.LazyFrame({"y": [1.0, 2.0]}).select(y=pl.col("y") - pl.col("y").mean())
    assert moving is not drawn
    for name in ("arrow", "moving"):  # DuckDB shows of both that they are Arrow streams
        refused(con.sql(f"SELECT y FROM {name}"))
    con.register("registered", arrow)
    refused((con, "registered"))
    refused(con.sql("FROM read_parquet($1)", params=[["t.parquet", "t.parquet"]]))
    refused(con.from_parquet(["t.parquet", "t?parquet"]))
    with pytest.raises(InputError, match="is a relation over a pandas frame"):
        bars(con.sql("SELECT y FROM frame WHERE y > 0"))
    vouched = bars(con.sql("SELECT y FROM arrow"), rows_are_records=True)
    assert sum(vouched.values()) == len(frame) == len(arrow)
    assert sum(bars(con.from_parquet(["t.parquet", "u.parquet"]).filter("y > 1")).values()) == 2
    con.execute("CREATE MACRO list_value(a) AS list_concat(string_split(a, '|'), string_split(a, '|'))")
    own = con.sql("FROM read_parquet(list_value('t.parquet'))")
    assert len(own.fetchall()) == 4
    with pytest.raises(InputError, match="name of a built-in function"):
        prepare(own, "y", width=1)


TWICE_IN_POLARS: dict[str, Any] = {
    "three times": ["t.parquet"] * 3,
    "spelt otherwise": ["t.parquet", "part/../t.parquet"],
    "by a link": ["t.parquet", "linked/t.parquet"],
    "by a hard link": ["t.parquet", "linked/hard.parquet"],
    "by a pattern of links": "linked/*.parquet",
    "a directory of links": "linked",
    "among three": ["t.parquet", "u.parquet", "./t.parquet"],
    "by a pattern": ["part/a.parquet", "part/*.parquet"],
    "in memory": [Path("t.parquet")] * 2,
    "three in memory": [Path("t.parquet")] * 3,
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", TWICE_IN_POLARS)
def test_lazy_frames_that_may_read_a_file_twice(name: str) -> None:
    given = TWICE_IN_POLARS[name]
    lazy = pl.scan_parquet([file.read_bytes() for file in given] if "in memory" in name else given)
    assert sum(bars(lazy, rows_are_records=True).values()) >= 4
    refused(lazy.filter(pl.col("y") > 0))


@pytest.mark.usefixtures("folder")
@pytest.mark.filterwarnings("error")
def test_lazy_frames_that_read_each_file_once() -> None:
    for given, records in {
        ("t.parquet", "u.parquet"): 4, ("t.parquet", "u.parquet", "part/c.parquet"): 6, ("part/*.parquet",): 6,
        ("part",): 6, ("part/[ab].parquet",): 4, ("v, w.parquet",): 2, ("v, w.parquet", "t.parquet", "u.parquet"): 6,
        ("t.parquet", "part/*.parquet"): 8,
    }.items():  # fmt: skip
        assert sum(bars(pl.scan_parquet(list(given)).select("y")).values()) == records, given


def test_data_sets_that_read_a_file_twice(folder: Path) -> None:
    for files in (["t.parquet", "linked/t.parquet"], ["t.parquet", f"{folder}/t.parquet"], ["t.parquet"] * 3):
        with pytest.raises(InputError, match="the same file more than once"):
            prepare(dataset.dataset(files), "y", width=1)
    assert sum(bars(dataset.dataset(["t.parquet", "u.parquet"])).values()) == 4


def test_one_record_moves_many_numbers_of_rows() -> None:
    """Without its first record, a table that is filled anew has other numbers for all later rows."""
    found: dict[str, list[Any]] = {}
    for first in (0, 1):
        light = opened()
        fill(light)
        light.execute("DELETE FROM t")
        light.executemany("INSERT INTO t (k, x) VALUES (?, ?)", [(i, float(i)) for i in range(first, 9)])
        light.execute("CREATE VIEW v AS SELECT x - rowid AS y FROM t")
        con = duckdb.connect()
        con.execute(f"CREATE TABLE t AS SELECT range::DOUBLE AS x FROM range({first}, 9)")
        for name, source in {"sqlite": (light, "v"), "duckdb": con.sql("SELECT x - rowid AS y FROM t")}.items():
            refused(source)
            found.setdefault(name, []).append(bars(source, rows_are_records=True))
    assert {name: moved(*pair) for name, pair in found.items()} == {"sqlite": 17, "duckdb": 17}


def test_one_record_more_moves_the_number_of_a_transaction() -> None:
    """Each record is inserted by itself, so that one more makes the number larger in every row."""
    found = []
    for rows in (9, 10):
        con = duckdb.connect()
        con.execute("CREATE TABLE t (x DOUBLE)")
        for i in range(rows):
            con.execute("INSERT INTO t VALUES (?)", [float(i)])
        source = con.sql("SELECT 1000 * txid_current()::DOUBLE AS y FROM t")
        refused(source)
        found.append(bars(source, rows_are_records=True))
    assert moved(*found) > 10


def test_one_record_moves_every_row_of_a_query() -> None:
    """The promise that the refusal protects: adding one record changes one bucket by one. Here it moves them all."""
    values = [float(i % 10) for i in range(50)]
    found = {}
    for rows in (values, [*values, 1000.0]):
        lazy = pl.LazyFrame({"x": rows}).select(y=pl.col("x") - pl.col("x").mean())
        con = duckdb.connect()
        con.execute("CREATE TABLE t AS SELECT unnest(?) AS x", [rows])
        light = opened()
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
    vouched = "for each record provided that every record yields at most one row of the given query and no row depends"
    for text in (str(made.privacy), str(made.certificate()), made.to_html(), made._repr_html_()):
        assert text.replace("\N{NO-BREAK SPACE}", " ").count(vouched) == text.count("for each record") == 1
    assert "What is protected is one row of the given query" in made.to_html() and "one record:" not in made.to_html()
    both = flexdp.summary(con.sql("SELECT DISTINCT x, x % 7 AS y FROM t"), epsilon=2, delta=1e-6, rows_are_records=True)
    for text in (str(both.privacy), both.to_html(), str(both.certificate())):
        assert vouched in text and text.count("for each record") == text.count(vouched)
    assert "What is protected is one row of the given query" in both.to_html() and "one record:" not in both.to_html()
    assert Release.from_json(made.to_json()).conditions == made.conditions
    asked = flexdp.release(rows, "x", epsilon=1, delta=0, ask=["max", "median"], rows_are_records=True, where="x > 3")
    assert all(words in answer.statement and "x > 3" in answer.statement for answer in (asked.max(), asked.median()))


def test_only_queries_can_be_vouched_for() -> None:
    for source in ([1.0, 2.0], pd.DataFrame({"y": [1.0]}), pl.DataFrame({"y": [1.0]}), "x.parquet"):
        with pytest.raises(InputError, match="rows_are_records applies to"):
            prepare(source, None if isinstance(source, list) else "y", kind="number", rows_are_records=True)
    with pytest.raises(InputError, match="rows_are_records"):
        prepare(pl.LazyFrame({"y": [1.0]}), "y", rows_are_records="yes")
