"""Ledgers that are no ledgers: files of SQLite, or not even that, which somebody has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from fractions import Fraction

from flexdp import Ledger, Privacy
from fuzz.oracles import demand, outcome_of
from fuzz.places import folder

__all__ = ["WORDS", "run", "seeds"]

BUDGET = Fraction(40)
SPENT = Fraction(3)


def run(data: bytes) -> None:
    """Ask everything of a ledger; whatever was changed in it, no more may be left than ever was."""
    path = folder("ledgers") / "b.db"
    for each in path.parent.iterdir():
        each.unlink()
    path.write_bytes(data)
    ledger, _ = outcome_of(lambda: Ledger(path, patience=0))
    if ledger is None:
        return
    account, _ = outcome_of(lambda: ledger.account("a"))
    verdict, _ = outcome_of(lambda: ledger.verify())
    if account is not None and verdict is not None and verdict.intact:
        demand(account.remaining_epsilon <= BUDGET, "an intact ledger has more than its budget")
    for name in ("datasets", "accounts"):
        if hasattr(ledger, name):
            outcome_of(lambda name=name: str(getattr(ledger, name)()))
    outcome_of(lambda: [str(entry) for entry in ledger.history("a")])
    outcome_of(lambda: ledger.find("a", "r"))
    outcome_of(lambda: ledger.document("a", 1))
    outcome_of(lambda: ledger.charge("a", Privacy(epsilon=1, delta=0), request="q"))
    outcome_of(lambda: ledger.create("b", epsilon=1, delta=0))
    outcome_of(lambda: repr(ledger) + ledger._repr_html_() if hasattr(ledger, "_repr_html_") else "")
    ledger.close()


def seeds() -> Iterator[bytes]:
    """A ledger with a few charges, in small pages, as it is and with cells that no ledger has."""
    path = folder("ledgers") / "seed.db"
    ledger = Ledger(path)
    ledger.create("a", epsilon=BUDGET, delta="1/2")
    receipt = ledger.charge("a", Privacy(epsilon=1, delta=0), request="r")
    ledger.store(receipt, "{}", request="r")
    ledger.charge("a", Privacy(epsilon=SPENT - 1, delta="1e-6"), request="s", details={"column": "x"})
    ledger.close()
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA journal_mode = DELETE")
    con.execute("PRAGMA page_size = 512")
    con.execute("VACUUM")
    whole = path.read_bytes()
    yield whole
    columns = [
        (table, column[1])
        for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for column in con.execute(f"PRAGMA table_info({table})").fetchall()
    ]
    for table, column in columns:
        for value in ("'1e9999999'", "NULL", "x'ff'", "-5", "'[[]]'", "9e99", "''"):
            try:
                con.execute("BEGIN")
                con.execute(f"UPDATE {table} SET {column} = {value}")
                con.execute("COMMIT")
                yield path.read_bytes()
            except sqlite3.Error:
                con.execute("ROLLBACK") if con.in_transaction else None
            con.close()
            path.write_bytes(whole)
            con = sqlite3.connect(path, isolation_level=None)
    con.close()
    yield b"SQLite format 3\0"
    yield b""


WORDS = ("SQLite format 3\0", "1e999", "1/0", "CREATE TABLE", "{}", "0" * 64)
