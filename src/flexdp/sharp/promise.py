"""Error bounds of sharp answers, in ranks: a number of records, and the probability of a larger error.

Every bound is rounded outwards; integers and rationals decide, never doubles. All of it is a function of public
numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flexdp.sharp.cut import Cut
from flexdp.sharp.exponentials import exp_minus, log_above
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.prior import Mixture, Prior
from flexdp.sharp.scale import Scale

__all__ = [
    "CutError",
    "count_error",
    "cut_error",
    "ladder_overshoot",
    "least_weight",
    "plain_rungs",
    "rung_records",
    "weighted_error",
]

_GRID = 10**24  # probabilities are rounded up to multiples of 1/_GRID


@dataclass(frozen=True, slots=True)
class CutError:
    """How far a cut may lie from the rank that it aims at: Pr[error > offset + x] ≤ e^(−rate·x), in records.

    ``beyond_table`` bounds the chance of a loss that the table no longer tells apart, for which this does not hold.
    """

    offset: Fraction
    rate: Fraction
    beyond_table: Fraction


def cut_error(cut: Cut, plain: Prior, weight: int, most: int) -> CutError | None:
    """Bound the error of a cut.

    Parameters
    ----------
    cut : Cut
        The cut; its prior is the plain one, or a mixture that is half of it.
    plain : Prior
        The universal prior.
    weight : int
        The least weight in it of a candidate at the rank that the cut aims at; see :func:`least_weight`.
    most : int
        An upper bound of the number of records.

    Returns
    -------
    CutError or None
        None where a tie of so many records can be shared too coarsely.

    Notes
    -----
    With W the weight of all candidates, Pr[loss ≥ l] ≤ W·g(l) / Σ prior·g ≤ W·g(l) / (w·p·g(l₀)), where candidates of
    weight w·p have a loss of at most l₀. Of whole values that is the value at the rank itself, p = 1 and l₀ = 0. Shares
    of c ties lie c/S records apart: of the S shares of the value at the rank, at least S·min(s, c)/c − 1 send a number
    of records left that is within s + 1 of the rank, whatever s; l₀ = B·(s + 1). And g(l) ≤ g(l₀)·e^(−(l − l₀)ε/2M) but
    for rounding, which a factor of 1 + 10^−9 allows for.
    """
    rate = cut.goal.units * cut.epsilon / (2 * cut.goal.sensitivity)
    low = 0 if cut.low is None else cut.prior.before(cut.low)
    whole = (cut.prior.total if cut.high is None else cut.prior.before(cut.high + 1)) - low
    own = Fraction(weight * cut.prior.total, 2 * plain.total) if isinstance(cut.prior, Mixture) else Fraction(weight)
    near = Fraction(0)
    if cut.shares > 1:
        slack = max(math.ceil(1 / rate), -(-2 * most // cut.shares), 1)
        own *= Fraction(min(slack, max(most, 1)), max(most, 1)) - Fraction(1, cut.shares)
        near = Fraction(slack + 1)
    if own <= 0:
        return None
    ratio = max(Fraction(1), whole / own * (1 + Fraction(1, 10**9)))
    offset = near + log_above(ratio) / rate + Fraction(1, cut.goal.units)  # the target itself is rounded up
    table = cut.table
    reached = ratio * Fraction(table.weight(table.depth), table.weight(math.ceil(near * cut.goal.units)))
    return CutError(offset, rate, reached)


def weighted_error(parts: Sequence[tuple[Fraction, CutError]], gamma: Fraction) -> Fraction:
    """Bound Σ weight·error, except with probability ``gamma``.

    Given all cuts before it, each excess over its offset is at most an exponential variable of its rate. So by Markov,
    for every λ below all rates ρ = rate/weight, Pr[Σ weight·excess ≥ x] ≤ e^(−λx)·Π 1/(1 − λ/ρ).
    """
    weighted = [(weight, error) for weight, error in parts if weight]
    certain = sum((weight * error.offset for weight, error in weighted), Fraction(0))
    rates = [error.rate / weight for weight, error in weighted]
    if not rates:
        return Fraction(0)
    if len(rates) == 1:
        return certain + log_above(1 / gamma) / rates[0]
    found = []
    for tenths in (4, 5, 6, 7, 8):
        slope = min(rates) * tenths / 10
        found.append(log_above(math.prod((1 / (1 - slope / rate) for rate in rates), start=1 / gamma)) / slope)
    return certain + min(found)


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


@lru_cache(maxsize=64)
def rung_records(ladder: Ladder, scale: Scale, gamma: Fraction) -> tuple[int, ...]:
    """Return for every rung how many records lie beyond it at most if the ladder stops there, all but ``gamma``.

    A rung that j records more than its target and its bonus lie beyond stops the climb with probability at most
    E[e^(−(j + E_T)ε_R)]. The chance γ is divided among rungs by a public prior: a quarter for the anchor, and for the
    others half of 1/((1 + d)(2 + d)) where d decades are between their distance and the size of the anchor, evenly.
    """
    of_threshold, of_rungs = ladder.rates
    start, r = exp_minus(of_threshold), exp_minus(of_rungs)
    reached = (1 - start * (1 - Fraction(1, 2**100))) / (1 - start * r)
    anchor = ladder.rungs[0]
    centre = scale.decade(anchor) if anchor else scale.decade(scale.ten(1))
    decades = [abs(scale.decade(rung - anchor) - centre) if rung != anchor else -1 for rung in ladder.rungs]
    signed = Counter(scale.decade(rung - anchor) for rung in ladder.rungs if rung != anchor)
    needed = {}
    for decade, rungs in signed.items():
        d = abs(decade - centre)
        needed[decade] = log_above(max(Fraction(1), reached * rungs * 2 * (1 + d) * (2 + d) / gamma))
    at_anchor = log_above(max(Fraction(1), reached * 4 / gamma))
    found = []
    for rung, bonus, away in zip(ladder.rungs, ladder.bonus, decades, strict=True):
        nats = at_anchor if away < 0 else needed[scale.decade(rung - anchor)]
        found.append(max(0, ladder.target + bonus + math.ceil(nats / of_rungs) - 1))
    return tuple(found)


def plain_rungs(ladder: Ladder, place: int) -> int:
    """Return how many plain rungs are passed no more readily than a rung: (1 − ky) ≤ (1 − y)^k."""
    bonus = ladder.bonus[place]
    return max(1, math.floor(1 / exp_minus(bonus * ladder.rates[1]))) if bonus else 1


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
