"""Sums, powers and shares behind the guarantees of groups, units and chains, rounded outwards."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, reduce

from flexdp._core.enclosure import exp_bounds, least
from flexdp._core.exact import float_up, sum_up

__all__ = ["any_of", "gamma_share", "group_factor", "share_of_each"]

_GRID = 10**60  # a bucket's δ is a multiple of 1/_GRID
_BITS = 512  # of the powers that prove it


def group_factor(step: Fraction, times: int) -> Fraction:
    """Bound S_k = 1 + e^step + … + e^{(k−1)·step} from above.

    Parameters
    ----------
    step
        ε of one step.
    times
        k, the number of steps.

    Returns
    -------
    Fraction
        At least S_k, and hardly more.

    Examples
    --------
    >>> float(group_factor(Fraction(1), 2))
    3.718281828459045
    """
    if times == 1:
        return Fraction(1)
    context = Context(prec=60, rounding=ROUND_CEILING)
    ratio = exp_bounds(step).upper
    base = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    found, power = Decimal(0), Decimal(1)  # the sum of so many terms, and the next one
    for bit in f"{times:b}":  # twice as many terms, and where the bit is set one more; all is rounded up
        found, power = context.fma(found, power, found), context.multiply(power, power)
        if bit == "1":
            found, power = context.add(found, power), context.multiply(power, base)
    return Fraction(found)


def any_of(chance: Fraction, many: int) -> Fraction:
    """1 − (1 − chance)^many, rounded up."""
    if many == 1 or not chance:
        return chance
    return 1 - Fraction(_power_down(chance.denominator - chance.numerator, chance.denominator, many), 1 << _BITS)


@lru_cache(maxsize=64)
def share_of_each(chance: Fraction, many: int) -> Fraction:
    """The largest δ of each bucket; a plan asks for the same one at every ε."""
    stay = (chance.denominator - chance.numerator) << _BITS

    def too_large(share: int) -> bool:
        return _power_down(_GRID - share, _GRID, many) * chance.denominator < stay

    low, high = math.floor(chance / many * _GRID), math.floor(chance * _GRID) + 1
    return Fraction(least(too_large, low + 1, high) - 1, _GRID)


def _power_down(top: int, bottom: int, exponent: int) -> int:
    """(top/bottom)^exponent in units of 2^−512, every product rounded down."""
    square, power = (top << _BITS) // bottom, 1 << _BITS
    while exponent:
        if exponent & 1:
            power = power * square >> _BITS
        square, exponent = square * square >> _BITS, exponent >> 1
    return power


def gamma_share(gamma: Fraction, many: int) -> Fraction:
    """A part of γ in fifteen digits, rounded down so far that the sum of that many doubles is not above γ."""
    part = Context(prec=15, rounding=ROUND_FLOOR).divide(Decimal(gamma.numerator), Decimal(gamma.denominator * many))
    share, digit = Fraction(part), Fraction(10) ** (part.adjusted() - 14)
    while share > 0 and reduce(sum_up, [float_up(share)] * many) > float_up(gamma):
        share -= digit
    return share
