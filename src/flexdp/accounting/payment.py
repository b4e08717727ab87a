"""The cost of a release that a ledger paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flexdp.accounting.entries import Receipt
from flexdp.accounting.rows import amount
from flexdp.errors import P, Phrase, spelled

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
