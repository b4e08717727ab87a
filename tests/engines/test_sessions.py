"""Session settings and declarations change no count; databases on the command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from _support.private import private_bars, private_counts
from click.testing import CliRunner

from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.cli.app import cli
from flexdp.sharp.goal import Goal
from flexdp.sharp.ranks import Near, Request
from flexdp.tables import ranks
from flexdp.tables.engines.postgres.session import PsycopgSession
from flexdp.tables.engines.spark.session import quiet

WORDS = ["a", "A", "a ", "\u00e9", "e\u0301", "ß", "ss"]
ALONE = dict.fromkeys(WORDS, 1)


def units_of(source: Any) -> dict[Any, int]:
    return bars_of(source, "x", unit="w", max_buckets_per_unit=1)


def bars_of(source: Any, column: str, **parameters: Any) -> dict[Any, int]:
    parameters.setdefault("exact", not parameters.keys() & {"width", "relative", "edges"})
    bars = private_bars(prepare(source, column, **parameters))
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def test_sqlite_collations_merge_nothing() -> None:
    con = sqlite3.connect(":memory:")
    con.execute("CREATE TABLE visits (w TEXT COLLATE NOCASE, x INTEGER)")
    con.executemany("INSERT INTO visits VALUES (?, 1)", [(word,) for word in WORDS])
    assert private_counts((con, "visits"), "w") == ALONE
    assert units_of((con, "visits")) == {(1,): len(WORDS)}
    assert bars_of((con, "visits"), "x", by="w", groups=["a"]) == {("a", 1): 1}
    con.close()


def test_duckdb_s_default_order_chooses_no_buckets() -> None:
    """A connection may sort in descending order by default; the buckets and the mean of a unit stay the same."""
    questions: list[dict[str, Any]] = [
        {"width": 1, "unit": "u", "max_buckets_per_unit": 2},
        {"width": 1, "by": "w", "unit": "u", "per_unit": "min"},
        {"unit": "u", "per_unit": "mean"},
    ]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE visits AS SELECT i * 0.1 AS x, i % 7 AS u, i % 3 AS w FROM range(200) AS r (i)")
        con.execute("ALTER TABLE visits ALTER x TYPE DOUBLE")
        before = [bars_of((con, "visits"), "x", **question) for question in questions]
        con.execute("SET default_order = 'DESC'")
        assert con.execute("SELECT x FROM visits ORDER BY x LIMIT 1").fetchall() == [(19.9,)]  # control
        assert [bars_of((con, "visits"), "x", **question) for question in questions] == before


FINE: dict[str, dict[str, Any]] = {
    "units": {"unit": "u", "max_buckets_per_unit": 2},
    "units of texts": {"unit": "s", "max_buckets_per_unit": 2, "bounds": (-10, 1000)},
    "largest by group": {"by": ["w", "s"], "unit": "u", "per_unit": "max"},
    "mean": {"unit": "s", "per_unit": "mean"},
    "declared groups": {"by": "w", "groups": ["a", "b"], "unit": "s", "per_unit": "min"},
}


@pytest.mark.parametrize("rule", FINE)
@pytest.mark.parametrize("relative", ["0.0001", "0.0003"])
def test_sqlite_finds_one_of_millions_of_buckets_for_units(relative: str, rule: str) -> None:
    """The most deeply nested query is within the parser's limits; DuckDB, which looks buckets up, counts the same."""
    rows = [(k * 1.37 ** (k % 90), k // 2, "ab"[k % 2], f"s{k // 3}") for k in range(-99, 99)]
    found = []
    for module in (sqlite3, duckdb):
        with closing(module.connect(":memory:")) as con:
            con.execute("CREATE TABLE visits (x DOUBLE, u BIGINT, w TEXT, s TEXT)")
            con.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
            found.append(bars_of((con, "visits"), "x", relative=relative, **FINE[rule]))
    assert found[0] == found[1]


@pytest.fixture
def con(address: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(address, autocommit=True) as con:
        con.execute("DROP SCHEMA IF EXISTS odd CASCADE")
        con.execute("CREATE SCHEMA odd")
        yield con
        con.execute("DROP SCHEMA odd CASCADE")


def test_postgres_settings_and_search_paths_do_not_matter(con: psycopg.Connection[Any]) -> None:
    con.execute("CREATE TABLE odd.visits (x DOUBLE PRECISION, w TEXT, d DATE)")
    con.execute("INSERT INTO odd.visits SELECT i + 0.1, 'back\\slash', DATE '1970-01-01' FROM generate_series(0, 9) i")
    con.execute("CREATE FUNCTION odd.floor(DOUBLE PRECISION) RETURNS DOUBLE PRECISION LANGUAGE sql AS 'SELECT 7e0'")
    con.execute("SET search_path = odd, pg_catalog, public")
    con.execute("SET standard_conforming_strings = off")
    con.execute("SET extra_float_digits = -15")
    con.execute("SET client_encoding = 'SQL_ASCII'")
    assert con.execute("SELECT floor(CAST(0.5 AS DOUBLE PRECISION))").fetchone() == (7.0,)  # control
    assert private_counts((con, "visits"), "x", width=5) == {2.5: 5, 7.5: 5}
    assert sorted(private_counts((con, "visits"), "x")) == [i + 0.1 for i in range(10)]
    assert bars_of((con, "visits"), "x", width=10, by="w", groups=["back\\slash"]) == {("back\\slash", 0): 10}
    # As bytes, because the caller's own encoding is restored, too.
    assert con.execute("SHOW search_path").fetchone() == (b"odd, pg_catalog, public",)


def test_postgres_plans_with_what_its_private_tables_hold(
    con: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table just made is planned as if it had a thousand rows: the copy is analysed, and the pieces beside it."""
    con.execute("CREATE TABLE odd.visits (x DOUBLE PRECISION)")
    con.execute("INSERT INTO odd.visits SELECT i + 0.1 FROM generate_series(1, 5000) AS i")
    monkeypatch.setattr(ranks, "FEW", -1)
    asked: list[str] = []
    fetch = PsycopgSession.fetch

    def noted(session: PsycopgSession, statement: str) -> Any:
        asked.append(" ".join(statement.split()[:4]))
        return fetch(session, statement)

    monkeypatch.setattr(PsycopgSession, "fetch", noted)
    (question,) = prepare((con, "odd.visits"), "x", width=1).questions
    with ranks.open_ranks(question.table, question.counting) as opened:
        opened.fetch(Request(windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=5),)))
    for name in ("records", "looked"):
        analysed = asked.index(f"ANALYZE pg_temp.flexdp_{name}")
        assert "CREATE TEMPORARY TABLE" in " ".join(asked[:analysed])
        assert any(text.startswith("SELECT") for text in asked[analysed:])  # what the statistics are for


def test_postgres_declares_domains_enumerations_and_views(con: psycopg.Connection[Any]) -> None:
    con.execute("CREATE DOMAIN odd.age AS INTEGER CHECK (VALUE > 0)")
    con.execute("CREATE TYPE odd.mood AS ENUM ('sad', 'glad')")
    con.execute("CREATE TABLE odd.people (a odd.age, m odd.mood, j JSONB, n NUMERIC, c CHAR(3))")
    con.execute("INSERT INTO odd.people VALUES (5, 'sad', '{}', 'NaN', 'x'), (6, 'glad', '{}', 1e400, 'x  ')")
    con.execute("INSERT INTO odd.people VALUES (7, 'glad', '{}', 1e-400, NULL)")
    con.execute("CREATE VIEW odd.seen AS SELECT * FROM odd.people")
    for table in ("odd.people", "odd.seen"):
        assert private_counts((con, table), "a") == {5: 1, 6: 1, 7: 1}
        assert private_counts((con, table), "m") == {"sad": 1, "glad": 2}
        assert private_counts((con, table), "n", width=1) == {0.5: 1}  # values beyond the doubles are left out
        assert private_counts((con, table), "c") == {"x": 2}
        with pytest.raises(InputError, match="jsonb, which cannot be released"):
            prepare((con, table), "j")


def test_spark_collations_merge_nothing(spark: Any) -> None:
    frame = spark.createDataFrame([(word, 1) for word in WORDS], "w STRING, x BIGINT")
    loose = frame.selectExpr("collate(w, 'UTF8_LCASE') AS w", "x")
    assert loose.select("w").distinct().count() < len(WORDS)  # control: the collation does merge
    assert private_counts(loose, "w") == ALONE
    assert units_of(loose) == {(1,): len(WORDS)}


@pytest.mark.parametrize("loose", [False, True])
def test_spark_reads_no_invalid_texts(spark: Any, loose: bool) -> None:
    """In Python they would all be one key: as several buckets of one unit they would add up to more than one."""
    rows = ", ".join(f"(1, CAST(X'{octets}' AS STRING))" for octets in ("FF", "FE", "FD41", "EDA080"))
    frame = spark.sql(f"SELECT u, w, 3.0D AS x FROM VALUES {rows}, (1, 'a'), (2, 'é') AS t(u, w)")
    if loose:
        frame = frame.selectExpr("u", "collate(w, 'UTF8_LCASE') AS w", "x")
    texts = {("a",): 1, ("é",): 1}
    assert bars_of(frame, "w") == texts
    for most in (1, 4):
        assert bars_of(frame, "w", unit="u", max_buckets_per_unit=most) == texts
        by_group = bars_of(frame, "x", width=1, by="w", unit="u", max_buckets_per_unit=most)
        assert by_group == {(word, 3): 1 for (word,) in texts}
    assert bars_of(frame, "x", width=1, unit="w", max_buckets_per_unit=1) == {(3,): 2}


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli, arguments, obj=None, standalone_mode=False)


def test_databases_on_the_command_line(tmp_path: Path, address: str, con: psycopg.Connection[Any]) -> None:
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE visits (age REAL)")
        file.executemany("INSERT INTO visits VALUES (?)", [(i % 50,) for i in range(3000)])
    file.close()
    con.execute(
        "CREATE TABLE odd.visits AS SELECT CAST(i % 50 AS DOUBLE PRECISION) AS age FROM generate_series(1, 3000) i"
    )
    for source, table in ((str(path), "visits"), (address, "odd.visits")):
        assert "age\t" in invoke("check", source, "--columns", "--table", table).output
        shown = json.loads(invoke("query", source, "age", "--table", table, "--width", "5", "--json").output)
        assert shown["dialect"] == ("sqlite" if table == "visits" else "postgres")
        assert "GROUP BY" in shown["sql"]
        assert (
            "CAST(`age` AS DOUBLE)" in invoke("query", source, "age", "--table", table, "--dialect", "mariadb").output
        )
    for arguments, message in (
        ((str(path), "age"), "table is missing"),
        ((address, "age"), "table is missing"),
        (("a.csv", "age", "--table", "visits"), "table applies to databases only"),
        ((str(path), "age", "--file", str(path), "--table", "visits"), "table needs exactly one database"),
    ):
        failed = invoke("query", *arguments, "--width", "5")
        assert isinstance(failed.exception, InputError)
        assert message in str(failed.exception)


def test_spark_logs_as_before(spark: Any) -> None:
    """A release silences logs only while it runs: afterwards the session logs as before."""
    jvm = spark.sparkContext._jvm
    loggers = jvm.org.apache.logging.log4j.LogManager.getContext(False)
    threshold = getattr(jvm.org.apache.spark.internal, "Logging$")
    threshold = getattr(threshold, "MODULE$")

    def levels() -> tuple[str, str]:
        configured = loggers.getConfiguration().getRootLogger().getLevel().toString()
        return configured, str(threshold.sparkShellThresholdLevel())

    before = levels()
    assert before[0] != "OFF"
    assert private_counts(spark.range(100).selectExpr("CAST(id AS DOUBLE) AS x"), "x", width=50) == {25.0: 50, 75.0: 50}
    assert levels() == before


def test_counts_at_the_same_time_keep_spark_quiet_until_the_last(spark: Any) -> None:
    loggers = spark.sparkContext._jvm.org.apache.logging.log4j.LogManager.getContext(False)

    def level() -> str:
        return str(loggers.getConfiguration().getRootLogger().getLevel().toString())

    before = level()
    first, second = quiet(spark), quiet(spark)
    first.__enter__()
    second.__enter__()
    assert level() == "OFF"
    first.__exit__(None, None, None)
    assert level() == "OFF", "the other still counts"
    second.__exit__(None, None, None)
    assert level() == before != "OFF"
