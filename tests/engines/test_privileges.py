"""A connection that may not read: refused before anything is charged, and told which privilege is missing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _support.command import flexdp as command
from _support.mariadb import connected

import flexdp
from flexdp import InputError, Ledger

ROLE = "flexdp_clerk"
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "dataset": "d"}
QUESTIONS: dict[str, dict[str, Any]] = {
    "buckets": {"width": 1}, "automatic buckets": {}, "answers": {"ask": ["max"]},
}  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "budget.db")
    made.create("d", epsilon=100, delta="1e-3")
    return made


@pytest.fixture
def clerk(address: str, psycopg_connection: Any) -> Iterator[str]:
    """The address of a role that may read some things only."""
    con = psycopg_connection
    con.execute("DROP TABLE IF EXISTS secret CASCADE")
    con.execute("CREATE TABLE secret AS SELECT CAST(i % 7 AS FLOAT8) AS x, i AS k FROM generate_series(1, 900) i")
    con.execute(f"CREATE ROLE {ROLE} LOGIN")
    con.commit()
    yield address.replace("//postgres:@", f"//{ROLE}:@").replace("//postgres@", f"//{ROLE}@")
    con.rollback()
    con.execute("DROP TABLE IF EXISTS secret CASCADE")
    con.execute(f"DROP OWNED BY {ROLE}")
    con.execute(f"DROP ROLE {ROLE}")
    con.commit()


def refused(ledger: Ledger, source: Any, **options: Any) -> str:
    """Return the refusal of a release, after which nothing has been charged."""
    with pytest.raises(InputError) as refusal:
        flexdp.release(source, "x", ledger=ledger, **BUDGET, **options)
    assert ledger.account("d").spent_epsilon == 0
    return str(refusal.value)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_role_without_select(question: str, clerk: str, ledger: Ledger, psycopg_connection: Any) -> None:
    asked = QUESTIONS[question]
    for vouched in (False, True):
        message = refused(ledger, (clerk, "secret"), rows_are_records=vouched, **asked)
        assert "secret" in message and "SELECT privilege is missing" in message and "several rows" not in message
    psycopg_connection.execute(f"GRANT SELECT (x) ON secret TO {ROLE}")
    psycopg_connection.commit()
    message = refused(ledger, (clerk, "secret"), where="k > 3", **asked)
    assert "column 'k'" in message and "secret" in message and "SELECT privilege is missing" in message
    assert "column 'k'" in refused(ledger, (clerk, "secret"), unit="k", max_buckets_per_unit=1, width=1)
    flexdp.release((clerk, "secret"), "x", ledger=ledger, **BUDGET, **asked)
    assert ledger.account("d").spent_epsilon == 1


def test_a_view_that_a_role_may_not_read(clerk: str, ledger: Ledger, psycopg_connection: Any) -> None:
    con = psycopg_connection
    con.execute("CREATE VIEW shown AS SELECT x, k FROM secret")
    con.commit()
    for vouched in (False, True):
        message = refused(ledger, (clerk, "shown"), width=1, rows_are_records=vouched)
        assert "shown" in message and "SELECT privilege is missing" in message
    con.execute(f"GRANT SELECT (x) ON shown TO {ROLE}")
    if con.info.server_version >= 150000:
        con.execute("CREATE VIEW invoked WITH (security_invoker = true) AS SELECT x FROM secret")
        con.execute(f"GRANT SELECT ON invoked TO {ROLE}")
        con.commit()
        for vouched in (False, True):
            message = refused(ledger, (clerk, "invoked"), width=1, rows_are_records=vouched)
            assert "a part of" in message and "several rows" not in message
    con.commit()
    assert "column 'k'" in refused(ledger, (clerk, "shown"), width=1, where="k > 3")
    flexdp.release((clerk, "shown"), "x", ledger=ledger, width=1, **BUDGET)
    assert ledger.account("d").spent_epsilon == 1


def test_the_command_line_spends_nothing(clerk: str, ledger: Ledger, tmp_path: Path) -> None:
    words = ["release", clerk, "x", "--table", "secret", "-e", "1", "-d", "1e-6", "--width", "1", "--json"]
    done = command(*words, "--ledger", tmp_path / "budget.db", "--dataset", "d")
    assert done.returncode == 2 and "SELECT privilege is missing" in done.stderr
    assert ledger.account("d").spent_epsilon == 0


def test_a_user_of_mariadb_with_some_privileges(mariadb_address: str, ledger: Ledger) -> None:
    owner = connected(mariadb_address, autocommit=True)
    cursor = owner.cursor()
    cursor.execute("DROP TABLE IF EXISTS secret")
    cursor.execute("CREATE TABLE secret (x DOUBLE, k BIGINT)")
    cursor.execute("INSERT INTO secret SELECT seq % 7, seq FROM seq_1_to_900")
    cursor.execute("CREATE USER clerk@localhost IDENTIFIED BY 'word'")
    try:
        cursor.execute("GRANT INSERT ON secret TO clerk@localhost")
        con = connected(mariadb_address, user="clerk", password="word", autocommit=True)
        for vouched in (False, True):
            message = refused(ledger, (con, "secret"), width=1, rows_are_records=vouched)
            assert "secret" in message and "SELECT privilege is missing" in message
        cursor.execute("REVOKE INSERT ON secret FROM clerk@localhost")
        cursor.execute("GRANT SELECT (x), INSERT (k) ON secret TO clerk@localhost")
        message = refused(ledger, (con, "secret"), width=1)
        assert "single columns" in message and "is a query" not in message
        assert "column 'k'" in refused(ledger, (con, "secret"), width=1, where="k > 3", rows_are_records=True)
        assert "GROUP BY" in flexdp.query((con, "secret"), "x", width=1, rows_are_records=True)
        cursor.execute("GRANT SELECT ON secret TO clerk@localhost")
        flexdp.release((con, "secret"), "x", width=1, where="k > 3", ledger=ledger, **BUDGET)
        assert ledger.account("d").spent_epsilon == 1
        con.close()
    finally:
        cursor.execute("DROP USER clerk@localhost")
        cursor.execute("DROP TABLE secret")
        owner.close()


def test_an_authorizer_of_sqlite(ledger: Ledger) -> None:
    con = sqlite3.connect(":memory:")
    con.execute("CREATE TABLE secret (x REAL, k INTEGER)")
    con.executemany("INSERT INTO secret VALUES (?, ?)", [(i % 7, i) for i in range(900)])

    def allowed(action: int, _table: Any, column: Any, *_more: Any) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_READ and column == "k" else sqlite3.SQLITE_OK

    con.set_authorizer(allowed)
    message = refused(ledger, (con, "secret"), width=1, where="k > 3")
    assert "column 'k'" in message and "secret" in message
    flexdp.release((con, "secret"), "x", width=1, ledger=ledger, **BUDGET)
    assert ledger.account("d").spent_epsilon == 1


def test_the_columns_are_still_listed(clerk: str) -> None:
    done = command("check", clerk, "--columns", "--table", "secret", "--json")
    assert done.returncode == 0 and '"x"' in json.dumps(json.loads(done.stdout))


def test_foreign_partitions_and_children_of_postgres(psycopg_connection: Any) -> None:
    """Their rows may be computed elsewhere, by any query."""
    con = psycopg_connection
    con.execute("CREATE FOREIGN DATA WRAPPER far")
    con.execute("CREATE SERVER away FOREIGN DATA WRAPPER far")
    con.execute("CREATE TABLE split (x FLOAT8) PARTITION BY RANGE (x)")
    con.execute("CREATE TABLE split_near PARTITION OF split FOR VALUES FROM (0) TO (10)")
    con.execute("CREATE TABLE split_more PARTITION OF split FOR VALUES FROM (10) TO (30) PARTITION BY RANGE (x)")
    con.execute("CREATE TABLE parent (x FLOAT8)")
    con.execute("CREATE TABLE child (y FLOAT8) INHERITS (parent)")
    con.execute("CREATE VIEW over_split AS SELECT x FROM split WHERE x < 5")
    try:
        for name in ("split", "parent", "child", "over_split"):
            assert "GROUP BY" in flexdp.query((con, name), "x", width=1)
        con.execute("CREATE FOREIGN TABLE split_far PARTITION OF split_more FOR VALUES FROM (10) TO (20) SERVER away")
        con.execute("CREATE FOREIGN TABLE grandchild () INHERITS (child) SERVER away")
        for name in ("split", "split_more", "parent", "child", "over_split"):
            with pytest.raises(InputError, match="rows need not be records"):
                flexdp.query((con, name), "x", width=1)
        assert "GROUP BY" in flexdp.query((con, "split_near"), "x", width=1)
    finally:
        con.rollback()
