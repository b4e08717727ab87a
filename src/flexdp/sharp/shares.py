"""Division of the budget of automatic buckets, from the public number of records alone, in integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flexdp.noise.table import smallest_reach

__all__ = ["COUNT_SHARE", "LEAST_FOR_BARS", "Shares", "shares", "smallest_level"]

COUNT_SHARE = Fraction(1, 25)
_TREE_PART = Fraction(3, 4)
_LEAST, _MOST = 15, 40  # hundredths of ε for everything but the bars
LEAST_FOR_BARS = 1 - Fraction(_MOST, 100)  # the smallest part of ε that the bars can get


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The public parameters of automatic buckets.

    Parameters
    ----------
    share : Fraction
        s: the part of ε that chooses the buckets, the number of records included.
    levels : int
        D: the tree is split D + 1 times.
    reach : int
        q of the noise in the bars.
    most_buckets : int
        B.
    per_level, leaves, bars : Fraction
        ε of each level of the tree, of the leaf counts, and of the bars.
    """

    share: Fraction
    levels: int
    reach: int
    most_buckets: int
    per_level: Fraction
    leaves: Fraction
    bars: Fraction


def shares(
    records_about: int,
    epsilon: Fraction,
    delta: Fraction,
    *,
    reach_of: Callable[[Fraction], int | None] | None = None,
) -> Shares | None:
    """Divide the budget, with X = n̂·ε.

    s is 0.4·(1000/X)^0.2 to hundredths, between 0.15 and 0.40; D is log2(X/150), rounded, between 3 and 5; B is
    2·(n̂/q)^0.4, rounded down, between 5 and 60.

    Parameters
    ----------
    records_about : int
        n̂, positive.
    epsilon, delta : Fraction
        The budget.
    reach_of : callable, optional
        q of the bars, given their part of ε; where a unit counts with several records, or a part of the bars' budget
        buys something else. By default that of one record and all of their budget.

    Returns
    -------
    Shares or None
        None where the bars would need a reach beyond the largest.

    Examples
    --------
    >>> for records in (10**3, 10**4, 10**5, 10**6):
    ...     s = shares(records, Fraction(1), Fraction(1, 10**6))
    ...     print(s.share, s.levels, s.reach, s.most_buckets)
    2/5 3 43 7
    1/4 5 36 18
    4/25 5 32 50
    3/20 5 32 60
    """
    size = records_about * epsilon
    hundredths = _LEAST
    # The largest h ≤ 40 with h − ½ ≤ 40·(1000/X)^(1/5).
    while hundredths < _MOST and (2 * hundredths + 1) ** 5 * size <= 80**5 * 1000:
        hundredths += 1
    share = Fraction(hundredths, 100)
    ratio = (size / 150) ** 2  # round(log2 y) ≥ k + 1 where y² ≥ 2^(2k + 1)
    levels = 3 + (ratio >= 2**7) + (ratio >= 2**9)
    bars = epsilon * (1 - share)
    reach = smallest_reach(bars, delta) if reach_of is None else reach_of(1 - share)
    if reach is None:
        return None
    most = 5
    while most < 60 and (most + 1) ** 5 * reach**2 <= 32 * records_about**2:
        most += 1
    chosen = epsilon * (share - COUNT_SHARE)
    return Shares(
        share=share,
        levels=levels,
        reach=reach,
        most_buckets=most,
        per_level=chosen * _TREE_PART / (levels + 1),
        leaves=chosen * (1 - _TREE_PART),
        bars=bars,
    )


def smallest_level(epsilon: Fraction) -> Fraction:
    """Return the smallest ε that any level of a tree can get, whatever the number of records.

    Parameters
    ----------
    epsilon : Fraction
        The budget.

    Returns
    -------
    Fraction
    """
    return epsilon * (Fraction(_LEAST, 100) - COUNT_SHARE) * _TREE_PART / 6
