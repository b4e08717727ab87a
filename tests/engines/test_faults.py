"""Failures after the first record look alike on every engine: one error, no message of the engine, no release."""

from __future__ import annotations

import logging
import sqlite3
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import duckdb
import psycopg
import pytest
from _support.corpus import SQLITE_BYTES
from _support.private import private_bars, private_counts
from _support.waiting import counting_threads, sigint_when, wait_for

import flexdp
from flexdp import DataError, InputError
from flexdp._release.api import Request, prepare
from flexdp.tables.engines.postgres.session import opened

CANARY = "CANARY-QUOKKA"  # random texts contain only digits or hex
SPEND = {"epsilon": 1, "delta": "1e-6"}


def only_our_words(request: Request, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """Check that the prepared release fails with DataError, and that nothing else is printed or logged."""
    capfd.readouterr()
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError) as caught:
        request.with_budget(**SPEND).run()
    error = caught.value
    assert str(error) == str(DataError())
    assert error.__cause__ is None
    assert error.__context__ is None
    out, err = capfd.readouterr()
    said = "".join(traceback.format_exception(error)) + repr(error) + out + err
    said += "".join(record.getMessage() for record in caplog.records)
    for word in (CANARY, "QUOKKA", "psycopg", "sqlite3.", "pyspark", "SELECT", "relation"):
        assert word not in said, word


def test_sqlite_missing_table_and_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE visits (x REAL)")
    con.close()
    with pytest.raises(InputError, match="table: 'visit' does not exist"):
        prepare((path, "visit"), "x", width=5)
    with pytest.raises(InputError, match="table is missing"):
        prepare(path, "x", width=5)
    path.write_bytes(b"no database, but " + CANARY.encode())
    with pytest.raises(InputError, match="is not an SQLite database") as caught:
        prepare((path, "visits"), "x", width=5)
    assert CANARY not in str(caught.value)


def test_sqlite_faults(tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.db"
    con = sqlite3.connect(path)
    con.execute("CREATE TABLE visits (x REAL, w TEXT)")
    con.execute("INSERT INTO visits VALUES (1, ?)", (CANARY,))
    con.execute("CREATE VIEW risky (x, w) AS SELECT json_extract(w, '$.x'), w FROM visits")  # fails where w is not JSON
    con.commit()
    only_our_words(prepare((con, "risky"), "x", width=5, rows_are_records=True, kind="number"), capfd, caplog)
    prepared = prepare((path, "visits"), "x", width=5)
    con.execute("ALTER TABLE visits RENAME COLUMN x TO y")
    only_our_words(prepared, capfd, caplog)
    con.execute("DROP TABLE visits")
    only_our_words(prepared, capfd, caplog)
    prepared = prepare(_filled(con), "x", width=5)
    con.close()
    only_our_words(prepared, capfd, caplog)


def _filled(con: sqlite3.Connection) -> tuple[sqlite3.Connection, str]:
    con.execute("CREATE TABLE filled (x REAL)")
    con.executemany("INSERT INTO filled VALUES (?)", [(float(i % 9),) for i in range(3000)])
    con.commit()
    return con, "filled"


def without_end(con: sqlite3.Connection) -> Callable[[], bool]:
    """Make an endless view ``slow``; return a function that tells whether its rows are being read."""
    begun: SimpleQueue[int] = SimpleQueue()
    # A C function, called for the first row only: while rows are read, no Python code runs that could take a signal.
    con.create_function("begun", 1, begun.put)
    con.execute(
        "CREATE TEMP VIEW slow AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT CAST(x % 97 AS REAL) AS x FROM c WHERE x > 1 OR begun(x) IS NULL"
    )
    return lambda: not begun.empty()


def test_ctrl_c_stops_a_callers_sqlite_connection_which_stays_usable() -> None:
    con = sqlite3.connect(":memory:")
    under_way = without_end(con)
    prepared = prepare((con, "slow"), "x", width=5, rows_are_records=True, kind="number").with_budget(**SPEND)
    with pytest.raises(KeyboardInterrupt), sigint_when(under_way):
        prepared.run()
    assert con.execute("SELECT 1").fetchone() == (1,)
    con.close()


def test_a_query_cancelled_by_somebody_else_is_a_fault(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    con = sqlite3.connect(":memory:")
    under_way = without_end(con)

    def cancel() -> None:
        wait_for(under_way)
        con.interrupt()

    other = threading.Thread(target=cancel)
    other.start()
    only_our_words(prepare((con, "slow"), "x", width=5, rows_are_records=True, kind="number"), capfd, caplog)
    other.join()
    con.close()


class DeafOnce(sqlite3.Connection):
    """A connection whose first interruption has no effect, as if no statement were running yet."""

    deaf = True

    def interrupt(self) -> None:
        if not self.deaf:
            super().interrupt()
        self.deaf = False


def test_ctrl_c_is_repeated_until_it_has_an_effect() -> None:
    con = sqlite3.connect(":memory:", factory=DeafOnce)
    under_way = without_end(con)
    prepared = prepare((con, "slow"), "x", width=5, rows_are_records=True, kind="number").with_budget(**SPEND)
    with pytest.raises(KeyboardInterrupt), sigint_when(under_way):
        prepared.run()
    assert con.execute("SELECT 1").fetchone() == (1,)
    con.close()


def test_ctrl_c_stops_duckdb() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE VIEW endless AS SELECT CAST(range % 97 AS DOUBLE) AS x FROM range(10000000000000)")
        prepared = prepare((con, "endless"), "x", width=5).with_budget(**SPEND)
        with pytest.raises(KeyboardInterrupt), sigint_when(lambda: "flexdp-count" in counting_threads()):
            prepared.run()
        wait_for(lambda: not counting_threads())


def test_a_callers_sqlite_connection_is_left_as_it_was() -> None:
    con = sqlite3.connect(":memory:")
    con.row_factory, con.text_factory = sqlite3.Row, lambda raw: raw.decode().upper()
    con.execute("CREATE TABLE visits (x REAL, w TEXT, u TEXT)")
    con.executemany("INSERT INTO visits VALUES (?, ?, ?)", [(i % 9, f"w{i % 3}", f"u{i}") for i in range(4000)])
    assert con.in_transaction
    released = flexdp.release((con, "visits"), "w", unit="u", max_buckets_per_unit=1, **SPEND)
    assert set(released.histogram.keys) == {"w0", "w1", "w2"}
    assert con.in_transaction  # the caller's own, with the rows above in it
    assert con.row_factory is sqlite3.Row
    assert con.execute("SELECT 'a' AS w").fetchone()["w"] == "A"
    with pytest.raises(sqlite3.OperationalError, match="no such function"):
        con.execute("SELECT flexdp_md5('a')")
    con.close()


def test_invalid_texts_are_no_bucket() -> None:
    con = sqlite3.connect(":memory:")
    con.execute("CREATE TABLE visits (w TEXT)")
    con.execute("INSERT INTO visits VALUES (CAST(x'ff41' AS TEXT)), ('a'), (x'61'), (7)")  # 7 becomes '7'
    assert private_counts((con, "visits"), "w") == {"7": 1, "a": 1}
    con.close()


@pytest.mark.parametrize("encoding", SQLITE_BYTES)
def test_invalid_texts_are_no_bucket_group_or_unit(encoding: str) -> None:
    """Such a text makes no release fail, and takes no bucket's place."""
    con = sqlite3.connect(":memory:")
    con.execute(f"PRAGMA encoding = '{encoding}'")
    con.execute("CREATE TABLE visits (u INTEGER, s TEXT, w TEXT, x REAL)")
    con.executemany("INSERT INTO visits VALUES (?, ?, ?, 1.0)", [(1, "b", "a"), (2, "é", "日本"), (3, "c", "😀")])
    for octets in SQLITE_BYTES[encoding]:
        odd = f"CAST(x'{octets}' AS TEXT)"
        con.execute(f"INSERT INTO visits VALUES (1, {odd}, {odd}, 1.0), (2, 'c', {odd}, 1.0), (3, {odd}, 'a', 9.0)")

    def bars(column: str, **parameters: Any) -> dict[Any, int]:
        found = private_bars(prepare((con, "visits"), column, **parameters))
        return dict(zip(found.rows(slice(None)), found.counts.tolist(), strict=True))

    assert bars("w", unit="u", max_buckets_per_unit=9) == {("a",): 2, ("日本",): 1, ("😀",): 1}
    assert sum(bars("w", unit="u", max_buckets_per_unit=1).values()) == 3
    assert bars("x", width=1, unit="s", max_buckets_per_unit=1) == {(1,): 3}
    assert bars("x", width=1, unit="s", per_unit="max") == {(1,): 3}
    assert bars("x", width=1, unit="s", per_unit="mean") == {(1,): 3}
    assert bars("x", width=1, by="w", unit="u", per_unit="max") == {("a", 1): 1, ("日本", 1): 1, ("a", 9): 1}
    con.close()


@pytest.fixture
def visits(address: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(address, autocommit=True) as con:
        con.execute("DROP TABLE IF EXISTS visits CASCADE")
        con.execute("CREATE TABLE visits (x DOUBLE PRECISION, w TEXT)")
        con.execute("INSERT INTO visits SELECT i % 9, 'w' FROM generate_series(1, 3000) AS i")
        con.execute("INSERT INTO visits VALUES (1, %s)", (CANARY,))
        yield con


def _kill(address: str, con: psycopg.Connection[Any]) -> None:
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (con.info.backend_pid,))


FAULTS: dict[str, Callable[[psycopg.Connection[Any]], object]] = {
    "dropped": lambda con: con.execute("DROP TABLE visits CASCADE"),
    "no permission": lambda con: con.execute("REVOKE ALL ON visits FROM nobody_special"),
    "another type": lambda con: con.execute("ALTER TABLE visits ALTER x TYPE NUMERIC(10, 0)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_postgres_faults(
    fault: str,
    address: str,
    visits: psycopg.Connection[Any],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    visits.execute("DO $$ BEGIN CREATE ROLE nobody_special; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    visits.execute("GRANT SELECT ON visits TO nobody_special")
    with psycopg.connect(address) as con:
        con.execute("SET ROLE nobody_special")
        con.commit()
        con.execute("CREATE TEMP TABLE mine (a INT)")  # a transaction that must survive
        prepared = prepare((con, "visits"), "x", width=5)
        flexdp.release((con, "visits"), "x", width=5, **SPEND)
        con.commit()
        FAULTS[fault](visits)
        con.execute("INSERT INTO mine VALUES (1)")
        only_our_words(prepared, capfd, caplog)
        assert con.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert con.execute("SELECT count(*) FROM mine").fetchone() == (1,)


def test_a_lost_connection(
    address: str,
    visits: psycopg.Connection[Any],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    con = psycopg.connect(address)
    prepared = prepare((con, "public.visits"), "x", width=5)
    _kill(address, con)
    only_our_words(prepared, capfd, caplog)
    con.close()
    with pytest.raises(InputError, match="the declared columns cannot be read"):
        prepare((con, "visits"), "x", width=5)
    assert visits.execute("SELECT 1").fetchone() == (1,)


def test_a_view_that_fails_on_some_rows_and_talks(
    visits: psycopg.Connection[Any], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    visits.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
    visits.execute(
        "CREATE OR REPLACE FUNCTION pg_temp.spoken(w TEXT) RETURNS INT LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE NOTICE 'saw %', w; RETURN CASE WHEN w = 'w' THEN 1 ELSE CAST(w AS INT) END; END $$"
    )
    visits.execute("CREATE TEMP VIEW risky AS SELECT pg_temp.spoken(w) AS x FROM visits")
    only_our_words(prepare((visits, "risky"), "x", width=5, rows_are_records=True), capfd, caplog)
    assert heard == []
    assert visits.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_ctrl_c_cancels_on_the_server(visits: psycopg.Connection[Any], address: str) -> None:
    visits.execute("CREATE VIEW slow AS SELECT x FROM visits, pg_sleep(86400)")
    with psycopg.connect(address, autocommit=True) as other:

        def under_way() -> bool:
            question = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%slow%'"
            return other.execute(question).fetchone() is not None

        for source in ((visits, "slow"), (address, "slow")):
            prepared = prepare(source, "x", width=5, rows_are_records=True).with_budget(**SPEND)
            with pytest.raises(KeyboardInterrupt), sigint_when(under_way):
                prepared.run()
            wait_for(lambda: not under_way())
    assert visits.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_password_is_never_repeated(capfd: pytest.CaptureFixture[str]) -> None:
    for bad in (
        f"postgresql://me:{CANARY}@127.0.0.1:1/none",
        f"postgresql://me:{CANARY}@[bad/none?x=y",
        f"postgres://me:{CANARY}@127.0.0.1:1/none?connect_timeout=1",
    ):
        for source in ((bad, "visits"), bad):
            with pytest.raises(InputError) as caught:
                prepare(source, "x", width=5)
            said = "".join(traceback.format_exception(caught.value))
            assert CANARY not in str(caught.value)
            assert caught.value.__context__ is None, said
    for other in (f"mysql://me:{CANARY}@host/db", f"host=x password={CANARY}"):
        with pytest.raises(InputError) as caught:
            prepare(other, "x", width=5)
        assert CANARY not in str(caught.value)
    assert CANARY not in "".join(capfd.readouterr())


def test_a_failed_transaction_is_the_callers_to_roll_back(visits: psycopg.Connection[Any], address: str) -> None:
    del visits
    with psycopg.connect(address) as con:
        with pytest.raises(psycopg.Error):
            con.execute("SELECT 1 / 0")
        with pytest.raises(InputError, match="Roll it back first"):
            prepare((con, "visits"), "x", width=5)
        con.rollback()
        assert flexdp.release((con, "visits"), "x", width=5, **SPEND).histogram.size > 0
        assert con.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_second_driver_keeps_its_transaction(pg8000_connection: Any, visits: psycopg.Connection[Any]) -> None:
    con = pg8000_connection
    con.rollback()
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE own (a INT)")
    prepared = prepare((con, "visits"), "x", width=5, engine="postgres").with_budget(**SPEND)
    assert prepared.run().histogram.size > 0
    visits.execute("CREATE VIEW risky AS SELECT CAST(w AS INT) AS x FROM visits")
    risky = prepare((con, "risky"), "x", width=5, rows_are_records=True, engine="postgres").with_budget(**SPEND)
    with pytest.raises(DataError):
        risky.run()
    cursor.execute("SELECT count(*) FROM own")
    assert cursor.fetchone()[0] == 0
    con.rollback()


def test_the_engine_must_be_named_where_a_connection_does_not_tell(pg8000_connection: Any) -> None:
    with pytest.raises(InputError, match="engine is missing"):
        prepare((pg8000_connection, "visits"), "x", width=5)
    with pytest.raises(InputError, match="Only MariaDB is tested"):
        prepare((pg8000_connection, "visits"), "x", width=5, engine="mysql")
    with pytest.raises(InputError, match=r"engine must be 'postgres', 'mariadb', 'clickhouse', .*; got 'oracle'"):
        prepare((pg8000_connection, "visits"), "x", width=5, engine="oracle")
    with pytest.raises(InputError, match="Did you mean 'postgres'"):
        prepare((pg8000_connection, "visits"), "x", width=5, engine="postgress")
    with pytest.raises(InputError, match="source must be a connection of the module sqlite3"):
        prepare((pg8000_connection, "visits"), "x", width=5, engine="sqlite")
    with duckdb.connect() as con:
        con.execute("CREATE TABLE visits AS SELECT 1.0::DOUBLE AS x")
        with pytest.raises(InputError, match="engine must be 'duckdb', the engine of the connection; got 'sqlite'"):
            prepare((con, "visits"), "x", width=5, engine="sqlite")
        assert prepare((con, "visits"), "x", width=5, engine="duckdb").query()
        with pytest.raises(InputError, match="table: 'nowhere' does not exist"):
            prepare((con, "nowhere"), "x", width=5)
    with pytest.raises(InputError, match="engine does not apply to a file"):
        prepare([1.0, 2.0], width=5, kind="number", engine="duckdb")


def test_spark_logs_nothing_and_cleans_up(
    spark: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "true")
    frame = spark.sql(f"SELECT CAST(w AS INT) AS x FROM VALUES ('1'), ('{CANARY}') AS t(w)")
    frame = frame.repartition(2)
    only_our_words(prepare(frame, "x", width=5), capfd, caplog)
    assert not [table for table in spark.catalog.listTables() if table.name.startswith("flexdp")]
    assert not spark.getTags()
    with caplog.at_level(logging.DEBUG):
        caplog.clear()
        spark.range(1).count()
    assert "py4j.clientserver" in {record.name for record in caplog.records}  # the silenced logger is back


def test_psycopg_logs_nothing_of_a_count(address: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nor do its child loggers, one of which repeats the server's message when a transaction fails."""

    def say(name: str) -> None:
        logging.getLogger(name).warning("%s in %s", CANARY, name)

    with opened(address, copies=False) as session:
        assert session.ask("SELECT 1") == [(1,)]
        for name in ("psycopg", "psycopg.transaction"):
            say(name)
        assert CANARY not in caplog.text
        other = threading.Thread(target=say, args=("psycopg.transaction",))
        other.start()
        other.join()
        assert caplog.text.count(CANARY) == 1  # the caller's other threads are heard
    say("psycopg.transaction")
    assert caplog.text.count(CANARY) == 2


def test_ctrl_c_cancels_a_spark_job(spark: Any) -> None:
    frame = spark.range(0, 4 * 10**12, 1, 2).selectExpr("CAST(id % 97 AS DOUBLE) AS x")
    prepared = prepare(frame, "x", width=5).with_budget(**SPEND)
    jobs = spark.sparkContext.statusTracker().getActiveJobsIds
    with pytest.raises(KeyboardInterrupt), sigint_when(jobs):
        prepared.run()
    wait_for(lambda: not jobs())


def test_spark_refuses_what_it_declares_and_cannot_count(spark: Any) -> None:
    frame = spark.sql("SELECT array(1) AS a, named_struct('f', 1) AS s, map(1, 2) AS m, 1 AS X, 2 AS x, 1.5D AS `v.w`")
    for name in ("a", "s", "m"):
        with pytest.raises(InputError, match="cannot be released"):
            prepare(frame, name)
    with pytest.raises(InputError, match="in case only"):
        prepare(frame, "x")
    assert private_counts(frame.select("`v.w`"), "v.w") == {1.5: 1}
    with pytest.raises(InputError, match="is a streaming DataFrame, which has no end"):
        prepare(spark.readStream.format("rate").load(), "value", width=10)
    with pytest.raises(InputError, match="engine does not apply to"):
        prepare(frame, "v.w", engine="duckdb")


def test_a_missing_table_in_postgres_lists_those_that_there_are(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as con:
        con.execute("CREATE SCHEMA aaa")
        con.execute("CREATE TABLE aaa.wards (x INTEGER)")
        con.execute("CREATE VIEW aaa_visits AS SELECT x FROM aaa.wards")
        try:
            for source, rule in (
                (address, "table is missing: source is a database. Pass (address, 'table')."),
                ((address, "nope"), "table: 'nope' does not exist or is not visible."),
            ):
                with pytest.raises(InputError) as refused:
                    flexdp.release(source, "x", **SPEND)
                told = str(refused.value)
                assert (
                    told.startswith(f"{rule} Tables and views: '") and "'aaa.wards'" in told and "'aaa_visits'" in told
                )
                assert "pg_class" not in told and told.count("', '") < 12
        finally:
            con.execute("DROP SCHEMA aaa CASCADE")
