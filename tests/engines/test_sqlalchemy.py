"""SQLAlchemy's engines and connections: counted as through their driver, and left as they were."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
from _support.private import private_counts
from sqlalchemy.ext.asyncio import create_async_engine

import flexdp
from flexdp import DataError, InputError, UnavailableError
from flexdp._release.api import prepare

SPEND = {"epsilon": 1, "delta": "1e-6"}
CANARY = "CANARY-QUOKKA"
COUNTS = {2.5: 1668, 7.5: 1332}
DRIVERS = ("sqlite", "postgresql+psycopg", "postgresql+pg8000", "mariadb+pymysql", "mysql+pymysql")


@pytest.fixture(params=DRIVERS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """An engine with a table of 3000 visits."""
    if request.param == "sqlite":
        made = sa.create_engine(f"sqlite:///{tmp_path / 'clinic.sqlite'}")
    elif request.param.endswith("pymysql"):
        made = sa.create_engine(request.getfixturevalue("mariadb_address").replace("mariadb", request.param, 1))
    else:
        folder = parse_qs(urlsplit(request.getfixturevalue("address")).query)["host"][0]
        socket = {"host": folder} if request.param.endswith("psycopg") else {"unix_sock": f"{folder}/.s.PGSQL.5432"}
        made = sa.create_engine(f"{request.param}://postgres@/postgres", connect_args=socket)
    with made.begin() as con:
        con.execute(sa.text("DROP TABLE IF EXISTS alchemy_visits"))
        con.execute(sa.text("CREATE TABLE alchemy_visits (x DOUBLE PRECISION, w VARCHAR(20))"))
        con.execute(
            sa.text("INSERT INTO alchemy_visits VALUES (:x, :w)"), [{"x": i % 9, "w": "w"} for i in range(3000)]
        )
    yield made
    made.dispose()


def lent(engine: sa.Engine) -> int:
    """The number of connections that have not been returned to the pool."""
    pool: Any = engine.pool
    return int(pool.checkedout())


def test_an_engine_lends_a_connection_for_each_step(engine: sa.Engine) -> None:
    source = (engine, "alchemy_visits")
    assert private_counts(source, "x", width=5) == COUNTS
    assert flexdp.release(source, "x", width=5, ask=["max"], **SPEND).max().value >= 5
    with engine.connect() as con:
        assert prepare(source, "x", width=5).query() == prepare((con, "alchemy_visits"), "x", width=5).query()
    assert lent(engine) == 0


def test_a_connection_stays_in_its_transaction(engine: sa.Engine) -> None:
    with engine.connect() as con:
        con.execute(sa.text("INSERT INTO alchemy_visits VALUES (1, 'mine')"))  # not committed
        source = (con, "alchemy_visits")
        assert private_counts(source, "x", width=5) == {**COUNTS, 2.5: COUNTS[2.5] + 1}
        assert flexdp.release(source, "x", width=5, ask=["max"], **SPEND).max().value >= 5
        assert con.in_transaction()
        assert con.execute(sa.text("SELECT count(*) FROM alchemy_visits WHERE w = 'mine'")).scalar() == 1
        con.rollback()
        assert private_counts(source, "x", width=5) == COUNTS
    with pytest.raises(InputError, match="has been closed"):
        prepare(source, "x", width=5)


def test_a_table_that_changes_is_the_one_error(engine: sa.Engine) -> None:
    prepared = prepare((engine, "alchemy_visits"), "x", width=5).with_budget(**SPEND)
    with engine.begin() as con:
        con.execute(sa.text("DROP TABLE alchemy_visits"))
        con.execute(sa.text("CREATE TABLE alchemy_visits (x INTEGER, w VARCHAR(20))"))
    with pytest.raises(DataError) as caught:
        prepared.run()
    assert caught.value.__context__ is None
    assert lent(engine) == 0
    with pytest.raises(InputError, match="table: 'nowhere' does not exist"):
        prepare((engine, "nowhere"), "x", width=5)
    assert lent(engine) == 0


def test_a_server_that_does_not_answer_is_unavailable() -> None:
    made = sa.create_engine(f"postgresql+psycopg://me:{CANARY}@127.0.0.1:1/none")
    with pytest.raises(UnavailableError, match="the engine cannot connect") as caught:
        prepare((made, "visits"), "x", width=5)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_other_engines_are_refused() -> None:
    with pytest.raises(InputError, match="must be a synchronous engine"):
        prepare((create_async_engine("postgresql+psycopg://"), "visits"), "x", width=5)
    module: Any = types.ModuleType("driver")
    module.paramstyle, module.version, module.Cursor = "qmark", "5.0", object
    made = sa.create_engine("mssql+pyodbc://", module=module)
    with pytest.raises(InputError, match="does not count on 'mssql'"):
        prepare((made, "visits"), "x", width=5)
    with pytest.raises(InputError, match="engine does not apply to SQLAlchemy"):
        prepare((sa.create_engine("sqlite://"), "visits"), "x", width=5, engine="postgres")
