"""Exact geometric noise: Bernoulli(e^−x), geometric and two-sided geometric draws from integers alone.

The algorithms are those of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
section 5, except Bernoulli(e^−m) for an integer m: a uniform number is compared with e^−m byte by byte, and the first
byte nearly always decides. Rates are rational; the bytes of e^−m are exact, so nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from flexdp.errors import InputError
from flexdp.noise.bits import Bits

__all__ = ["bernoulli_exp", "bernoulli_exp_of", "first_bernoulli_exp", "geometric", "two_sided_geometric"]

_MOST_AT_ONCE = 256  # larger exponents are split, so that the powers stay short
_RARE = 6  # from this exponent on the first byte of e^−m is 0
_GUARD = 64  # bits computed beyond those of a byte; more if they do not decide


def bernoulli_exp(exponent: Fraction, bits: Bits) -> bool:
    """Return True with probability e^−exponent, exactly.

    Parameters
    ----------
    exponent : Fraction
        At least 0.
    bits : Bits
        The source of randomness.

    Returns
    -------
    bool
        The outcome.

    Raises
    ------
    InputError
        If the exponent is negative.

    Examples
    --------
    >>> bernoulli_exp(Fraction(0), Bits())
    True
    """
    if exponent < 0:
        raise InputError("exponent", "must be at least 0")
    return bernoulli_exp_of(exponent.numerator, exponent.denominator, bits)


def bernoulli_exp_of(numerator: int, denominator: int, bits: Bits) -> bool:
    """Return True with probability e^−(numerator/denominator), as :func:`bernoulli_exp` does, from the same bits.

    Parameters
    ----------
    numerator, denominator : int
        At least 0, and at least 1; they may have common factors.
    bits : Bits
        The source of randomness.

    Returns
    -------
    bool
        The outcome.

    Examples
    --------
    >>> bernoulli_exp_of(0, 4, Bits())
    True
    """
    whole, rest = divmod(numerator, denominator)
    while whole:
        part = min(whole, _MOST_AT_ONCE)
        if not _whole(part, bits):
            return False
        whole -= part
    common = math.gcd(rest, denominator)
    return _up_to_one(rest // common, denominator // common, bits)


def first_bernoulli_exp(counts: Sequence[int], rate: Fraction, bits: Bits) -> int | None:
    """Return the place of the first success among draws of Bernoulli(e^(−rate·count)), one for each count.

    Where success is rare, the first bytes of neighbouring draws are drawn together, and only a byte of 0 needs a closer
    look.

    Parameters
    ----------
    counts : sequence of int
        Those below 0 count as 0: success is certain.
    rate : Fraction
        Greater than 0.
    bits : Bits
        The source of randomness.

    Returns
    -------
    int or None
        From 0; None if all of them fail.

    Examples
    --------
    >>> first_bernoulli_exp([2000, 2000, 0, 5], Fraction(1), Bits())
    2
    """
    rare = -(-_RARE // rate)  # from this count on
    place = 0
    while place < len(counts):
        end = next((i for i in range(place, len(counts)) if counts[i] < rare), len(counts))
        first = bits.source(end - place) if end > place else b""
        zero = first.find(0)
        while zero >= 0:
            if _follows(counts[place + zero] * rate.numerator, rate.denominator, bits):
                return place + zero
            zero = first.find(0, zero + 1)
        if end < len(counts) and bernoulli_exp_of(max(0, counts[end]) * rate.numerator, rate.denominator, bits):
            return end
        place = end + 1
    return None


def _follows(numerator: int, denominator: int, bits: Bits) -> bool:
    """Bernoulli(e^−(numerator/denominator)) of a rare success, given that its first byte is 0."""
    part = min(numerator // denominator, _MOST_AT_ONCE)
    return _whole(part, bits, 1) and bernoulli_exp_of(numerator - part * denominator, denominator, bits)


def _whole(exponent: int, bits: Bits, place: int = 0) -> bool:
    """Bernoulli(e^−exponent) for an integer exponent ≥ 1: compare a uniform number with it, byte by byte.

    With a ``place``, the bytes before it were drawn and are equal.
    """
    while (drawn := bits.below(256)) == (byte := _byte(exponent, place)):
        place += 1
    return drawn < byte


@lru_cache(maxsize=1 << 14)
def _byte(exponent: int, place: int) -> int:
    """Return byte ``place``, from 0, of the binary fraction e^−exponent."""
    wanted = 8 * (place + 1)
    precision = wanted + exponent.bit_length() + _GUARD
    while True:
        inverse = _inverse_of_e(precision)
        low, high = (int(part**exponent) >> precision * exponent - wanted for part in (inverse, inverse + 1))
        if low == high:  # e^−exponent lies between; it is irrational, so this happens at some precision
            return low & 255
        precision *= 2


@lru_cache(maxsize=64)
def _inverse_of_e(precision: int) -> int:
    """Return ⌊2^precision / e⌋ by the alternating series: 1/e lies between any two consecutive partial sums."""
    numerator = denominator = 1
    k, before = 0, None
    while True:
        k += 1
        numerator, denominator = numerator * k + (-1 if k % 2 else 1), denominator * k
        found = (numerator << precision) // denominator
        if found == before:
            return found
        before = found


def _up_to_one(numerator: int, denominator: int, bits: Bits) -> bool:
    """Bernoulli(e^−x) for x = numerator/denominator ≤ 1: stop at the first k with a failure of Bernoulli(x/k)."""
    k = 1
    while bits.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def geometric(rate: Fraction, bits: Bits) -> int:
    """Draw E ≥ 0 with Pr[E ≥ j] = e^(−rate·j), exactly.

    Parameters
    ----------
    rate : Fraction
        Greater than 0.
    bits : Bits
        The source of randomness.

    Returns
    -------
    int
        The draw.

    Raises
    ------
    InputError
        If the rate is not positive.

    Examples
    --------
    >>> geometric(Fraction(1), Bits()) >= 0
    True
    """
    if rate <= 0:
        raise InputError("rate", "must be greater than 0")
    step, unit = rate.numerator, rate.denominator
    while True:
        part = bits.below(unit)
        if _up_to_one(part, unit, bits):
            break
    whole = 0
    while _up_to_one(1, 1, bits):
        whole += 1
    return (part + unit * whole) // step  # geometric of rate 1/unit, floored to multiples of step


def two_sided_geometric(rate: Fraction, bits: Bits) -> int:
    """Draw the difference of two geometric variables: Pr[Z = z] ∝ e^(−rate·|z|), the discrete Laplace law.

    Parameters
    ----------
    rate : Fraction
        Greater than 0; ε for a count that one record changes by one.
    bits : Bits
        The source of randomness.

    Returns
    -------
    int
        The draw.

    Examples
    --------
    >>> isinstance(two_sided_geometric(Fraction(1), Bits()), int)
    True
    """
    return geometric(rate, bits) - geometric(rate, bits)
