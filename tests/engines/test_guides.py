"""The guides docs/postgresql.md and docs/spark.md, and the example of docs/engines.md, run as they stand."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pytest
from _support.pages import DOCS, ROOT, blocks, run

VISITS = [(i % 500, 20 + i % 50, "AB"[i % 2]) for i in range(2000)]  # patient, age, ward
MAKE = "CREATE TABLE visits (patient {0}, age {0}, ward {1})"


@pytest.fixture
def flights_on_postgres(psycopg_connection: Any) -> Any:
    """The flights in a table of a private PostgreSQL server."""
    con = psycopg_connection
    con.execute("CREATE TABLE flights (airport TEXT, carrier TEXT, departure_delay INTEGER)")
    with duckdb.connect() as local:
        path = str(files("flexdp") / "data/flights.parquet")
        rows = local.execute("SELECT * FROM read_parquet(?) LIMIT 20000", [path]).fetchall()
    with con.cursor().copy("COPY flights FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    con.commit()
    yield con
    con.execute("DROP TABLE flights")
    con.commit()


@pytest.mark.usefixtures("flights_on_postgres")
def test_postgresql(address: str) -> None:
    run("postgresql", _python("postgresql.md"), {"address": address})


def test_the_example_for_postgresql(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    _example("postgres.py")["main"](address)
    out = capsys.readouterr().out
    assert "SELECT b0, count(*)" in out and "Highest departure_delay (where airport = 'JFK'): " in out


def test_spark(spark: Any) -> None:
    path = str(files("flexdp") / "data/flights.parquet")  # the JVM has a folder of its own
    found = [replace(each, text=each.text.replace("flights.parquet", path)) for each in _python("spark.md")]
    assert run("spark", found, {"spark": spark}) == 1


def test_the_example_for_spark(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _example("spark.py")["main"](spark)
    assert "Highest departure_delay: " in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb", "spark"])
def test_one_line_for_each_engine(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the block in docs/engines.md, the line for each engine, on a table of visits there."""
    monkeypatch.chdir(tmp_path)
    (block,) = _python("engines.md")
    lines = block.text.strip().splitlines()
    space: dict[str, Any] = {}
    exec("\n".join(lines[:3]), space)
    (line,) = (each for each in lines[5:] if each.startswith("flexdp.") and _ENGINE_OF[engine] in each)
    if engine == "sqlite":
        with sqlite3.connect("clinic.db") as con:
            con.execute(MAKE.format("INTEGER", "TEXT"))
            con.executemany("INSERT INTO visits VALUES (?, ?, ?)", VISITS)
        con.close()
        exec(lines[4], space)
    elif engine == "spark":
        session = request.getfixturevalue("spark")
        session.createDataFrame(VISITS, "patient INT, age INT, ward STRING").createOrReplaceTempView("visits")
        space["spark"] = session
    else:
        line = _on_a_server(engine, request, line)
    released = eval(line, space)
    assert released.counts().value
    if engine == "sqlite":
        space["con"].close()


_ENGINE_OF = {"sqlite": "(con,", "postgres": "postgresql://", "mariadb": "mariadb://", "spark": "spark.table"}


def _on_a_server(engine: str, request: pytest.FixtureRequest, line: str) -> str:
    """Fill the table on a server, and return the line with the server's address in the place of the example's."""
    if engine == "postgres":
        con, address = request.getfixturevalue("psycopg_connection"), request.getfixturevalue("address")
    else:
        con, address = request.getfixturevalue("mariadb_connection"), request.getfixturevalue("mariadb_address")
    cursor = con.cursor()
    cursor.execute("DROP TABLE IF EXISTS visits CASCADE")
    cursor.execute(MAKE.format("BIGINT", "VARCHAR(9)"))
    cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s)", VISITS)
    con.commit()
    scheme = "postgresql" if engine == "postgres" else "mariadb"
    return line.replace(f"{scheme}://me@host/clinic", address)


def _python(page: str) -> Any:
    return [block for block in blocks((DOCS / page).read_text("utf-8")) if block.language in ("python", "text")]


def _example(name: str) -> dict[str, Any]:
    import runpy

    return runpy.run_path(str(ROOT / "examples" / name))
