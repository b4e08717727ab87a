"""The ladder: climb from an anchor until few records seem to lie beyond. AboveThreshold with geometric noise.

ε = ε_T + ε_R, for the threshold and for the rungs. Draw E_T with Pr[E_T ≥ j] = e^(−jε_T). At each rung in turn, with b
records strictly beyond it, stop with probability e^(−ε_R·max(0, b − target + E_T)), which is the chance that a fresh
geometric variable is at least b − target + E_T. The answer is the rung.

**Why it is private.** One more record raises b by one on the rungs before it. "Stop at k" maps, from the larger data
set to the smaller one, by E_T + 1 and, where rung k is not before the record, E_k + 1: e^(ε_T)·e^(ε_R) = e^ε; in the
other direction by E_k + 1 at most. A shift of E_T by one costs e^(ε_T), one of E_k e^(ε_R), and both stay in the
support. The target is public.

**Halvings.** A rung of h halvings counts ⌊h·ln 2/ε_R⌋ records less beyond it, a public number: then it stops a climb as
often as 2^h plain rungs would. The argument above needs no more than that each count changes by 0 or 1.

**How far it may run away.** Beyond all records it survives N more rungs only if E_T is large, with a probability of at
most about Γ(ρ + 1)·e^(−target·ε_T)/N^ρ, ρ = ε_T/ε_R. With even shares that is 1/N: of a thousand climbs, some go on for
decades. So ladders to the outermost record spend more on the threshold.

**Counts are limited.** Beyond a public limit all counts count as the limit. Adding one record still raises each of them
by 0 or 1, which is all that the argument above needs, so the ladder is private as it is: the limited counts *are* its
counts, in memory and on every engine, and :meth:`Ladder.law` is its exact law. An engine may therefore return any
number from the limit on, and need not compare its records with the many rungs below the tail. Nor is anything lost:
with 70/ε_R records more than the target, a rung stops the climb with probability at most e^−70, limited or not, so the
two laws differ by less than e^−70 a rung. The same bits give the same answer with and without a limit, unless the first
twelve bytes drawn at a rung are all zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from flexdp.distribution import Distribution
from flexdp.noise.bits import Bits
from flexdp.noise.geometric import first_bernoulli_exp, geometric
from flexdp.sharp.exponentials import exp_minus
from flexdp.sharp.goal import Goal
from flexdp.sharp.ranks import EVERYTHING, Near, Span

__all__ = ["Ladder", "outermost"]

_LARGEST = 2**62  # totals beyond it are Python's integers
_NATS = 70  # over 70/ε_R records the chance to stop falls by a factor of e^70
_HALF = Fraction(1, 2)
_RELATIVE = Fraction(1, 2**118)  # of exp_minus
_LN_2 = Fraction(6931, 10**4)  # a public number that is a little less


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """An ε-private choice of a rung with few records beyond it.

    Parameters
    ----------
    rungs : tuple of int
        Public values in units, in the direction of the climb.
    side : int
        1 upwards, −1 downwards.
    target : int
        How many records may lie beyond, a public number.
    epsilon : Fraction
        ε under adding or removing one record beyond the first rung.
    depth : int, optional
        By how many records more than the target counts are told apart; the default is ⌈70/ε_R⌉.
    threshold : Fraction, optional
        ε_T/ε, in (0, 1).
    halvings : tuple of int, optional
        Those of each rung; none by default.
    """

    rungs: tuple[int, ...]
    side: int
    target: int
    epsilon: Fraction
    depth: int | None = None
    threshold: Fraction = _HALF
    halvings: tuple[int, ...] = ()

    @property
    def bonus(self) -> tuple[int, ...]:
        """How many records less count beyond each rung."""
        each = _LN_2 / self.rates[1]
        known = {h: math.floor(h * each) for h in set(self.halvings)}
        return tuple(known[h] for h in self.halvings) if self.halvings else (0,) * len(self.rungs)

    @property
    def enough(self) -> int:
        """The count beyond any rung from which on all counts are alike."""
        return self.limit + math.floor(max(self.halvings, default=0) * _LN_2 / self.rates[1])

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """ε_T and ε_R."""
        return self.epsilon * self.threshold, self.epsilon * (1 - self.threshold)

    @property
    def limit(self) -> int:
        """The count from which on all counts are alike, those of the rung's halvings taken off."""
        return self.target + (math.ceil(_NATS / self.rates[1]) if self.depth is None else self.depth)

    @property
    def cuts(self) -> tuple[int, ...]:
        """The cuts that separate the records beyond each rung from the rest."""
        return tuple([rung + 1 for rung in self.rungs]) if self.side > 0 else self.rungs

    def beyond(self, total: int, before: Sequence[int]) -> list[int]:
        """Return how many records count beyond each rung, up to the limit, from the records before its cuts."""
        dtype = np.int64 if total < _LARGEST else object
        counts, bonus = np.array(before, dtype=dtype), np.array(self.bonus, dtype=dtype)
        found: list[int] = np.minimum((total - counts if self.side > 0 else counts) - bonus, self.limit).tolist()
        return found

    def draw(self, beyond: Sequence[int], bits: Bits) -> int:
        """Climb.

        Parameters
        ----------
        beyond : sequence of int
            How many records count beyond each rung, up to the limit.
        bits : Bits
            The source of randomness.

        Returns
        -------
        int
            The place of the chosen rung; the last one if none stops the climb.
        """
        of_threshold, of_rungs = self.rates
        least = geometric(of_threshold, bits) - self.target
        stopped = first_bernoulli_exp([count + least for count in beyond], of_rungs, bits)
        return len(beyond) - 1 if stopped is None else stopped

    def law(self, beyond: Sequence[int]) -> Distribution:
        """Return the law of the place of the chosen rung, with a bound on what rounded exponentials cost.

        A geometric law of ratio r changes by at most 2Δ/(1 − r) in all if r changes by Δ; there is one for each rung
        and one for the threshold.
        """
        r = exp_minus(min(self.rates))
        error = (len(self.rungs) + 1) * 2 * r * _RELATIVE / (1 - r)
        return Distribution(self.chances(beyond), error)

    def chances(self, beyond: Sequence[int], ratio: Fraction | None = None) -> dict[int, Fraction]:
        """Return the probability of every rung.

        Parameters
        ----------
        beyond : sequence of int
            How many records count beyond each rung; short.
        ratio : Fraction, optional
            What stands for e^(−ε/d), d the denominator of the threshold's share; the law is exact in it. Without, a
            rational bound of 118 bits of each of e^(−ε_T) and e^(−ε_R).

        Returns
        -------
        dict
            Probability by place.
        """
        if ratio is None:
            start, r = map(exp_minus, self.rates)
        else:
            part, whole = self.threshold.numerator, self.threshold.denominator
            start, r = ratio**part, ratio ** (whole - part)
        gaps = [count - self.target for count in beyond]
        plain = max(0, -min(gaps))  # from this shift on no rung is certain to stop the climb
        law = dict.fromkeys(range(len(gaps)), Fraction(0))
        for shift in range(plain):
            alive = (1 - start) * start**shift
            for place, gap in enumerate(gaps):
                stop = r ** max(0, gap + shift)
                law[place] += alive * stop
                alive *= 1 - stop  # 0 after a rung that is certain to stop the climb, and there is one
        # For larger shifts t the chance to stop is a·y, y = r^t, a = r^gap; all is start^t times a polynomial in y.
        alive_at = [1 - start]  # coefficients of y^0, y^1, …
        for place, gap in enumerate(gaps):
            stop_at = [Fraction(0), *(coefficient * r**gap for coefficient in alive_at)]
            law[place] += _sum_over_shifts(stop_at, start, r, plain)
            alive_at = [a - s for a, s in zip([*alive_at, Fraction(0)], stop_at, strict=True)]
        law[len(gaps) - 1] += _sum_over_shifts(alive_at, start, r, plain)
        return law


def outermost(limit: int, span: Span = EVERYTHING, sides: Sequence[int] = (-1, 1)) -> tuple[Near, ...]:
    """Return windows of the outermost records, within which ladders of this limit tell their counts apart."""
    return tuple(Near(goal=Goal.beyond(0, side), reach=limit, span=span) for side in sides)


def _sum_over_shifts(coefficients: Sequence[Fraction], start: Fraction, r: Fraction, first: int) -> Fraction:
    """Σ_{t ≥ first} start^t·Σ_m c_m r^(tm)."""
    ratios = [start * r**m for m in range(len(coefficients))]
    return sum((c * each**first / (1 - each) for c, each in zip(coefficients, ratios, strict=True)), Fraction(0))
