"""Collations decide nothing: filters, derived columns and the group of all others compare texts by their bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import duckdb
import psycopg
import pytest
from _support.mariadb import connected
from _support.private import private_bars

import flexdp
from flexdp import InputError
from flexdp._release.api import prepare

ROWS = [("bob", 1.0), ("BOB", 2.0), ("Bob", 3.0), ("bób", 4.0), ("al", 5.0), (None, 6.0)]
FILTERS = {
    "w = 'bob'": {1},
    "w <> 'bob'": {2, 3, 4, 5},
    "w IN ('bob', 'al')": {1, 5},
    "w NOT IN ('BOB')": {1, 3, 4, 5},
    "w < 'a'": {2, 3},
    "w LIKE 'b%'": {1, 4},
    "w NOT LIKE '%O%'": {1, 3, 4, 5},
    "coalesce(w, 'bob') = 'bob'": {1, 6},
    "CASE WHEN w = 'bob' THEN 'x' ELSE w END = 'x'": {1},
    "w BETWEEN 'a' AND 'b'": {5},
}


def in_duckdb(declared: str, default: str = "") -> tuple[Any, str]:
    con = duckdb.connect()
    if default:
        con.execute(f"SET default_collation = '{default}'")
    con.execute(f"CREATE TABLE visits (w {declared}, x DOUBLE)")
    con.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
    return con, "visits"


def kept(source: Any, **parameters: Any) -> set[int]:
    bars = private_bars(prepare(source, "x", width=1, **parameters))
    return {int(row[-1]) for row in bars.rows(slice(None))}


@pytest.fixture(params=["column", "accents", "connection", "sqlite"])
def source(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "sqlite":
        with closing(sqlite3.connect(":memory:")) as lite:
            lite.execute("CREATE TABLE visits (w TEXT COLLATE NOCASE, x REAL)")
            lite.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
            yield lite, "visits"
        return
    declared = {"column": "VARCHAR COLLATE NOCASE", "accents": "VARCHAR COLLATE NOACCENT.NOCASE"}
    found = in_duckdb(declared.get(request.param, "VARCHAR"), "nocase" if request.param == "connection" else "")
    yield found
    found[0].close()


def test_filters_compare_bytes(source: Any) -> None:
    con, _ = source
    assert con.execute("SELECT count(*) FROM visits WHERE w = 'bob'").fetchall()[0][0] > 1  # control: it does merge
    assert {where: kept(source, where=where) for where in FILTERS} == FILTERS


def test_derived_columns_and_other_groups_compare_bytes(source: Any) -> None:
    bars = private_bars(prepare(source, "x", width=1, by="w", groups=["bob"], other="others"))
    assert {row[0] for row in bars.rows(slice(None))} == {"bob", "others"}
    counted = zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)
    assert sum(count for row, count in counted if row[0] == "bob") == 1
    assert int(bars.counts.sum()) == len(ROWS)
    named = prepare(source, "named", derive={"named": "CASE WHEN w = 'BOB' THEN 'him' ELSE 'not' END"})
    found = dict(
        zip([row[0] for row in private_bars(named).rows(slice(None))], private_bars(named).counts, strict=True)
    )
    assert found == {"him": 1, "not": 5}


def test_collations_of_mariadb(mariadb_address: str) -> None:
    with connected(mariadb_address, autocommit=True) as con, con.cursor() as cursor:
        for words in (
            "DROP DATABASE IF EXISTS collated",
            "CREATE DATABASE collated CHARACTER SET utf8mb4",
            "USE collated",
        ):
            cursor.execute(words)
        cursor.execute("CREATE TABLE visits (w VARCHAR(9) COLLATE utf8mb4_general_ci, x DOUBLE)")
        cursor.executemany("INSERT INTO visits VALUES (%s, %s)", ROWS)
        cursor.execute("SELECT count(*) FROM visits WHERE w = 'bob'")
        assert cursor.fetchall() == ((4,),)  # control
        assert {where: kept((con, "visits"), where=where) for where in FILTERS} == FILTERS
        cursor.execute("DROP DATABASE collated")


def test_temporary_tables_of_postgres_are_tables(psycopg_connection: psycopg.Connection[Any]) -> None:
    con = psycopg_connection
    con.execute("CREATE TEMPORARY TABLE fleeting (w TEXT, x FLOAT8)")
    con.execute("INSERT INTO fleeting SELECT 'a', i % 5 FROM generate_series(1, 500) AS i")
    con.execute("CREATE TEMPORARY VIEW catalogue AS SELECT relname AS w, CAST(relpages AS FLOAT8) AS x FROM pg_class")
    con.commit()
    assert kept((con, "fleeting")) == {0, 1, 2, 3, 4}
    asked = flexdp.release((con, "fleeting"), "x", ask="median", epsilon=1, delta=0)
    assert 1 <= asked.median().value <= 3
    with pytest.raises(InputError, match="rows need not be records"):
        kept((con, "catalogue"))
    con.execute("DROP VIEW catalogue")
    con.execute("DROP TABLE fleeting")
    con.commit()
