"""Finite measures, as the distances take them: points, and exact integer masses on a common scale."""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import array as array_given
from flexdp._core.domains import elements, pairs
from flexdp._core.exact import exact
from flexdp._core.keys import canonical_keys, object_keys
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances.coupling import LARGEST_INT64, total
from flexdp.distribution import Law as FiniteLaw
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram

__all__ = [
    "Law",
    "Measure",
    "Scaled",
    "Weighted",
    "are_dates",
    "law_given",
    "line_coordinates",
    "read",
    "read_weights",
    "scaled",
    "weighted_pairs",
]

_EXACT_DOUBLE = 2**53  # integers up to here are exact doubles
_POINTS = "Pass n numbers or an n×d array."


@dataclass(frozen=True, eq=False)
class Weighted:
    """Weighted points, for measures that are neither a histogram nor a sample.

    Weights need not sum to one: a distance compares the normalised distributions.

    Parameters
    ----------
    points
        n numbers, dates or texts, or an n×d array.
    weights
        One weight per point: integers, Fractions, floats or texts such as "0.1", taken exactly.

    Examples
    --------
    >>> from flexdp.distances import lossy_winf
    >>> lossy_winf(Weighted([0, 10], ["0.9", "0.1"]), [0], gamma="0.1").value
    0.0
    """

    points: Any
    weights: Any


@dataclass(frozen=True, eq=False, slots=True)
class Measure:
    """Points, possibly repeated, with positive integer masses; ``masses`` is None where all weigh one.

    ``index`` maps points to the caller's points where some without mass were left out.
    """

    points: NDArray[Any]
    masses: NDArray[Any] | None
    index: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.points)

    @property
    def total(self) -> int:
        """Sum of the masses."""
        return len(self.points) if self.masses is None else total(self.masses)

    def given(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Map indices of points with mass to indices of the caller's points."""
        return places if self.index is None else self.index[places]


def read(name: str, given: Any) -> Measure:
    """Read a histogram, a law, weighted points or an array of samples; share nothing with the caller."""
    if isinstance(given, Histogram):
        return _measure(name, given.keys, given.counts)
    if isinstance(given, Mapping | FiniteLaw):
        rows = weighted_pairs(name, given) or []
        given = Weighted([point for point, _ in rows], [weight for _, weight in rows])
    if isinstance(given, Weighted):
        points = _points(name, given.points)
        weights = _weights(name, given.weights)
        if len(points) != len(weights):
            raise InputError(name, "must have exactly one weight per point")
        return _measure(name, points, weights)
    points = _points(name, given)
    if not len(points):
        raise InputError(name, "must contain at least one point", remedy="A distribution without points is undefined.")
    return Measure(points, None, None)


def read_weights(name: str, given: Any, expected: int) -> Measure:
    """Read masses alone, for a cost matrix; each point is its own index."""
    if isinstance(given, Histogram):
        weights: NDArray[Any] = given.counts
    else:
        weights = _weights(name, given.weights if isinstance(given, Weighted) else given)
    if len(weights) != expected:
        side = "rows" if name in ("p", "a") else "columns"
        raise InputError("metric", (f"must be a matrix with as many {side} as ", P(name), " has weights"))
    return _measure(name, np.arange(len(weights)), weights)


def _measure(name: str, points: NDArray[Any], weights: NDArray[Any]) -> Measure:
    """Leave out points without mass and divide by the common divisor, so that equal weights become ones."""
    present = weights > 0
    if not present.any():
        raise InputError(name, "must have positive mass", remedy="A distribution without mass is undefined.")
    index = None
    if not present.all():
        index = np.flatnonzero(present)
        points, weights = points[index], weights[index]
    if (weights == weights[0]).all():
        return Measure(points, None, index)
    common = functools.reduce(math.gcd, weights.tolist()) if weights.dtype == object else int(np.gcd.reduce(weights))
    return Measure(points, weights // common, index)


def _points(name: str, given: Any) -> NDArray[Any]:
    """Read points as a flat array (numbers, dates or texts) or as rows of doubles."""
    array = array_given(given)
    if array is None:
        raise InputError(name, ": points must all have the same dimension", remedy=_POINTS)
    if array.dtype.kind not in "biuf":
        if array.ndim == 1 and array.dtype.kind in "OU":
            try:
                return canonical_keys(array if array.dtype.kind == "O" else list(given))
            except InputError:
                raise InputError(
                    name,
                    ": points must be all numbers, all dates or all texts, and finite",
                    remedy="Do not mix them; leave out NaN and infinities.",
                ) from None
        raise InputError(name, ": points must be numbers", remedy=_POINTS)
    if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]):
        raise InputError(name, ": points must be n numbers or an n×d array", given=f"{array.ndim} dimensions")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 or array.dtype.kind == "f":
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise InputError(name, ": points must be finite", remedy="Leave out NaN and infinities.")
        return array
    if array.dtype.kind == "u" and len(array) and int(array.max()) > LARGEST_INT64:
        return canonical_keys(array.tolist())
    return array.astype(np.int64)


def _weights(name: str, given: Any) -> NDArray[Any]:
    """Read weights as integers in the same proportion: int64 where they fit, else Python integers."""
    array = given if isinstance(given, np.ndarray) else None
    if array is None and (listed := elements(given)) is not None:
        array = object_keys([_weight(name, weight) for weight in listed])
    if array is None or array.ndim != 1 or array.dtype.kind not in "iufO":
        raise InputError(name, ": weights must be a flat sequence of numbers")
    if not len(array):
        raise InputError(name, "must have at least one weight", remedy="A distribution without points is undefined.")
    if array.dtype.kind == "i":
        whole: NDArray[Any] = array.astype(np.int64)
    else:
        cells = [_weight(name, cell) for cell in array.tolist()]
        rational = {cell: _rational(name, cell) for cell in set(cells)}
        scale = math.lcm(*(value.denominator for value in rational.values()))
        numerators = {cell: int(value * scale) for cell, value in rational.items()}
        fits = all(abs(value) <= LARGEST_INT64 for value in numerators.values())
        whole = np.array([numerators[cell] for cell in cells], dtype=np.int64 if fits else object)
    if whole.min() < 0:
        raise InputError(name, ": weights must not be negative", remedy="Leave out points without mass.")
    return whole


def _weight(name: str, cell: object) -> object:
    """Return a weight as it was given, if it is a number or the text of one."""
    given = plain_scalar(cell)
    if isinstance(given, list | tuple | np.ndarray):
        raise InputError(name, ": weights must be a flat sequence of numbers")
    if isinstance(given, bool) or not isinstance(given, Real | Decimal | str):
        raise _no_weight(name, given)
    return given


def _rational(name: str, cell: object) -> Fraction:
    try:
        return exact(name, cell)
    except InputError:
        raise _no_weight(name, cell) from None


def _no_weight(name: str, cell: object) -> InputError:
    return InputError(
        name,
        ": every weight must be a finite number",
        given=safe_repr(cell),
        remedy="Write it as an integer, a decimal or a fraction, such as 3, 0.25 or '1/3'.",
    )


@dataclass(frozen=True, eq=False, slots=True)
class Scaled:
    """Two distributions on one scale: integer masses that sum to ``total`` on either side."""

    a: NDArray[Any]
    b: NDArray[Any]
    total: int

    def needed(self, lost: Fraction) -> int:
        """Return the least integer mass of at least (1 − lost) of the total."""
        return math.ceil((1 - lost) * self.total)


def scaled(p: Measure, q: Measure) -> Scaled:
    """Normalise both without rounding: the common total is the least common multiple of the two."""
    mass_p, mass_q = p.total, q.total
    common = math.lcm(mass_p, mass_q)
    return Scaled(_stretched(p, common // mass_p, common), _stretched(q, common // mass_q, common), common)


def _stretched(measure: Measure, factor: int, common: int) -> NDArray[Any]:
    kind: Any = np.int64 if common <= LARGEST_INT64 else object
    if measure.masses is None:
        return np.full(len(measure), factor, dtype=kind)
    return measure.masses.astype(kind) * factor if factor != 1 else measure.masses.astype(kind)


def line_coordinates(
    p: NDArray[Any], q: NDArray[Any], names: tuple[str, str] = ("p", "q")
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Place both sets of points on one line, as doubles where that is lossless, else as Fractions.

    Dates count in days. Integers are shifted by their common minimum, which preserves distances.
    """
    p, q = _numbers(p, names[0]), _numbers(q, names[1])
    if p.dtype.kind == q.dtype.kind == "f":
        reach = max(p.max() / 2 - q.min() / 2, q.max() / 2 - p.min() / 2) if len(p) and len(q) else 0.0
        if reach > np.finfo(np.float64).max / 2:
            raise InputError(
                names[0],
                ("and ", P(names[1]), " must not be further apart than the largest double"),
                remedy="Scale the coordinates down.",
            )
        return p, q
    if p.dtype.kind == q.dtype.kind == "i":
        low, high = min(int(p.min()), int(q.min())), max(int(p.max()), int(q.max()))
        if high - low <= _EXACT_DOUBLE:
            return (p - low).astype(np.float64), (q - low).astype(np.float64)
    elif {p.dtype.kind, q.dtype.kind} == {"i", "f"}:
        whole = p if p.dtype.kind == "i" else q
        if int(whole.min()) >= -_EXACT_DOUBLE and int(whole.max()) <= _EXACT_DOUBLE:
            return line_coordinates(p.astype(np.float64), q.astype(np.float64), names)
    return _rationals(p), _rationals(q)


def _numbers(points: NDArray[Any], name: str) -> NDArray[Any]:
    if points.dtype.kind == "b":
        return points.astype(np.int64)
    if points.dtype.kind != "O" or not len(points):
        return points
    if isinstance(points[0], dt.date):
        return np.array([day.toordinal() for day in points], dtype=np.int64)
    if isinstance(points[0], str):
        raise InputError(
            name,
            ": texts have no distance of their own",
            remedy=("Pass ", P("metric"), " as a function of two texts or as a matrix of distances."),
        )
    return points


def _rationals(points: NDArray[Any]) -> NDArray[Any]:
    exactly = np.empty(len(points), dtype=object)
    exactly[:] = [Fraction(point) for point in points.tolist()]
    return exactly


def are_dates(points: NDArray[Any]) -> bool:
    """Return True for dates, which have no distance to numbers."""
    return points.dtype.kind == "O" and len(points) > 0 and isinstance(points[0], dt.date)


Law: TypeAlias = tuple[tuple[Any, Fraction], ...]  # points and their probabilities, which sum to one


def law_given(name: str, output: Any, label: str = "") -> Law:
    """Read an output: a mapping, a list of pairs or weighted points are a law, anything else a point.

    Weights are normalised; points of weight zero are left out.
    """
    found = weighted_pairs(name, output)
    if found is None:
        return ((output, Fraction(1)),)
    at = f" at {label}" if label else ""
    weights = [exact(name, weight) for _, weight in found]
    total = sum(weights, Fraction(0))
    if any(weight < 0 for weight in weights) or not total:
        raise InputError(name, f"must have probabilities of at least 0, not all of them 0{at}")
    return tuple((point, weight / total) for (point, _), weight in zip(found, weights, strict=True) if weight)


def weighted_pairs(name: str, output: Any) -> list[tuple[Any, Any]] | None:
    """Return points and weights where a law was given; None for a single point."""
    if isinstance(output, FiniteLaw):
        return list(output.listed().masses.items())
    if isinstance(output, Mapping):
        if (found := pairs(output)) is None:
            raise InputError(name, "must be a mapping from points to probabilities")
        return found
    if isinstance(output, Weighted):
        points, weights = elements(output.points) or [], elements(output.weights) or []
        if len(points) != len(weights):
            raise InputError(name, "must have exactly one weight per point")
        return list(zip(points, weights, strict=True))
    listed = elements(output) if isinstance(output, list) else None
    if listed and all(isinstance(pair, tuple) and len(elements(pair) or ()) == 2 for pair in listed):
        return listed
    return None
