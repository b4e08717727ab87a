"""Privacy losses of single releases: what composition adds up.

The loss of a release takes at most four values: +ε, 0, −ε, and ∞ with the chance that a release is recognised outright.

**Dropping.** With integer weights w_0, …, w_{q−1} of sum W and largest weight M, outputs of neighbouring data have
weights w_j and w_{j−1}. The certificate of the table says e^{−ε} ≤ w_j/w_{j−1} ≤ e^ε, so the hockey-stick curve
D(γ) = Σ max(0, w_j − γ·w_{j−1})/W is known at three points in closed form,

    D(e^ε) = w_0/W,    D(1) = M/W,    D(e^{−ε}) = 1 − e^{−ε}(1 − w_0/W),

and D is convex. The distribution with atoms at ±ε, 0 and ∞ that has these three values has a curve that is straight
between them, hence nowhere below D: it is a dominating pair, and composing dominating pairs dominates the composition
(Zhu, Dong and Wang 2022). For odd q it is the pair of Kairouz, Oh and Viswanath; for even q it has an atom
at 0 and composes better.

**Public buckets** whose losses are drawn again while their sum Σ exceeds m (:mod:`flexdp.noise.total`). Both neighbours
show some of what both can show with losses drawn once, more often by the factor 1/Pr[Σ ≤ m]. So the finite losses are
those of the table times this factor, and ∞ has the mass δ of the mechanism, the larger one of both directions. These
masses add up to a little more than 1; curves of such measures compose like those of distributions, and stay above.

**Anything (ε, δ)-private** is dominated by the pair of Kairouz, Oh and Viswanath (2015): ∞ with chance δ, and ±ε in the
ratio e^ε : 1.

Every mass is rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flexdp._core.domains import EPSILON, PURE_DELTA, instance
from flexdp._core.enclosure import exp_bounds
from flexdp._core.exact import float_up
from flexdp.accounting.budget import Budget
from flexdp.calculus.privacy import split
from flexdp.errors import CertificateError
from flexdp.guarantees import Privacy
from flexdp.noise.drop import DropNoise
from flexdp.noise.total import TotalNoise

__all__ = [
    "LossDistribution",
    "dominates",
    "losses_of_budget",
    "losses_of_noise",
    "losses_of_privacy",
    "losses_of_total",
]

_HAIR = Fraction(1, 10**50)


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """Masses of the privacy loss of one release: at +ε, 0, −ε and ∞, each rounded up.

    Parameters
    ----------
    epsilon
        ε, the largest finite loss.
    plus, zero, minus
        Masses at the losses +ε, 0 and −ε.
    infinite
        Mass at ∞: the chance that neighbouring data are told apart for sure.
    whole
        What the masses add up to, rounding aside.

    Examples
    --------
    >>> even, worst = losses_of_noise(DropNoise(1, "1e-6")), losses_of_privacy(Privacy(epsilon=1, delta="1e-6"))
    >>> round(even.zero, 3), worst.zero
    (0.316, 0.0)
    """

    epsilon: Fraction
    plus: float
    zero: float
    minus: float
    infinite: float
    whole: float = 1.0

    def atoms(self) -> tuple[tuple[Fraction, float], ...]:
        """Return the finite losses that have mass, each with its mass.

        Returns
        -------
        tuple
            Pairs (loss, mass) in ascending order.

        Examples
        --------
        >>> losses_of_privacy(Privacy(epsilon=1, delta=0)).atoms()[1][0]
        Fraction(1, 1)
        """
        listed = ((-self.epsilon, self.minus), (Fraction(0), self.zero), (self.epsilon, self.plus))
        return tuple((loss, mass) for loss, mass in listed if mass)


@lru_cache(maxsize=1024)
def _of_parameters(epsilon: Fraction, delta: Fraction) -> LossDistribution:
    low, high = exp_bounds(-epsilon)
    return LossDistribution(
        epsilon=epsilon,
        plus=float_up((1 - delta) / (1 + low)),
        zero=0.0,
        minus=float_up((1 - delta) * high / (1 + high)),
        infinite=float_up(delta),
    )


def losses_of_privacy(privacy: Privacy) -> LossDistribution:
    """Return the worst losses of anything with this guarantee (Kairouz, Oh and Viswanath 2015).

    Parameters
    ----------
    privacy
        Any (ε, δ); δ may be 0.

    Returns
    -------
    LossDistribution
        The dominating pair.

    Examples
    --------
    >>> found = losses_of_privacy(Privacy(epsilon=1, delta="1e-6"))
    >>> found.infinite >= 1e-6, round(found.plus, 6)
    (True, 0.731058)
    """
    given = instance("privacy", privacy, Privacy, "a Privacy")
    return _of_parameters(EPSILON.check(given.epsilon), PURE_DELTA.check(given.delta))


@lru_cache(maxsize=1024)
def losses_of_noise(noise: DropNoise) -> LossDistribution:
    """Return the losses of one bucket that changes by one, read off the integer table.

    Parameters
    ----------
    noise
        The table, certified before anything is derived from it.

    Returns
    -------
    LossDistribution
        A dominating pair, :func:`proved <dominates>` in exact arithmetic.

    Raises
    ------
    CertificateError
        If the table does not satisfy its inequalities, or the result does not dominate it.

    Examples
    --------
    >>> noise = DropNoise(1, "1e-6")
    >>> found = losses_of_noise(noise)
    >>> dominates(found, noise), found.infinite >= noise.delta_real
    (True, True)
    """
    noise.certify()
    weights, whole = noise.weights, 1 << noise.bits
    if weights[0] != weights[-1] or len(weights) < 2:  # the two directions differ: take the worst case
        return _of_parameters(noise.epsilon, Fraction(max(weights[0], weights[-1]), whole))
    first, most = Fraction(weights[0], whole), Fraction(max(weights), whole)
    low, high = exp_bounds(-noise.epsilon)
    plus = (most - first) / (1 - high)
    # Each of these is an upper bound: masses only ever move to larger losses.
    zero = max(Fraction(0), (1 - low * (1 - first) - first - (most - first) * (1 + low)) / (1 - high))
    minus = max(Fraction(0), 1 - first - (most - first) / (1 - low) - zero + _HAIR)
    if zero < Fraction(1, 10**30):  # odd q: there is none but for rounding
        plus, zero = plus + zero, Fraction(0)
    found = LossDistribution(noise.epsilon, float_up(plus), float_up(zero), float_up(minus), float_up(first))
    if not dominates(found, noise):
        raise CertificateError("the privacy losses do not dominate those of the noise table")
    return found


def losses_of_total(noise: TotalNoise) -> tuple[tuple[LossDistribution, int], ...]:
    """Return the losses of public buckets that lose little in all: of a unit's buckets, and of drawing them again.

    Parameters
    ----------
    noise
        The losses of all buckets.

    Returns
    -------
    tuple
        Pairs (distribution, how many copies).

    Examples
    --------
    >>> [round(each.infinite, 9) for each, _ in losses_of_total(TotalNoise(1, "1e-6", 24))]
    [7.14e-07, 2.29e-07]
    """
    parts = ((losses_of_noise(noise.noise), noise.units),)
    return (*parts, (_losses_of_redrawing(noise), 1)) if noise.is_redrawn else parts


def _losses_of_redrawing(noise: TotalNoise) -> LossDistribution:
    """Mass 1/Pr[Σ ≤ m] at 0, and at ∞ what δ of the mechanism exceeds that of the table by."""
    noise.certify()
    each, copies = noise.noise.delta_real, noise.units
    once = max(each, copies * each - math.comb(copies, 2) * each**2)  # at most 1 − (1 − each)^copies
    more = max(Fraction(0), noise.delta_real - once / noise.kept)
    zero, infinite = float_up(1 / noise.kept), float_up(more)
    return LossDistribution(noise.noise.epsilon, 0.0, zero, 0.0, infinite, whole=zero + infinite)


def dominates(losses: LossDistribution, noise: DropNoise) -> bool:
    """Prove that a loss distribution is pessimistic for a noise table, in exact arithmetic and both directions.

    Between the losses −ε, 0 and ε its curve is straight, beyond ε it is constant, and the table's curve is convex: it
    suffices to compare the two at these points, at γ = 0 and in the limit.

    Parameters
    ----------
    losses
        The claimed distribution.
    noise
        The table of integer weights.

    Returns
    -------
    bool
        True if its hockey-stick curve is nowhere below the table's.

    Examples
    --------
    >>> from dataclasses import replace
    >>> noise = DropNoise(1, "1e-6")
    >>> found = losses_of_noise(noise)
    >>> dominates(replace(found, plus=found.plus * (1 - 1e-9)), noise)
    False
    """
    weights, whole = noise.weights, 1 << noise.bits
    low, high = exp_bounds(-noise.epsilon)
    plus, zero, minus = map(Fraction, (losses.plus, losses.zero, losses.minus))
    infinite = Fraction(losses.infinite)
    if losses.epsilon != noise.epsilon or infinite + plus + zero + minus < 1:
        return False
    # Lower bounds of the claimed curve at γ = e^{−ε}, 1 and beyond e^ε, against upper bounds of the table's.
    claimed = (infinite + plus * (1 - high * high) + zero * (1 - high), infinite + plus * (1 - high), infinite)
    for direction in (weights, weights[::-1]):
        pairs = list(zip(direction, (0, *direction[:-1]), strict=True))
        small = sum(mass for mass, other in pairs if not other)
        if any(mass * low.numerator > other * low.denominator for mass, other in pairs if other):
            return False  # a ratio above e^ε
        at_one = sum(max(0, mass - other) for mass, other in pairs)
        at_low = sum(max(0, mass * low.denominator - other * low.numerator) for mass, other in pairs)
        if claimed[0] * whole * low.denominator < at_low or claimed[1] * whole < at_one or claimed[2] * whole < small:
            return False
    return True


def losses_of_budget(budget: Budget) -> tuple[tuple[LossDistribution, int], ...]:
    """Return the losses of a bucketed release: those of each bucket of a unit, and of a certified total.

    Parameters
    ----------
    budget
        The budget that the release was made with.

    Returns
    -------
    tuple
        Pairs (distribution, how many independent copies).

    Examples
    --------
    >>> [(str(each.epsilon), copies) for each, copies in losses_of_budget(Budget(1, "1e-6", most=2, certify="0.1"))]
    [('9/20', 2), ('1/10', 1)]
    """
    parts = [(losses_of_noise(budget.bars), budget.most)]
    if budget.limited is not None:
        return losses_of_total(budget.limited)
    if budget.share is not None and budget.paid is not None:
        if budget.most == 1:
            parts.append((losses_of_noise(budget.paid), 1))
        else:  # the total changes by up to k: its whole share of the budget in the worst case
            parts.append((losses_of_privacy(split(budget.privacy(), [1 - budget.share, budget.share])[1]), 1))
    return tuple(parts)
