"""The cost of a release that a ledger paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flexdp.accounting.entries import Receipt
from flexdp.accounting.rows import amount

__all__ = ["Payment"]


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
        True if the same request is free from now on.
    epsilon, delta
        What was charged; 0 for a stored release.
    left_epsilon, left_delta
        What is left of the budget.

    Examples
    --------
    >>> zero = Fraction(0)
    >>> print(Payment(Receipt("payroll-2026", 4, "ab" * 32), True, True, zero, zero, Fraction(2), zero))
    This release of 'payroll-2026' was made earlier: it cost nothing. Left: ε = 2, δ = 0.
    """

    receipt: Receipt
    free: bool
    stored: bool
    epsilon: Fraction
    delta: Fraction
    left_epsilon: Fraction
    left_delta: Fraction

    def __str__(self) -> str:
        left = f"Left: {amount(self.left_epsilon, self.left_delta)}."
        if self.free:
            return f"This release of {self.receipt.dataset!r} was made earlier: it cost nothing. {left}"
        kept = "" if self.stored else " It could not be stored, so the same request will cost again."
        return f"Charged to {self.receipt.dataset!r}: {amount(self.epsilon, self.delta)}. {left}{kept}"
