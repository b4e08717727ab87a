"""A session: one table, one declared data set, one budget that a ledger keeps."""

from __future__ import annotations

from fractions import Fraction
from types import TracebackType
from typing import Any, NamedTuple

from flexdp._release.api import query, release
from flexdp._release.charged import payer_of
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp.accounting.books import accounts_card, bar
from flexdp.accounting.chain import Account, amount
from flexdp.accounting.ledger import Ledger
from flexdp.errors import InputError, P

__all__ = ["Left", "Session"]


class Left(NamedTuple):
    """What is left of a budget.

    >>> print(Left(Fraction(1, 2), Fraction(0)))
    ε = 0.5, δ = 0
    """

    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        return amount(self.epsilon, self.delta)


class Session:
    """Releases of one table, paid for by one data set of a ledger.

    Parameters
    ----------
    source
        The table, as for :func:`flexdp.release`.
    ledger
        A :class:`flexdp.Ledger`, or its address.
    dataset
        Declared name of the data set.
    options
        Parameters that all releases share, for example ``unit`` and ``max_buckets_per_unit``.

    Raises
    ------
    InputError
        If the ledger or the data set does not exist.

    Examples
    --------
    >>> import tempfile, flexdp
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = flexdp.Ledger(f"{folder.name}/budget.db")
    >>> _ = ledger.create("visits", epsilon=2, delta="2e-6", by_period=True)
    >>> with Session([33.0] * 900, ledger=ledger, dataset="visits", period="2026-01") as s:
    ...     costs = s.release(epsilon=1, delta="1e-6", width=5)
    ...     again = s.release(epsilon=1, delta="1e-6", width=5)
    ...     again == costs, again.payment.free, str(s.remaining)
    (True, True, 'ε = 1, δ = 1e-06')
    >>> s.account.spent_epsilon, len(s.releases), s.query(width=5).splitlines()[-1].strip()[:8]
    (Fraction(1, 1), 2, 'GROUP BY')
    >>> print(s)
    visits  [████████████░░░░░░░░░░░░]  spent ε = 1 of 2, δ = 1e-06 of 2e-06; left ε = 1, δ = 1e-06 for each record
    >>> ledger.close()
    >>> folder.cleanup()
    """

    def __init__(self, source: Any, *, ledger: Any, dataset: str, **options: Any) -> None:
        payer = payer_of(ledger, dataset, False)
        if payer is None:
            raise InputError("ledger", ("is missing: a session needs ", P("ledger"), " and ", P("dataset")))
        self._source, self._options = source, options
        self._ledger, self._dataset, _ = payer
        self._closes = not isinstance(ledger, Ledger)
        self._releases: list[Release | Releases] = []
        self._ledger.account(self._dataset)  # it must exist before anything is planned on it

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._closes:
            self._ledger.close()

    def release(self, column: Any = None, *, epsilon: Any, delta: Any, fresh: bool = False, **options: Any) -> Any:
        """Publish a column and charge it to the data set; see :func:`flexdp.release`.

        Parameters
        ----------
        column
            The column's name, or several.
        epsilon, delta
            The privacy loss.
        fresh
            True to pay again for a release that was made before.
        options
            As for :func:`flexdp.release`; they take precedence over those of the session.

        Returns
        -------
        Release or Releases
            With its ``payment``.
        """
        made: Any = release(
            self._source, column, epsilon=epsilon, delta=delta, ledger=self._ledger, dataset=self._dataset,
            fresh=fresh, **{**self._options, **options},
        )  # fmt: skip
        self._releases.append(made)
        return made

    def query(self, column: Any = None, **options: Any) -> str:
        """Return the SQL text that a release would run; costs nothing. See :func:`flexdp.query`.

        Parameters
        ----------
        column
            The column's name, or several.
        options
            As for :func:`flexdp.query`.

        Returns
        -------
        str
            The statement.
        """
        return query(self._source, column, **{**self._options, **options})

    @property
    def releases(self) -> tuple[Release | Releases, ...]:
        """Releases of this session, in order."""
        return tuple(self._releases)

    @property
    def account(self) -> Account:
        """The data set's budget, and what was spent of it by everybody."""
        return self._ledger.account(self._dataset)

    @property
    def remaining(self) -> Left:
        """(ε, δ) that is left."""
        found = self.account
        return Left(found.remaining_epsilon, found.remaining_delta)

    def __str__(self) -> str:
        return bar(self.account)

    def __repr__(self) -> str:
        return f"<Session on {self._dataset!r}: left {self.remaining}>"

    def _repr_html_(self) -> str:
        return accounts_card([self.account])
