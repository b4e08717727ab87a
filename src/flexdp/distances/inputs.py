"""Finite measures as the distances read them: points, exact masses on one common scale, and what a coupling is."""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import array as array_given
from flexdp._core.domains import elements
from flexdp._core.exact import exact
from flexdp._core.text import plain_scalar
from flexdp.errors import InputError
from flexdp.histogram import Histogram, canonical_keys, object_keys

__all__ = [
    "Coupling",
    "Measure",
    "Scaled",
    "Transport",
    "Weighted",
    "are_dates",
    "line_coordinates",
    "read",
    "read_weights",
    "scaled",
]

_INT64 = 2**63 - 1
_EXACT_DOUBLE = 2**53  # whole numbers up to here are doubles


@dataclass(frozen=True, eq=False)
class Weighted:
    """Points with a weight each: ``points`` n numbers, or n×d; ``weights`` integers, Fractions or decimals.

    Weights need not sum to one: distances compare the distributions they are in proportion to.

    >>> from flexdp.distances import lossy_winf
    >>> lossy_winf(Weighted([0, 10], ["0.9", "0.1"]), [0], gamma="0.1").value
    0.0
    """

    points: Any
    weights: Any


@dataclass(frozen=True, eq=False, slots=True)
class Measure:
    """Distinct or repeated points with whole, positive masses; ``masses`` None says that each weighs one.

    ``index`` gives each point's place in what the caller gave, where points without mass were left out.
    """

    points: NDArray[Any]
    masses: NDArray[Any] | None
    index: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.points)

    @property
    def total(self) -> int:
        """The sum of the masses."""
        return len(self.points) if self.masses is None else _sum(self.masses)

    def given(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places among the points with mass as places among the caller's points."""
        return places if self.index is None else self.index[places]


@dataclass(frozen=True, eq=False)
class Coupling(Sequence[tuple[int, int, Fraction]]):
    """Which mass goes where: triples (i, j, mass), point i of the first measure to point j of the second.

    The masses are exact: ``numerators`` over one ``denominator``, which stands for the whole of each distribution.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    numerators: NDArray[Any]
    denominator: int

    def __len__(self) -> int:
        return len(self.numerators)

    @overload
    def __getitem__(self, place: int) -> tuple[int, int, Fraction]: ...

    @overload
    def __getitem__(self, place: slice) -> list[tuple[int, int, Fraction]]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        mass = Fraction(int(self.numerators[place]), self.denominator)
        return int(self.sources[place]), int(self.targets[place]), mass

    def __iter__(self) -> Iterator[tuple[int, int, Fraction]]:
        for i, j, mass in zip(self.sources.tolist(), self.targets.tolist(), self.numerators.tolist(), strict=True):
            yield i, j, Fraction(mass, self.denominator)

    def __repr__(self) -> str:
        return f"<Coupling of {len(self)} pairs>"

    @property
    def mass(self) -> Fraction:
        """The fraction of each distribution that is transported."""
        return Fraction(_sum(self.numerators), self.denominator)


@dataclass(frozen=True, eq=False)
class Transport:
    """A distance and a coupling that attains it. The coupling is worked out when it is first asked for."""

    value: float
    plan: Callable[[], Coupling] = field(repr=False)

    @functools.cached_property
    def coupling(self) -> Coupling:
        """Triples (i, j, mass) over the points as they were given, masses exact."""
        return self.plan()

    @property
    def left_p(self) -> Fraction:
        """The fraction of the first distribution that is not transported."""
        return 1 - self.coupling.mass

    @property
    def left_q(self) -> Fraction:
        """The fraction of the second distribution that nothing is transported to."""
        return 1 - self.coupling.mass

    def __float__(self) -> float:
        return self.value


def _sum(masses: NDArray[Any]) -> int:
    if masses.dtype == object or int(masses.max(initial=0)) * len(masses) > _INT64:
        return sum(masses.tolist())
    return int(masses.sum())


def read(name: str, given: Any) -> Measure:
    """A histogram, weighted points or an array of samples as a measure; nothing stays shared with the caller."""
    if isinstance(given, Histogram):
        return _measure(name, given.keys, given.counts)
    if isinstance(given, Weighted):
        points = _points(name, given.points)
        weights = _weights(name, given.weights)
        if len(points) != len(weights):
            raise InputError(f"the weights of {name} must be as many as its points; give one weight for each point.")
        return _measure(name, points, weights)
    points = _points(name, given)
    if not len(points):
        raise InputError(f"{name} must hold at least one point; a distribution without points is undefined.")
    return Measure(points, None, None)


def read_weights(name: str, given: Any, expected: int) -> Measure:
    """The masses alone, for a cost matrix; the points are their own places."""
    if isinstance(given, Histogram):
        weights: NDArray[Any] = given.counts
    else:
        weights = _weights(name, given.weights if isinstance(given, Weighted) else given)
    if len(weights) != expected:
        side = "rows" if name in ("p", "a") else "columns"
        raise InputError(
            f"metric must be a matrix with as many {side} as {name} has weights; {name} has another number."
        )
    return _measure(name, np.arange(len(weights)), weights)


def _measure(name: str, points: NDArray[Any], weights: NDArray[Any]) -> Measure:
    """Leave out what weighs nothing; divide by the common divisor, so that equal weights become ones."""
    present = weights > 0
    if not present.any():
        raise InputError(f"{name} must have some mass; a distribution without mass is undefined.")
    index = None
    if not present.all():
        index = np.flatnonzero(present)
        points, weights = points[index], weights[index]
    if (weights == weights[0]).all():
        return Measure(points, None, index)
    common = functools.reduce(math.gcd, weights.tolist()) if weights.dtype == object else int(np.gcd.reduce(weights))
    return Measure(points, weights // common, index)


def _points(name: str, given: Any) -> NDArray[Any]:
    """Points as a flat array (numbers, or objects such as dates and texts) or as rows of doubles."""
    array = array_given(given)
    if array is None:
        raise InputError(f"the points of {name} must all have the same dimension; give n numbers or an n×d array.")
    if array.dtype.kind not in "biuf":
        if array.ndim == 1 and array.dtype.kind in "OU":
            try:
                return canonical_keys(array if array.dtype.kind == "O" else list(given))
            except InputError as error:
                raise InputError(str(error).replace("keys", f"the points of {name}", 1)) from None
        raise InputError(f"the points of {name} must be numbers; give n numbers or an n×d array of them.")
    if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]):
        raise InputError(f"the points of {name} must be n numbers or an n×d array; got {array.ndim} dimensions.")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 or array.dtype.kind == "f":
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise InputError(f"the points of {name} must be finite; leave out NaN and infinities.")
        return array
    if array.dtype.kind == "u" and len(array) and int(array.max()) > _INT64:
        return canonical_keys(array.tolist())
    return array.astype(np.int64)


def _weights(name: str, given: Any) -> NDArray[Any]:
    """Weights as whole numbers in the same proportion: int64 where they fit, else Python's integers."""
    array = given if isinstance(given, np.ndarray) else None
    if array is None and (listed := elements(given)) is not None:
        array = object_keys([_weight(name, weight) for weight in listed])
    if array is None or array.ndim != 1 or array.dtype.kind not in "iufO":
        raise InputError(f"the weights of {name} must be a flat sequence of numbers.")
    if not len(array):
        raise InputError(f"{name} must hold at least one weight; a distribution without points is undefined.")
    if array.dtype.kind == "i":
        whole: NDArray[Any] = array.astype(np.int64)
    else:
        cells = [_weight(name, cell) for cell in array.tolist()]
        rational = {cell: exact(f"a weight of {name}", cell) for cell in set(cells)}
        scale = math.lcm(*(value.denominator for value in rational.values()))
        numerators = {cell: int(value * scale) for cell, value in rational.items()}
        fits = all(abs(value) <= _INT64 for value in numerators.values())
        whole = np.array([numerators[cell] for cell in cells], dtype=np.int64 if fits else object)
    if whole.min() < 0:
        raise InputError(f"the weights of {name} must not be negative; leave out what has no mass.")
    return whole


def _weight(name: str, cell: object) -> object:
    """A weight as it was given, if it is a number or the text of one."""
    given = plain_scalar(cell)
    if isinstance(given, list | tuple | np.ndarray):
        raise InputError(f"the weights of {name} must be a flat sequence of numbers.")
    if isinstance(given, bool) or not isinstance(given, Real | Decimal | str):
        exact(f"a weight of {name}", given)  # says what it must be
    return given


@dataclass(frozen=True, eq=False, slots=True)
class Scaled:
    """Two distributions on one scale: whole masses that sum to ``total`` on either side."""

    a: NDArray[Any]
    b: NDArray[Any]
    total: int

    def needed(self, lost: Fraction) -> int:
        """The least whole mass that is not below (1 − lost) of the total."""
        return math.ceil((1 - lost) * self.total)


def scaled(p: Measure, q: Measure) -> Scaled:
    """Normalise both without rounding: the common total is the least common multiple of the two."""
    mass_p, mass_q = p.total, q.total
    total = math.lcm(mass_p, mass_q)
    return Scaled(_stretched(p, total // mass_p, total), _stretched(q, total // mass_q, total), total)


def _stretched(measure: Measure, factor: int, total: int) -> NDArray[Any]:
    kind: Any = np.int64 if total <= _INT64 else object
    if measure.masses is None:
        return np.full(len(measure), factor, dtype=kind)
    return measure.masses.astype(kind) * factor if factor != 1 else measure.masses.astype(kind)


def line_coordinates(p: NDArray[Any], q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both sets of points on one line, as doubles where nothing is lost by that, else as Fractions.

    Dates count in days. Whole numbers are shifted by their common minimum, which keeps their distances.
    """
    p, q = _numbers(p), _numbers(q)
    if p.dtype.kind == q.dtype.kind == "f":
        reach = max(p.max() / 2 - q.min() / 2, q.max() / 2 - p.min() / 2) if len(p) and len(q) else 0.0
        if reach > np.finfo(np.float64).max / 2:
            raise InputError("the points of p and q must have distances that are doubles; scale the coordinates down.")
        return p, q
    if p.dtype.kind == q.dtype.kind == "i":
        low, high = min(int(p.min()), int(q.min())), max(int(p.max()), int(q.max()))
        if high - low <= _EXACT_DOUBLE:
            return (p - low).astype(np.float64), (q - low).astype(np.float64)
    elif {p.dtype.kind, q.dtype.kind} == {"i", "f"}:
        whole = p if p.dtype.kind == "i" else q
        if int(whole.min()) >= -_EXACT_DOUBLE and int(whole.max()) <= _EXACT_DOUBLE:
            return line_coordinates(p.astype(np.float64), q.astype(np.float64))
    return _rationals(p), _rationals(q)


def _numbers(points: NDArray[Any]) -> NDArray[Any]:
    if points.dtype.kind == "b":
        return points.astype(np.int64)
    if points.dtype.kind != "O" or not len(points):
        return points
    if isinstance(points[0], dt.date):
        return np.array([day.toordinal() for day in points], dtype=np.int64)
    if isinstance(points[0], str):
        raise InputError("texts have no distance of their own; give metric= a function of two of them, or a matrix.")
    return points


def _rationals(points: NDArray[Any]) -> NDArray[Any]:
    exactly = np.empty(len(points), dtype=object)
    exactly[:] = [Fraction(point) for point in points.tolist()]
    return exactly


def are_dates(points: NDArray[Any]) -> bool:
    """Whether the points are days, which have no distance to numbers."""
    return points.dtype.kind == "O" and len(points) > 0 and isinstance(points[0], dt.date)
