"""Ground metrics on the points of data: all pairs, checked, and without a value of the data in any message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.distances.axioms import Amount, amount, check_axioms, distances_between, labels_of, sample
from flexdp.distances.metrics import Metric
from flexdp.errors import InputError

__all__ = ["called", "checked_costs", "ranked"]

_NUMBERS = (int, float)
_MOST_CHECKED = 60  # points of both sides together on which a metric's axioms are checked


def checked_costs(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances if all are finite and non-negative, else raise an error."""
    if not np.isfinite(cost).all() or (cost < 0).any():
        raise InputError("metric", "must give finite, non-negative distances between these points")
    return cost


def called(
    metric: Callable[[Any, Any], Any], here: Sequence[Any], there: Sequence[Any], names: tuple[str, str]
) -> list[list[Any]]:
    """Call a function on all pairs; it must be a metric on these points, of which errors tell the places alone.

    The axioms of a function that is not one of :mod:`flexdp.distances.metrics` are checked on at most 60 points.
    """
    labels = labels_of(names[0], len(here), quoted=False), labels_of(names[1], len(there), quoted=False)
    cost = distances_between("metric", metric, here, there, labels)
    _doubles(cost, labels)
    if isinstance(metric, Metric):
        return cost
    places = sample(len(here) + len(there), _MOST_CHECKED)
    points = [here[i] if i < len(here) else there[i - len(here)] for i in places]

    def label(k: int) -> str:
        return labels[0](places[k]) if places[k] < len(here) else labels[1](places[k] - len(here))

    among = _doubles(distances_between("metric", metric, points, points, (label, label)), (label, label))
    check_axioms("metric", among, label, symmetric=True, infinite=False)
    return cost


def _doubles(rows: list[list[Any]], labels: tuple[Callable[[int], str], Callable[[int], str]]) -> NDArray[np.float64]:
    """Return distances as doubles; say where one is not a number, negative or infinite."""
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if type(cell) not in _NUMBERS and amount(cell) is None and not isinstance(cell, float | np.floating):
                at = f"from {labels[0](i)} to {labels[1](j)}"
                raise InputError("metric", f"must accept two points and return a number; it does not {at}")
    found = np.array([[float(cell) for cell in row] for row in rows])
    for i, j in np.argwhere(~(np.isfinite(found) & (found >= 0)))[:1].tolist():
        at = f"from {labels[0](i)} to {labels[1](j)}"
        raise InputError("metric", f"must give finite, non-negative distances; it does not {at}")
    return found


def ranked(cost: list[list[Any]]) -> tuple[NDArray[np.float64], list[Amount]]:
    """Return the ranks of distances as doubles, which bisection compares exactly, and the distances by rank."""
    known = {cell: amount(cell) for cell in {cell for row in cost for cell in row}}
    levels = sorted({level for level in known.values() if level is not None})
    place = {level: float(rank) for rank, level in enumerate(levels)}
    return np.array([[place[known[cell]] for cell in row] for row in cost]), levels  # type: ignore[index]
