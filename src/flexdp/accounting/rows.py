"""How rows are appended to a chain, and what is told of a ledger."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flexdp._core.domains import pairs, text
from flexdp._core.exact import number_text
from flexdp._core.text import is_unicode, safe_repr
from flexdp.accounting.entries import FIRST, Account, Entry, Receipt, canonical
from flexdp.errors import InputError, LedgerError
from flexdp.noise.sampler import fresh_salt
from flexdp.version import __version__

__all__ = [
    "Stored",
    "Verdict",
    "account_state",
    "amount",
    "append",
    "cells_of",
    "described",
    "new_entry",
    "registry_state",
    "stored_text",
    "with_source",
]


def amount(epsilon: Fraction, delta: Fraction) -> str:
    """Return a budget in words.

    >>> amount(Fraction(1, 2), Fraction(1, 10**6))
    'ε = 0.5, δ = 1e-06'
    """
    return f"ε = {number_text(epsilon)}, δ = {number_text(delta)}"


@dataclass(frozen=True, slots=True)
class Stored:
    """A release that was paid for earlier.

    Parameters
    ----------
    receipt
        The row that refers to it.
    document
        Its JSON.

    Examples
    --------
    >>> Stored(Receipt("a", 2, FIRST), "{}").receipt.number
    2
    """

    receipt: Receipt
    document: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of :meth:`Ledger.verify`: what was found wrong, one sentence each.

    Parameters
    ----------
    datasets, entries
        Number of data sets and of rows that were checked.
    problems
        Everything that was found wrong; nothing if the ledger is intact.

    Examples
    --------
    >>> print(Verdict(1, 4, ()))
    No damage found in 4 rows of 1 data set.
    """

    datasets: int
    entries: int
    problems: tuple[str, ...]

    @property
    def intact(self) -> bool:
        """True if nothing was found wrong."""
        return not self.problems

    def __str__(self) -> str:
        if self.problems:
            return " ".join(self.problems)
        rows, sets = ("row" if self.entries == 1 else "rows"), ("data set" if self.datasets == 1 else "data sets")
        return f"No damage found in {self.entries} {rows} of {self.datasets} {sets}."


def account_state(account: Account) -> list[str]:
    """Return what every row repeats of the account, so that the next charge can trust it."""
    numbers = (account.epsilon, account.delta, account.spent_epsilon, account.spent_delta)
    return [account.unit, *map(str, numbers), "by period" if account.by_period else "fixed"]


def registry_state(run: Any) -> tuple[str, int]:
    """Return the head of the registry and the number of data sets, inside a transaction that may change both."""
    heads, counts = run("locked_meta", "registry"), run("locked_meta", "datasets")
    cells = [row[0] for row in (*heads, *counts)]
    sound = len(heads) == len(counts) == 1 and all(isinstance(cell, str) for cell in cells)
    if not sound or not re.fullmatch("0|[1-9][0-9]{0,17}", cells[1]):
        raise LedgerError("the registry of the ledger was changed; nothing was read. See flexdp ledger verify")
    return cells[0], int(cells[1])


def new_entry(account: Account, kind: str, epsilon: Fraction, delta: Fraction, request: str, details: Any) -> Entry:
    """Return the next row of an account, which already includes what this row spends."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    draft = Entry(
        dataset=account.name, number=account.entries, kind=kind, epsilon=epsilon, delta=delta, request=request,
        details=json.loads(canonical({**details, "account": account_state(account)})), at=at, previous=account.head,
        hash=FIRST,
    )  # fmt: skip
    return replace(draft, hash=draft.expected)


def cells_of(row: Entry) -> tuple[Any, ...]:
    """Return the cells of a row, as the database keeps them."""
    numbers = (str(row.epsilon), str(row.delta))
    return (
        row.dataset,
        row.number,
        row.kind,
        *numbers,
        row.request,
        canonical(row.details),
        row.at,
        row.previous,
        row.hash,
    )


def append(
    run: Any, account: Account, kind: str, epsilon: Fraction, delta: Fraction, request: str, details: Any
) -> Receipt:
    """Append a row to a chain inside a transaction, and return its receipt."""
    after = replace(account, spent_epsilon=account.spent_epsilon + epsilon, spent_delta=account.spent_delta + delta)
    row = new_entry(after, kind, epsilon, delta, request, details)
    run("new_entry", *cells_of(row))
    spent = (str(after.spent_epsilon), str(after.spent_delta))
    run("set_account", *spent, account.entries + 1, row.hash, account.name, account.head)
    return Receipt(account.name, row.number, row.hash)


def stored_text(name: str, value: object) -> str:
    """Check a text that every database can keep."""
    found = text(name, value)
    if not is_unicode(found) or "\0" in found:
        raise InputError(name, "must be Unicode text without NUL", given=safe_repr(found))
    return found


def with_source(source: Any) -> dict[str, Any]:
    """Return what a charge keeps of its source: with a salt, so that no hash of the row, as in receipts, tells it.

    >>> with_source({"files": ["/data/visits.csv"]})["source"], with_source(None)
    ({'files': ['/data/visits.csv']}, {})
    """
    return {} if source is None else {"source": _json_values("source", source), "salt": fresh_salt()}


def described(details: Any) -> dict[str, Any]:
    """Check public details of a charge, which must be JSON values."""
    return {**_json_values("details", details), "flexdp": __version__}


def _json_values(name: str, details: Any) -> dict[str, Any]:
    listed = [] if details is None else pairs(details)
    try:
        given = {str(key): value for key, value in listed or ()}
        whole = listed is not None and "\\u0000" not in canonical(given)
    except Exception:  # noqa: BLE001  (an object may raise anything when it is written)
        whole = False
    if not whole:
        raise InputError(name, "must be a dictionary of JSON values", given=safe_repr(details))
    values: dict[str, Any] = json.loads(canonical(given))
    return values
