"""Proof that a table of weights is private: a few sums and comparisons of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flexdp._core.domains import DELTA, EPSILON, integer, sequence
from flexdp._core.enclosure import exp_at_least
from flexdp._core.exact import Number
from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = ["Evidence", "prove"]

_MOST_BITS = 4096  # of a table to check


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Integers that prove a table private: everything needed to check the proof by hand.

    Attributes
    ----------
    epsilon, delta
        The claim.
    bits
        The weights must sum to 2^bits.
    q
        Number of weights.
    growth_numerator, growth_denominator
        The rational A/B with A/B ≤ e^ε.
    growth_below_exp_epsilon
        True if A/B ≤ e^ε was proved.
    total
        Sum of the weights.
    first_weight, weight_limit
        w_0, and ⌊δ·2^bits⌋, which it must not exceed.
    forward, backward
        The two hockey-stick sums in units of 1/(B·2^bits); neither may exceed ``allowance``.

    Examples
    --------
    >>> from flexdp.noise import DropNoise
    >>> evidence = DropNoise(1, "1e-6").certify()
    >>> evidence.holds, evidence.q, evidence.bits, evidence.total == 2**64
    (True, 28, 64, True)
    """

    epsilon: Fraction
    delta: Fraction
    bits: int
    q: int
    growth_numerator: int
    growth_denominator: int
    growth_below_exp_epsilon: bool
    total: int
    first_weight: int
    weight_limit: int
    forward: int
    backward: int

    @property
    def allowance(self) -> int:
        """B·w_0, the limit of both hockey-stick sums."""
        return self.growth_denominator * self.first_weight

    @property
    def delta_real(self) -> Fraction:
        """δ of the table: w_0 / 2^bits."""
        return Fraction(self.first_weight, 1 << self.bits)

    @property
    def holds(self) -> bool:
        """True if all inequalities hold, and hence the claim (ε, δ)."""
        return (
            self.growth_below_exp_epsilon
            and self.total == 1 << self.bits
            and self.first_weight <= self.weight_limit
            and self.forward <= self.allowance
            and self.backward <= self.allowance
        )

    def __str__(self) -> str:
        return (
            f"{self.q} integer weights sum to 2^{self.bits}; the first is {self.first_weight} ≤ {self.weight_limit} "
            f"= ⌊δ·2^{self.bits}⌋; with r = {self.growth_numerator}/{self.growth_denominator} ≤ e^ε both "
            f"hockey-stick sums, {self.forward} and {self.backward}, are at most {self.allowance}."
        )


def prove(weights: Sequence[int], *, bits: int, epsilon: Number, delta: Number, growth: tuple[int, int]) -> Evidence:
    """Collect the evidence that a table of weights is private, in integer arithmetic alone.

    Parameters
    ----------
    weights
        w_0, …, w_{q−1}: a bucket loses j records with probability w_j / 2^bits.
    bits
        The weights must sum to 2^bits.
    epsilon, delta
        The claim to prove.
    growth
        Numerator and denominator of a rational that is at most e^ε.

    Returns
    -------
    Evidence
        The integers of the proof; ``holds`` is the verdict.

    Raises
    ------
    InputError
        If a parameter has the wrong form.

    Examples
    --------
    >>> prove([1, 2, 1], bits=2, epsilon=1, delta="1/4", growth=(2, 1)).holds
    True
    >>> prove([1, 3], bits=2, epsilon=1, delta="1/4", growth=(2, 1)).holds
    False
    """
    table, step = sequence(weights), sequence(growth)
    if not table or any(type(weight) is not int for weight in table):
        raise InputError("weights", "must be a non-empty list of integers", given=safe_repr(weights))
    if step is None or len(step) != 2:
        raise InputError("growth", "must be a pair of integers, numerator and denominator", given=safe_repr(growth))
    weights, (a, b) = tuple(table), (integer("growth", part) for part in step)
    bits = integer("bits", bits, at_most=_MOST_BITS)
    epsilon, delta = EPSILON.check(epsilon), DELTA.check(delta)
    shifted_up = (0, *weights[:-1])
    shifted_down = (*weights[1:], 0)
    return Evidence(
        epsilon=epsilon,
        delta=delta,
        bits=bits,
        q=len(weights),
        growth_numerator=a,
        growth_denominator=b,
        growth_below_exp_epsilon=exp_at_least(epsilon, Fraction(a, b)),
        total=sum(weights),
        first_weight=weights[0],
        weight_limit=(delta.numerator << bits) // delta.denominator,
        forward=sum(max(0, b * w - a * v) for w, v in zip(weights, shifted_up, strict=True)),
        backward=sum(max(0, b * w - a * v) for w, v in zip(weights, shifted_down, strict=True)),
    )
