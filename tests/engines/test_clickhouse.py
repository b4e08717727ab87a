"""ClickHouse: its types, settings and faults, in this process by chdb."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from _support.private import private_bars, private_counts

import flexdp
from engines.test_faults import CANARY, only_our_words
from flexdp import InputError
from flexdp._release.api import prepare
from flexdp.tables.engines.clickhouse.engine import Clickhouse

SPEND = {"epsilon": 1, "delta": "1e-6"}


class Database:
    """A connection, with shorter words for what tests do."""

    def __init__(self, con: Any) -> None:
        self.con = con

    def run(self, *statements: str) -> Any:
        cursor = self.con.cursor()
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()


@pytest.fixture
def db(chdb_connection: Any) -> Iterator[Database]:
    made = Database(chdb_connection)
    made.run("DROP DATABASE IF EXISTS odd", "CREATE DATABASE odd")
    yield made
    made.run("DROP DATABASE odd")


def bars_of(source: Any, column: str, **parameters: Any) -> dict[Any, int]:
    bars = private_bars(prepare(source, column, **parameters))
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def test_columns_that_are_computed_when_they_are_read(db: Database) -> None:
    """An ALIAS may look at the row before, or at the number of a row: without the first record all others move."""
    db.run(
        "CREATE TABLE odd.visits (x Float64, y Float64 ALIAS x - rowNumberInAllBlocks(), z Float64 MATERIALIZED 2 * x, "
        "w Float64 DEFAULT 3) "
        "ENGINE = Memory",
        "INSERT INTO odd.visits (x) SELECT number FROM numbers(5)",
    )
    assert {cell for (cell,) in db.run("SELECT y FROM odd.visits")} == {0.0}
    with pytest.raises(InputError, match="no column named 'y'"):
        prepare((db.con, "odd.visits"), "y", width=1)
    with pytest.raises(InputError, match="column 'z' is computed when it is read"):
        prepare((db.con, "odd.visits"), "z", width=2)
    assert bars_of((db.con, "odd.visits"), "z", width=2, rows_are_records=True) == {(i,): 1 for i in range(5)}
    assert bars_of((db.con, "odd.visits"), "w", width=2) == {(1,): 5}


def test_declared_types(db: Database) -> None:
    db.run(
        "CREATE TABLE odd.visits (u UInt64, l LowCardinality(Nullable(String)), e Enum8('x' = 1, 'y' = 2), f Float32, "
        "n DateTime64(9, 'UTC'), s DateTime, d Date, o Bool, g UUID, h Int256, p Nullable(Decimal(38, 20)), "
        "a Array(Int8), c FixedString(3), m DateTime64(7)) ENGINE = Memory"
    )
    db.run(
        "INSERT INTO odd.visits SELECT 18446744073709551615, 'a', 'x', 0.1, "
        "toDateTime64('1969-12-31 23:59:59.9999999', 9, 'UTC'), "
        "toDateTime('2024-02-29 12:00:00', 'UTC'), '2024-02-29', true, '61f0c404-5cb3-11e7-907b-a6006ad3dba0', "
        "toInt256('9999999999999999999999999999999999999'), '0.1', [1], 'a', now64(7)",
        "INSERT INTO odd.visits SELECT 0, NULL, 'y', nan, toDateTime64('1970-01-01 00:00:00', 9, 'UTC'), "
        "toDateTime('1970-01-01 00:00:00', 'UTC'), '1970-01-01', false, '61f0c404-5cb3-11e7-907b-a6006ad3dba0', "
        "toInt256('-10000000000000000000000000000000000000'), NULL, [], 'b', now64(7)",
    )
    db.run("CREATE VIEW odd.seen AS SELECT * FROM odd.visits")
    with pytest.raises(InputError, match="rows need not be records"):
        prepare((db.con, "odd.seen"), "o")
    for table, vouched in (("odd.visits", {}), ("odd.seen", {"rows_are_records": True})):
        source = (db.con, table)
        assert bars_of(source, "u", width=2**60, **vouched) == {(15,): 1, (0,): 1}
        assert private_counts(source, "l", **vouched) == {"a": 1}
        assert private_counts(source, "e", **vouched) == {"x": 1, "y": 1}
        assert private_counts(source, "f", **vouched) == {0.10000000149011612: 1}
        before = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
        assert private_counts(source, "n", zone="UTC", **vouched) == {before: 1, dt.datetime(1970, 1, 1): 1}
        assert private_counts(source, "s", kind="date", zone="Europe/Berlin", **vouched) == {
            dt.date(2024, 2, 29): 1,
            dt.date(1970, 1, 1): 1,
        }
        assert private_counts(source, "d", **vouched) == {dt.date(2024, 2, 29): 1, dt.date(1970, 1, 1): 1}
        assert private_counts(source, "o", **vouched) == {True: 1, False: 1}
        assert private_counts(source, "g", **vouched) == {"61f0c404-5cb3-11e7-907b-a6006ad3dba0": 2}
        assert private_counts(source, "h", **vouched) == {10**37 - 1: 1}  # the other has more digits than are read
        assert private_counts(source, "p", **vouched) == {0.1: 1}
        for name in ("a", "c", "m"):
            with pytest.raises(InputError, match="which cannot be released"):
                prepare(source, name, **vouched)


def test_invalid_texts_are_no_bucket_group_or_unit(db: Database) -> None:
    db.run("CREATE TABLE odd.visits (w String, u Int64, x Float64) ENGINE = Memory")
    db.run(
        "INSERT INTO odd.visits SELECT unhex(w), u, 1.0 FROM "
        "VALUES('w String, u Int64', ('61', 1), ('FF', 1), ('FE', 2), ('EDA080', 2), ('C3A9', 2))"
    )
    source = (db.con, "odd.visits")
    assert private_counts(source, "w") == {"a": 1, "é": 1}
    assert bars_of(source, "w", unit="u", max_buckets_per_unit=1) == {("a",): 1, ("é",): 1}
    assert bars_of(source, "x", width=1, unit="w", max_buckets_per_unit=1) == {(1,): 2}


@pytest.mark.parametrize("buckets", [{"width": 1}, {"width": 1, "bounds": (-5, 5)}, {}, {"relative": "0.1"}])
def test_zeros_of_both_signs_are_one_bucket_of_a_unit(db: Database, buckets: dict[str, Any]) -> None:
    """ClickHouse groups them apart; a unit that had both would count twice in one bucket."""
    db.run("CREATE TABLE odd.visits (x Float64, u Int64) ENGINE = Memory")
    db.run("INSERT INTO odd.visits VALUES (0.0, 1), (-0.0, 1), (0.0, 2)")
    assert len(db.run("SELECT x FROM odd.visits GROUP BY x")) == 2  # control
    found = bars_of((db.con, "odd.visits"), "x", unit="u", max_buckets_per_unit=2, **buckets)
    assert list(found.values()) == [2]


def test_settings_of_the_session_do_not_matter(db: Database) -> None:
    db.run("CREATE TABLE odd.visits (x Nullable(Float64), w String, u Int64) ENGINE = Memory")
    db.run("INSERT INTO odd.visits SELECT number % 10 + 0.5, toString(number % 3), number % 7 FROM numbers(1000)")
    questions: list[dict[str, Any]] = [
        {"width": 1},
        {"width": 1, "by": "w", "unit": "u", "max_buckets_per_unit": 2},
        {"width": 1, "unit": "u", "per_unit": "mean"},
    ]
    before = [bars_of((db.con, "odd.visits"), "x", **question) for question in questions]
    odd = {"limit": (2, 0), "join_use_nulls": (0, 0), "prefer_column_name_to_alias": (0, 0),
           "max_rows_to_group_by": (2, 0), "group_by_overflow_mode": ("'any'", "'throw'")}  # fmt: skip
    try:
        db.run(*(f"SET {name} = {value}" for name, (value, _) in odd.items()))
        assert len(db.run("SELECT x FROM odd.visits")) == 2  # control
        assert [bars_of((db.con, "odd.visits"), "x", **question) for question in questions] == before
    finally:
        db.run(*(f"SET {name} = {usual}" for name, (_, usual) in odd.items()))


def test_asked_answers_leave_nothing_behind(db: Database) -> None:
    db.run("CREATE TABLE odd.visits (x Float64) ENGINE = Memory")
    db.run("INSERT INTO odd.visits SELECT number % 50 FROM numbers(3000)")
    released = flexdp.release((db.con, "odd.visits"), "x", epsilon=1, delta=0, ask=["max", "median"])
    assert released.max().value >= 40
    assert db.run("SHOW TEMPORARY TABLES") == ()


def test_faults(db: Database, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    db.run("CREATE TABLE odd.visits (x Float64, w String) ENGINE = Memory")
    db.run(f"INSERT INTO odd.visits VALUES (1, '{CANARY}')")
    db.run("CREATE VIEW odd.risky AS SELECT toInt64(w) AS x FROM odd.visits")
    only_our_words(prepare((db.con, "odd.risky"), "x", width=5, rows_are_records=True), capfd, caplog)
    prepared = prepare((db.con, "odd.visits"), "x", width=5)
    db.run("DROP TABLE odd.visits", "CREATE TABLE odd.visits (x Int64) ENGINE = Memory")
    only_our_words(prepared, capfd, caplog)
    db.run("DROP TABLE odd.visits")
    only_our_words(prepared, capfd, caplog)
    with pytest.raises(InputError, match=r"table: 'odd.visits' does not exist"):
        prepare((db.con, "odd.visits"), "x", width=5)


def test_tables_that_merge_rows_are_refused(db: Database) -> None:
    db.run("CREATE TABLE odd.sums (x Float64, k Int64) ENGINE = SummingMergeTree ORDER BY k")
    db.run("CREATE TABLE odd.plain (x Float64, k Int64) ENGINE = MergeTree ORDER BY k")
    with pytest.raises(InputError, match="whose rows need not be records"):
        prepare((db.con, "odd.sums"), "x", width=5)
    assert prepare((db.con, "odd.plain"), "x", width=5).query()


def test_what_is_refused(db: Database) -> None:
    with pytest.raises(InputError, match="must be ClickHouse 26 or later"):
        Clickhouse().describe(SimpleNamespace(fetch=lambda _statement: [["25.8.1.1", "odd"]]), "visits")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="engine must be 'clickhouse', the engine of the connection; got 'postgres'"):
        prepare((db.con, "odd.visits"), "x", width=5, engine="postgres")
    with pytest.raises(InputError, match="table: 'nowhere' does not exist"):
        prepare((db.con, "nowhere"), "x", width=5, engine="clickhouse")
