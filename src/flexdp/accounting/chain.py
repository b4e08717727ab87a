"""Rows of a ledger, chained by hash: a changed, moved or deleted row breaks the chain.

::

    payroll   0 create ε 3 ──hash──▶ 1 charge ε 1 ──hash──▶ 2 store {"sha256": …} ──hash──▶ …    one chain per data set
                 │ previous
    registry  ───┴─ the row that declared the data set before it, so that none can be removed

The first row of a data set declares its budget; each further one charges it or stores what was released. The hash of a
row covers all its cells and the hash of the row before it. Whoever may write the file may also rebuild a whole chain:
the hashes detect accidents and edits, not an attacker with time. A receipt kept elsewhere detects that too.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flexdp._core.domains import text
from flexdp._core.exact import number_text, ratio
from flexdp._core.text import safe_repr
from flexdp.accounting.stores import Run, Store
from flexdp.errors import InputError, LedgerError

__all__ = [
    "Account",
    "Entry",
    "Receipt",
    "account_of",
    "amount",
    "append",
    "canonical",
    "check_chains",
    "check_name",
    "check_unit",
    "declare",
    "digest",
]

FIRST = "0" * 64  # what the first row of a chain refers to
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST_UNIT = 200
_ZERO = Fraction(0)


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces.

    >>> canonical({"b": 1, "a": [2]})
    '{"a":[2],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON.

    >>> digest([1])[:8]
    '080a9ed4'
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def check_name(value: object) -> str:
    """Check the name of a data set: letters, digits, dots, hyphens and underscores."""
    name = text("dataset", value, "'payroll-2026'")
    if not _NAME.fullmatch(name):
        raise InputError(
            "dataset",
            "must be 1 to 100 letters, digits, dots, hyphens or underscores, with a letter or digit first",
            given=safe_repr(name),
        )
    return name


def check_unit(value: object) -> str:
    """Check the name of a privacy unit: "record", or the column that identifies the units."""
    unit = text("unit", value, "'person'")
    if not unit or len(unit) > _LONGEST_UNIT or not unit.isprintable():
        raise InputError("unit", f"must be 1 to {_LONGEST_UNIT} printable characters", given=safe_repr(unit))
    return unit


def amount(epsilon: Fraction, delta: Fraction) -> str:
    """Return a budget in words.

    >>> amount(Fraction(1, 2), Fraction(1, 10**6))
    'ε = 0.5, δ = 1e-06'
    """
    return f"ε = {number_text(epsilon)}, δ = {number_text(delta)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Budget of one data set, and what has been spent of it.

    Parameters
    ----------
    name
        Declared name of the data set.
    unit
        Its privacy unit: "record", or the column that identifies the units.
    by_period
        True if every release names the period that it covers; False if the data never change.
    epsilon, delta
        The whole budget.
    spent_epsilon, spent_delta
        Sums of all charges.
    entries
        Number of rows in its chain.
    head
        Hash of the last row.

    Examples
    --------
    >>> import tempfile, flexdp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     account = flexdp.Ledger(f"{folder}/budget.db").create("payroll-2026", epsilon=3, delta="4e-6")
    >>> account.remaining_epsilon, account.unit
    (Fraction(3, 1), 'record')
    """

    name: str
    unit: str
    by_period: bool
    epsilon: Fraction
    delta: Fraction
    spent_epsilon: Fraction
    spent_delta: Fraction
    entries: int
    head: str

    @property
    def remaining_epsilon(self) -> Fraction:
        """ε that is left."""
        return self.epsilon - self.spent_epsilon

    @property
    def remaining_delta(self) -> Fraction:
        """δ that is left."""
        return self.delta - self.spent_delta

    @property
    def state(self) -> list[str]:
        """What every row repeats of the account, so that the next charge can trust it."""
        numbers = (self.epsilon, self.delta, self.spent_epsilon, self.spent_delta)
        return [self.unit, *map(str, numbers), "by period" if self.by_period else "fixed"]


def account_of(row: Iterable[Any]) -> Account:
    """Return the account that a row of the database holds; :class:`LedgerError` if it holds none."""
    name, unit, by_period, *numbers, entries, head = row
    try:
        periodic = {0: False, 1: True}[by_period]
        epsilon, delta, spent_epsilon, spent_delta = map(ratio, numbers)
        count = int(entries)
    except (ValueError, TypeError, ArithmeticError, KeyError):
        raise LedgerError(f"the account of {safe_repr(name)} in the ledger was changed; nothing was read") from None
    return Account(
        name=name, unit=unit, by_period=periodic, epsilon=epsilon, delta=delta, spent_epsilon=spent_epsilon,
        spent_delta=spent_delta, entries=count, head=head,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of a data set's chain.

    Parameters
    ----------
    dataset, number
        The data set, and the row's place in its chain, from 0.
    kind
        "create", "charge" or "store".
    epsilon, delta
        Budget that was declared or charged; 0 where a release was stored.
    request
        Hash of the public parameters that were asked for; of a stored release, those that it answers.
    details
        Description: parameters, versions, the hash of a stored document; and of a charge the source that was read,
        which no export shows.
    at
        Time by the machine's clock, UTC. It is a remark: nothing is ordered or decided by it.
    previous, hash
        Hash of the row before, and of this one.

    Examples
    --------
    >>> cells = ("a", 1, "charge", "1/2", "0", "", "{}", "2026-01-01T00:00:00+00:00", FIRST, "")
    >>> row = Entry.of_row(cells)
    >>> row.epsilon, row.expected == row.hash
    (Fraction(1, 2), False)
    """

    dataset: str
    number: int
    kind: str
    epsilon: Fraction
    delta: Fraction
    request: str
    details: dict[str, Any]
    at: str
    previous: str
    hash: str

    @property
    def expected(self) -> str:
        """Hash that this row must have."""
        cells = (self.dataset, self.number, self.kind, str(self.epsilon), str(self.delta), self.request)
        return digest([*cells, self.details, self.at, self.previous])

    @property
    def intact(self) -> bool:
        """True if the row has the hash that it must have."""
        return self.expected == self.hash

    @property
    def cells(self) -> tuple[Any, ...]:
        """The cells of the row, as the database keeps them."""
        numbers = (str(self.epsilon), str(self.delta))
        described = (self.request, canonical(self.details), self.at, self.previous, self.hash)
        return (self.dataset, self.number, self.kind, *numbers, *described)

    @classmethod
    def of_row(cls, row: Iterable[Any]) -> Entry:
        """Return the entry that a row of the database holds.

        Parameters
        ----------
        row
            Its cells.

        Returns
        -------
        Entry
            The entry; its hash has not been checked.

        Raises
        ------
        LedgerError
            If the cells cannot be those of an entry.
        """
        dataset, number, kind, epsilon, delta, request, details, at, previous, own = row
        try:
            numbers, described = (int(number), ratio(epsilon), ratio(delta)), json.loads(details)
            texts = (dataset, kind, request, at, previous, own)
            if not isinstance(described, dict) or not all(isinstance(text, str) for text in texts):
                raise TypeError("no description, or a cell that is no text")
        except (ValueError, TypeError, ArithmeticError, RecursionError):
            raise LedgerError(f"a row of {safe_repr(dataset)} in the ledger was changed; nothing was read") from None
        return cls(
            dataset=dataset,
            number=numbers[0],
            kind=kind,
            epsilon=numbers[1],
            delta=numbers[2],
            request=request,
            details=described,
            at=at,
            previous=previous,
            hash=own,
        )


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a charge: the data set, the number of its row and the row's hash.

    Kept outside the ledger, it shows whether an older copy of the ledger was put back.

    Parameters
    ----------
    dataset, number, hash
        As in the ledger's row.

    Examples
    --------
    >>> print(Receipt("payroll-2026", 3, "ab" * 32))
    payroll-2026:3:abababababababababababababababababababababababababababababababab
    >>> Receipt.parse("payroll-2026:3:" + "ab" * 32).number
    3
    """

    dataset: str
    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.dataset}:{self.number}:{self.hash}"

    @classmethod
    def parse(cls, given: object) -> Receipt:
        """Return the receipt that a text spells.

        Parameters
        ----------
        given
            A receipt, or its text.

        Returns
        -------
        Receipt
            The receipt.

        Raises
        ------
        InputError
            If it is not one.
        """
        if isinstance(given, Receipt):
            return given
        found = re.fullmatch(
            r"([A-Za-z0-9._-]{1,100}):([0-9]{1,15}):([0-9a-f]{64})", given if isinstance(given, str) else ""
        )
        if found is None:
            raise InputError("receipt", "must be DATASET:NUMBER:HASH, as it was printed", given=safe_repr(given))
        return cls(check_name(found[1]), int(found[2]), found[3])


def new_row(account: Account, kind: str, epsilon: Fraction, delta: Fraction, request: str, details: Any) -> Entry:
    """Return the next row of an account, which already includes what this row spends."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    draft = Entry(
        dataset=account.name, number=account.entries, kind=kind, epsilon=epsilon, delta=delta, request=request,
        details=json.loads(canonical({**details, "account": account.state})), at=at, previous=account.head,
        hash=FIRST,
    )  # fmt: skip
    return replace(draft, hash=draft.expected)


def declare(run: Run, account: Account, details: dict[str, Any]) -> Account:
    """Write the first row of a data set, which follows that of the data set declared before it, in a transaction."""
    last, count = _registry_state(run)
    details = {**details, "registry": count}
    row = new_row(replace(account, head=last), "create", account.epsilon, account.delta, "", details)
    whole = (str(account.epsilon), str(account.delta))
    run("new_account", account.name, account.unit, int(account.by_period), *whole, "0", "0", 1, row.hash)
    run("new_entry", *row.cells)
    run("set_meta", row.hash, "registry", last)
    run("set_meta", str(count + 1), "datasets", str(count))
    return replace(account, entries=1, head=row.hash)


def append(
    run: Run, account: Account, kind: str, epsilon: Fraction, delta: Fraction, request: str, details: Any
) -> Receipt:
    """Append a row to a chain inside a transaction, and return its receipt."""
    after = replace(account, spent_epsilon=account.spent_epsilon + epsilon, spent_delta=account.spent_delta + delta)
    row = new_row(after, kind, epsilon, delta, request, details)
    run("new_entry", *row.cells)
    spent = (str(after.spent_epsilon), str(after.spent_delta))
    run("set_account", *spent, account.entries + 1, row.hash, account.name, account.head)
    return Receipt(account.name, row.number, row.hash)


def _registry_state(run: Run) -> tuple[str, int]:
    """Return the head of the registry and the number of data sets, inside a transaction that may change both."""
    heads, counts = run("locked_meta", "registry"), run("locked_meta", "datasets")
    cells = [row[0] for row in (*heads, *counts)]
    sound = len(heads) == len(counts) == 1 and all(isinstance(cell, str) for cell in cells)
    if not sound or not re.fullmatch("0|[1-9][0-9]{0,17}", cells[1]):
        raise LedgerError("the registry of the ledger was changed; nothing was read. See flexdp ledger verify")
    return cells[0], int(cells[1])


def check_chains(store: Store, receipts: Sequence[Receipt]) -> tuple[int, int, tuple[str, ...]]:
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


def _chain(run: Run, account: Any, rows: list[Any], registered: dict[int, tuple[str, Entry]]) -> list[str]:
    """What is wrong with the rows of one data set."""
    found = account_of(account)
    name, epsilon, delta, entries, head = found.name, found.epsilon, found.delta, found.entries, found.head
    wrong: list[str] = []
    previous, spent = FIRST, [_ZERO, _ZERO]
    for place, cells in enumerate(rows):
        try:
            row = Entry.of_row(cells)
            whole = row.intact
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
            declared = replace(found, spent_epsilon=_ZERO, spent_delta=_ZERO).state
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


def _registry(run: Run, registered: dict[int, tuple[str, Entry]], count: int) -> list[str]:
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
