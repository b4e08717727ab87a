"""Sums of independent privacy losses on a lattice, with every rounding error on the pessimistic side.

Losses are put on multiples of a step. A loss between two multiples is split so that both the mass and the mass of the
neighbour's law are kept (a spread of the likelihood ratio, which only makes data easier to tell apart). Sums are direct
convolutions of positive numbers: whatever the order of summation, each entry is right up to a relative error that is
at most the number of its terms times 2^−53, and that bound is carried along and added at the end. A fast Fourier
transform would be quicker and have absolute errors near 1e-16, of the size of the δ that matters.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import root_up
from flexdp.accounting.losses import LossDistribution

__all__ = ["MOST_STEPS", "Lattice", "Sum", "sum_of", "sum_on"]

MOST_STEPS = 2**13  # of losses that have mass, on either side; a finer lattice is made coarser
_FEW = 64  # masses of which each is worth a pass of its own
_UNIT = 2.0**-53
_LONG = 512  # masses beyond which negligible ends are cut off
_CUT = 1e-50  # mass of an end that is cut off; at most so much is added to δ by each sum
_TINY = 1e-290  # more than everything that can underflow


@dataclass(frozen=True, slots=True)
class Lattice:
    """Multiples of a step on which losses are added up."""

    step: Fraction

    @classmethod
    def of(cls, parts: Mapping[LossDistribution, int]) -> Lattice:
        """Return the exact lattice of these losses, or a coarser one if too many of its points would have mass."""
        epsilons = [each.epsilon for each in parts]
        total = sum((each.epsilon * copies for each, copies in parts.items()), Fraction(0))
        square = sum((each.epsilon**2 * copies for each, copies in parts.items()), Fraction(0))
        # Masses further than sixteen deviations from the mean are cut off anyway.
        spread = min(total, 16 * root_up(square, decimals=12))
        common = Fraction(math.gcd(*(e.numerator for e in epsilons)), math.lcm(*(e.denominator for e in epsilons)))
        if spread / common <= MOST_STEPS:
            return cls(common)
        smallest = min(epsilons)
        pieces = int(MOST_STEPS * smallest / spread)  # the smallest ε stays on the lattice, if it can
        return cls(smallest / pieces if pieces else spread / MOST_STEPS)

    def place(self, losses: LossDistribution) -> Sum:
        """Return one distribution on this lattice."""
        out: dict[int, float] = {}
        for loss, mass in losses.atoms():
            below = math.floor(loss / self.step)
            rest = loss - below * self.step
            upper = 1.0
            if rest:
                upper = math.expm1(-float(rest)) / math.expm1(-float(self.step))
                out[below + 1] = out.get(below + 1, 0.0) + mass * upper * (1 + 8 * _UNIT)
                upper = 1 - upper
            out[below] = out.get(below, 0.0) + mass * upper + 8 * _UNIT * mass * (rest > 0)
        low = min(out)
        masses = np.zeros(max(out) - low + 1)
        for place, mass in out.items():
            masses[place - low] = mass
        finite = math.log1p(-losses.infinite / losses.whole)
        return Sum(low=low, masses=masses, error=16 * _UNIT, finite=finite, whole=math.log(losses.whole))


@dataclass(frozen=True, slots=True)
class Sum:
    """Masses of a sum of losses on a lattice, from ``low`` upwards; each right up to the relative ``error``.

    ``whole`` is the logarithm of all mass, ``finite`` that of its share that is not infinite. ``cut`` bounds the mass
    of large losses that were counted as infinite because they are so unlikely; that of small ones was moved up to the
    smallest kept.
    """

    low: int
    masses: NDArray[np.float64]
    error: float
    finite: float
    cut: float = 0.0
    whole: float = 0.0

    def __add__(self, other: Sum) -> Sum:
        """Return the distribution of the sum of two independent losses."""
        terms = min(len(self.masses), len(other.masses)) + 1
        masses, below, cut = _trimmed(_convolved(self.masses, other.masses))
        return Sum(
            low=self.low + other.low + below,
            masses=masses,
            error=self.error + other.error + 2 * (terms + below) * _UNIT,  # twice, for products of errors
            finite=self.finite + other.finite,
            whole=self.whole + other.whole,
            cut=(self.cut + other.cut) * (1 + 2.0**-20) + cut,  # masses add up to one, but for rounding
        )

    def times(self, copies: int) -> Sum:
        """Return the distribution of the sum of several independent copies, by repeated doubling."""
        power, found = self, None
        while True:
            if copies & 1:
                found = power if found is None else found + power
            copies >>= 1
            if not copies:
                assert found is not None
                return found
            power = power + power

    @property
    def infinite(self) -> float:
        """Mass of an infinite loss, rounded up."""
        # The logarithms of copies are doubled and added up: their relative error stays below that of the masses.
        return -math.expm1(self.finite) * math.exp(self.whole) * (1 + self.error + 64 * _UNIT) + self.cut + _TINY

    def delta(self, epsilon: float, step: Fraction) -> float:
        """Return an upper bound of δ at ε: E[max(0, 1 − e^{ε − loss})]."""
        losses = (self.low + np.arange(len(self.masses))) * float(step)
        largest = max(abs(float(losses[0])), abs(float(losses[-1])), abs(epsilon))
        gap = losses - (epsilon - 8 * _UNIT * largest)  # ε a hair smaller than it is
        above = gap > 0
        part = float(np.sum(-np.expm1(-gap[above]) * self.masses[above]))
        slack = 1 + 2 * self.error + 4 * _UNIT * (len(self.masses) + 4)
        return min(1.0, self.infinite + part * slack + _TINY)


def _convolved(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convolve two arrays of non-negative numbers, by shifts where one of them is mostly zeros."""
    if np.count_nonzero(first) < np.count_nonzero(second):
        first, second = second, first
    places = np.flatnonzero(second)
    if len(places) > _FEW:
        return np.convolve(first, second)
    out = np.zeros(len(first) + len(second) - 1)
    for place in places.tolist():
        out[place : place + len(first)] += first * second[place]
    return out


def _trimmed(masses: NDArray[np.float64]) -> tuple[NDArray[np.float64], int, float]:
    """Cut off ends that have next to no mass: return what is left, how many small losses and how much mass went."""
    if len(masses) <= _LONG:
        return masses, 0, 0.0
    last = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), _CUT / 2))
    first = int(np.searchsorted(np.cumsum(masses), _CUT / 2))
    first = min(first, last - 1)
    kept = masses[first:last].copy()
    kept[0] += float(np.sum(masses[:first]))
    return kept, first, _CUT if last < len(masses) else 0.0


def sum_on(lattice: Lattice, parts: Mapping[LossDistribution, int]) -> Sum:
    """Add up independent copies of several losses, the shortest sums first."""
    heap: list[tuple[int, int, Sum]] = []
    for number, (losses, copies) in enumerate(parts.items()):
        found = lattice.place(losses).times(copies)
        heapq.heappush(heap, (len(found.masses), number, found))
    count = len(heap)
    while len(heap) > 1:
        (_, _, first), (_, _, second) = heapq.heappop(heap), heapq.heappop(heap)
        both, count = first + second, count + 1
        heapq.heappush(heap, (len(both.masses), count, both))
    return heap[0][2]


def sum_of(parts: Mapping[LossDistribution, int]) -> tuple[Sum, Fraction]:
    """Add up independent losses on their own lattice; also return its step."""
    lattice = Lattice.of(parts)
    return sum_on(lattice, parts), lattice.step
