"""The ledger that a team shares, on a real PostgreSQL server: the same guarantees, locks of one row at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import flexdp
from flexdp import BudgetError, InputError, Ledger, LedgerError, Privacy

TESTS = Path(__file__).parent.parent
ONE = Privacy(epsilon=1, delta=0)
TABLES = "flexdp_documents, flexdp_entries, flexdp_datasets, flexdp_meta"


@pytest.fixture
def ledger(address: str) -> Iterator[Ledger]:
    found = Ledger(address, patience=30)
    found.create("a", epsilon=20, delta="1e-4")
    found.create("monthly", epsilon=20, delta="1e-4", by_period=True)
    yield found
    found.close()
    with psycopg.connect(address) as con:
        con.execute(f"DROP TABLE {TABLES}")


def helper(*words: object) -> list[int]:
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    out = subprocess.run(
        [sys.executable, "-m", "_support.ledgers", *map(str, words)],
        capture_output=True, text=True, check=False, cwd=TESTS, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    return [int(word) for word in out.stdout.split()]


def test_the_same_interface(ledger: Ledger) -> None:
    asked: Any = {"epsilon": 1, "delta": "1e-6", "width": 5, "ledger": ledger, "dataset": "monthly"}
    asked |= {"period": "2026-05"}
    first = flexdp.release([33.0] * 900, **asked)
    again = flexdp.release([33.0] * 900, **asked)
    assert again == first and again.payment is not None and again.payment.free
    with pytest.raises(BudgetError, match=r"requested ε = 20, δ = 1e-06; remaining ε = 19, δ = 9.9e-05"):
        flexdp.release([33.0] * 900, **{**asked, "epsilon": 20})
    assert [row.kind for row in ledger.history("monthly")] == ["create", "charge", "store"]
    assert ledger.account("monthly").by_period and not ledger.account("a").by_period
    receipt = ledger.charge("a", ONE)
    assert ledger.verify(receipts=[receipt]).intact
    with pytest.raises(InputError, match="declared already"):
        ledger.create("a", epsilon=1, delta=0)
    with pytest.raises(InputError, match="no data set 'b'"):
        ledger.account("b")
    with pytest.raises(InputError, match="unit must be 'record'"):
        ledger.charge("a", ONE, unit="person")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE flexdp_entries SET epsilon = '0' WHERE number = 1", "Row 1 of 'a' was changed"),
        ("DELETE FROM flexdp_entries WHERE number = 1", "Row 1 of 'a' is missing"),
        ("UPDATE flexdp_datasets SET spent_epsilon = '0'", "sum of the charges"),
    ],
)
def test_edits_are_detected(ledger: Ledger, address: str, statement: str, words: str) -> None:
    for _ in range(2):
        ledger.charge("a", ONE)
    with psycopg.connect(address) as con:
        con.execute(statement)
    assert words in str(ledger.verify())


def test_many_processes_at_once(ledger: Ledger, address: str) -> None:
    granted = helper("charge", address, 24, 1)
    assert sorted(granted) == [0] * 4 + [1] * 20
    assert ledger.account("a").spent_epsilon == 20 and ledger.verify().intact


def test_killed_processes(ledger: Ledger, address: str, tmp_path: Path) -> None:
    notes, spent = helper("kill-server", address, tmp_path / "published", 20, 4)
    assert notes <= spent <= 20 and ledger.verify().intact


def test_an_address_is_kept_without_its_user(ledger: Ledger, address: str) -> None:
    """The address of a table has its server in a parameter here: nothing of it is kept, and a period tells it."""
    with psycopg.connect(address) as con:
        con.execute("CREATE TABLE charged_visits (x integer)")
        con.execute("INSERT INTO charged_visits SELECT i % 90 FROM generate_series(1, 4500) AS i")
    given = f"{address}{'&' if '?' in address else '?'}application_name=secretname"
    asked: Any = {"epsilon": 1, "delta": "1e-6", "width": 5, "ledger": ledger}
    try:
        for dataset, period in (("a", None), ("monthly", "2026-05")):
            first, again = (
                flexdp.release((given, "charged_visits"), "x", dataset=dataset, period=period, **asked)
                for _ in range(2)
            )
            assert again.payment is not None and again.payment.free == (again == first) == (period is not None)
    finally:
        with psycopg.connect(address) as con:
            con.execute("DROP TABLE charged_visits")
    with psycopg.connect(address) as con:
        rows = con.execute("SELECT details FROM flexdp_entries").fetchall()
    assert len(rows) == 2 + 4 + 2 and "secretname" not in str(rows) and "host=" not in str(rows)


def test_only_the_row_of_the_data_set_is_locked(ledger: Ledger, address: str) -> None:
    ledger.create("b", epsilon=1, delta=0)
    hasty = Ledger(address, patience=0.2)
    with psycopg.connect(address) as con:
        con.execute("SELECT 1 FROM flexdp_datasets WHERE name = 'a' FOR UPDATE")
        with pytest.raises(LedgerError, match="locked by another process") as refusal:
            hasty.charge("a", ONE)
        assert refusal.value.retry
        hasty.charge("b", ONE)
    hasty.charge("a", ONE)
    assert ledger.account("a").spent_epsilon == ledger.account("b").spent_epsilon == 1
    hasty.close()


def test_a_lost_connection_is_opened_again(ledger: Ledger, address: str) -> None:
    ledger.charge("a", ONE)
    with psycopg.connect(address) as con:
        ended = con.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flexdp ledger'"
        ).fetchall()
        assert ended
    with pytest.raises(LedgerError, match="cannot be reached; nothing was read"):
        ledger.charge("a", ONE)
    ledger.charge("a", ONE)
    assert ledger.account("a").spent_epsilon == 2


def test_another_schema_is_left_alone(ledger: Ledger, address: str) -> None:
    with psycopg.connect(address) as con:
        con.execute("UPDATE flexdp_meta SET value = '1' WHERE key = 'schema'")
    with pytest.raises(LedgerError, match="has schema '1'"):
        ledger.charge("a", ONE)


def test_no_server_and_no_ledger(address: str) -> None:
    with pytest.raises(InputError, match="no ledger at"):
        Ledger(address).accounts()
    nobody = Ledger("postgresql://me:secret@127.0.0.1:9/none")
    with pytest.raises(LedgerError, match="cannot be reached") as refusal:
        nobody.accounts()
    assert refusal.value.retry and "secret" not in str(refusal.value) + repr(nobody)
