"""Two measures and how far their points are apart: what every distance begins with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances import transport as _transport
from flexdp.distances.inputs import Coupling, Measure, are_dates, line_coordinates, read, read_weights
from flexdp.distances.line import Pieces
from flexdp.errors import InputError

__all__ = ["Metric", "Problem", "make_problem", "ordered"]

Metric: TypeAlias = str | Callable[[Any, Any], float] | NDArray[Any] | None

_ON_THE_LINE = (None, "euclidean", "cityblock", "chebyshev")  # in one dimension all of these are |x − y|


@dataclass(frozen=True, eq=False, slots=True)
class Problem:
    """Two measures and how far their points are apart: on a line, or by a metric."""

    p: Measure
    q: Measure
    metric: Metric
    line: tuple[NDArray[Any], NDArray[Any]] | None

    def cost(self) -> NDArray[np.float64]:
        if isinstance(self.metric, np.ndarray):
            return np.ascontiguousarray(self.metric[np.ix_(self.p.points, self.q.points)], dtype=np.float64)
        if self.line is not None:
            _transport.check_pairs(len(self.p), len(self.q))
            x, y = self.line
            gaps: NDArray[np.float64] = np.abs(x[:, None] - y[None, :]).astype(np.float64)
            return gaps
        return _transport.cost_matrix(self.p, self.q, "euclidean" if self.metric is None else self.metric)

    def plan(self, pieces: Pieces, total: int) -> Callable[[], Coupling]:
        return lambda: Coupling(self.p.given(pieces.sources), self.q.given(pieces.targets), pieces.masses, total)


def make_problem(
    p: Any, q: Any, metric: Metric, *, names: tuple[str, str] = ("p", "q"), distances: bool = True
) -> Problem:
    metric = plain_scalar(metric)  # type: ignore[assignment]
    if not (metric is None or isinstance(metric, str | np.ndarray) or callable(metric)):
        raise InputError(
            "metric must be a name, a function of two points or a two-dimensional array of distances; "
            f"got {safe_repr(metric)}."
        )
    if isinstance(metric, np.ndarray):
        if metric.ndim != 2 or metric.dtype.kind not in "biuf":
            raise InputError(
                "metric must be a two-dimensional array of numbers, a row for each point of the first set."
            )
        costs = _transport.checked_costs(metric.astype(np.float64))
        first, second = (read_weights(name, z, size) for name, z, size in zip(names, (p, q), costs.shape, strict=True))
        return Problem(first, second, costs, None)
    first, second = read(names[0], p), read(names[1], q)
    shapes = [points.shape[1] if points.ndim == 2 else 1 for points in (first.points, second.points)]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"{names[0]} and {names[1]} must have points of one dimension; got {shapes[0]} and {shapes[1]} coordinates."
        )
    if are_dates(first.points) != are_dates(second.points):
        raise InputError(
            f"{names[0]} and {names[1]} must both hold dates or both numbers; there is no distance between."
        )
    on_line = distances and shapes[0] == 1 and not callable(metric) and metric in _ON_THE_LINE
    line = line_coordinates(first.points, second.points) if on_line else None
    return Problem(first, second, metric, line)


def ordered(line: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    order = np.argsort(line, kind="stable")
    return line[order], order
