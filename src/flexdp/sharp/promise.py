"""Error bounds of sharp answers, in ranks: a number of records, and the probability of a larger error.

Every bound is rounded outwards; integers and rationals decide, never doubles. All of it is a function of public
numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache

from flexdp.noise.exponential import decay
from flexdp.sharp.exponentials import exp_minus, log_above
from flexdp.sharp.goal import Goal
from flexdp.sharp.prior import Prior
from flexdp.sharp.scale import Scale

__all__ = ["count_error", "ladder_overshoot", "ladder_records", "least_weight", "rank_error"]

_GRID = 10**24  # probabilities are rounded up to multiples of 1/_GRID


def rank_error(goal: Goal, epsilon: Fraction, prior: Prior, weight: int, gamma: Fraction) -> Fraction | None:
    """Bound the rank error of an exponential quantile.

    Parameters
    ----------
    goal : Goal
        The rank it aims at.
    epsilon : Fraction
        The step's own ε.
    prior : Prior
        Its prior.
    weight : int
        The least weight that a candidate at the true quantile has; see :func:`least_weight`.
    gamma : Fraction
        The chance to be further off.

    Returns
    -------
    Fraction or None
        The smallest r, in records, with total·g(r·B) ≤ γ·weight·g(0); None where the table is too short to say.
    """
    table = decay(epsilon, goal.sensitivity)
    allowed = gamma * weight * table.weight(0)
    low, high = -1, table.depth + 1  # g is decreasing
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if prior.total * table.weight(middle) <= allowed else (middle, high)
    return None if high > table.depth else Fraction(high, goal.units)


def least_weight(scale: Scale, prior: Prior, decades: int, decimals: int = 0) -> int:
    """Return the least weight of any candidate below 10^decades in magnitude with so many decimals.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    prior : Prior
        The universal prior.
    decades : int
        "Below 100 000" is 5.
    decimals : int, optional
        "At most two decimals" is 2; none for integers.

    Returns
    -------
    int
    """
    finest = scale.ten(-decimals)
    weights = []
    for k in range(-decimals, decades):
        for start in (1, 2, 5):
            candidate = start * scale.ten(k) + (finest if k > -decimals else 0)
            weights.append(prior.before(candidate + 1) - prior.before(candidate))
    return min([*weights, prior.before(1) - prior.before(0)])


def ladder_records(rate: Fraction, target: int, rungs: int, gamma: Fraction) -> int:
    """Return how many records lie beyond a ladder's answer at most, except with probability ``gamma``.

    Parameters
    ----------
    rate : Fraction
        ε_R, what the ladder spends on its rungs.
    target : int
        Its public target.
    rungs : int
        How many rungs it has.
    gamma : Fraction
        The chance that it is more.

    Returns
    -------
    int
        target + j, j the smallest with rungs·e^(−jε_R) ≤ γ.
    """
    return target + math.ceil(log_above(max(Fraction(1), rungs / gamma)) / rate)


@lru_cache(maxsize=4096)
def ladder_overshoot(rates: tuple[Fraction, Fraction], target: int, rungs: int) -> Fraction:
    """Return an upper bound of the chance that a ladder ends more than so many rungs beyond the last record.

    Parameters
    ----------
    rates : pair of Fraction
        ε_T and ε_R, what the ladder spends on its threshold and on its rungs.
    target : int
        Its public target.
    rungs : int
        How many rungs beyond the last record are allowed for.

    Returns
    -------
    Fraction
        Σ_{t > target} Pr[E_T = t]·(1 − e^(−(t − target)ε_R))^rungs, rounded up.
    """
    of_threshold, of_rungs = rates
    first = max(target + 1, 0)
    up = math.ceil(exp_minus(of_threshold) * _GRID)
    ends = _GRID - _down(of_threshold)  # the chance that E_T is t where it is at least t
    reached = math.ceil(exp_minus(of_threshold * first) * _GRID)  # Pr[E_T ≥ t], rounded up
    stays, down, total = _down(of_rungs * (first - target)), _down(of_rungs), 0
    while True:
        total += -(-reached * ends * _power_up(_GRID - stays, rungs) // _GRID**2)
        stays = stays * down // _GRID  # e^(−(t − target)ε_R), rounded down
        smaller = -(-reached * up // _GRID)
        if smaller >= reached:
            break  # rounding up has stopped the decay; what is left is added below
        reached = smaller
    return min(Fraction(1), Fraction(total + reached, _GRID))


def _down(exponent: Fraction) -> int:
    """The power e^−exponent over _GRID, rounded down."""
    return math.floor(exp_minus(exponent) * (1 - Fraction(1, 2**100)) * _GRID)


def _power_up(base: int, exponent: int) -> int:
    """The power of base/_GRID, every product rounded up."""
    power = _GRID
    while exponent:
        if exponent & 1:
            power = -(-power * base // _GRID)
        base, exponent = -(-base * base // _GRID), exponent >> 1
    return power


@lru_cache(maxsize=4096)
def count_error(epsilon: Fraction, gamma: Fraction) -> int:
    """Return by how much a noisy count is off at most, except with probability ``gamma``.

    Parameters
    ----------
    epsilon : Fraction
        Its ε.
    gamma : Fraction
        The chance that it is more.

    Returns
    -------
    int
        The smallest k with Pr[|error| > k] = 2e^(−(k+1)ε)/(1 + e^(−ε)) ≤ γ.

    Examples
    --------
    >>> count_error(Fraction(1), Fraction(1, 20)), count_error(Fraction(1, 25), Fraction(1, 20))
    (3, 75)
    """
    # Rounded down, while the exponentials compared with it are rounded up: the error is never understated.
    allowed = gamma * (1 + exp_minus(epsilon) * (1 - Fraction(1, 2**100))) / 2
    enough = 1
    while exp_minus(enough * epsilon) > allowed:
        enough *= 2
    return bisect_left(range(1, enough), True, key=lambda more: exp_minus(more * epsilon) <= allowed)
