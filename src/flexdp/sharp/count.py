"""Counts and sums with two-sided geometric noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from flexdp.noise.bits import Bits
from flexdp.noise.geometric import two_sided_geometric
from flexdp.sharp.exponentials import exp_minus

__all__ = ["NoisyCount", "TwoSums"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCount:
    """The number of records plus discrete Laplace noise.

    Parameters
    ----------
    epsilon : Fraction
        ε under a change of the count by ``sensitivity``.
    sensitivity : int, optional
        The most by which one record changes what is counted.

    Notes
    -----
    Pr[Z = z] ∝ e^(−ε|z|/s), so shifting the count by at most s costs at most ε.

    Examples
    --------
    >>> law = NoisyCount(epsilon=Fraction(1)).law(5, range(-40, 51))
    >>> round(float(law[5]), 6), abs(float(sum(law.values())) - 1) < 1e-15
    (0.462117, True)
    """

    epsilon: Fraction
    sensitivity: int = 1

    def draw(self, count: int, bits: Bits) -> int:
        """Draw the noisy count.

        Parameters
        ----------
        count : int
            The private number.
        bits : Bits
            The source of randomness.

        Returns
        -------
        int
        """
        return count + two_sided_geometric(self.epsilon / self.sensitivity, bits)

    def law(self, count: int, outcomes: Iterable[int]) -> dict[int, Fraction]:
        """Return the probability of each of some outcomes, to 118 bits.

        Parameters
        ----------
        count : int
            The private number.
        outcomes : iterable of int
            The outcomes.

        Returns
        -------
        dict
        """
        r = exp_minus(self.epsilon / self.sensitivity)
        return {outcome: (1 - r) / (1 + r) * r ** abs(outcome - count) for outcome in outcomes}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSums:
    """The sums of a and of K − a over all records, a in 0 … K, each with discrete Laplace noise of scale K/ε.

    Parameters
    ----------
    epsilon : Fraction
        ε of both together, under adding or removing one record.
    cells : int
        K.

    Notes
    -----
    One record changes the two sums by a and K − a, by K in total, so both together cost one ε.
    """

    epsilon: Fraction
    cells: int

    def draw(self, sums: tuple[int, int], bits: Bits) -> tuple[int, int]:
        """Draw both noisy sums.

        Parameters
        ----------
        sums : pair of int
            The private sums.
        bits : Bits
            The source of randomness.

        Returns
        -------
        pair of int
        """
        each = NoisyCount(epsilon=self.epsilon, sensitivity=self.cells)
        return each.draw(sums[0], bits), each.draw(sums[1], bits)

    def law(self, sums: tuple[int, int], outcomes: Iterable[int]) -> dict[tuple[int, int], Fraction]:
        """Return the probability of each pair of some outcomes, to 118 bits.

        Parameters
        ----------
        sums : pair of int
            The private sums.
        outcomes : iterable of int
            The outcomes of each.

        Returns
        -------
        dict
        """
        each, shown = NoisyCount(epsilon=self.epsilon, sensitivity=self.cells), tuple(outcomes)
        one, other = each.law(sums[0], shown), each.law(sums[1], shown)
        return {(a, b): one[a] * other[b] for a, b in product(shown, shown)}
