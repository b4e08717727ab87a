"""Nearest points on a line."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Nearest", "nearest"]


class Nearest(NamedTuple):
    """Places of the nearest targets, and the distances to them."""

    place: NDArray[np.int64]
    gap: NDArray[Any]


def nearest(targets: NDArray[Any], points: NDArray[Any]) -> Nearest:
    """Find the nearest target of each point; ``targets`` ascend, and the larger of two equally near ones is taken.

    >>> found = nearest(np.array([0, 10, 20]), np.array([-3, 12, 15]))
    >>> found.place.tolist(), found.gap.tolist()
    ([0, 1, 2], [3, 2, 5])
    """
    place = np.searchsorted(targets, points)
    before, after = np.maximum(place - 1, 0), np.minimum(place, len(targets) - 1)
    down, up = np.abs(points - targets[before]), np.abs(targets[after] - points)
    return Nearest(np.where(down < up, before, after), np.minimum(down, up))
