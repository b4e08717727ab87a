"""Counts and sums with two-sided geometric noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flexdp.distribution import GeometricLaw, Independent
from flexdp.noise.bits import Bits
from flexdp.noise.geometric import two_sided_geometric

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
    >>> law = NoisyCount(epsilon=Fraction(1)).law(5).listed(range(-40, 51))
    >>> round(float(law.masses[5]), 6), law.missing < 1e-15
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

    def law(self, count: int) -> GeometricLaw:
        """Return the law of the noisy count."""
        return GeometricLaw(count, self.epsilon / self.sensitivity)


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

    def law(self, sums: tuple[int, int]) -> Independent:
        """Return the law of both noisy sums."""
        rate = self.epsilon / self.cells
        return Independent({place: GeometricLaw(total, rate) for place, total in enumerate(sums)}, _in_order)


def _in_order(parts: dict[int, int]) -> tuple[int, ...]:
    return tuple(parts.values())
