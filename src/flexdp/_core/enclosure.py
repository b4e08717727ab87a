"""Rational bounds of e^x, ln x and b^x, and the least integer or decimal at which something holds.

Every comparison with an exponential goes through these; no double decides a claim of privacy::

    value          ───────────●────────────      irrational, unless x = 0
    exp_bounds(x)  ────────[  ●  ]─────────      two fractions, a relative 10^(3 − digits)·max(1, |x|) apart
    exp_below(x)   ────────■──●────────────      one integer in units of 2^−precision: the growth of integer tables

Why the bounds hold: ``decimal`` divides with the rounding that is asked for, and its ``exp`` and ``ln`` are right to
within one unit in the last of ``digits`` places. Both ends are widened by a hundred such units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "Bounds",
    "exp_at_least",
    "exp_below",
    "exp_bounds",
    "least",
    "least_decimal",
    "least_from",
    "log_bounds",
    "power_bounds",
]

_DIGITS = 60
_FAR = 10**5  # below −_FAR the exponential is bounded by 0 and by its value there, to keep fractions short


class Bounds(NamedTuple):
    """A lower and an upper bound of one real number."""

    lower: Fraction
    upper: Fraction


@lru_cache(maxsize=4096)
def exp_bounds(x: Fraction, digits: int = _DIGITS) -> Bounds:
    """Return bounds of e^x.

    >>> lower, upper = exp_bounds(Fraction(1))
    >>> lower < upper, float(lower) == float(upper) == 2.718281828459045
    (True, True)
    """
    if x == 0:
        return Bounds(Fraction(1), Fraction(1))
    if x < -_FAR:
        return Bounds(Fraction(0), exp_bounds(Fraction(-_FAR), digits).upper)
    return _enclose(Context.exp, x, digits)


@lru_cache(maxsize=4096)
def log_bounds(x: Fraction, digits: int = _DIGITS) -> Bounds:
    """Return bounds of ln x for x > 0."""
    if x == 1:
        return Bounds(Fraction(0), Fraction(0))
    return _enclose(Context.ln, x, digits)


def power_bounds(base: Fraction, exponent: Fraction, digits: int = _DIGITS) -> Bounds:
    """Return bounds of base^exponent for base > 0."""
    ends = sorted(end * exponent for end in log_bounds(base, digits))
    return Bounds(exp_bounds(ends[0], digits).lower, exp_bounds(ends[1], digits).upper)


def _enclose(function: Callable[[Context, Decimal], Decimal], x: Fraction, digits: int) -> Bounds:
    """Bound an increasing function: round the argument outward, then the value."""
    down, up = (Context(prec=digits, rounding=r, Emin=-(10**9), Emax=10**9) for r in (ROUND_FLOOR, ROUND_CEILING))
    low, high = (Fraction(function(c, c.divide(Decimal(x.numerator), Decimal(x.denominator)))) for c in (down, up))
    slack = Fraction(1, 10 ** (digits - 3))
    return Bounds(low - abs(low) * slack, high + abs(high) * slack)


def exp_at_least(x: Fraction, ratio: Fraction) -> bool:
    """Decide ratio ≤ e^x, with as many digits as it takes: e^x is irrational for x ≠ 0."""
    digits = _DIGITS
    while True:
        lower, upper = exp_bounds(x, digits)
        if ratio <= lower:
            return True
        if ratio > upper:
            return False
        digits *= 2


def exp_below(x: Fraction, precision: int) -> int:
    """Return an integer A with A / 2^precision ≤ e^x for x ≥ 0: the Taylor series, every term rounded down.

    Tables of integer weights grow by it, so its bits are part of what a table is.

    >>> exp_below(Fraction(1), 20) / 2**20
    2.7182788848876953
    """
    term = total = 1 << precision
    k = 0
    while term:
        k += 1
        term = term * x.numerator // (x.denominator * k)
        total += term
    return total


def least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least n in low … high at which a monotone condition holds, given that it holds at ``high``.

    >>> least(lambda n: n * n >= 50, 0, 50)
    8
    """
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def least_from(holds: Callable[[int], bool], low: int) -> int:
    """Return the least n ≥ low at which a monotone condition holds: double the step, then halve it.

    >>> least_from(lambda n: n * n >= 50, 0)
    8
    """
    step = 1
    while not holds(low + step - 1):
        low, step = low + step, 2 * step
    return least(holds, low, low + step - 1)


def least_decimal(
    holds: Callable[[Fraction], bool], low: Fraction, high: Fraction, digits: int = 12
) -> Fraction | None:
    """Return the least number of so many digits in [low, high] at which a monotone condition holds, or None.

    >>> float(least_decimal(lambda x: x * x >= 2, Fraction(1, 9), Fraction(10), digits=4))
    1.415
    """
    if not holds(high):
        return None
    if holds(low):
        return low
    decade = math.floor(math.log10(high))
    while Fraction(10) ** decade > low and holds(Fraction(10) ** decade):
        decade -= 1
    unit = Fraction(10) ** (decade - digits + 1)
    first, last = 10 ** (digits - 1), min(10**digits, math.floor(high / unit))
    return unit * least(lambda n: n * unit > low and holds(n * unit), first + 1, last)
