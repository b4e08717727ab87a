"""The ledger: exact sums, admission, units, identical requests, the chain, paths and permissions."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import flexdp
from flexdp import BudgetError, InputError, Ledger, LedgerError, Privacy
from flexdp.accounting.books import as_csv, as_json, registry
from flexdp.accounting.chain import Receipt
from flexdp.accounting.stores import SqliteStore


def path_of(ledger: Ledger) -> Path:
    """The file of a ledger."""
    assert isinstance(ledger._store, SqliteStore)
    return ledger._store.path


TENTH = Privacy(epsilon="0.1", delta="1e-7")
VALUES = [33.0] * 900


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    found = Ledger(tmp_path / "budget.db")
    found.create("visits", epsilon=2, delta="2e-6")
    found.create("monthly", epsilon=2, delta="2e-6", by_period=True)
    return found


MAY = {"dataset": "monthly", "period": "2026-05"}


def test_sums_are_exact(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db")
    ledger.create("a", epsilon="0.3", delta="3e-7")
    for _ in range(3):  # 0.1 + 0.1 + 0.1 > 0.3 in doubles
        ledger.charge("a", TENTH)
    account = ledger.account("a")
    assert account.remaining_epsilon == account.remaining_delta == 0
    with pytest.raises(BudgetError, match=r"requested ε = 1e-09, δ = 0; remaining ε = 0, δ = 0. Nothing was read"):
        ledger.charge("a", Privacy(epsilon="1e-9", delta=0))
    assert ledger.account("a") == account


@pytest.mark.parametrize("cost", [Privacy(epsilon="2.000001", delta=0), Privacy(epsilon=1, delta="2.1e-6")])
def test_either_part_of_a_budget_can_refuse(ledger: Ledger, cost: Privacy) -> None:
    with pytest.raises(BudgetError):
        ledger.charge("visits", cost)
    assert len(ledger.history("visits")) == 1


def test_identical_requests_are_free_and_fresh_ones_pay(ledger: Ledger) -> None:
    first = flexdp.release(VALUES, epsilon=1, delta="1e-6", width=5, ledger=ledger, **MAY)
    assert first.payment is not None and not first.payment.free and first.payment.left_epsilon == 1
    other = [1.0]  # another list under the same declared name and period: only these count
    again = flexdp.release(other, epsilon="1.0", delta=1e-6, width="5", ledger=ledger, **MAY)
    assert again == first and again.payment is not None and again.payment.free
    assert "cost nothing" in str(again.payment) and str(again.payment).endswith("fresh=True pays for a new one.")
    assert ledger.account("monthly").spent_epsilon == 1
    fresh = flexdp.release(VALUES, epsilon=1, delta="1e-6", width=5, ledger=ledger, **MAY, fresh=True)
    assert fresh.payment is not None and not fresh.payment.free
    assert ledger.account("monthly").remaining_epsilon == 0
    with pytest.raises(BudgetError):
        flexdp.release(VALUES, epsilon=1, delta="1e-6", width=6, ledger=ledger, **MAY)
    assert flexdp.release(VALUES, epsilon=1, delta="1e-6", width=5, ledger=ledger, **MAY) == fresh


@pytest.mark.parametrize(
    "changed",
    [
        {"width": 6}, {"epsilon": "0.25"}, {"delta": "2e-7"}, {"bounds": (0, 100)}, {"kind": "integer"},
        {"certify": "0.1"}, {"ask": "max"}, {"bounds": (0, 100), "outside": "drop"},
    ],
)  # fmt: skip
def test_another_parameter_is_another_request(ledger: Ledger, changed: dict[str, object]) -> None:
    same = {"epsilon": "0.5", "delta": "1e-7", "width": 5, "kind": "number"}
    flexdp.release(VALUES, **same, ledger=ledger, dataset="visits")
    second = flexdp.release(VALUES, **{**same, **changed}, ledger=ledger, dataset="visits")
    assert second.payment is not None and not second.payment.free


def test_another_data_set_is_another_request(ledger: Ledger) -> None:
    ledger.create("other", epsilon=1, delta="1e-6")
    for name in ("visits", "other"):
        made = flexdp.release(VALUES, epsilon=1, delta="1e-6", width=5, ledger=ledger, dataset=name)
        assert made.payment is not None and not made.payment.free


def test_separate_columns_are_stored_together(ledger: Ledger) -> None:
    import polars as pl

    table = pl.DataFrame({"x": [3.0] * 200, "y": [4.0] * 200})
    asked = {"epsilon": 1, "delta": 1e-6, "width": 5, "separately": True, "ledger": ledger, **MAY}
    first = flexdp.release(table, ["x", "y"], **asked)
    again = flexdp.release(table, ["x", "y"], **asked)
    assert again.payment.free and again["x"] == first["x"] and again["y"] == first["y"]


def test_what_is_refused_before_the_data_is_read_is_free(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n1\n")
    for wrong in ({"width": -1}, {"width": 5, "bounds": (3, 1)}, {"width": 5, "unit": "pid"}):
        with pytest.raises(InputError):
            flexdp.release(tmp_path / "t.csv", "age", epsilon=1, delta=1e-6, ledger=ledger, dataset="visits", **wrong)
    with pytest.raises(InputError):
        flexdp.release(tmp_path / "none.csv", "age", epsilon=1, delta=1e-6, width=5, ledger=ledger, dataset="visits")
    assert len(ledger.history("visits")) == 1


def unreadable(path: Path) -> Path:
    """A Parquet file whose footer declares a column and whose pages are gone: whoever reads it fails."""
    import polars as pl

    pl.DataFrame({"x": [float(i * i % 9973) for i in range(20_000)]}).write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) - 2004) + whole[-2000:])
    return path


def test_an_exhausted_budget_reads_nothing(ledger: Ledger, tmp_path: Path) -> None:
    asked = {"delta": "1e-6", "width": 1, "ledger": ledger, "dataset": "visits"}
    path = unreadable(tmp_path / "t.parquet")
    with pytest.raises(BudgetError, match="requested ε = 3, δ = 1e-06; remaining ε = 2, δ = 2e-06"):
        flexdp.release(path, "x", epsilon=3, **asked)
    assert len(ledger.history("visits")) == 1
    with pytest.raises(flexdp.DataError):  # the control: where the budget suffices, it is read, and that is noticed
        flexdp.release(path, "x", epsilon=1, **asked)


def test_a_failure_after_the_charge_keeps_it(ledger: Ledger, tmp_path: Path) -> None:
    path = unreadable(tmp_path / "t.parquet")
    with pytest.raises(flexdp.DataError):
        flexdp.release(path, "x", epsilon=1, delta=1e-6, width=1, ledger=ledger, dataset="visits")
    assert ledger.account("visits").spent_epsilon == 1
    assert [row.kind for row in ledger.history("visits")] == ["create", "charge"]
    assert ledger.verify().intact


def test_a_unit_is_declared_once_and_for_all(tmp_path: Path) -> None:
    import polars as pl

    ledger = Ledger(tmp_path / "b.db")
    ledger.create("staff", epsilon=2, delta="2e-6", unit="person")
    table = pl.DataFrame({"person": list(range(500)), "pay": [10.0] * 500, "firm": [1] * 500})
    common = {"epsilon": 1, "delta": 1e-6, "width": 5, "ledger": ledger, "dataset": "staff"}
    with pytest.raises(InputError, match="unit must be 'person', for which 'staff' was declared; got 'record'"):
        flexdp.release(table, "pay", **common)
    with pytest.raises(InputError, match="got 'firm'"):
        flexdp.release(table, "pay", unit="firm", max_buckets_per_unit=1, **common)
    assert ledger.account("staff").spent_epsilon == 0
    flexdp.release(table, "pay", unit="person", max_buckets_per_unit=2, **common)
    assert ledger.account("staff").spent_epsilon == 1
    with pytest.raises(InputError, match="for which 'staff' was declared"):
        ledger.charge("staff", TENTH)


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a'; DROP TABLE flexdp_entries; --", "../a", "-a", "ä", "a" * 101, "a\n", 1, None]
)
def test_names_are_validated(ledger: Ledger, name: object) -> None:
    with pytest.raises(InputError, match="dataset"):
        ledger.create(name, epsilon=1, delta=0)
    with pytest.raises(InputError, match="dataset"):
        ledger.account(name)


def test_texts_with_sql_in_them_are_texts(ledger: Ledger) -> None:
    hostile = "x'); DROP TABLE flexdp_entries; --"
    ledger.create("b", epsilon=1, delta=0, unit=hostile)
    receipt = ledger.charge("b", Privacy(epsilon=1, delta=0), unit=hostile, request=hostile, details={"a": hostile})
    ledger.store(receipt, hostile, request=hostile)
    found = ledger.find("b", hostile)
    assert found is not None and found.document == hostile and ledger.verify().intact


def test_a_data_set_is_declared_once(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="declared already"):
        ledger.create("visits", epsilon=100, delta=0)
    with pytest.raises(InputError, match="no data set 'other' in the ledger"):
        ledger.account("other")
    with pytest.raises(InputError, match="no ledger at"):
        Ledger(Path(str(path_of(ledger))).with_name("none.db")).accounts()


def test_parameters_of_a_charged_release_belong_together(ledger: Ledger) -> None:
    for wrong in ({"dataset": "visits"}, {"fresh": True}, {"ledger": ledger}):
        with pytest.raises(InputError, match=r"needs ledger|dataset is missing"):
            flexdp.release(VALUES, epsilon=1, delta=1e-6, width=5, **wrong)
    with pytest.raises(InputError, match="ledger"):
        flexdp.release(VALUES, epsilon=1, delta=1e-6, width=5, ledger=3, dataset="visits")


def edited(ledger: Ledger, *statements: str) -> Ledger:
    """The same ledger after somebody has edited its file."""
    path = path_of(ledger)
    ledger.close()
    con = sqlite3.connect(path)
    for statement in statements:
        con.execute(statement)
    con.commit()
    con.close()
    return Ledger(path)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE flexdp_datasets SET by_period = 1 WHERE name = 'visits'", "The declaration of 'visits' was changed"),
        ("UPDATE flexdp_entries SET epsilon = '1/100' WHERE number = 1", "Row 1 of 'visits' was changed"),
        ("UPDATE flexdp_entries SET at = '2020-01-01' WHERE number = 2", "Row 2 of 'visits' was changed"),
        ("UPDATE flexdp_entries SET epsilon = 'x' WHERE number = 2", "Row 2 of 'visits' was changed"),
        ("UPDATE flexdp_entries SET details = '[' WHERE number = 2", "Row 2 of 'visits' was changed"),
        ("DELETE FROM flexdp_entries WHERE number = 2", "Row 2 of 'visits' is missing"),
        ("DELETE FROM flexdp_entries WHERE number = 4", "missing at the end"),
        ("UPDATE flexdp_datasets SET spent_epsilon = '0' WHERE name = 'visits'", "sum of the charges"),
        ("UPDATE flexdp_datasets SET epsilon = '100' WHERE name = 'visits'", "The declaration of 'visits' was changed"),
        ("UPDATE flexdp_datasets SET unit = 'firm' WHERE name = 'visits'", "The declaration of 'visits' was changed"),
        ("UPDATE flexdp_documents SET document = '{}'", "The release stored in row 4"),
        ("DELETE FROM flexdp_documents", "The release stored in row 4"),
        ("DELETE FROM flexdp_datasets WHERE name = 'later'", "not declared"),
    ],
)
def test_every_edit_is_detected(ledger: Ledger, statement: str, words: str) -> None:
    receipts = [ledger.charge("visits", TENTH) for _ in range(3)]
    ledger.store(receipts[-1], '{"a": 1}', request="r")
    ledger.create("later", epsilon=1, delta=0)
    assert ledger.verify(receipts=receipts).intact
    verdict = edited(ledger, statement).verify()
    assert not verdict.intact and words in str(verdict)


def test_a_removed_data_set_is_detected(ledger: Ledger) -> None:
    ledger.create("later", epsilon=1, delta=0)
    gone = edited(
        ledger,
        "DELETE FROM flexdp_entries WHERE dataset = 'later'",
        "DELETE FROM flexdp_datasets WHERE name = 'later'",
    )
    assert "A data set was removed" in str(gone.verify())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE flexdp_entries SET epsilon = '0' WHERE number = 1",
        "UPDATE flexdp_datasets SET spent_epsilon = '0'",
        "UPDATE flexdp_datasets SET spent_delta = '0'",
        "UPDATE flexdp_datasets SET epsilon = '100'",
        "UPDATE flexdp_datasets SET unit = 'firm'",
        "UPDATE flexdp_datasets SET by_period = 1 - by_period",
        "UPDATE flexdp_datasets SET entries = 1",
        "DELETE FROM flexdp_entries WHERE number = 1",
    ],
)
def test_a_changed_account_stops_the_next_charge(ledger: Ledger, statement: str) -> None:
    ledger.charge("visits", TENTH)
    changed = edited(ledger, statement)
    with pytest.raises(LedgerError, match="were changed; nothing was read"):
        changed.charge("visits", TENTH)
    with pytest.raises(LedgerError, match="were changed"):
        changed.account("visits")


def test_a_changed_release_is_not_returned(ledger: Ledger) -> None:
    ledger.store(ledger.charge("visits", TENTH), "{}", request="r")
    with pytest.raises(LedgerError, match="was changed in the ledger"):
        edited(ledger, """UPDATE flexdp_documents SET document = '{"a": 1}'""").find("visits", "r")


def test_the_file_is_private_and_paths_are_checked(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        ledger = Ledger(tmp_path / "b.db")
        ledger.create("a", epsilon=1, delta=0)
    finally:
        os.umask(old)
    for name in ("b.db", "b.db-wal", "b.db-shm"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.db", "b.db-shm", "b.db-wal"]
    (tmp_path / "link.db").symlink_to(tmp_path / "b.db")
    with pytest.raises(InputError, match="symbolic link"):
        Ledger(tmp_path / "link.db").accounts()
    with pytest.raises(InputError, match="symbolic link"):
        Ledger(tmp_path / "link.db").create("b", epsilon=1, delta=0)
    (tmp_path / "dangling.db").symlink_to(tmp_path / "nowhere.db")
    with pytest.raises(InputError, match="symbolic link"):
        Ledger(tmp_path / "dangling.db").create("b", epsilon=1, delta=0)
    assert not (tmp_path / "nowhere.db").exists()
    (tmp_path / "b.db").chmod(0o602)
    with pytest.raises(InputError, match="writable by everybody"):
        ledger.charge("a", Privacy(epsilon=1, delta=0))
    (tmp_path / "b.db").chmod(0o600)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(InputError, match="folder that everybody may write to"):
        Ledger(shared / "b.db").create("a", epsilon=1, delta=0)
    shared.chmod(0o1777)  # as /tmp: others cannot replace the file
    Ledger(shared / "b.db").create("a", epsilon=1, delta=0)
    with pytest.raises(InputError, match="must be a file"):
        Ledger(shared).accounts()
    with pytest.raises(InputError, match="no such folder"):
        Ledger(tmp_path / "none" / "b.db").create("a", epsilon=1, delta=0)


def test_exports(ledger: Ledger) -> None:
    flexdp.release(VALUES, epsilon=1, delta="1e-6", width=5, ledger=ledger, dataset="visits")
    content = json.loads(json.dumps(as_json(ledger)))
    (_, only) = content["datasets"]
    assert only["left"] == {"epsilon": "1", "delta": "1/1000000"}
    assert [row["kind"] for row in only["history"]] == ["create", "charge", "store"]
    assert only["history"][1]["details"]["parameters"]["width"] == "5"
    rows = list(csv.DictReader(io.StringIO(as_csv(ledger))))
    assert [Fraction(row["epsilon"]) for row in rows if row["dataset"] == "visits"] == [2, 1, 0]
    (fact,) = registry(ledger, date="2026-12-31")["deployments"]
    assert fact["epsilon"] == "1" and fact["privacy_unit"] == "record" and fact["mechanism"] == "dropping"
    assert fact["date"] == "2026-12-31" and "basic" in fact["composition"]


def test_receipts() -> None:
    receipt = Receipt("a", 3, "0" * 64)
    assert Receipt.parse(str(receipt)) == receipt
    for wrong in ("", "a:3", "a:x:" + "0" * 64, "a:3:" + "z" * 64, 3, None):
        with pytest.raises(InputError, match="receipt"):
            Receipt.parse(wrong)


def test_a_data_set_with_a_ledger(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "33\n" * 900)
    declared = {"columns": {"age": "number"}, "unit": "record", "name": "visits", "ledger": path_of(ledger)}
    with flexdp.Dataset(tmp_path / "t.csv", **declared) as s:
        ages = s.release("age", epsilon=1, delta="1e-6", width=5)
        assert s.release("age", epsilon=1, delta="1e-6", width=5) == ages
        assert s.remaining == (1, Fraction(1, 10**6))
        with pytest.raises(BudgetError, match=r"requested ε = 1.5, δ = 1e-06; remaining ε = 1, δ = 1e-06"):
            s.release("age", epsilon="1.5", delta="1e-6")
        assert "ε spent" in (s._repr_html_() or "") and "visits" in repr(s) and "GROUP BY" in s.query("age", width=5)
    with pytest.raises(InputError, match="no data set"):
        flexdp.Dataset(VALUES, unit="record", ledger=ledger, name="none")
    assert "visits" in ledger._repr_html_()


def test_cards_escape_what_they_show(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db")
    assert "ledger: no ledger at" in ledger._repr_html_(), "a card says why, instead of failing"
    ledger.create("a", epsilon=1, delta=0, unit="<script>")
    assert "<script>" not in ledger._repr_html_() and "&lt;script&gt;" in ledger._repr_html_()


@pytest.mark.parametrize(
    "work",
    [
        lambda ledger: Ledger(path_of(ledger), patience=-1),
        lambda _: Ledger(3),
        lambda ledger: ledger.charge("visits", 1),
        lambda ledger: ledger.charge("visits", TENTH, request=1),
        lambda ledger: ledger.charge("visits", TENTH, details={"a": object()}),
        lambda ledger: ledger.charge("visits", TENTH, details=3),
        lambda ledger: ledger.charge("visits", TENTH, unit="a\nb"),
        lambda ledger: ledger.store("receipt", "{}"),
        lambda ledger: ledger.store(ledger.charge("visits", TENTH), {}),
        lambda ledger: ledger.document("visits", -1),
        lambda ledger: ledger.verify(receipts=3),
        lambda ledger: ledger.create("b", epsilon=0, delta=0),
        lambda ledger: ledger.create("b", epsilon=1, delta=1),
    ],
)
def test_wrong_values_are_refused_in_one_line(ledger: Ledger, work: object) -> None:
    with pytest.raises(InputError) as refusal:
        work(ledger)
    assert "\n" not in str(refusal.value)


def test_a_receipt_of_another_ledger_stores_nothing(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="is not in the ledger"):
        ledger.store(Receipt("visits", 0, "0" * 64), "{}")


def test_a_release_that_cannot_be_stored_is_still_published(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: object, **_named: object) -> None:
        raise LedgerError("the disk is full", retry=True)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "store", full)
        made = flexdp.release(VALUES, epsilon="0.5", delta="1e-6", width=5, ledger=ledger, dataset="visits")
    assert made.payment is not None and not made.payment.stored and "will cost again" in str(made.payment)
    assert ledger.account("visits").spent_epsilon == Fraction(1, 2)


def test_automatic_buckets_and_several_statistics_can_be_paid_for(ledger: Ledger) -> None:
    first = flexdp.release(VALUES, epsilon=1, delta="1e-6", kind="number", ledger=ledger, **MAY)
    again = flexdp.release(VALUES, epsilon=1, delta="1e-6", kind="number", ledger=ledger, **MAY)
    assert again == first and again.payment is not None and again.payment.free
    assert ledger.history("monthly")[1].details["mechanism"] == "automatic buckets, dropping"
    assert flexdp.compose([first, first], delta="2e-6").epsilon <= 2


@pytest.mark.parametrize("columns", [["x"], ["x", "y"]])
def test_a_summary_can_be_paid_for(ledger: Ledger, columns: list[str]) -> None:
    import polars as pl

    table = pl.DataFrame({"x": [True, False] * 300, "y": ["a", "b"] * 300})
    asked = {"columns": columns, "epsilon": 1, "delta": "1e-6", "ledger": ledger, **MAY}
    first, again = flexdp.summary(table, **asked), flexdp.summary(table, **asked)
    assert first.payment is not None and not first.payment.free and again.payment is not None and again.payment.free
    assert [again[name] == first[name] for name in columns] == [True] * len(columns)
    assert ledger.account("monthly").spent_epsilon == 1


def test_a_filter_is_a_parameter(ledger: Ledger) -> None:
    import polars as pl

    table = pl.DataFrame({"x": [1.0, 2.0] * 300})
    asked = {"epsilon": "0.5", "delta": "1e-7", "width": 1, "ledger": ledger, "dataset": "visits"}
    for where in (None, "x > 1", "x > 0"):
        made = flexdp.release(table, "x", where=where, **asked)
        assert made.payment is not None and not made.payment.free


def test_nothing_private_is_in_the_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """A record that does not survive is in no byte of it; the path of the table is in nothing that is shown of it."""
    import polars as pl

    path = tmp_path / "secretfolder.parquet"
    pl.DataFrame({"who": ["CANARYCANARY"] + ["common"] * 7654}).write_parquet(path)
    flexdp.release(path, "who", epsilon=1, delta="1e-6", exact=True, ledger=ledger, dataset="visits")
    with pytest.raises(BudgetError) as refusal:
        flexdp.release(path, "who", epsilon=2, delta="1e-6", exact=True, ledger=ledger, dataset="visits")
    written = b"".join(file.read_bytes() for file in tmp_path.glob("budget.db*"))
    shown = json.dumps([as_json(ledger), registry(ledger)]) + as_csv(ledger) + str(refusal.value) + repr(ledger)
    shown += ledger.document("visits", 2) or ""
    assert b"common" in written and "common" in shown and b"CANARY" not in written
    assert b"secretfolder" in written, "the control: it is what tells this source from others"
    for secret in ("CANARY", "secretfolder", '"salt"'):
        assert secret not in shown, secret


def test_what_the_publisher_declares_is_no_parameter(ledger: Ledger) -> None:
    asked = {"epsilon": 1, "delta": "1e-6", "width": 5, "ledger": ledger, **MAY}
    first = flexdp.release(VALUES, **asked, title="Draft")
    again = flexdp.release(VALUES, **asked, title="Final")
    assert again.payment is not None and again.payment.free and again.cells == first.cells
    assert (first.spec.about.title, again.spec.about.title) == ("Draft", "Final")


def test_identical_requests_of_several_threads_are_charged_once(tmp_path: Path) -> None:
    Ledger(tmp_path / "b.db").create("d", epsilon=50, delta="1e-3", by_period=True)
    ready = threading.Barrier(6)

    def ask(width: int) -> flexdp.Release:
        ready.wait()
        return flexdp.release(
            list(range(999)),
            width=width,
            kind="integer",
            epsilon=1,
            delta="1e-6",
            ledger=tmp_path / "b.db",
            dataset="d",
            period="2026-05",
        )

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(ask, [100, 100, 100, 100, 200, 200]))
    account = Ledger(tmp_path / "b.db").account("d")
    assert account.spent_epsilon == 2, "one charge for each of two different requests"
    assert len({one.to_json() for one in made}) == 2
    assert sorted(one.payment.free for one in made if one.payment is not None) == [False] * 2 + [True] * 4


def test_a_request_that_fails_lets_the_next_one_run() -> None:
    from flexdp._release.once import one_at_a_time

    order: list[str] = []

    def fail() -> None:
        with one_at_a_time("a", "b"):
            order.append("first")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    with one_at_a_time("a", "b"), one_at_a_time("a", "b"):
        order.append("again, and by the same thread")
    assert len(order) == 2
