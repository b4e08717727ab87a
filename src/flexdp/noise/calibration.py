"""Calibration: the parameters of one bucket's noise from those of a unit, and the best ε or δ for a given reach.

Where there is no rational solution it is rounded to twelve digits on the private side, and checked against the table
of integers that the noise really uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flexdp._core.domains import DELTA, EPSILON, Domain, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.noise.table import LARGEST_REACH, SMALLEST_EPSILON, smallest_reach

__all__ = [
    "DIGITS",
    "most_buckets_per_unit",
    "needed_reach",
    "per_bucket",
    "reach_given",
    "smallest_delta",
    "smallest_epsilon",
]

DIGITS = 12  # of a solved ε or δ
_GRID = 10**60  # a bucket's δ is a multiple of 1/_GRID
_BITS = 512  # of the powers that prove it


def per_bucket(epsilon: Number, delta: Number, buckets_per_unit: Number = 1) -> Privacy:
    """What each bucket must provide so that a unit in at most k buckets gets (ε, δ): ε/k and 1 − (1 − δ)^{1/k}.

    k buckets with independent noise give (kε₀, 1 − (1 − δ₀)^k). The δ₀ here is the largest multiple of 10^-60 for
    which a proven lower bound of (1 − δ₀)^k is at least 1 − δ.

    >>> float(per_bucket(1, "1e-6", 2).epsilon), float(per_bucket(1, "1e-6", 2).delta)
    (0.5, 5.000001250000625e-07)
    """
    loss, chance, units = EPSILON.check(epsilon), DELTA.check(delta), integer("buckets_per_unit", buckets_per_unit)
    if units == 1:
        return Privacy(epsilon=loss, delta=chance)
    share = _share(chance, units)
    if share < DELTA.low:
        raise InputError(
            f"delta must be at least {number_text(DELTA.low)} for each of buckets_per_unit={safe_repr(units)} buckets; "
            f"got {number_text(chance)} for all. Choose a larger delta."
        )
    return Privacy(epsilon=loss / units, delta=share)


def smallest_epsilon(q: Number, delta: Number, *, buckets_per_unit: Number = 1) -> Fraction:
    """The smallest ε, to twelve digits, rounded up, whose noise for δ has a reach of at most q.

    It is never below 1e-9 for each bucket, the smallest that the noise takes.

    >>> float(smallest_epsilon(28, "1e-6"))
    0.972889756242
    """
    reach, units = reach_given(q), integer("buckets_per_unit", buckets_per_unit)
    share = per_bucket(1, delta, units).delta
    found = _smallest(lambda e: _fits(e / units, share, reach), SMALLEST_EPSILON * units, _highest(EPSILON))
    if found is None:
        raise InputError(
            f"q and delta do not fit: no epsilon up to {number_text(_highest(EPSILON))} gives q={reach} "
            f"with delta={number_text(DELTA.check(delta))}. Choose a larger q or delta."
        )
    return found


def smallest_delta(epsilon: Number, q: Number, *, buckets_per_unit: Number = 1) -> Fraction:
    """The smallest δ, to twelve digits, rounded up, whose noise for ε has a reach of at most q.

    It is δ*(q) = 1 / (S_⌈q/2⌉ + S_⌊q/2⌋), S_k = (e^{kε} − 1)/(e^ε − 1), as closely as the table of integers attains it,
    and never below 1e-30, the smallest that the noise takes.

    >>> float(smallest_delta(1, 28))
    7.14400937984e-07
    """
    loss, reach, units = EPSILON.check(epsilon), reach_given(q), integer("buckets_per_unit", buckets_per_unit)
    if loss / units < SMALLEST_EPSILON:
        raise InputError(f"epsilon must be at least {number_text(SMALLEST_EPSILON)} for each bucket; got less.")
    lowest = DELTA.low * units  # so that each bucket's share is at least the smallest there is
    found = _smallest(
        lambda d: _fits(loss / units, per_bucket(loss, d, units).delta, reach), lowest, 1 - Fraction(1, 10**DIGITS)
    )
    if found is None:
        raise InputError(f"q={reach} is too small for any delta below 1. Choose a larger q.")
    return found


def most_buckets_per_unit(epsilon: Number, delta: Number, q: Number) -> int:
    """The most buckets that one unit may change while the noise of each needs a reach of at most q.

    >>> [most_buckets_per_unit(1, "1e-6", q) for q in (28, 54, 133, 264)]
    [1, 2, 5, 10]
    """
    loss, chance, reach = EPSILON.check(epsilon), DELTA.check(delta), reach_given(q)

    def fits(units: int) -> bool:
        if loss / units < SMALLEST_EPSILON or chance / units < 2 * DELTA.low:
            return False
        share = per_bucket(loss, chance, units)
        return _fits(share.epsilon, share.delta, reach)

    if not fits(1):
        raise InputError(
            f"q={reach} is too small for epsilon={number_text(loss)} and delta={number_text(chance)}, even for one "
            "bucket per unit. Choose a larger q."
        )
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def needed_reach(epsilon: Fraction, delta: Fraction, units: int) -> int:
    """The reach of the noise in each bucket for a unit's (ε, δ)."""
    share = per_bucket(epsilon, delta, units)
    reach = smallest_reach(share.epsilon, share.delta)
    if reach is None:
        raise InputError(
            f"epsilon and delta are so small that a bucket could lose more than {LARGEST_REACH} records; "
            f"got epsilon={number_text(epsilon)}, delta={number_text(delta)}. Choose a larger epsilon or delta."
        )
    return reach


def reach_given(q: Number) -> int:
    """A reach that the caller gives."""
    reach = integer("q", q, at_least=2)
    if reach > LARGEST_REACH:
        raise InputError(f"q must be at most {LARGEST_REACH}; got {safe_repr(reach)}. Choose a smaller one.")
    return reach


def _highest(domain: Domain) -> Fraction:
    assert domain.high is not None
    return domain.high


def _fits(epsilon: Fraction, delta: Fraction, reach: int) -> bool:
    return smallest_reach(epsilon, delta, at_most=reach) is not None


@lru_cache(maxsize=64)
def _share(chance: Fraction, units: int) -> Fraction:
    """The largest δ of each bucket; a plan asks for the same one at every ε."""
    low, high = math.floor(chance / units * _GRID), math.floor(chance * _GRID) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _stays(middle, units, chance) else (low, middle)
    return Fraction(low, _GRID)


def _stays(share: int, units: int, chance: Fraction) -> bool:
    """Whether (1 − share/_GRID)^units ≥ 1 − chance, proven by powers whose every product is rounded down."""
    base, power = ((_GRID - share) << _BITS) // _GRID, 1 << _BITS
    while units:
        if units & 1:
            power = power * base >> _BITS
        base, units = base * base >> _BITS, units >> 1
    return power * chance.denominator >= (chance.denominator - chance.numerator) << _BITS


def _smallest(holds: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction | None:
    """The smallest twelve-digit decimal in [low, high] for which a test holds that stays true once it is."""
    if not holds(high):
        return None
    if holds(low):
        return low
    # Between the two, first the decade, then the digits.
    decade = math.floor(math.log10(high))
    while _power_of_ten(decade) > low and holds(_power_of_ten(decade)):
        decade -= 1
    step = _power_of_ten(decade - DIGITS + 1)
    below: int = 10 ** (DIGITS - 1)
    above: int = min(10 * below, math.floor(high / step))
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if middle * step > low and holds(middle * step) else (middle, above)
    return step * above


def _power_of_ten(exponent: int) -> Fraction:
    return Fraction(10**exponent) if exponent >= 0 else Fraction(1, 10**-exponent)
