"""Distances from outputs to attainable values: on a line, between points, by equality, or by the caller's function."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements
from flexdp._core.nearest import nearest
from flexdp.distances.sets import hausdorff
from flexdp.errors import InputError, P
from flexdp.measure.outputs import Cells, is_missing, on_a_line
from flexdp.statistics import Support

__all__ = ["Distance", "all_gaps", "least_gaps", "own_distance", "to_intervals"]

Distance: TypeAlias = Callable[[Any, Any], float]

_CELLS = 2**20  # distances between points in one block


def least_gaps(values: Cells, outputs: Cells, distance: Distance | None) -> NDArray[np.float64]:
    """Return the distance from each output to the nearest value; there is at least one value, and none is missing."""
    if distance is not None:
        return np.array([min(_own(distance, output, value) for value in values) for output in outputs])
    line, points = on_a_line(values), on_a_line(outputs)
    if line is not None and points is not None and line.of == points.of:
        common: Any = object if "O" in (line.places.dtype.kind, points.places.dtype.kind) else np.float64
        gaps = nearest(np.unique(line.places.astype(common)), points.places.astype(common)).gap
        return np.asarray(gaps, dtype=np.float64)
    rows, columns = _rows(outputs), _rows(values)
    if rows is not None and columns is not None and rows.shape[1] == columns.shape[1]:
        return _least_of_points(rows, columns)
    try:
        known = set(values)
        return np.array([0.0 if output in known else math.inf for output in outputs])
    except Exception:  # noqa: BLE001  (an object may raise anything when it is hashed or compared)
        raise _no_distance() from None


def all_gaps(outputs: list[Any], values: list[Any], distance: Distance | None) -> NDArray[np.float64]:
    """Return all distances, one row per output; "no value" is at distance 0 from itself alone."""
    gaps = np.full((len(outputs), len(values)), math.inf)
    here = [i for i, output in enumerate(outputs) if not is_missing(output)]
    there = [j for j, value in enumerate(values) if not is_missing(value)]
    gone = [j for j, value in enumerate(values) if is_missing(value)]
    for i, output in enumerate(outputs):
        if is_missing(output):
            gaps[i, gone] = 0.0
    if here:
        known = [outputs[i] for i in here]
        for j in there:
            gaps[here, j] = least_gaps([values[j]], known, distance)
    return gaps


def to_intervals(low: NDArray[Any], high: NDArray[Any], points: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distance from each point to the nearest of some closed intervals."""
    order = np.argsort(low, kind="stable")
    low, reach = low[order], np.maximum.accumulate(high[order])
    before = np.searchsorted(low, points, side="right") - 1  # the last interval that begins at or before the point
    left = np.where(before >= 0, np.maximum(0, points - reach[np.maximum(before, 0)]), math.inf)
    after = np.minimum(before + 1, len(low) - 1)
    right = np.where(before + 1 < len(low), np.maximum(0, low[after] - points), math.inf)
    return np.asarray(np.minimum(left, right), dtype=np.float64)


def own_distance(statistic: Any) -> Distance | None:
    """Return the distance of a built-in statistic's values that the values do not tell: Hausdorff's, of supports."""
    return _between_sets if isinstance(statistic, Support) else None


def _between_sets(one: Any, two: Any) -> float:
    here, there = elements(one), elements(two)
    if not here or not there:
        return 0.0 if here == there else math.inf
    if isinstance(there[0], str):
        return 0.0 if set(here) == set(there) else math.inf
    return hausdorff(here, there).value


def _rows(cells: Cells) -> NDArray[np.float64] | None:
    """Return points, given as tuples of as many numbers each, as rows."""
    if not isinstance(cells, list) or not cells or not isinstance(cells[0], tuple):
        return None
    size = len(cells[0])
    for cell in cells:
        if not isinstance(cell, tuple) or len(cell) != size or not all(isinstance(part, Real) for part in cell):
            return None
    return np.array(cells, dtype=np.float64) if size else None


def _least_of_points(rows: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    step = max(1, _CELLS // columns.size)
    blocks = [
        np.sqrt(((rows[i : i + step, None, :] - columns[None, :, :]) ** 2).sum(axis=2)).min(axis=1)
        for i in range(0, len(rows), step)
    ]
    return np.concatenate(blocks) if blocks else np.empty(0)


def _own(distance: Distance, output: Any, value: Any) -> float:
    try:
        gap = float(distance(output, value))
    except InputError:
        raise
    except Exception as failure:
        raise InputError(
            "distance",
            f"raised {type(failure).__name__}",
            remedy="It is called with an output and a value, and must return a number.",
        ) from failure
    if not gap >= 0:
        raise InputError("distance", "must return a non-negative number")
    return gap


def _no_distance() -> InputError:
    return InputError(
        "outputs",
        "must be numbers, dates or hashable values",
        remedy=("For anything else, pass ", P("distance"), "."),
    )
