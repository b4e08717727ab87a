"""MariaDB: its types, sessions, addresses and faults."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import duckdb
import pymysql
import pytest
from _support.command import flexdp as run_command
from _support.mariadb import connected
from _support.private import private_bars, private_counts
from _support.waiting import sigint_when, wait_for

import flexdp
from engines.conftest import ODD_SETTINGS
from engines.test_faults import CANARY, only_our_words
from flexdp import InputError, UnavailableError
from flexdp._release.api import prepare
from flexdp.tables.engines.mariadb.engine import Mariadb

SPEND = {"epsilon": 1, "delta": "1e-6"}
WORDS = ["a", "A", "a ", "é", "e", "ß", "ss"]


class Database:
    """A connection, with shorter words for what tests do."""

    def __init__(self, con: Any) -> None:
        self.con = con

    def run(self, *statements: str) -> Any:
        with self.con.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()


@pytest.fixture
def db(mariadb_address: str) -> Iterator[Database]:
    with connected(mariadb_address, autocommit=True) as con:
        made = Database(con)
        made.run("DROP DATABASE IF EXISTS odd", "CREATE DATABASE odd CHARACTER SET utf8mb4", "USE odd")
        yield made
        made.run("DROP DATABASE odd")


def bars_of(source: Any, column: str, **parameters: Any) -> dict[Any, int]:
    bars = private_bars(prepare(source, column, **parameters))
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def test_collations_merge_nothing(db: Database) -> None:
    db.run("CREATE TABLE visits (w VARCHAR(9) COLLATE utf8mb4_general_ci, c CHAR(9) CHARACTER SET latin1, x INT)")
    for word in WORDS:
        with db.con.cursor() as cursor:
            cursor.execute("INSERT INTO visits VALUES (%s, %s, 1)", (word, word))
    assert db.run("SELECT count(DISTINCT w) FROM visits")[0][0] < len(WORDS)  # control: the collation does merge
    assert private_counts((db.con, "visits"), "w") == dict.fromkeys(WORDS, 1)
    assert bars_of((db.con, "visits"), "x", unit="w", max_buckets_per_unit=1) == {(1,): len(WORDS)}
    assert bars_of((db.con, "visits"), "x", by="w", groups=["a", "é"]) == {("a", 1): 1, ("é", 1): 1}
    stripped = {"a": 2, "A": 1, "é": 1, "e": 1, "ß": 1, "ss": 1}  # CHAR loses its padding
    assert private_counts((db.con, "visits"), "c") == stripped


def test_impossible_dates_are_missing(db: Database) -> None:
    """Each is one record that counts nowhere, and moves no other."""
    db.run("SET sql_mode = 'ALLOW_INVALID_DATES'")
    db.run("CREATE TABLE visits (d DATE, s DATETIME(6), z TIMESTAMP(6) NULL)")
    for day in ("0000-00-00", "2024-00-10", "2024-01-00", "2024-02-31", "0000-01-01", "2024-02-29"):
        db.run(f"INSERT INTO visits VALUES ('{day}', '{day} 23:59:59.999999', '2024-02-29 12:00:00')")
    db.run("INSERT INTO visits (z) VALUES ('0000-00-00 00:00:00'), (NULL)")
    day = dt.date(2024, 2, 29)
    assert private_counts((db.con, "visits"), "d") == {day: 1}
    assert private_counts((db.con, "visits"), "s", kind="date") == {day: 1}
    assert private_counts((db.con, "visits"), "s") == {dt.datetime(2024, 2, 29, 23, 59, 59, 999999): 1}
    assert sum(private_counts((db.con, "visits"), "z", width="1 day", zone="UTC").values()) == 6


def test_declared_types(db: Database) -> None:
    db.run(
        "CREATE TABLE visits (b TINYINT(1), t TINYINT, e ENUM('x', 'y'), u BIGINT UNSIGNED, y YEAR, f FLOAT, "
        "k SET('a'), v BIT(3), g BLOB, m SMALLINT UNSIGNED ZEROFILL, j JSON, n DECIMAL(65, 0), p DECIMAL(65, 30))"
    )
    db.run(
        "INSERT INTO visits VALUES "
        "(1, -7, 'x', 18446744073709551615, 2024, 0.1, 'a', 1, 'a', 7, '{}', 1, 0.1), "
        "(0, 7, 'y', 0, 1901, -0.1, '', 0, 'b', 65535, '[]', -1, -0.1), "
        f"(2, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, {10**64}, NULL)"
    )
    db.run("CREATE VIEW seen AS SELECT * FROM visits")
    for table in ("seen", "odd.seen"):
        with pytest.raises(InputError, match="rows need not be records"):
            prepare((db.con, table), "t")
    for table, vouched in (("visits", {}), ("seen", {"rows_are_records": True}), ("odd.visits", {})):
        source = (db.con, table)
        assert private_counts(source, "b", **vouched) == {True: 1, False: 1}  # 2 is neither
        assert private_counts(source, "t", **vouched) == {-7: 1, 0: 1, 7: 1}
        assert private_counts(source, "e", **vouched) == {"x": 1, "y": 1}
        assert bars_of(source, "u", width=2**60, **vouched) == {(15,): 1, (0,): 1}
        assert private_counts(source, "y", **vouched) == {1901: 1, 2024: 1}
        assert private_counts(source, "m", **vouched) == {7: 1, 65535: 1}
        assert private_counts(source, "f", **vouched) == {0.10000000149011612: 1, -0.10000000149011612: 1}
        assert private_counts(source, "j", **vouched) == {"{}": 1, "[]": 1}
        assert private_counts(source, "n", **vouched) == {1: 1, -1: 1}  # the third has more than 37 digits
        assert private_counts(source, "p", **vouched) == {0.1: 1, -0.1: 1}
        for name in ("k", "v", "g"):
            with pytest.raises(InputError, match="which cannot be released"):
                prepare(source, name, **vouched)


def test_a_connection_is_left_as_it_was(db: Database, mariadb_address: str) -> None:
    db.run("CREATE TABLE visits (x DOUBLE)", "INSERT INTO visits VALUES (1), (2), (2)")
    names = [setting.partition(" ")[0] for setting in ODD_SETTINGS]
    names += ["collation_connection", "sort_buffer_size", "tx_isolation", "autocommit", "in_transaction"]
    for autocommit in (True, False):
        with connected(mariadb_address, autocommit=autocommit) as con:
            mine = Database(con)
            mine.run("USE odd", *(f"SET SESSION {setting}" for setting in ODD_SETTINGS))

            def state(mine: Database = mine) -> Any:
                return mine.run("SELECT " + ", ".join(f"@@{name}" for name in names))

            before = state()
            assert private_counts((con, "visits"), "x") == {1.0: 1, 2.0: 2}
            assert state() == before
            flexdp.release((con, "visits"), "x", ask=["max"], width=1, **SPEND)
            assert state() == before
            mine.run("START TRANSACTION", "INSERT INTO visits VALUES (9)")  # not committed
            before = state()
            assert private_counts((con, "visits"), "x") == {1.0: 1, 2.0: 2, 9.0: 1}
            flexdp.release((con, "visits"), "x", ask=["max"], width=1, **SPEND)
            assert state() == before
            con.rollback()
            assert mine.run("SELECT count(*) FROM visits")[0][0] == 3


def test_a_temporary_table_of_the_caller_and_other_databases(db: Database, mariadb_address: str) -> None:
    db.run("CREATE TEMPORARY TABLE mine (x DOUBLE)", "INSERT INTO mine VALUES (3)")
    assert private_counts((db.con, "mine"), "x") == {3.0: 1}
    with connected(mariadb_address) as con, pytest.raises(InputError, match=r"table: 'odd.mine' does not exist"):
        prepare((con, "odd.mine"), "x")
    with (
        pymysql.connect(unix_socket=mariadb_address.partition("unix_socket=")[2], user="root") as con,  # no database
        pytest.raises(InputError, match="table: 'visits' does not exist"),
    ):
        prepare((con, "visits"), "x")


def test_addresses_and_the_command_line(db: Database, mariadb_address: str) -> None:
    db.run("CREATE TABLE visits (age DOUBLE)")
    with db.con.cursor() as cursor:
        cursor.executemany("INSERT INTO visits VALUES (%s)", [(i % 50,) for i in range(3000)])
    for scheme in ("mariadb", "mysql"):
        address = mariadb_address.replace("mariadb:", f"{scheme}:", 1).replace("/flexdp?", "/odd?")
        assert private_counts((address, "visits"), "age", width=50) == {25.0: 3000}
        assert run_command("check", address, "--columns", "--table", "odd.visits").stdout == "age\tdouble\n"
    words = [address, "age", "--table", "visits", "--width", "5"]
    assert json.loads(run_command("query", *words, "--json").stdout)["dialect"] == "mariadb"
    done = run_command("release", *words, "--epsilon", "1", "--delta", "1e-6", "--ask", "max")
    assert (done.returncode, "Highest age" in done.stdout) == (0, True), done
    assert "--table is missing" in run_command("query", address, "age", "--width", "5").stderr


def test_servers_out_of_reach_and_wrong_addresses() -> None:
    for address, kind in (
        (f"mariadb://me:{CANARY}@127.0.0.1:1/none", UnavailableError),
        (f"mariadb://me:{CANARY}@localhost/none?unix_socket=/nowhere", UnavailableError),
        (f"mariadb://me:{CANARY}@[bad/none", InputError),
        (f"mysql://me:{CANARY}@127.0.0.1:port/none", InputError),
        (f"mysql://me:{CANARY}@127.0.0.1/none?charset=latin1", InputError),
    ):
        with pytest.raises(kind) as caught:
            prepare((address, "visits"), "x", width=5)
        assert type(caught.value) is kind
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_wrong_password_is_not_repeated(db: Database, mariadb_address: str) -> None:
    db.run("CREATE OR REPLACE USER someone@localhost IDENTIFIED BY 'secret'")
    with pytest.raises(UnavailableError) as caught:
        prepare((mariadb_address.replace("root@", f"someone:{CANARY}@"), "visits"), "x", width=5)
    assert CANARY not in str(caught.value)
    db.run("DROP USER someone@localhost")


class OtherServer:
    """A connection to a server that says it is another one, and knows nothing else."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.asked: list[str] = []

    def cursor(self) -> Any:
        return self

    def execute(self, statement: str) -> None:
        self.asked.append(statement)
        if statement != "SELECT VERSION()":
            raise pymysql.err.OperationalError(1193, "Unknown system variable")

    description = (("VERSION()",),)

    def fetchall(self) -> Any:
        return [[self.version]]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("version", ["8.0.36", "10.5.9-MariaDB", "5.7.25-TiDB-v7.1.0", "9.4.0", "5.5.5-10.4.1-MariaDB"])
def test_other_servers_are_refused_before_anything_is_set(version: str) -> None:
    server = OtherServer(version)
    match = (
        "10.6 or later" if "MariaDB" in version else "must be a MariaDB server: MySQL.*Export the table to a Parquet"
    )
    with pytest.raises(InputError, match=match) as caught:
        prepare((server, "visits"), "x", width=5, engine="mariadb")
    assert "\n" not in str(caught.value)
    assert server.asked == ["SELECT VERSION()"]


def test_packets_that_lose_long_texts_are_refused() -> None:
    with pytest.raises(InputError, match="max_allowed_packet"):
        Mariadb().describe(SimpleNamespace(fetch=lambda _statement: [[2**19, "odd"]]), "visits")  # type: ignore[arg-type]


def test_tables_that_are_computed_are_refused(db: Database) -> None:
    """A view, under any spelling that the server takes for its name, and engines that make their rows."""
    db.run("CREATE TABLE visits (x DOUBLE)", "CREATE TABLE more (x DOUBLE) ENGINE=MyISAM")
    db.run("CREATE VIEW centred AS SELECT x - (SELECT AVG(x) FROM visits) AS x FROM visits")
    assert prepare((db.con, "visits"), "x", width=5) and prepare((db.con, "odd.more"), "x", width=5)
    for name in ("centred", "odd.centred", "CENTRED"):
        with pytest.raises(InputError, match=r"rows need not be records|does not exist"):
            prepare((db.con, name), "x", width=5)
    with pytest.raises(InputError, match="rows need not be records"):
        prepare((db.con, "seq_1_to_10"), "seq", width=5)
    db.run("CREATE TEMPORARY TABLE own (x DOUBLE) COMMENT 'ENGINE=MERGE'")
    assert prepare((db.con, "own"), "x", width=5)
    db.run("CREATE TABLE twice (x DOUBLE) ENGINE=MERGE UNION=(more)")
    with pytest.raises(InputError, match="rows need not be records"):
        prepare((db.con, "twice"), "x", width=5)


def test_faults(
    db: Database, mariadb_address: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    db.run("CREATE TABLE visits (x DOUBLE, w TEXT)", f"INSERT INTO visits VALUES (1, '{CANARY}')")
    db.run(
        "CREATE FUNCTION spoken(w TEXT) RETURNS INT DETERMINISTIC BEGIN "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = w; RETURN 1; END",
        "CREATE VIEW risky AS SELECT spoken(w) AS x FROM visits",
    )
    address = mariadb_address.replace("/flexdp?", "/odd?")
    for place in (db.con, address):
        only_our_words(prepare((place, "risky"), "x", width=5, rows_are_records=True), capfd, caplog)
    prepared = [prepare((place, "visits"), "x", width=5) for place in (db.con, address)]
    db.run("ALTER TABLE visits MODIFY x DECIMAL(10, 0)")
    for each in prepared:
        only_our_words(each, capfd, caplog)
    db.run("DROP TABLE visits")
    for each in prepared:
        only_our_words(each, capfd, caplog)
    db.run("CREATE TABLE visits (x DOUBLE)")
    with connected(mariadb_address) as con:
        lost = prepare((con, "odd.visits"), "x", width=5)
        db.run(f"KILL {con.thread_id()}")
        only_our_words(lost, capfd, caplog)
        with pytest.raises(InputError, match="the declared columns cannot be read"):
            prepare((con, "odd.visits"), "x", width=5)


def test_ctrl_c_kills_the_query_of_an_address(db: Database, mariadb_address: str) -> None:
    db.run("CREATE TABLE visits (x DOUBLE)", "INSERT INTO visits VALUES (1)")
    db.run("CREATE VIEW slow AS SELECT x FROM visits WHERE sleep(86400) = 0")

    def under_way() -> bool:
        return bool(db.run("SELECT id FROM information_schema.processlist WHERE state = 'User sleep'"))

    prepared = prepare((mariadb_address, "odd.slow"), "x", width=5, rows_are_records=True).with_budget(**SPEND)
    with pytest.raises(KeyboardInterrupt), sigint_when(under_way):
        prepared.run()
    wait_for(lambda: not under_way())


def test_sharp_answers_need_temporary_tables(db: Database, mariadb_address: str) -> None:
    db.run("CREATE TABLE visits (x DOUBLE)", "INSERT INTO visits VALUES (1)")
    db.run("CREATE OR REPLACE USER reader@localhost", "GRANT SELECT ON odd.* TO reader@localhost")
    address = mariadb_address.replace("root@", "reader@").replace("/flexdp?", "/odd?")
    assert private_counts((address, "visits"), "x", width=2) == {1.0: 1}
    with pytest.raises(InputError, match="does not allow temporary tables"):
        flexdp.release((address, "visits"), "x", ask=["max"], **{**SPEND, "delta": 0})
    db.run("GRANT CREATE TEMPORARY TABLES ON odd.* TO reader@localhost")
    flexdp.release((address, "visits"), "x", ask=["max"], **{**SPEND, "delta": 0})
    assert db.run("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'flexdp%'")[0][0] == 0
    db.run("DROP USER reader@localhost")


@pytest.mark.parametrize(
    "rule", [{}, {"unit": "u", "max_buckets_per_unit": 2}, {"by": "w", "unit": "u", "per_unit": "max"}]
)
def test_one_of_millions_of_buckets(db: Database, rule: dict[str, Any]) -> None:
    """The most deeply nested query is within the limits of the server's stack."""
    rows = [(k * 1.37 ** (k % 90), k // 2, "ab"[k % 2]) for k in range(-99, 99)]
    assert all(map(math.isfinite, (row[0] for row in rows)))
    db.run("CREATE TABLE visits (x DOUBLE, u BIGINT, w TEXT)")
    with db.con.cursor() as cursor:
        cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s)", rows)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE visits (x DOUBLE, u BIGINT, w TEXT)")
        con.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
        found = [bars_of((each, "visits"), "x", relative="0.0001", **rule) for each in (db.con, con)]
    assert found[0] == found[1]


def test_long_texts_that_differ_at_their_end(db: Database) -> None:
    """Texts are grouped and sorted by all of their bytes, not by the first kilobyte."""
    words = [f"{'x' * 65000}{i}" for i in range(4)]
    db.run("CREATE TABLE visits (w LONGTEXT, u INT)")
    with db.con.cursor() as cursor:
        cursor.executemany("INSERT INTO visits VALUES (%s, %s)", [(word, i % 3) for i, word in enumerate(words * 3)])
    assert private_counts((db.con, "visits"), "w") == dict.fromkeys(words, 3)
    assert bars_of((db.con, "visits"), "u", unit="w", max_buckets_per_unit=3) == {(0,): 4, (1,): 4, (2,): 4}
