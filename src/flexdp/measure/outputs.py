"""Outputs of a mechanism, one per run or with their masses, and their distances to the values of a statistic."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements
from flexdp._core.keys import object_keys
from flexdp._core.nearest import nearest
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances import Weighted, hausdorff
from flexdp.distances.inputs import law_given
from flexdp.distribution import REFUSED, Law, Whole
from flexdp.errors import InputError, P
from flexdp.statistics import Support
from flexdp.statistics.base import to_python

__all__ = [
    "Cells",
    "Distance",
    "Line",
    "Outputs",
    "all_gaps",
    "cells_of",
    "is_law",
    "is_missing",
    "least_gaps",
    "missing",
    "on_a_line",
    "only",
    "outputs_given",
    "own_distance",
    "to_intervals",
]

Cells: TypeAlias = list[Any] | NDArray[Any]
Distance: TypeAlias = Callable[[Any, Any], float]

_PLAIN = {int, float, str, bool, tuple, set, frozenset, type(None)}  # nothing to convert
_CELLS = 2**20  # distances between points in one block


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """Outputs with their masses, exact or as an array of doubles; ``masses`` is None where each is a run."""

    points: Cells
    masses: Any = None

    def exactly(self) -> tuple[list[Any], list[Fraction]]:
        """Return distinct outputs, as far as they can be compared, with their exact masses."""
        points = self.points if isinstance(self.points, list) else self.points.tolist()
        masses = [Fraction(1, len(points))] * len(points) if self.masses is None else map(Fraction, self.masses)
        together: dict[Any, Fraction] = {}
        apart: list[tuple[Any, Fraction]] = []  # unhashable outputs, never merged
        for point, mass in zip(points, masses, strict=True):
            key = None if is_missing(point) else point
            try:
                together[key] = together.get(key, Fraction(0)) + mass
            except TypeError:
                apart.append((key, mass))
        return [*together, *(point for point, _ in apart)], [*together.values(), *(mass for _, mass in apart)]


def is_law(value: object) -> bool:
    """Return True for a law: a mapping from outputs to probabilities, weighted points, or a Distribution."""
    return isinstance(value, Mapping | Weighted | Law)


def outputs_given(given: object, name: str = "outputs") -> Outputs:
    """Read outputs: a sequence with one entry per run, or a law."""
    if isinstance(given, Whole):
        low, masses = given.dense
        return Outputs(np.arange(low, low + len(masses)), masses)
    if isinstance(given, Law):
        law = given.listed()
        kept = {None if outcome is REFUSED else outcome: mass for outcome, mass in law.masses.items() if mass}
        if len(kept) < len(law.masses):
            kept = dict(law.push(lambda outcome: None if outcome is REFUSED else outcome).masses)
        chances: Any = list(kept.values())
        if any(isinstance(mass, float) for mass in chances):
            return Outputs([_plain(outcome) for outcome in kept], np.array(chances, dtype=np.float64))
        lost = 1 - sum(chances)  # mass that was not followed is an output infinitely far from everything
        more = ([None], [lost]) if lost > 0 else ([], [])
        return Outputs([*map(_plain, kept), *more[0]], [*chances, *more[1]])
    if is_law(given):
        rows = law_given(name, given)
        return Outputs([_plain(outcome) for outcome, _ in rows], [mass for _, mass in rows])
    cells = cells_of(given) if isinstance(given, Collection) or hasattr(type(given), "__len__") else None
    if cells is None:
        raise InputError(name, "must be a sequence with one entry per run, or a law", given=safe_repr(given))
    return Outputs(cells)


def cells_of(values: object) -> Cells | None:
    """Keep a flat array of numbers, which is fast; turn anything else into a list of plain values."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values if values.dtype.kind in "biuf" else values.tolist()
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "biuf":
        return [tuple(row) for row in values.tolist()]  # points
    listed = elements(values)
    return None if listed is None else [_plain(value) for value in listed]


def _plain(value: object) -> Any:
    if type(value) in _PLAIN:
        return value
    return tuple(value.tolist()) if isinstance(value, np.ndarray) and value.ndim else plain_scalar(to_python(value))


def only(cells: Cells, chosen: NDArray[np.bool_]) -> Cells:
    """Return the chosen outputs."""
    if isinstance(cells, list):
        return [cell for cell, wanted in zip(cells, chosen, strict=True) if wanted]
    return cells[chosen]


def is_missing(cell: object) -> bool:
    """Return True for a run without an output: None or NaN."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def missing(cells: Cells) -> NDArray[np.bool_]:
    """Mark the runs without an output."""
    if isinstance(cells, list):
        return np.array([is_missing(cell) for cell in cells], dtype=bool)
    return np.isnan(cells)


class Line(NamedTuple):
    """Values as places on a line; ``of`` tells apart numbers, dates and durations, which have no distances."""

    of: str
    places: NDArray[Any]


def on_a_line(cells: Cells) -> Line | None:
    """Place values on a line: numbers as doubles, or exactly where doubles would round; dates and durations in days."""
    if not isinstance(cells, list):
        rounds = cells.dtype.kind in "iu" and len(cells) > 0 and max(abs(int(cells.min())), int(cells.max())) > 2**53
        return Line("numbers", cells.astype(object) if rounds else cells)
    if all(isinstance(cell, dt.date) and not isinstance(cell, dt.datetime) for cell in cells):
        return Line("dates", np.array([cell.toordinal() for cell in cells]))
    if all(isinstance(cell, dt.timedelta) for cell in cells):
        return Line("spans", np.array([cell / dt.timedelta(days=1) for cell in cells]))
    if not all(isinstance(cell, Real) for cell in cells):
        return None
    doubles = all(isinstance(cell, float) or (isinstance(cell, int) and abs(cell) <= 2**53) for cell in cells)
    return Line("numbers", np.array(cells, dtype=np.float64) if doubles else object_keys(cells))


def least_gaps(values: Cells, outputs: Cells, distance: Distance | None) -> NDArray[np.float64]:
    """Return the distance from each output to the nearest value, infinite where there is none; None is near None."""
    errors, gone = np.full(len(outputs), math.inf), missing(outputs)
    known: Cells = values
    if isinstance(values, list):
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            errors[gone] = 0.0
    if len(known) and not gone.all():
        errors[~gone] = _least(known, only(outputs, ~gone), distance)
    return errors


def _least(values: Cells, outputs: Cells, distance: Distance | None) -> NDArray[np.float64]:
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
    except TypeError:
        raise InputError(
            "outputs",
            "must be numbers, dates or hashable values",
            remedy=("For anything else, pass ", P("distance"), "."),
        ) from None


def all_gaps(outputs: list[Any], values: list[Any], distance: Distance | None) -> NDArray[np.float64]:
    """Return all distances, one row per output."""
    columns = [least_gaps([value], outputs, distance) for value in values]
    return np.array(columns).T if columns else np.empty((len(outputs), 0))


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
    gap = float(distance(output, value))
    if not gap >= 0:
        raise InputError("distance", "must return a non-negative number")
    return gap
