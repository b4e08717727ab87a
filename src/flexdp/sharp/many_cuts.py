"""Many cuts compared with a bound at once. A ladder has thousands, most of them far beyond all values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["ManyCuts"]


class ManyCuts:
    """Cuts in any order, compared as doubles, and exactly where those are equal.

    Parameters
    ----------
    cuts : sequence of int
        In units. Their nearest doubles are in the same order, except that different cuts may share one.

    Examples
    --------
    >>> cuts = ManyCuts([10**69, 10**20 + 1, 10**20, -3])
    >>> cuts.above(10**20).tolist()
    [True, True, False, False]
    """

    __slots__ = ("_cuts", "_doubles")

    def __init__(self, cuts: Sequence[int]) -> None:
        self._cuts, self._doubles = cuts, np.array(cuts, dtype=np.float64)

    def above(self, bound: int) -> NDArray[np.bool_]:
        """Return which cuts are greater than a bound.

        Parameters
        ----------
        bound : int
            In units.

        Returns
        -------
        array of bool
        """
        nearest = float(bound)
        found: NDArray[np.bool_] = self._doubles > nearest
        for place in np.flatnonzero(self._doubles == nearest).tolist():
            found[place] = self._cuts[place] > bound
        return found
