"""A ledger for people and programs: a card, a bar of text, CSV, JSON, and facts for deployment registries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from flexdp._core.display import card, sentence, table
from flexdp._core.exact import number_text
from flexdp._core.text import for_spreadsheet
from flexdp.accounting.chain import Account, Entry
from flexdp.errors import FlexdpError

__all__ = ["Book", "accounts_card", "as_csv", "as_json", "bar", "refused_card", "registry", "row_of", "share_spent"]

_BAR = 24  # characters
_COLUMNS = ("dataset", "number", "kind", "epsilon", "delta", "at", "request", "details", "previous", "hash")


class Book(Protocol):
    """What is shown of a ledger."""

    def accounts(self) -> list[Account]:
        """Return all data sets."""

    def history(self, dataset: str) -> list[Entry]:
        """Return every row of a data set."""


def share_spent(account: Account) -> Fraction:
    """Return the larger share spent of ε and of δ.

    >>> from flexdp.accounting.chain import FIRST
    >>> half, none = Fraction(1, 2), Fraction(0)
    >>> share_spent(Account(name="a", unit="record", by_period=False, epsilon=Fraction(1), delta=none,
    ...                     spent_epsilon=half, spent_delta=none, entries=2, head=FIRST))
    Fraction(1, 2)
    """
    shares = [account.spent_epsilon / account.epsilon]
    if account.delta:
        shares.append(account.spent_delta / account.delta)
    return max(shares)


def bar(account: Account, *, plain: bool = False) -> str:
    """Return one line: a bar of what is spent, and the numbers.

    >>> from flexdp.accounting.chain import FIRST
    >>> print(bar(Account(name="a", unit="record", by_period=False, epsilon=Fraction(2), delta=Fraction(0),
    ...                   spent_epsilon=Fraction(1), spent_delta=Fraction(0), entries=2, head=FIRST), plain=True))
    a  [############............]  spent ε = 1 of 2, δ = 0 of 0; left ε = 1, δ = 0 for each record
    """
    drawn = _blocks(account).translate({0x2588: "#", 0x2591: "."}) if plain else _blocks(account)
    spent = f"spent ε = {number_text(account.spent_epsilon)} of {number_text(account.epsilon)}"
    chance = f"δ = {number_text(account.spent_delta)} of {number_text(account.delta)}"
    left = f"left ε = {number_text(account.remaining_epsilon)}, δ = {number_text(account.remaining_delta)}"
    return f"{account.name}  [{drawn}]  {spent}, {chance}; {left} for each {account.unit}"


def accounts_card(accounts: Sequence[Account]) -> str:
    """Return a notebook card of all budgets, each with a bar."""
    if not accounts:
        return card("Privacy budgets", "<p>No data set has been declared.</p>")
    return card("Privacy budgets", *map(_drawn, accounts), table(
        ["data set", "unit", "ε spent", "ε left", "δ spent", "δ left"],
        [
            [each.name, each.unit, *(number_text(value) for value in (
                each.spent_epsilon, each.remaining_epsilon, each.spent_delta, each.remaining_delta))]
            for each in accounts
        ],
        words=2,
    ))  # fmt: skip


def refused_card(refusal: FlexdpError) -> str:
    """Return the notebook card of a ledger that cannot be read: why."""
    return card("Privacy budgets", sentence(f"{refusal}"))


def _drawn(account: Account) -> str:
    """A bar of characters, which any notebook shows."""
    percent = float(100 * share_spent(account))
    return sentence(f"{account.name}: {_blocks(account)} {percent:.3g}% of the budget spent")


def _blocks(account: Account) -> str:
    full = min(_BAR, int(share_spent(account) * _BAR) + (share_spent(account) * _BAR % 1 > 0))
    return "█" * full + "░" * (_BAR - full)


def row_of(entry: Entry) -> dict[str, Any]:
    """Return a row as JSON values, without the source that was read, which stays in the ledger."""
    cells = {name: getattr(entry, name) for name in _COLUMNS}
    details = {name: value for name, value in entry.details.items() if name not in ("source", "salt")}
    return cells | {"epsilon": str(entry.epsilon), "delta": str(entry.delta), "details": details}


def as_json(ledger: Book) -> dict[str, Any]:
    """Return all data sets with their history, as JSON values."""
    return {"schema": "flexdp.ledger/1", "datasets": [_dataset(ledger, each) for each in ledger.accounts()]}


def _dataset(ledger: Book, account: Account) -> dict[str, Any]:
    return {
        "dataset": account.name,
        "unit": account.unit,
        "by_period": account.by_period,
        "budget": {"epsilon": str(account.epsilon), "delta": str(account.delta)},
        "spent": {"epsilon": str(account.spent_epsilon), "delta": str(account.spent_delta)},
        "left": {"epsilon": str(account.remaining_epsilon), "delta": str(account.remaining_delta)},
        "history": [row_of(entry) for entry in ledger.history(account.name)],
    }


def as_csv(ledger: Book) -> str:
    """Return the rows of all data sets as CSV, safe for spreadsheets."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for account in ledger.accounts():
        for entry in ledger.history(account.name):
            cells = row_of(entry) | {"details": json.dumps(row_of(entry)["details"], ensure_ascii=True, sort_keys=True)}
            writer.writerow([for_spreadsheet(cells[name]) for name in _COLUMNS])
    return out.getvalue()


def registry(ledger: Book, *, date: str | None = None) -> dict[str, Any]:
    """Return what deployment registries ask for: one record for each release that was charged.

    The facts that such registries (NIST, OpenDP) ask of a publisher, in field names of our own: the unit, ε, δ, the
    mechanism, how releases compose, the data set and the date, which the publisher declares; ``charged_at`` is the time
    of the charge by the machine's clock.
    """
    out = []
    for account in ledger.accounts():
        for entry in ledger.history(account.name):
            if entry.kind == "charge":
                out.append({
                    "data_set": account.name,
                    "privacy_unit": account.unit,
                    "neighbours": f"add or remove one {account.unit}",
                    "flavour": "pure differential privacy" if not entry.delta else "approximate differential privacy",
                    "epsilon": str(entry.epsilon),
                    "delta": str(entry.delta),
                    "mechanism": entry.details.get("mechanism", "declared by the caller"),
                    "composition": "basic, over all releases of the data set",
                    "total_epsilon": str(account.epsilon),
                    "total_delta": str(account.delta),
                    "deployment_model": "central",
                    "date": date,
                        "charged_at": entry.at,
                    "software": f"flexdp {entry.details.get('flexdp', '')}".strip(),
                })  # fmt: skip
    return {"schema": "flexdp.deployments/1", "deployments": out}
