"""Clopper–Pearson bounds of a probability, without scipy: the regularised incomplete beta function, inverted."""

from __future__ import annotations

import math

__all__ = ["lower_bound", "upper_bound"]

_WIDENED = 1e-7  # relative; logarithms of factorials are good to about 1e-8


def lower_bound(hits: int, trials: int, alpha: float) -> float:
    """Return a p such that so many hits or more have probability at most ``alpha`` for every smaller p.

    Parameters
    ----------
    hits, trials : int
        The number of hits among independent trials.
    alpha : float
        The chance that the bound exceeds the true probability.

    Returns
    -------
    float
        Rounded down.

    Examples
    --------
    >>> round(lower_bound(9, 10, 0.025), 6)
    0.554984
    """
    if hits == 0:
        return 0.0
    return _inverse(hits, trials - hits + 1, alpha) * (1 - _WIDENED)


def upper_bound(hits: int, trials: int, alpha: float) -> float:
    """Return a p such that so many hits or fewer have probability at most ``alpha`` for every larger p.

    Parameters
    ----------
    hits, trials : int
        The number of hits among independent trials.
    alpha : float
        The chance that the bound is below the true probability.

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> round(upper_bound(0, 10, 0.025), 6)
    0.308497
    """
    if hits == trials:
        return 1.0
    # The complement of a small probability is computed first, so that no digit is lost.
    return min(1.0, _inverse(hits + 1, trials - hits, alpha, upper=True) * (1 + _WIDENED))


def _inverse(a: float, b: float, alpha: float, *, upper: bool = False) -> float:
    """Return x with I_x(a, b) = alpha, or with ``upper`` I_x(a, b) = 1 − alpha, by bisection of the logarithm of x."""
    low, high = -700.0, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        below, above = _tails(a, b, math.exp(middle))
        small = above > alpha if upper else below < alpha
        low, high = (middle, high) if small else (low, middle)
    return math.exp(high if upper else low)


def _tails(a: float, b: float, x: float) -> tuple[float, float]:
    """I_x(a, b) and 1 − I_x(a, b), each with full relative precision where it is the smaller one."""
    if x >= 1:
        return 1.0, 0.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        below = front * _fraction(a, b, x) / a
        return below, 1 - below
    above = front * _fraction(b, a, 1 - x) / b
    return 1 - above, above


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1.0 - (a + b) * x / (a + 1), tiny)
    found = d
    for m in range(1, 100_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + step / c
            c = c if abs(c) > tiny else tiny
            found *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return found
