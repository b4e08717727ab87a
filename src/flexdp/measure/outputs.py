"""Outputs of a mechanism: one per run, or a law; and the laws that a randomised statistic returns."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Mapping
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements, pairs
from flexdp._core.exact import exact
from flexdp._core.keys import object_keys
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances.inputs import Weighted
from flexdp.errors import InputError
from flexdp.statistics.base import to_python

__all__ = ["Cells", "Law", "Line", "cells_of", "is_law", "is_missing", "law_of", "missing", "on_a_line", "only", "runs"]

Cells: TypeAlias = list[Any] | NDArray[Any]

_PLAIN = {int, float, str, bool, tuple, set, frozenset, type(None)}  # nothing to convert


class Law(NamedTuple):
    """Outputs with their probabilities; ``masses`` is None where they are runs, which count equally."""

    points: Cells
    masses: list[Fraction] | None

    def exactly(self) -> tuple[list[Any], list[Fraction]]:
        """Return distinct outputs, as far as they can be compared, with their probabilities."""
        points = self.points if isinstance(self.points, list) else self.points.tolist()
        masses = [Fraction(1, len(points))] * len(points) if self.masses is None else self.masses
        together: dict[Any, Fraction] = {}
        try:
            for point, mass in zip(points, masses, strict=True):
                key = None if is_missing(point) else point
                together[key] = together.get(key, Fraction(0)) + mass
        except Exception:  # noqa: BLE001  (an object may raise anything when it is hashed or compared)
            return points, masses
        return list(together), list(together.values())


def runs(outputs: object) -> Law:
    """Read outputs: a sequence with one entry per run, a mapping to probabilities, or weighted points."""
    if is_law(outputs):
        return law_of("outputs", outputs)
    cells = cells_of(outputs) if isinstance(outputs, Collection) or hasattr(type(outputs), "__len__") else None
    if cells is None:
        raise InputError("outputs", "must be a sequence with one entry per run, or a law", given=safe_repr(outputs))
    return Law(cells, None)


def is_law(value: object) -> bool:
    """Return True for a mapping from outputs to probabilities and for weighted points."""
    return isinstance(value, Mapping | Weighted)


def law_of(name: str, value: object) -> Law:
    """Read a law; its weights are taken exactly and normalised."""
    if isinstance(value, Weighted):
        points, weights = elements(value.points), elements(value.weights)
    else:
        listed = pairs(value)
        points = None if listed is None else [point for point, _ in listed]
        weights = None if listed is None else [weight for _, weight in listed]
    if points is None or weights is None or len(points) != len(weights):
        raise InputError(name, ": a law must give one probability for each output")
    masses = [_weight(name, weight) for weight in weights]
    total = sum(masses)
    if not total:
        raise InputError(name, ": the probabilities of a law must not all be 0")
    kept = [(point, mass / total) for point, mass in zip(points, masses, strict=True) if mass]
    return Law([_plain(point) for point, _ in kept], [mass for _, mass in kept])


def _weight(name: str, weight: object) -> Fraction:
    try:
        number = exact(name, weight)
    except InputError:
        number = Fraction(-1)
    if number < 0:
        raise InputError(name, ": every probability of a law must be a non-negative number", given=safe_repr(weight))
    return number


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
