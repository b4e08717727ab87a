"""The proof that a table of weights is private: a few sums and comparisons of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flexdp._core.domains import DELTA, EPSILON, integer, sequence
from flexdp.errors import InputError

__all__ = ["Evidence", "prove"]

_MOST_BITS = 4096  # of a table whose proof is checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The integers that prove a table private; everything needed to check the proof by hand.

    ``growth_numerator / growth_denominator`` is the rational A/B ≤ e^ε; ``forward`` and ``backward`` are the two
    hockey-stick sums, in units of 1/(B·2^bits); each must not exceed ``allowance`` = B·w_0.
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
        """B·w_0, what either hockey-stick sum may amount to."""
        return self.growth_denominator * self.first_weight

    @property
    def delta_real(self) -> Fraction:
        """The δ that the table really has: w_0 / 2^bits."""
        return Fraction(self.first_weight, 1 << self.bits)

    @property
    def holds(self) -> bool:
        """Whether all of the inequalities hold, hence the claim (ε, δ)."""
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


def prove(
    weights: Sequence[int], *, bits: int, epsilon: Fraction, delta: Fraction, growth: tuple[int, int]
) -> Evidence:
    """Collect the evidence for a table of weights, in integer arithmetic only; ``.holds`` is the verdict."""
    table, step = sequence(weights), sequence(growth)
    if not table or any(type(weight) is not int for weight in table):
        raise InputError("weights must be a list of whole numbers, and not empty.")
    if step is None or len(step) != 2:
        raise InputError("growth must be a pair of whole numbers, the numerator and the denominator.")
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
        growth_below_exp_epsilon=_at_most_exp(a, b, epsilon),
        total=sum(weights),
        first_weight=weights[0],
        weight_limit=(delta.numerator << bits) // delta.denominator,
        forward=sum(max(0, b * w - a * v) for w, v in zip(weights, shifted_up, strict=True)),
        backward=sum(max(0, b * w - a * v) for w, v in zip(weights, shifted_down, strict=True)),
    )


def _at_most_exp(a: int, b: int, x: Fraction) -> bool:
    """Whether a/b ≤ e^x, by comparing with exact partial sums of the series and a bound on what they leave out."""
    partial, scale, power, k = 1, 1, 1, 0  # Σ_{i≤k} x^i/i! = partial/scale, x^k/k! = power/scale
    while a * scale > b * partial:
        k += 1
        step = x.denominator * k
        power *= x.numerator
        partial, scale = partial * step + power, scale * step
        # For k ≥ 2x all later terms together are at most the last one.
        if k >= 2 * x and a * scale > b * (partial + power):
            return False
    return True
