"""A ledger of privacy budgets that lasts: across processes, crashes and people.

A charge is on disk before any record is read. A crash afterwards keeps the charge; nothing is ever refunded. Charges
that are chosen one after another are admitted by basic composition: the sums of ε and of δ stay within the budget,
in exact rationals (Dwork, Rothblum and Vadhan 2010; basic composition also holds for adaptively chosen mechanisms, and
with parameters chosen along the way: Rogers, Roth, Ullman and Vadhan 2016).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flexdp._core.domains import EPSILON, PURE_DELTA, Domain, elements, flag, instance, integer, pairs, path_text, text
from flexdp._core.exact import Number
from flexdp._core.text import is_unicode, safe_repr
from flexdp.accounting.chain import (
    Account,
    Entry,
    Receipt,
    account_of,
    amount,
    append,
    canonical,
    check_chains,
    check_name,
    check_unit,
    declare,
    digest,
)
from flexdp.accounting.stores import Run, open_store
from flexdp.errors import BudgetError, FlexdpError, InputError, LedgerError, P, Phrase, spelled
from flexdp.guarantees import Privacy
from flexdp.noise.sampler import fresh_salt
from flexdp.version import __version__

__all__ = ["Ledger", "Payment", "Stored", "Verdict"]

_PATIENCE = Domain(
    name="patience",
    low=Fraction(0),
    low_included=True,
    high=Fraction(3600),
    high_included=True,
    remedy="Give the seconds to wait for other processes, for example 30.",
)


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
    >>> Stored(Receipt("a", 2, "0" * 64), "{}").receipt.number
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


@dataclass(frozen=True, slots=True)
class Payment:
    """Cost of a release to its data set.

    Parameters
    ----------
    receipt
        The row of the ledger that charged it, or in which it was stored earlier.
    free
        True if the stored release was returned, which costs nothing.
    stored
        True if the ledger keeps the release.
    epsilon, delta
        What was charged; 0 for a stored release.
    left_epsilon, left_delta
        What is left of the budget.
    about
        When a stored release was drawn, and for which period.
    again
        Why the same request will cost again; empty if it is free from now on.

    Examples
    --------
    >>> zero = Fraction(0)
    >>> receipt, drawn = Receipt("payroll", 4, "ab" * 32), "Drawn on 2026-02-03 for 2026-01."
    >>> print(Payment(receipt, True, True, zero, zero, Fraction(2), zero, about=drawn))
    This release of 'payroll' was made earlier: it cost nothing. Drawn on 2026-02-03 for 2026-01. Left: ε = 2, δ = 0.\
 fresh=True pays for a new one.
    """

    receipt: Receipt
    free: bool
    stored: bool
    epsilon: Fraction
    delta: Fraction
    left_epsilon: Fraction
    left_delta: Fraction
    about: str = ""
    again: str = ""

    @property
    def told(self) -> Phrase:
        """What is said of it, with the parameters as Python or a command spells them."""
        left = f"Left: {amount(self.left_epsilon, self.left_delta)}."
        if self.free:
            told = f"This release of {self.receipt.dataset!r} was made earlier: it cost nothing."
            return " ".join(filter(None, (told, self.about, f"{left} "))), P("fresh", True), " pays for a new one."
        why = self.again or ("" if self.stored else "It could not be stored")
        kept = f" {why}, so the same request will cost again." if why else ""
        return f"Charged to {self.receipt.dataset!r}: {amount(self.epsilon, self.delta)}. {left}{kept}"

    def __str__(self) -> str:
        return spelled(self.told)


class Ledger:
    """Budgets of data sets and everything charged to them, in a SQLite file or a PostgreSQL database.

    Parameters
    ----------
    address
        Path of a file, or ``postgresql://…`` for a ledger that a team shares.
    patience
        Seconds to wait while another process charges.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/budget.db")
    >>> ledger.create("payroll-2026", epsilon=3, delta="4e-6", unit="person").remaining_epsilon
    Fraction(3, 1)
    >>> receipt = ledger.charge("payroll-2026", Privacy(epsilon=1, delta="1e-6"), unit="person")
    >>> ledger.account("payroll-2026").remaining_epsilon, [account.name for account in ledger.accounts()]
    (Fraction(2, 1), ['payroll-2026'])
    >>> ledger.charge("payroll-2026", Privacy(epsilon="2.1", delta=0), unit="person")
    Traceback (most recent call last):
    flexdp.errors.BudgetError: the budget of 'payroll-2026' is insufficient: requested ε = 2.1, δ = 0; remaining\
 ε = 2, δ = 3e-06. Nothing was read.
    >>> [entry.kind for entry in ledger.history("payroll-2026")]
    ['create', 'charge']
    >>> kept = ledger.store(receipt, "{}", request="a")
    >>> ledger.find("payroll-2026", "a").document, ledger.document("payroll-2026", 2)
    ('{}', '{}')
    >>> print(ledger.verify(receipts=[receipt]))
    No damage found in 3 rows of 1 data set.
    >>> ledger.close()
    >>> folder.cleanup()
    """

    def __init__(self, address: Any, *, patience: float = 30.0) -> None:
        given = path_text("ledger", address)
        seconds = float(_PATIENCE.check(patience))
        self._store = open_store(given, seconds)
        self._seen: dict[str, int] = {}

    def create(
        self, dataset: str, *, epsilon: Number, delta: Number, unit: str = "record", by_period: bool = False
    ) -> Account:
        """Declare a data set and its whole budget; the ledger itself is made if there is none.

        Parameters
        ----------
        dataset
            A name for the data, whatever files or tables hold them.
        epsilon, delta
            The most that all releases together may spend.
        unit
            The privacy unit: "record", or the column that identifies the units.
        by_period
            True if the data change from period to period, as a file that is overwritten or a table that grows: every
            release must then name its ``period``. False if they are fixed: no release may name one.

        Returns
        -------
        Account
            The new account.

        Raises
        ------
        InputError
            If a parameter is wrong, or the data set has been declared already.
        """
        new = Account(
            name=check_name(dataset), unit=check_unit(unit), by_period=flag("by_period", by_period),
            epsilon=EPSILON.check(epsilon), delta=PURE_DELTA.check(delta), spent_epsilon=Fraction(0),
            spent_delta=Fraction(0), entries=0, head="",
        )  # fmt: skip
        self._store.make()
        with self._store.transaction(write=True) as run:
            if run("account", new.name):
                taken = f": {safe_repr(new.name)} has been declared already"
                raise InputError("dataset", taken, remedy="Choose another.")
            declared = declare(run, new, {"flexdp": __version__})
        self._seen[new.name] = 1
        return declared

    def account(self, dataset: str) -> Account:
        """Return the budget of a data set, and what is left of it.

        Parameters
        ----------
        dataset
            Its declared name.

        Returns
        -------
        Account
            As of now.

        Raises
        ------
        InputError
            If no such data set was declared.
        """
        name = check_name(dataset)
        with self._store.transaction(write=False) as run:
            return self._account(run, name, locked=False)

    def accounts(self) -> list[Account]:
        """Return all data sets.

        Returns
        -------
        list of Account
            By name.
        """
        with self._store.transaction(write=False) as run:
            return [account_of(row) for row in run("accounts")]

    def charge(
        self,
        dataset: str,
        privacy: Privacy,
        *,
        unit: str = "record",
        request: str = "",
        details: Any = None,
        source: Any = None,
    ) -> Receipt:
        """Charge a release before it is made: when this returns, the charge is on disk.

        Parameters
        ----------
        dataset
            Declared name of the data set.
        privacy
            (ε, δ) of the release.
        unit
            The privacy unit of the release.
        request
            Hash of the public parameters of the release.
        details
            Public description, as JSON values.
        source
            What is read, as a dictionary of JSON values. It stays in the ledger: no export or receipt tells it.

        Returns
        -------
        Receipt
            Proof of the charge.

        Raises
        ------
        BudgetError
            If the budget does not cover it; nothing is charged.
        InputError
            If the data set is unknown, or declared for another unit.
        LedgerError
            If the ledger is locked, full or damaged.
        """
        name, kind = check_name(dataset), check_unit(unit)
        cost = instance("privacy", privacy, Privacy, "a Privacy")
        key, whole = _check_text("request", request), _check_details(details) | _salted_source(source)
        with self._store.transaction(write=True) as run:
            account = self._account(run, name, locked=True)
            if account.unit != kind:
                raise InputError(
                    "unit",
                    f"must be {safe_repr(account.unit)}, for which {safe_repr(name)} was declared",
                    given=safe_repr(kind),
                )
            if cost.epsilon > account.remaining_epsilon or cost.delta > account.remaining_delta:
                left = amount(account.remaining_epsilon, account.remaining_delta)
                raise BudgetError(name, amount(cost.epsilon, cost.delta), left)
            receipt = append(run, account, "charge", cost.epsilon, cost.delta, key, whole)
        self._seen[name] = receipt.number + 1
        return receipt

    def store(self, receipt: Receipt, document: str, *, request: str = "") -> Receipt:
        """Keep what was released for a charge, so that the same request is free from now on.

        Parameters
        ----------
        receipt
            The receipt of the charge.
        document
            JSON of the release.
        request
            Hash of the public parameters that it answers.

        Returns
        -------
        Receipt
            Of the row that refers to the document.

        Raises
        ------
        LedgerError
            If the charge is not in the ledger.
        """
        paid = instance("receipt", receipt, Receipt, "a Receipt")
        content, key = _check_text("document", document), _check_text("request", request)
        with self._store.transaction(write=True) as run:
            account = self._account(run, paid.dataset, locked=True)
            rows = run("entry", paid.dataset, paid.number)
            if not rows or Entry.of_row(rows[0]).hash != paid.hash:
                raise LedgerError(f"the charge {paid.number} of {paid.dataset!r} is not in the ledger")
            details = {"charge": paid.number, "sha256": digest(content)}
            kept = append(run, account, "store", Fraction(0), Fraction(0), key, details)
            run("new_document", paid.dataset, kept.number, content)
        self._seen[paid.dataset] = kept.number + 1
        return kept

    def find(self, dataset: str, request: str, *, source: Any = None) -> Stored | None:
        """Return the release of the same source that answers a request, if one was stored.

        Parameters
        ----------
        dataset
            Declared name of the data set.
        request
            Hash of the public parameters.
        source
            The source, as it was charged.

        Returns
        -------
        Stored or None
            The latest one.

        Raises
        ------
        LedgerError
            If the stored release was changed.
        """
        name, key, wanted = check_name(dataset), _check_text("request", request), _salted_source(source).get("source")
        with self._store.transaction(write=False) as run:
            self._account(run, name, locked=False)
            for (number,) in run("stored", name, key):
                row = Entry.of_row(run("entry", name, number)[0])
                paid, document = run("entry", name, row.details.get("charge")), run("document", name, number)
                charge = Entry.of_row(paid[0]) if paid else None
                whole = charge is not None and charge.intact and row.intact
                if charge is None or not whole or not document or row.details.get("sha256") != digest(document[0][0]):
                    raise LedgerError(f"the release {number} of {name!r} was changed in the ledger; nothing was read")
                if charge.details.get("source") == wanted:
                    return Stored(Receipt(name, row.number, row.hash), document[0][0])
        return None

    def document(self, dataset: str, number: int) -> str | None:
        """Return a stored release.

        Parameters
        ----------
        dataset, number
            The data set, and the row that stored it.

        Returns
        -------
        str or None
            Its JSON.
        """
        with self._store.transaction(write=False) as run:
            rows = run("document", check_name(dataset), integer("number", number, at_least=0, at_most=2**62))
        return rows[0][0] if rows else None

    def history(self, dataset: str) -> list[Entry]:
        """Return every row of a data set, in the order in which they were written.

        Parameters
        ----------
        dataset
            Its declared name.

        Returns
        -------
        list of Entry
            The first declares the budget.
        """
        name = check_name(dataset)
        with self._store.transaction(write=False) as run:
            self._account(run, name, locked=False)
            return [Entry.of_row(row) for row in run("history", name)]

    def verify(self, *, receipts: Sequence[Receipt | str] = ()) -> Verdict:
        """Check every row: its hash, its place in the chain, the sums, the stored releases, and given receipts.

        Parameters
        ----------
        receipts
            Receipts of earlier charges. One that is missing shows that an older copy of the ledger was put back.

        Returns
        -------
        Verdict
            What was found wrong.

        Raises
        ------
        InputError
            If something is not a receipt.
        LedgerError
            If the file is so damaged that it cannot be read.
        """
        listed = elements(receipts)
        if listed is None:
            raise InputError("receipts", "must be a list of receipts", given=safe_repr(receipts))
        return Verdict(*check_chains(self._store, [Receipt.parse(each) for each in listed]))

    def close(self) -> None:
        """Close the file or the connection; the next use opens it again."""
        self._store.close()

    def _account(self, run: Run, name: str, *, locked: bool) -> Account:
        """The account of a data set, whose last row must be what it claims to be."""
        rows = run("locked_account" if locked else "account", name)
        if not rows:
            raise InputError(
                "dataset",
                f": no data set {safe_repr(name)} in the ledger",
                remedy="Declare it with Ledger.create, or flexdp ledger create.",
            )
        account = account_of(rows[0])
        last = run("entry", name, account.entries - 1)
        row = Entry.of_row(last[0]) if last else None
        if row is None or not row.expected == row.hash == account.head or row.details.get("account") != account.state:
            raise LedgerError(
                f"the rows of {name!r} in the ledger were changed; nothing was read. See flexdp ledger verify"
            )
        if account.entries < self._seen.get(name, 0):
            raise LedgerError(f"the ledger has lost rows of {name!r}: an older copy was put back; nothing was read")
        self._seen[name] = max(self._seen.get(name, 0), account.entries)
        return account

    def __repr__(self) -> str:
        return f"Ledger({self._store})"

    def _repr_html_(self) -> str:
        from flexdp.accounting.books import accounts_card, refused_card

        try:
            return accounts_card(self.accounts())
        except FlexdpError as refusal:  # no ledger yet, say: a card that fails would show a traceback
            return refused_card(refusal)


def _check_text(name: str, value: object) -> str:
    """Check a text that every database can keep."""
    found = text(name, value)
    if not is_unicode(found) or "\0" in found:
        raise InputError(name, "must be Unicode text without NUL", given=safe_repr(found))
    return found


def _salted_source(source: Any) -> dict[str, Any]:
    """Return what a charge keeps of its source: with a salt, so that no hash of the row, as in receipts, tells it.

    >>> _salted_source({"files": ["/data/visits.csv"]})["source"], _salted_source(None)
    ({'files': ['/data/visits.csv']}, {})
    """
    return {} if source is None else {"source": _json_values("source", source), "salt": fresh_salt()}


def _check_details(details: Any) -> dict[str, Any]:
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
