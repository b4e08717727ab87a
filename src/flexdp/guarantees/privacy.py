"""Differential privacy as a value, and its odds in words."""

from __future__ import annotations

import math
from fractions import Fraction

from flexdp._core.display import card, sentence
from flexdp._core.domains import EPSILON, PURE_DELTA
from flexdp._core.enclosure import exp_bounds
from flexdp._core.exact import number_text, upper_text
from flexdp._core.fields import Exact, MaybeExact, Value, a, maybe, param
from flexdp.errors import InputError, P
from flexdp.guarantees.relations import ONE_RECORD, Condition, Neighbours, neighbours_given

__all__ = ["Privacy", "limit_text", "sure_text"]

_CONDITION = a(Condition, "a condition, for example Condition(records_at_least=1000)")
_ALL = "100%"  # rounded up: no limit


class Privacy(Value):
    """(ε, δ)-differential privacy under a relation of neighbours.

    Parameters
    ----------
    epsilon, delta
        Privacy loss, taken exactly as written; δ may be 0.
    neighbours
        Relation of neighbours; by default, adding or removing one record.
    given
        Condition on the table without which the guarantee does not hold.
    delta_real
        Smaller δ of the mechanism itself, where δ is the one that was asked for. It plays no part in comparisons.

    Raises
    ------
    InputError
        A parameter is out of range, or ``delta_real`` exceeds ``delta``.

    Examples
    --------
    >>> print(Privacy(epsilon=1, delta="1e-6").odds)
    an observer who was 50% sure that a given record is in the data is at most 73.2% sure afterwards
    >>> both = Privacy(epsilon="0.1", delta=0) + Privacy(epsilon="0.2", delta="1e-6")
    >>> both.epsilon, float(both.delta)
    (Fraction(3, 10), 1e-06)
    """

    epsilon: Exact = param(EPSILON, kw_only=True)
    delta: Exact = param(PURE_DELTA, kw_only=True)
    neighbours: Neighbours = param(neighbours_given, default=ONE_RECORD, kw_only=True)
    given: Condition | None = param(maybe(_CONDITION), default=None, kw_only=True)
    delta_real: MaybeExact = param(maybe(PURE_DELTA), default=None, kw_only=True, compare=False)

    def _check(self) -> None:
        """Refuse a real δ above the one that is promised."""
        if self.delta_real is not None and self.delta_real > self.delta:
            both = f"{upper_text(self.delta_real)} and {upper_text(self.delta)}"
            raise InputError("delta_real", ("must be at most ", P("delta")), given=both)

    @property
    def certainty(self) -> str:
        """Largest certainty, in percent, of an observer who was 50% sure, rounded up: 100·e^ε/(1+e^ε)."""
        return f"{_certainty(self.epsilon)}%"

    @property
    def unit(self) -> str:
        """Name of what is protected: a record, or what the neighbours differ by."""
        return self.neighbours.unit

    @property
    def odds(self) -> str:
        """ε in words: how sure an undecided observer can become, rounded up."""
        undecided = f"an observer who was 50% sure {self.neighbours.doubt}"
        if self.certainty == _ALL:
            return f"{undecided} may be {sure_text(self.certainty)} afterwards"
        return f"{undecided} is at most {sure_text(self.certainty)} afterwards"

    def __add__(self, other: Privacy) -> Privacy:
        """Return the privacy of two releases of the same data by basic composition: ε and δ add up.

        It also holds where the second release was chosen after seeing the first.

        Parameters
        ----------
        other
            The other guarantee, for neighbours of the same kind.

        Returns
        -------
        Privacy
            (ε₁ + ε₂, δ₁ + δ₂), under both conditions.

        Raises
        ------
        InputError
            The two protect different neighbours, or their δ add up to 1 or more.
        """
        if not isinstance(other, Privacy):
            return NotImplemented
        if not (self.neighbours.covers(other.neighbours) or other.neighbours.covers(self.neighbours)):
            named = f"{self.neighbours} and {other.neighbours}"
            raise InputError("privacies", f"must protect the same neighbours: {named} have no sum")
        delta = self.delta + other.delta
        if delta >= 1:
            raise InputError("privacies", "must have deltas that add up to less than 1", given=number_text(delta))
        both = [one.given for one in (self, other) if one.given is not None]
        known = self.delta_real is not None or other.delta_real is not None
        real = sum((one.delta if one.delta_real is None else one.delta_real for one in (self, other)), Fraction(0))
        return Privacy(
            epsilon=self.epsilon + other.epsilon,
            delta=delta,
            neighbours=other.neighbours if self.neighbours.covers(other.neighbours) else self.neighbours,
            given=both[0] & both[1] if len(both) == 2 else both[0] if both else None,
            delta_real=real if known else None,
        )

    def __str__(self) -> str:
        epsilon, delta = upper_text(self.epsilon, 6), upper_text(self.delta)
        exception = f", except with probability {delta}" if self.delta else ""
        condition = "" if self.given is None else f" {self.given}"
        if self.delta_real is not None and self.delta_real < self.delta:
            delta = f"{delta} (in fact at most {upper_text(self.delta_real)})"
        return f"ε = {epsilon}, δ = {delta} {self.neighbours.scope}{condition}: {self.odds}{exception}."

    def _repr_html_(self) -> str:
        epsilon, delta = upper_text(self.epsilon, 6), upper_text(self.delta)
        return card(f"Privacy: ε = {epsilon}, δ = {delta}", sentence(self))


def sure_text(certainty: str) -> str:
    """Return a certainty as a sentence names it: "73.2% sure"; 100% is no limit, and is not called one.

    >>> sure_text("73.2%"), sure_text("100%")
    ('73.2% sure', 'practically certain')
    """
    return "practically certain" if certainty == _ALL else f"{certainty} sure"


def limit_text(certainty: str) -> str:
    """Return a certainty as a table shows it.

    >>> limit_text("73.2%"), limit_text("100%")
    ('≤ 73.2%', '≈ 100%')
    """
    return f"≈ {certainty}" if certainty == _ALL else f"≤ {certainty}"


def _certainty(epsilon: Fraction) -> str:
    """100·e^ε/(1+e^ε) in percent, rounded up, with as many digits as it takes to stay below 100, or nine."""
    percent = 100 / (1 + exp_bounds(-min(epsilon, Fraction(100))).lower)
    for digits in range(1, 10):  # further nines say no more
        rounded = Fraction(math.ceil(percent * 10**digits), 10**digits)
        if rounded < 100:
            return number_text(rounded)
    return "100"
