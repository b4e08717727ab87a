"""Rows that are not records: what one more record does to them, and the refusal, on PostgreSQL and Spark."""

from __future__ import annotations

from typing import Any

import pytest

import flexdp
from flexdp import InputError

REFUSED = {
    "a window": "SELECT k, x - avg(x) OVER () AS y FROM {t}",
    "a subquery": "SELECT k, x - (SELECT max(x) FROM {t}) AS y FROM {t}",
    "a limit": "SELECT k, x AS y FROM {t} ORDER BY x LIMIT 3",
    "an aggregate": "SELECT k, max(x) AS y FROM {t} GROUP BY k",
    "DISTINCT": "SELECT DISTINCT x AS y FROM {t}",
    "a join": "SELECT a.k, a.x AS y FROM {t} AS a JOIN {t} AS b ON a.k < b.k",
    "a union": "SELECT x AS y FROM {t} UNION ALL SELECT x FROM {t}",
    "half a join": "SELECT k, x AS y FROM {t} WHERE x IN (SELECT max(x) FROM {t})",
    "nested": "SELECT y FROM (SELECT y FROM (SELECT x - avg(x) OVER () AS y FROM {t}) AS a) AS b",
    "a rank": "SELECT CAST(rank() OVER (ORDER BY x) AS DOUBLE PRECISION) AS y FROM {t}",
}
PASSED = {
    "columns": "SELECT k, x AS y FROM {t}",
    "row by row": "SELECT k, CASE WHEN x > 3 THEN x * 2 ELSE abs(x) END AS y FROM {t} WHERE k > 0 OR x IS NULL",
    "nested": "SELECT y FROM (SELECT x + 1 AS y FROM {t}) AS a WHERE y > 1",
    "sorted": "SELECT x AS y FROM {t} ORDER BY x",
}


def bars(source: Any, **options: Any) -> dict[Any, int]:
    from flexdp._release.api import prepare

    (question,) = prepare(source, "y", width=1, **options).questions
    found = question.table.count([question.counting])[0]
    return dict(zip(found.parts[0].tolist(), found.counts.tolist(), strict=True))


def moved(first: dict[Any, int], second: dict[Any, int]) -> int:
    return sum(abs(first.get(key, 0) - second.get(key, 0)) for key in {*first, *second})


@pytest.mark.parametrize("driver", ["psycopg_connection", "pg8000_connection"])
def test_views_of_postgres(driver: str, request: pytest.FixtureRequest, psycopg_connection: Any) -> None:
    con, parameters = request.getfixturevalue(driver), {} if driver.startswith("psy") else {"engine": "postgres"}
    writer = psycopg_connection
    writer.execute("DROP TABLE IF EXISTS rec CASCADE")
    writer.execute(
        "CREATE TABLE rec AS SELECT CAST(i AS BIGINT) AS k, CAST(i AS FLOAT8) AS x FROM generate_series(1, 9) i"
    )
    for kind in ("VIEW", "MATERIALIZED VIEW"):
        for name, text in REFUSED.items():
            writer.execute(f"CREATE {kind} refused AS {text.format(t='rec')}")
            writer.commit()
            with pytest.raises(InputError, match="rows need not be records") as refusal:
                flexdp.query((con, "refused"), "y", width=1, **parameters)
            assert not any(char.isdigit() for char in str(refusal.value)), name
            assert "GROUP BY" in flexdp.query((con, "refused"), "y", width=1, rows_are_records=True, **parameters)
            writer.execute(f"DROP {kind} refused")
        for text in PASSED.values():
            writer.execute(f"CREATE {kind} passed AS {text.format(t='rec')}")
            writer.commit()
            assert "GROUP BY" in flexdp.query((con, "passed"), "y", width=1, **parameters)
            writer.execute(f"DROP {kind} passed")
    writer.commit()


def test_a_function_in_a_view_of_postgres_is_not_believed(psycopg_connection: Any) -> None:
    con = psycopg_connection
    con.execute("DROP TABLE IF EXISTS rec2 CASCADE")
    con.execute("CREATE TABLE rec2 AS SELECT CAST(1 AS FLOAT8) AS x")
    body = "BEGIN RETURN (SELECT avg(x) FROM rec2); END"
    con.execute(f"CREATE OR REPLACE FUNCTION centre() RETURNS float8 LANGUAGE plpgsql AS '{body}'")
    con.execute("CREATE VIEW hidden AS SELECT x - centre() AS y FROM rec2")
    con.execute("CREATE VIEW outside AS SELECT y FROM hidden")
    con.execute("CREATE MATERIALIZED VIEW stored AS SELECT max(x) AS y FROM rec2")
    con.execute("CREATE SEQUENCE IF NOT EXISTS numbers")
    con.execute("CREATE VIEW numbered AS SELECT nextval('numbers') AS y FROM rec2")
    con.execute("CREATE VIEW over_stored AS SELECT y FROM stored")
    con.commit()
    for view in ("hidden", "outside", "over_stored", "numbered"):
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query((con, view), "y", width=1)


IN_POSTGRES = {
    "chance": "SELECT random() AS y FROM rec4",
    "a sequence": "SELECT x AS y FROM rec4 WHERE nextval('numbers4') < 5",
    "a size": "SELECT CAST(pg_relation_size('rec4') AS FLOAT8) AS y FROM rec4",
    "statistics": "SELECT CAST(pg_stat_get_live_tuples(CAST('rec4' AS regclass)) AS FLOAT8) AS y FROM rec4",
    "a query": "SELECT x + length(CAST(query_to_xml('SELECT 1', true, true, '') AS TEXT)) AS y FROM rec4",
    "a place": "SELECT (CAST(CAST(ctid AS TEXT) AS point))[1] AS y FROM rec4",
    "an operator": "SELECT x AS y FROM rec4 WHERE x === 1.0",
    "a transaction": "SELECT x + txid_current() AS y FROM rec4",
    "a transaction as a test": "SELECT x AS y FROM rec4 WHERE txid_current_if_assigned() IS NULL",
    "a transaction's age": "SELECT CAST(age(CAST(CAST(x AS TEXT) AS xid)) AS FLOAT8) AS y FROM rec4",
    "a setting": "SELECT x + length(current_setting('search_path')) AS y FROM rec4",
    "who wrote a row": "SELECT CAST(CAST(CAST(xmin AS TEXT) AS BIGINT) AS FLOAT8) AS y FROM rec4",
    "which command": "SELECT x AS y FROM rec4 WHERE CAST(CAST(cmin AS TEXT) AS INT) < 3",
    "which table": "SELECT CAST(CAST(tableoid AS BIGINT) AS FLOAT8) AS y FROM rec4",
    "a catalogue": "SELECT CAST(reltuples AS FLOAT8) AS y FROM pg_catalog.pg_class",
    "a catalogue's view": "SELECT CAST(n_live_tup AS FLOAT8) AS y FROM pg_catalog.pg_stat_user_tables",
}


def test_what_a_view_of_postgres_may_not_call(psycopg_connection: Any) -> None:
    con = psycopg_connection
    con.execute("DROP TABLE IF EXISTS rec4 CASCADE")
    con.execute("CREATE TABLE rec4 AS SELECT CAST(i AS FLOAT8) AS x, now() AS d FROM generate_series(1, 9) i")
    con.execute("CREATE SEQUENCE IF NOT EXISTS numbers4")
    body = "SELECT $1 > (SELECT avg(x) FROM rec4)"
    con.execute(f"CREATE OR REPLACE FUNCTION above(float8, float8) RETURNS bool LANGUAGE sql AS '{body}'")
    con.execute("DROP OPERATOR IF EXISTS === (float8, float8)")
    con.execute("CREATE OPERATOR === (LEFTARG = float8, RIGHTARG = float8, FUNCTION = above)")
    for name, text in IN_POSTGRES.items():
        con.execute(f"CREATE OR REPLACE VIEW calling AS {text}")
        con.commit()
        with pytest.raises(InputError, match="rows need not be records") as refusal:
            flexdp.query((con, "calling"), "y", width=1)
        assert not any(char.isdigit() for char in str(refusal.value)), name
    fine = (
        "SELECT x + length('random()') AS y FROM rec4 WHERE extract(year FROM d) > 1 AND now() > date_trunc('day', d)"
    )
    dated = "SELECT x + extract(year FROM age(d, '2020-01-01')) + length(to_char(d, 'YYYY')) AS y FROM rec4"
    for passing in (fine, f"{dated} WHERE d < current_date + 1 AND concat(x, 'a') <> 'b' AND CAST(d AS TEXT) <> ''"):
        con.execute("DROP VIEW IF EXISTS calling")
        con.execute(f"CREATE VIEW calling AS {passing}")
        con.commit()
        assert "GROUP BY" in flexdp.query((con, "calling"), "y", width=1)
    for catalogue in ("pg_class", "pg_catalog.pg_statistic", "information_schema.sql_features"):
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query((con, catalogue), None, width=1)
    con.execute("DROP VIEW calling")
    con.execute("DROP OPERATOR === (float8, float8)")
    con.commit()


def test_rows_that_a_policy_of_postgres_chooses(psycopg_connection: Any) -> None:
    """Who sees a row may depend on other rows; a policy that looks at the row alone is a filter."""
    con = psycopg_connection
    con.execute("DROP TABLE IF EXISTS rec5 CASCADE")
    con.execute("CREATE TABLE rec5 AS SELECT CAST(i AS FLOAT8) AS y FROM generate_series(1, 9) i")
    con.execute("ALTER TABLE rec5 ENABLE ROW LEVEL SECURITY")
    con.execute("CREATE FUNCTION pg_temp.most() RETURNS float8 LANGUAGE sql AS 'SELECT 5.0'")
    con.execute("CREATE ROLE flexdp_reader")
    con.execute("GRANT SELECT ON rec5 TO flexdp_reader")
    try:
        for rule, passes in {
            "y > 3": True,
            "y > (SELECT avg(y) FROM rec5 AS r)": False,
            "y > pg_temp.most()": False,
        }.items():
            con.execute("DROP POLICY IF EXISTS chosen ON rec5")
            con.execute(f"CREATE POLICY chosen ON rec5 USING ({rule})")
            con.execute("SET LOCAL ROLE flexdp_reader")
            if passes:
                assert sum(bars((con, "rec5")).values()) == 6
            else:
                with pytest.raises(InputError, match=r"rows need not be records|cannot be read"):
                    flexdp.query((con, "rec5"), "y", width=1)
            con.execute("RESET ROLE")
    finally:
        con.rollback()


def test_one_record_moves_many_rows_of_a_view_of_postgres(psycopg_connection: Any) -> None:
    con = psycopg_connection
    con.execute("DROP TABLE IF EXISTS rec3 CASCADE")
    con.execute("CREATE TABLE rec3 AS SELECT CAST(i AS FLOAT8) AS x FROM generate_series(1, 9) i")
    con.execute("CREATE VIEW moved AS SELECT x - avg(x) OVER () AS y FROM rec3")
    con.commit()
    before = bars((con, "moved"), rows_are_records=True)
    con.execute("INSERT INTO rec3 VALUES (1000)")
    con.commit()
    assert moved(before, bars((con, "moved"), rows_are_records=True)) > 10


def test_one_more_record_moves_the_transaction_of_every_row_of_postgres(psycopg_connection: Any) -> None:
    """Both views were made of the same records, one of them in one transaction more."""
    con = psycopg_connection
    con.execute("DROP TABLE IF EXISTS rec6 CASCADE")
    con.execute("CREATE TABLE rec6 AS SELECT CAST(i AS FLOAT8) AS x FROM generate_series(1, 9) i")
    (base,) = con.execute("SELECT txid_current()").fetchone()
    con.execute(f"CREATE VIEW moved6 AS SELECT 100.0 * (txid_current() - {base}) AS y FROM rec6")
    con.commit()
    before = bars((con, "moved6"), rows_are_records=True)
    con.execute("INSERT INTO rec6 VALUES (10)")
    con.commit()
    assert moved(before, bars((con, "moved6"), rows_are_records=True)) > 10
    with pytest.raises(InputError, match="rows need not be records"):
        bars((con, "moved6"))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_frames_of_spark(spark: Any, tmp_path: Any) -> None:
    from pyspark.sql import functions as f

    frame = spark.createDataFrame([(i, float(i)) for i in range(1, 10)], "k bigint, x double")
    frame.createOrReplaceTempView("rec")
    for name, text in REFUSED.items():
        with pytest.raises(InputError, match="rows need not be records") as refusal:
            flexdp.query(spark.sql(text.format(t="rec").replace("DOUBLE PRECISION", "DOUBLE")), "y", width=1)
        assert not any(char.isdigit() for char in str(refusal.value)), name
    for text in PASSED.values():
        assert "GROUP BY" in flexdp.query(spark.sql(text.format(t="rec")), "y", width=1)
    more: dict[str, Any] = {
        "sample": frame.sample(0.5), "explode": frame.select(f.explode(f.array("x", "x")).alias("y")),
        "number": frame.select((f.monotonically_increasing_id() + f.col("x")).alias("y")),
        "code": frame.select(f.udf(lambda x: x, "double")("x").alias("y")), "same": frame.dropDuplicates(["x"]),
        "chance": frame.select(f.rand().alias("y")), "failing": frame.select(f.assert_true(f.col("x") < 5), "x"),
        "checkpoint": spark.sql("SELECT x - avg(x) OVER () AS y FROM rec").localCheckpoint(),
        "rows": spark.createDataFrame(frame.rdd.map(lambda row: (row.x,)), "y double"),
    }  # fmt: skip
    folder = str(tmp_path / "rec")
    frame.write.parquet(folder)
    stored = spark.read.parquet(folder)
    more["file twice"] = spark.read.parquet(folder, folder)
    file = next(str(each) for each in sorted((tmp_path / "rec").glob("*.parquet")))
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "x.parquet").symlink_to(file)
    twice = {
        "file in its folder": spark.read.parquet(folder, file), "pattern": spark.read.parquet(f"{folder}/*", file),
        "link": spark.read.parquet(file, f"{tmp_path}/linked/x.parquet"),
    }  # fmt: skip
    for name, made in twice.items():
        once = stored if "link" not in name else spark.read.parquet(file)
        assert made.count() > once.count(), name
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query(made, "x", width=1)
    more["number in a file"] = stored.select(f.col("_metadata.row_index").alias("y"))
    for made in more.values():
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query(made, made.columns[-1], width=1)
    for made in (
        stored,
        spark.read.parquet(f"{folder}/*.parquet"),
        spark.sql("WITH a AS (SELECT x FROM rec) SELECT x FROM a"),
    ):
        assert "GROUP BY" in flexdp.query(made, "x", width=1)
    centred = "SELECT x - avg(x) OVER () AS y FROM {rows}"
    before = bars(spark.sql(centred.format(rows="rec")), rows_are_records=True)
    frame.union(spark.createDataFrame([(10, 1000.0)], "k bigint, x double")).createOrReplaceTempView("rec10")
    assert moved(before, bars(spark.sql(centred.format(rows="rec10")), rows_are_records=True)) > 10


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_variables_and_python_sources_of_spark(spark: Any) -> None:
    """Both can hold what was computed from all records: one more record moves every row."""
    from pyspark.sql import functions as f

    frame = spark.createDataFrame([(float(i),) for i in range(1, 10)], "x double")
    frame.createOrReplaceTempView("rec20")
    spark.sql("DECLARE OR REPLACE VARIABLE middle DOUBLE DEFAULT 0.0D")
    made = {"by text": "SELECT x - middle AS y FROM rec20", "as a test": "SELECT x AS y FROM rec20 WHERE x > middle"}
    frames = {
        **{name: spark.sql(text) for name, text in made.items()},
        "by column": frame.select(f.col("x").alias("y")),
    }
    fine = frames.pop("by column")
    frames["in a frame"] = frame.select((f.col("x") - f.expr("middle")).alias("y"))
    for one in frames.values():
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query(one, "y", width=1)
    assert "GROUP BY" in flexdp.query(fine, "y", width=1)
    moving = bars(spark.sql(made["by text"]), rows_are_records=True)
    spark.sql("SET VARIABLE middle = (SELECT avg(x) + 1000 FROM rec20)")
    assert moved(moving, bars(spark.sql(made["by text"]), rows_are_records=True)) > 10
    _python_source(spark)
    for source in (spark.read.format("centred").load(), spark.read.format("centred").load().select("y")):
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query(source, "y", width=1)


def _python_source(session: Any) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def read(self, _partition: Any) -> Any:
            return iter([(-1.0,), (1.0,)])

    class Centred(DataSource):
        @classmethod
        def name(cls) -> str:
            return "centred"

        def schema(self) -> str:
            return "y double"

        def reader(self, _schema: Any) -> Any:
            return Reader()

    session.dataSource.register(Centred)
