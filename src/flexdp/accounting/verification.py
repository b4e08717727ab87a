"""The check of a whole ledger: every hash, every link, every sum, every stored release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flexdp.accounting.entries import FIRST, Entry, Receipt, account_of, digest
from flexdp.accounting.rows import account_state
from flexdp.errors import LedgerError

if TYPE_CHECKING:
    from flexdp.accounting.postgres_store import PostgresStore
    from flexdp.accounting.sqlite_store import SqliteStore

__all__ = ["verified"]


def verified(store: SqliteStore | PostgresStore, receipts: Sequence[Receipt]) -> tuple[int, int, tuple[str, ...]]:
    """Return the number of data sets and of rows, and everything that is wrong, one sentence each."""
    problems: list[str] = []
    if not store.check():
        raise LedgerError(f"{store} is not a ledger, or it was damaged; nothing was read")
    with store.transaction(write=False) as run:
        accounts = run("accounts")
        registered: dict[int, tuple[str, Entry]] = {}
        total = 0
        for account in accounts:
            rows = run("history", account[0])
            total += len(rows)
            problems += _chain(run, account, rows, registered)
        problems += _registry(run, registered, len(accounts))
        if run("orphans")[0][0]:
            problems.append("There are rows of a data set that is not declared.")
        for receipt in receipts:
            found = run("entry", receipt.dataset, receipt.number)
            if not found or found[0][9] != receipt.hash:
                problems.append(
                    f"Row {receipt.number} of {receipt.dataset!r} is not the one of the receipt: "
                    "an older copy was put back, or the chain was rebuilt."
                )
    return len(accounts), total, tuple(problems)


def _chain(run: Any, account: Any, rows: list[Any], registered: dict[int, tuple[str, Entry]]) -> list[str]:
    """What is wrong with the rows of one data set."""
    found = account_of(account)
    name, epsilon, delta, entries, head = found.name, found.epsilon, found.delta, found.entries, found.head
    wrong: list[str] = []
    zero = Fraction(0)
    previous, spent = FIRST, [zero, zero]
    for place, cells in enumerate(rows):
        try:
            row = Entry.of_row(cells)
            whole = row.expected == row.hash
        except LedgerError:
            whole = False
        if not whole:
            return [f"Row {place} of {name!r} was changed."]
        if row.number != place:
            return [f"Row {place} of {name!r} is missing."]
        if place and row.previous != previous:
            return [f"Row {place} of {name!r} does not follow the one before it."]
        if (row.kind == "create") != (place == 0):
            return [f"Row {place} of {name!r} is of the wrong kind."]
        if place == 0:
            registered[row.details.get("registry", -1)] = (name, row)
            declared = account_state(replace(found, spent_epsilon=zero, spent_delta=zero))
            if (row.epsilon, row.delta, row.details.get("account")) != (epsilon, delta, declared):
                wrong.append(f"The declaration of {name!r} was changed.")
        else:
            spent = [spent[0] + row.epsilon, spent[1] + row.delta]
        if row.kind == "store":
            document = run("document", name, row.number)
            if not document or digest(document[0][0]) != row.details.get("sha256"):
                wrong.append(f"The release stored in row {place} of {name!r} was changed.")
        previous = row.hash
    if entries != len(rows) or previous != head:
        wrong.append(f"Rows of {name!r} are missing at the end.")
    if spent != [found.spent_epsilon, found.spent_delta]:
        wrong.append(f"The sum of the charges to {name!r} was changed.")
    if spent[0] > epsilon or spent[1] > delta:
        wrong.append(f"The charges to {name!r} exceed its budget.")
    return wrong


def _registry(run: Any, registered: dict[int, tuple[str, Entry]], count: int) -> list[str]:
    """What is wrong with the chain of the declarations."""
    last, declared = (next(iter(run("meta", key)), ("",))[0] for key in ("registry", "datasets"))
    previous = FIRST
    for place in range(len(registered)):
        if place not in registered or registered[place][1].previous != previous:
            return ["A data set was removed from the ledger, or its declaration was changed."]
        previous = registered[place][1].hash
    if previous != last or declared != str(count):
        return ["A data set was removed from the ledger, or its declaration was changed."]
    return []
