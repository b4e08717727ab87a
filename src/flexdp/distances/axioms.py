"""Axioms of metrics and quasi-metrics, checked on the points at hand; what breaks them is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import said
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances.metrics import Metric
from flexdp.errors import InputError

__all__ = [
    "Amount",
    "amount",
    "called",
    "check_axioms",
    "check_sample",
    "checked_costs",
    "distances_between",
    "labels_of",
    "ranked",
    "sample",
]

Amount: TypeAlias = Fraction | float  # a float only where it is infinite
Label: TypeAlias = Callable[[int], str]

_MOST_TRIANGLES = 300  # points on which the triangle inequality is checked; of more, so many spread evenly
_SLACK = 1e-9  # relative: a function may add in another order, which changes the last digits


def amount(value: object) -> Amount | None:
    """Return a distance as an exact number, by its shortest decimal if it is a double; None if it is not a number."""
    given = plain_scalar(value)
    if isinstance(given, bool | np.bool_):
        return Fraction(int(given))
    if isinstance(given, int | Fraction):
        return Fraction(given)
    try:
        number = float(given)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001  (an object may raise anything when it is converted)
        return None
    if math.isnan(number):
        return None
    return number if math.isinf(number) else said(number)


def labels_of(where: str, points: Sequence[Any] | int, *, quoted: bool) -> Label:
    """Return a function that names point i in a message: by its place, and by its value only where ``quoted``."""
    if isinstance(points, int) or not quoted:
        return lambda i: f"{where}[{i}]"

    def label(i: int) -> str:
        shown = safe_repr(points[i])
        return f"{where}[{i}]" if shown.startswith(("an object", "a ")) else f"{where}[{i}] = {shown}"

    return label


def distances_between(
    name: str,
    distance: Callable[[Any, Any], Any],
    here: Sequence[Any],
    there: Sequence[Any],
    labels: tuple[Label, Label],
    *,
    quoted: bool = False,
) -> list[list[Any]]:
    """Call a function on all pairs of points; say where it raises or returns no number.

    The exception is kept as the cause only where the points may be ``quoted``.
    """
    rows = []
    for i, a in enumerate(here):
        row = []
        for j, b in enumerate(there):
            try:
                found = distance(a, b)
            except Exception as error:  # noqa: BLE001  (a function of the caller's may raise anything)
                rule = f"must accept two points and return a number; it raised {type(error).__name__} on "
                problem = InputError(name, f"{rule}{labels[0](i)} and {labels[1](j)}")
                raise problem from (error if quoted else None)
            row.append(found)
        rows.append(row)
    return rows


def sample(size: int, most: int = _MOST_TRIANGLES) -> list[int]:
    """Choose the points on which the triangle inequality is checked: all, or as many as ``most``, spread evenly."""
    return list(range(size)) if size <= most else [i * size // most for i in range(most)]


def check_axioms(
    name: str,
    matrix: NDArray[np.float64],
    labels: Label,
    *,
    symmetric: bool,
    infinite: bool = True,
) -> None:
    """Refuse a square matrix of distances that is not a metric (quasi-metric, if not ``symmetric``), naming the points.

    Different points may be at distance 0, as data sets of the same shape are. Equality is up to the last digits.
    """
    kind = "metric" if symmetric else "quasi-metric"
    wrong = np.isnan(matrix) | (matrix < 0)
    if not infinite:
        wrong |= np.isinf(matrix)
    for i, j in np.argwhere(wrong)[:1].tolist():
        rule = f"must be {'' if infinite else 'finite and '}at least 0: it is not from {labels(i)} to {labels(j)}"
        raise InputError(name, rule, given=str(matrix[i, j]))
    for i in np.flatnonzero(np.diag(matrix))[:1].tolist():
        rule = f"must be 0 from each point to itself: it is not at {labels(i)}"
        raise InputError(name, rule, given=str(matrix[i, i]))
    if symmetric:
        finite = np.where(np.isinf(matrix), -1.0, matrix)
        apart = np.abs(finite - finite.T) > _SLACK * np.maximum(np.abs(finite), np.abs(finite.T))
        for i, j in np.argwhere(apart)[:1].tolist():
            rule = f"must be symmetric: it is not between {labels(i)} and {labels(j)}"
            raise InputError(name, rule, given=f"{matrix[i, j]} and {matrix[j, i]}")
    places = sample(len(matrix))
    part = matrix[np.ix_(places, places)]
    for k, middle in enumerate(places):
        beyond = part > (part[:, k, None] + part[None, k, :]) * (1 + _SLACK)
        for i, j in np.argwhere(beyond)[:1].tolist():
            way = f"from {labels(places[i])} to {labels(places[j])} it is more than by way of {labels(middle)}"
            raise InputError(
                name,
                f"must satisfy the triangle inequality of a {kind}: {way}",
                given=f"{part[i, j]} and {part[i, k]} + {part[k, j]}",
            )


_NUMBERS = (int, float)
_MOST_CHECKED = 60  # points of both sides together on which a metric's axioms are checked


def checked_costs(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances if all are finite and non-negative, else raise an error."""
    if not np.isfinite(cost).all() or (cost < 0).any():
        raise InputError("metric", "must give finite, non-negative distances between these points")
    return cost


def called(
    function: Callable[[Any, Any], Any],
    here: Sequence[Any],
    there: Sequence[Any],
    names: tuple[str, str],
    *,
    name: str = "metric",
    symmetric: bool = True,
    trusted: bool = False,
) -> list[list[Any]]:
    """Call a function on all pairs; it must be a metric on these points, of which errors tell the places alone.

    A quasi-metric, which need not be ``symmetric``, may be infinite. The axioms of a function that is not ``trusted``
    nor one of :mod:`flexdp.distances.metrics` are checked on at most 60 points.
    """
    labels = labels_of(names[0], len(here), quoted=False), labels_of(names[1], len(there), quoted=False)
    cost = distances_between(name, function, here, there, labels)
    _doubles(name, cost, labels, finite=symmetric)
    if trusted or isinstance(function, Metric):
        return cost
    both = [*here, *there]

    def among(places: list[int], label: Label) -> NDArray[np.float64]:
        points = [both[place] for place in places]
        rows = distances_between(name, function, points, points, (label, label))
        return _doubles(name, rows, (label, label), finite=symmetric)

    check_sample(name, among, (len(here), len(there)), names, symmetric=symmetric)
    return cost


def check_sample(
    name: str,
    among: Callable[[list[int], Label], NDArray[np.float64]],
    sizes: tuple[int, int],
    names: tuple[str, str],
    *,
    symmetric: bool,
) -> None:
    """Check the axioms on at most 60 points of both sides together; ``among`` returns the distances of some."""
    places = sample(sum(sizes), _MOST_CHECKED)

    def label(k: int) -> str:
        place = places[k]
        return f"{names[0]}[{place}]" if place < sizes[0] else f"{names[1]}[{place - sizes[0]}]"

    check_axioms(name, among(places, label), label, symmetric=symmetric, infinite=not symmetric)


def _doubles(name: str, rows: list[list[Any]], labels: tuple[Label, Label], *, finite: bool) -> NDArray[np.float64]:
    """Return distances as doubles; say where one is not a number, negative or, for a metric, infinite."""
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if type(cell) not in _NUMBERS and amount(cell) is None and not isinstance(cell, float | np.floating):
                raise InputError(name, f"must return a number: it does not from {labels[0](i)} to {labels[1](j)}")
    found = np.array([[float(cell) for cell in row] for row in rows])
    wrong = ~(found >= 0) | (np.isinf(found) if finite else False)
    for i, j in np.argwhere(wrong)[:1].tolist():
        at = f"from {labels[0](i)} to {labels[1](j)}"
        raise InputError(name, f"must give {'finite, ' if finite else ''}non-negative distances; it does not {at}")
    return found


def ranked(cost: list[list[Any]]) -> tuple[NDArray[np.float64], list[Amount]]:
    """Return the ranks of distances as doubles, which bisection compares exactly, and the distances by rank."""
    known = {cell: amount(cell) for cell in {cell for row in cost for cell in row}}
    levels = sorted({level for level in known.values() if level is not None})
    place = {level: float(rank) for rank, level in enumerate(levels)}
    return np.array([[place[known[cell]] for cell in row] for row in cost]), levels  # type: ignore[index]
