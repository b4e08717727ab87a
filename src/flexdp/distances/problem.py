"""Two measures and the distances between their points: the input of every distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances import transport as _transport
from flexdp.distances.coupling import Coupling, Side
from flexdp.distances.ground import checked_costs
from flexdp.distances.inputs import Measure, are_dates, line_coordinates, read, read_weights
from flexdp.distances.line import Pieces
from flexdp.errors import InputError, P

__all__ = ["MetricLike", "Problem", "make_problem", "ordered"]

MetricLike: TypeAlias = str | Callable[[Any, Any], float] | NDArray[Any] | None

_ON_THE_LINE = (None, "euclidean", "cityblock", "chebyshev")  # in one dimension all of these are |x − y|


@dataclass(frozen=True, eq=False, slots=True)
class Problem:
    """Two measures with the distances between their points: on a line, or by a metric."""

    p: Measure
    q: Measure
    metric: MetricLike
    line: tuple[NDArray[Any], NDArray[Any]] | None

    def cost(self) -> NDArray[np.float64]:
        """Return the matrix of distances between all pairs of points."""
        if isinstance(self.metric, np.ndarray):
            return np.ascontiguousarray(self.metric[np.ix_(self.p.points, self.q.points)], dtype=np.float64)
        if self.line is not None:
            _transport.check_pairs(len(self.p), len(self.q))
            x, y = self.line
            gaps: NDArray[np.float64] = np.abs(x[:, None] - y[None, :]).astype(np.float64)
            return gaps
        return _transport.cost_matrix(self.p, self.q, "euclidean" if self.metric is None else self.metric)

    def plan(self, pieces: Pieces, total: int) -> Callable[[], Coupling]:
        """Return a function that makes the coupling, over the points as they were passed."""
        sides = None if isinstance(self.metric, np.ndarray) else lambda: (side(self.p, total), side(self.q, total))
        return lambda: Coupling(self.p.given(pieces.sources), self.q.given(pieces.targets), pieces.masses, total, sides)


def side(measure: Measure, total: int) -> Side:
    """A distribution with masses that sum to ``total``, as a coupling completes itself by it."""
    points = list(measure.points) if measure.points.ndim == 2 else measure.points.tolist()
    masses = [1] * len(points) if measure.masses is None else measure.masses.tolist()
    factor = total // measure.total
    return Side(points, [mass * factor for mass in masses], measure.given(np.arange(len(points))).tolist())


def make_problem(
    p: Any, q: Any, metric: MetricLike, *, names: tuple[str, str] = ("p", "q"), distances: bool = True
) -> Problem:
    """Check two measures and a metric; with ``distances`` False, points only need to be comparable."""
    metric = plain_scalar(metric)  # type: ignore[assignment]
    if not (metric is None or isinstance(metric, str | np.ndarray) or callable(metric)):
        raise InputError("metric", _transport.METRIC, given=safe_repr(metric))
    if isinstance(metric, np.ndarray):
        if metric.ndim != 2 or metric.dtype.kind not in "biuf":
            raise InputError(
                "metric",
                "must be a two-dimensional array of numbers where it is an array",
                remedy=(
                    "Give it one row per point of ",
                    P(names[0]),
                    " and one column per point of ",
                    P(names[1]),
                    ".",
                ),
            )
        costs = checked_costs(metric.astype(np.float64))
        first, second = (read_weights(name, z, size) for name, z, size in zip(names, (p, q), costs.shape, strict=True))
        return Problem(first, second, costs, None)
    first, second = read(names[0], p), read(names[1], q)
    shapes = [points.shape[1] if points.ndim == 2 else 1 for points in (first.points, second.points)]
    if shapes[0] != shapes[1]:
        raise InputError(
            names[0],
            ("and ", P(names[1]), " must have points of the same dimension"),
            given=f"{shapes[0]} and {shapes[1]} coordinates",
        )
    if are_dates(first.points) != are_dates(second.points):
        raise InputError(
            names[0],
            ("and ", P(names[1]), " must both contain dates or both contain numbers"),
            remedy="There is no distance between a date and a number.",
        )
    on_line = distances and shapes[0] == 1 and not callable(metric) and metric in _ON_THE_LINE
    line = line_coordinates(first.points, second.points, names) if on_line else None
    return Problem(first, second, metric, line)


def ordered(line: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the points in ascending order, and the permutation that sorts them."""
    order = np.argsort(line, kind="stable")
    return line[order], order
