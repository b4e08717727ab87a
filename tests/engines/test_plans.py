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
    from flexdp.tables import count

    (question,) = prepare(source, "y", width=1, **options).questions
    found = count(question.table, [question.counting])[0]
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


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_frames_of_spark(spark: Any) -> None:
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
    }  # fmt: skip
    for made in more.values():
        with pytest.raises(InputError, match="rows need not be records"):
            flexdp.query(made, made.columns[-1], width=1)
    centred = "SELECT x - avg(x) OVER () AS y FROM {rows}"
    before = bars(spark.sql(centred.format(rows="rec")), rows_are_records=True)
    frame.union(spark.createDataFrame([(10, 1000.0)], "k bigint, x double")).createOrReplaceTempView("rec10")
    assert moved(before, bars(spark.sql(centred.format(rows="rec10")), rows_are_records=True)) > 10
