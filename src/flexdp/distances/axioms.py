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
from flexdp.errors import InputError

__all__ = ["Amount", "amount", "check_axioms", "distances_between", "labels_of", "sample"]

Amount: TypeAlias = Fraction | float  # a float only where it is infinite

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


def labels_of(where: str, points: Sequence[Any] | int, *, quoted: bool) -> Callable[[int], str]:
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
    labels: tuple[Callable[[int], str], Callable[[int], str]],
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
    labels: Callable[[int], str],
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
