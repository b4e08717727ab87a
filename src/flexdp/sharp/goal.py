"""The rank that a quantile aims at, and the integer loss of missing it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

__all__ = ["Goal"]

_MOST_UNITS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A rank among m records, in B units a record: T = ⌈B·level·m⌉ + B·offset, limited to 0 … B·m.

    Parameters
    ----------
    level : Fraction
        The share of the records that lies below.
    units : int
        B, units of loss a record.
    offset : int
        Records that are added, a public number.

    Notes
    -----
    The loss of a candidate t is max(0, B·#{x < t} − T, T − B·#{x ≤ t}). One more record changes T by ⌊B·level⌋ or
    ⌈B·level⌉ and each count by 0 or 1, so the loss changes by at most M = max(⌈B·level⌉, B − ⌊B·level⌋) at every t.

    Examples
    --------
    >>> half = Goal.quantile(Fraction(1, 2))
    >>> half.units, half.sensitivity, half.target(7)
    (2, 1, 7)
    >>> [(g.units, g.sensitivity) for g in map(Goal.quantile, (Fraction(3, 4), Fraction(9, 10), Fraction(99, 100)))]
    [(4, 3), (10, 9), (1, 1)]
    """

    level: Fraction
    units: int
    offset: int = 0

    @classmethod
    def quantile(cls, level: Fraction) -> Goal:
        """Return the goal of a quantile over all records, with the units that cost least."""
        return _quantile(level)

    @classmethod
    def beyond(cls, records: int, side: int) -> Goal:
        """Return the goal that a public number of records lies strictly beyond, above (side 1) or below (side −1)."""
        if side > 0:
            return cls(level=Fraction(1), units=1, offset=-records)
        return cls(level=Fraction(0), units=1, offset=records)

    @property
    def sensitivity(self) -> int:
        """M, the most by which one record changes the loss of any candidate."""
        return _sensitivity(self.level, self.units)

    def target(self, records: int) -> int:
        """Return T for so many records, never beyond all of them.

        Where fewer records lie beyond an anchor than are wanted there (heavy ties at it), the nearest rank is the goal;
        without this limit every candidate would be further off than the table reaches, and all would weigh the same.
        The limits are 0 and B·m, so T still changes by at most what it did.
        """
        wanted = math.ceil(self.units * self.level * records) + self.units * self.offset
        return min(max(wanted, 0), self.units * records)

    def loss(self, below: int, upto: int, target: int) -> int:
        """Return the loss of a candidate with so many records below it and up to it."""
        return max(0, self.units * below - target, target - self.units * upto)


@lru_cache(maxsize=256)
def _sensitivity(level: Fraction, units: int) -> int:
    return max(math.ceil(units * level), units - math.floor(units * level))


@lru_cache(maxsize=256)
def _quantile(level: Fraction) -> Goal:
    units = min(range(1, _MOST_UNITS + 1), key=lambda b: (Fraction(_sensitivity(level, b), b), b))
    return Goal(level=level, units=units)
