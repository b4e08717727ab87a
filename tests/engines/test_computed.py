"""Columns of stored tables that are computed when they are read are refused without a word."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest
from _support.mariadb import connected
from _support.private import private_bars

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare


def bars_of(source: Any, column: str = "y", **options: Any) -> dict[Any, int]:
    bars = private_bars(prepare(source, column, width=1, **options))
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def moved(first: dict[Any, int], second: dict[Any, int]) -> int:
    return sum(abs(first.get(key, 0) - second.get(key, 0)) for key in {*first, *second})


def refused(source: Any, column: str = "y", **options: Any) -> str:
    with pytest.raises(InputError, match="rows need not be records") as refusal:
        prepare(source, column, width=1, **options)
    message = str(refusal.value)
    assert not any(char.isdigit() for char in message), "no part of the definition is repeated"
    assert "rows_are_records=True" in message
    return message


# ---- MariaDB


Run = Callable[..., Any]


@pytest.fixture
def maria(mariadb_address: str) -> Iterator[tuple[Any, Run]]:
    with connected(mariadb_address, autocommit=True) as con, con.cursor() as cursor:

        def run(*statements: str) -> Any:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()

        run("DROP DATABASE IF EXISTS computed", "CREATE DATABASE computed CHARACTER SET utf8mb4", "USE computed")
        yield con, run
        run("DROP DATABASE computed")


COMPUTED = ["rand()", "x + uuid_short()", "@seen := coalesce(@seen, 0) + x", "length(uuid())", "x + 1", "now() > d"]


def made(run: Run, expression: str, kind: str = "VIRTUAL", table: str = "TABLE") -> None:
    run(
        "DROP TABLE IF EXISTS t",
        f"CREATE {table} t (x DOUBLE COMMENT 'rand() \\\\ it''s', `rand` DOUBLE DEFAULT 3, d DATETIME, c VARCHAR(50), "
        f"`y` DOUBLE GENERATED ALWAYS AS ({expression}) {kind} COMMENT '(', CHECK (x >= 0))",
        "INSERT INTO t (x, d, c) VALUES (1, '2020-02-03', 'a'), (2, '2021-02-03', '50%'), (3, NULL, NULL)",
    )


@pytest.mark.parametrize("expression", COMPUTED)
def test_a_virtual_column_of_mariadb(maria: tuple[Any, Run], expression: str) -> None:
    con, run = maria
    for table in ("TABLE", "TEMPORARY TABLE"):
        made(run, expression, table=table)
        assert "column 'y' is computed when it is read" in refused((con, "t"))
        refused((con, "t"), "x", where="y > 0")
        refused((con, "t"), "z", derive={"z": "x + y"})
        assert bars_of((con, "t"), rows_are_records=True) is not None
        assert bars_of((con, "t"), "x") == {(1,): 1, (2,): 1, (3,): 1}, "the other columns are as they are"


def test_what_one_record_does_to_a_variable_of_mariadb(maria: tuple[Any, Run]) -> None:
    """A running sum, without a window: without the first record, all sums change."""
    con, run = maria
    made(run, "@seen := @seen + x")
    found = []
    for _ in range(2):
        run("SET @seen = 0")
        found.append(bars_of((con, "t"), rows_are_records=True))
        run("DELETE FROM t WHERE x = 1")
    assert moved(*found) > 1


def test_stored_columns_of_mariadb_are_of_their_row(maria: tuple[Any, Run]) -> None:
    con, run = maria
    for expression in ("rand()", "@seen", "connection_id()", "now()", "uuid()"):
        with pytest.raises(pymysql.err.OperationalError, match="cannot be used in the GENERATED ALWAYS AS"):
            made(run, expression, "STORED")  # the server itself refuses them
    made(run, "x + 1", "STORED")
    assert bars_of((con, "t")) == {(2,): 1, (3,): 1, (4,): 1}
    run(
        "CREATE TABLE v (y DOUBLE, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, "
        "e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING"
    )
    assert bars_of((con, "v")) == {}


def test_functions_of_users_are_refused_by_mariadb_itself(maria: tuple[Any, Run]) -> None:
    _, run = maria
    run("CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE DETERMINISTIC RETURN a + 1")
    for expression in ("f(x)", "last_insert_id()", "(SELECT 1)", "row_count()", "sum(x)", "row_number() OVER ()"):
        with pytest.raises(pymysql.err.OperationalError, match="cannot be used in the GENERATED ALWAYS AS"):
            made(run, expression)


def test_a_table_of_mariadb_that_changes_is_not_counted(maria: tuple[Any, Run]) -> None:
    con, run = maria
    made(run, "x + 1", "STORED")
    (question,) = prepare((con, "t"), "y", width=1).questions
    run("ALTER TABLE t DROP COLUMN y, ADD COLUMN y DOUBLE AS (x + rand()) VIRTUAL")
    with pytest.raises(flexdp.DataError):
        question.table.count(question.counting)


# ---- PostgreSQL


def test_generated_columns_of_postgres_are_of_their_row(psycopg_connection: Any) -> None:
    """The server computes them when rows are written; virtual ones (18) call only its own immutable functions."""
    import psycopg

    con = psycopg_connection
    con.execute("DROP TABLE IF EXISTS computed")
    for expression in ("random()", "extract(epoch FROM now())", "txid_current()", "pg_backend_pid()", "(SELECT 1)"):
        with pytest.raises(psycopg.Error):
            con.execute(f"CREATE TABLE computed (x FLOAT8, y FLOAT8 GENERATED ALWAYS AS ({expression}) STORED)")
        con.rollback()
    con.execute("CREATE TABLE computed (x FLOAT8, y FLOAT8 GENERATED ALWAYS AS (x + 1) STORED)")
    con.execute("INSERT INTO computed (x) VALUES (1), (2), (3)")
    con.commit()
    assert bars_of((con, "computed")) == {(2,): 1, (3,): 1, (4,): 1}
    con.execute("DROP TABLE computed")
    con.commit()


# ---- ClickHouse


@pytest.fixture
def house(chdb_connection: Any) -> Iterator[tuple[Any, Run]]:
    cursor = chdb_connection.cursor()

    def run(*statements: str) -> Any:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()

    run("DROP DATABASE IF EXISTS late", "CREATE DATABASE late")
    yield chdb_connection, run
    run("DROP DATABASE late")


@pytest.mark.parametrize("kind", ["DEFAULT", "MATERIALIZED"])
def test_a_column_that_was_added_to_a_table_of_clickhouse(house: tuple[Any, Run], kind: str) -> None:
    """It is computed when older rows are read: from the number of a row, for instance."""
    con, run = house

    def table(first: int, expression: str) -> None:
        run(
            "DROP TABLE IF EXISTS late.t",
            "CREATE TABLE late.t (x Float64, c String) ENGINE = MergeTree ORDER BY x",
            f"INSERT INTO late.t SELECT number, 'a' FROM numbers({first}, {20 - first})",
            f"ALTER TABLE late.t ADD COLUMN y Float64 {kind} {expression}, ADD COLUMN z Float64 {kind} 2 * y",
        )

    found = []
    for first in (0, 1):
        table(first, "x - rowNumberInAllBlocks()")
        found.append(bars_of((con, "late.t"), rows_are_records=True))
    assert moved(*found) > 1, "without the first record, all others move"
    for expression in (
        "rand()", "x - rowNumberInBlock()", "if(x > 1, rand ( ), 0)", '"rand"()', "x + 1", "toYear(today())",
    ):  # fmt: skip
        table(0, expression)
        refused((con, "late.t"))
        refused((con, "late.t"), "z")
        refused((con, "late.t"), "x", where="z > 0")
        assert bars_of((con, "late.t"), "x") == {(i,): 1 for i in range(20)}
    for expression in ("5", "-2.5"):
        table(0, expression)
        assert bars_of((con, "late.t")) == bars_of((con, "late.t"), rows_are_records=True)
    run("CREATE OR REPLACE FUNCTION numbered AS (a) -> a - rowNumberInAllBlocks()")
    table(0, "numbered(x)")
    refused((con, "late.t"))
    run("DROP FUNCTION numbered")


# ---- SQLite


class Sum:
    """A function that calls itself deterministic and is not."""

    def __init__(self) -> None:
        self.total = 0.0

    def __call__(self, value: Any) -> float:
        self.total += float(value or 0)
        return self.total


def lite(definition: str, rows: int = 5) -> sqlite3.Connection:
    con = sqlite3.connect(":memory:")
    for name in ("running", "é"):
        con.create_function(name, 1, Sum(), deterministic=True)
    con.create_function("abs", 1, Sum(), deterministic=True)  # in the place of the built-in one
    con.create_function("like", 2, lambda _pattern, text: len(str(text)), deterministic=True)
    con.create_function("regexp", 2, lambda _pattern, text: len(str(text)), deterministic=True)
    con.create_collation("mine", lambda a, b: (a > b) - (a < b))
    con.execute(f"CREATE TABLE t (x REAL, c TEXT, {definition})")
    con.executemany("INSERT INTO t (x, c) VALUES (?, 'a')", [(float(n),) for n in range(1, rows + 1)])
    return con


@pytest.mark.parametrize(
    "definition",
    [
        "y REAL AS (running(x))", "y REAL GENERATED ALWAYS AS (x + RUNNING /* of */ (x)) VIRTUAL",
        "'y' REAL AS ([running](x))", "y REAL AS (abs(x))", "y REAL AS (x LIKE 'a')",
        "y REAL AS (c = 'b' COLLATE mine)",
        "a REAL AS (running(x)) VIRTUAL, b REAL AS (a * 2) STORED, y REAL AS (A + 1)", "y REAL AS (x + 1)",
    ],
)  # fmt: skip
def test_a_computed_column_of_sqlite(definition: str) -> None:
    con = lite(definition)
    refused((con, "t"))
    refused((con, "t"), "x", where="y > 0")
    assert bars_of((con, "t"), rows_are_records=True) is not None
    assert len(bars_of((con, "t"), "x")) == 5


def test_what_one_record_does_to_a_running_sum_in_sqlite() -> None:
    found = []
    for first in (1, 2):
        con = lite("y REAL AS (running(x))")
        con.execute(f"DELETE FROM t WHERE x < {first}")
        con.create_function("running", 1, Sum(), deterministic=True)
        found.append(bars_of((con, "t"), rows_are_records=True))
    assert moved(*found) > 1


@pytest.mark.parametrize("definition", ["y REAL AS (running(x)) STORED", "y REAL, z REAL AS (running(x))"])
def test_stored_columns_of_sqlite_are_of_their_row(definition: str) -> None:
    con = lite(definition)
    whole = bars_of((con, "t"))
    assert whole == bars_of((con, "t"), rows_are_records=True)
    con.execute("DELETE FROM t WHERE x = 1")
    assert moved(whole, bars_of((con, "t"))) <= 1


def test_the_refusal_is_that_of_a_release_and_nothing_is_spent(tmp_path: Any) -> None:
    con = lite("y REAL AS (running(x))")
    ledger = flexdp.Ledger(tmp_path / "budget.db")
    ledger.create("visits", epsilon=1, delta="1e-5")
    with pytest.raises(InputError, match="rows need not be records"):
        flexdp.release((con, "t"), "y", epsilon=1, delta="1e-6", width=1, ledger=ledger, dataset="visits")
    assert flexdp.release((con, "t"), "x", epsilon=1, delta="1e-6", width=1, ledger=ledger, dataset="visits")
