"""Rows of a ledger, chained by hash: a changed, moved or deleted row breaks the chain.

The first row of a data set declares its budget; each further one charges it or stores what was released. The hash of a
row covers all its cells and the hash of the row before it. Whoever may write the file may also rebuild a whole chain:
the hashes detect accidents and edits, not an attacker with time. A receipt kept elsewhere detects that too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from flexdp._core.domains import text
from flexdp._core.exact import ratio
from flexdp._core.text import safe_repr
from flexdp.errors import InputError, LedgerError

__all__ = [
    "FIRST",
    "Account",
    "Entry",
    "Kind",
    "Receipt",
    "account_of",
    "canonical",
    "checked_name",
    "checked_unit",
    "digest",
]

Kind: TypeAlias = Literal["create", "charge", "store"]
FIRST = "0" * 64  # what the first row of a chain refers to
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST_UNIT = 200


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


def checked_name(value: object) -> str:
    """Check the name of a data set: letters, digits, dots, hyphens and underscores."""
    name = text("dataset", value, "'payroll-2026'")
    if not _NAME.fullmatch(name):
        raise InputError(
            "dataset",
            "must be 1 to 100 letters, digits, dots, hyphens or underscores, with a letter or digit first",
            given=safe_repr(name),
        )
    return name


def checked_unit(value: object) -> str:
    """Check the name of a privacy unit: "record", or the column that identifies the units."""
    unit = text("unit", value, "'person'")
    if not unit or len(unit) > _LONGEST_UNIT or not unit.isprintable():
        raise InputError("unit", f"must be 1 to {_LONGEST_UNIT} printable characters", given=safe_repr(unit))
    return unit


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
        return cls(checked_name(found[1]), int(found[2]), found[3])
