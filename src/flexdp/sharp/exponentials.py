"""Rational bounds of e^−x, for exact laws and promises; no sampler needs them."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flexdp._core.enclosure import exp_below

__all__ = ["exp_minus", "log_above"]

_BITS = 128


@lru_cache(maxsize=4096)
def exp_minus(x: Fraction, bits: int = _BITS) -> Fraction:
    """Return a rational number not below e^−x and above it by a relative 2^−(bits − 10) at most, for x up to 10⁴.

    Parameters
    ----------
    x : Fraction
        At least 0.
    bits : int, optional
        The precision.

    Returns
    -------
    Fraction

    Examples
    --------
    >>> float(exp_minus(Fraction(1)))
    0.36787944117144233
    """
    return Fraction(1 << bits, exp_below(x, bits))


def log_above(x: Fraction) -> Fraction:
    """Return a decimal with six places that is at least ln x and exceeds it by at most 10^−6.

    Parameters
    ----------
    x : Fraction
        At least 1.

    Returns
    -------
    Fraction

    Examples
    --------
    >>> float(log_above(Fraction(20)))
    2.995733
    """
    scale = 10**6
    low, high = -1, scale * x.numerator.bit_length()  # ln x ≤ log2 x < the number of bits
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if exp_minus(Fraction(middle, scale)) * x <= 1 else (middle, high)
    return Fraction(high, scale)
