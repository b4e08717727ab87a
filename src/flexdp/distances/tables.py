"""Distances among finitely many points as exact tables: every threshold is a comparison of ranks, without rounding."""

from __future__ import annotations

import bisect
import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plain_scalar, safe_repr, thousands
from flexdp.distances import transport as _transport
from flexdp.distances.axioms import Amount, amount, check_axioms, distances_between, labels_of
from flexdp.distances.inputs import Measure
from flexdp.distances.lossy import lossy_winf
from flexdp.distances.metrics import Euclidean
from flexdp.errors import InputError
from flexdp.histogram import Histogram

__all__ = ["Table", "default_metric", "make_table"]

_MOST_POINTS = 3_000  # of a table, which holds every pair


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """All distances among some points, as ranks among the different distances that occur.

    ``levels`` are the distances in ascending order, as the function returned them.
    """

    ranks: NDArray[np.int64]
    levels: tuple[Any, ...]

    def within(self, bound: Amount) -> int:
        """Return how many of the levels are at most ``bound``: ranks below that number are within it."""
        return bisect.bisect_right(self.levels, bound, key=_exactly)

    def near(self, bound: Amount) -> NDArray[np.bool_]:
        """Return for each pair whether its distance is at most ``bound``."""
        found: NDArray[np.bool_] = self.ranks < self.within(bound)
        return found


def make_table(
    name: str, metric: Any, points: Sequence[Any], *, where: str, symmetric: bool, infinite: bool = True
) -> Table:
    """Compute and check the distances among points.

    Parameters
    ----------
    name
        Parameter that errors name.
    metric
        Function of two points, name of a scipy metric, or None for the usual distance of these points.
    points
        The points.
    where
        What the points are called in messages.
    symmetric
        True for a metric, False for a quasi-metric.
    infinite
        True if distances may be infinite.

    Returns
    -------
    Table
        The distances.
    """
    if len(points) > _MOST_POINTS:
        raise InputError(where, f"must be at most {thousands(_MOST_POINTS)} points", given=thousands(len(points)))
    labels = labels_of(where, points, quoted=True)
    function = default_metric(name, points) if metric is None else plain_scalar(metric)
    if isinstance(function, str):
        rows: list[list[Any]] = _named(name, function, points)
    elif callable(function):
        rows = distances_between(name, _exact_form(function), points, points, (labels, labels), quoted=True)
    else:
        raise InputError(name, "must be a function of two points, or the name of a metric", given=safe_repr(metric))
    ranks, levels = _sorted_doubles(rows) or _sorted_exactly(name, rows, labels)
    doubles = np.array([float(level) for level in levels])
    check_axioms(name, doubles[ranks], labels, symmetric=symmetric, infinite=infinite)
    return Table(ranks, levels)


def _sorted_doubles(rows: list[list[Any]]) -> tuple[NDArray[np.int64], tuple[Any, ...]] | None:
    """Rank distances that are all doubles, or all small integers; None for others. Shortest decimals keep the order."""
    cells = {type(cell) for row in rows for cell in row}
    if not (cells <= {float, np.float64} or (cells == {int} and max(map(max, rows)) < 2**53)):
        return None
    array = np.array(rows, dtype=np.int64 if cells == {int} else np.float64)
    if np.isnan(array).any():
        return None
    levels, ranks = np.unique(array, return_inverse=True)
    return ranks.reshape(array.shape).astype(np.int64), tuple(levels.tolist())


def _sorted_exactly(
    name: str, rows: list[list[Any]], labels: Callable[[int], str]
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Rank distances of any kind by their exact values."""
    known: dict[Any, Amount] = {}
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if cell not in known:
                found = amount(cell)
                if found is None:
                    rule = f"must return a number: it does not from {labels(i)} to {labels(j)}"
                    raise InputError(name, rule, given=safe_repr(cell))
                known[cell] = found
    order = sorted(set(known.values()))
    place = {level: rank for rank, level in enumerate(order)}
    rank_of = {cell: place[level] for cell, level in known.items()}
    shown = {place[level]: cell for cell, level in known.items()}
    ranks = np.array([[rank_of[cell] for cell in row] for row in rows], dtype=np.int64)
    return ranks, tuple(_python(shown[rank]) for rank in range(len(order)))


def _exactly(level: Any) -> Amount:
    found = amount(level)
    assert found is not None
    return found


def _exact_form(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A distortion of flexdp.distortions without its last rounding to a double, where it has such a form."""
    exactly = getattr(function, "exactly", None)
    return exactly if callable(exactly) else function


def _python(number: Any) -> Any:
    if type(number) in (int, float, Fraction):
        return number
    given = plain_scalar(number)
    return given.item() if isinstance(given, np.generic) else given


def _named(name: str, metric: str, points: Sequence[Any]) -> list[list[Any]]:
    try:
        array = np.asarray(list(points), dtype=np.float64)
    except (TypeError, ValueError):
        rule = "must be a function of two points: these are not numbers"
        raise InputError(name, rule, given=safe_repr(metric)) from None
    measure = Measure(array, None, None)
    found: list[list[Any]] = _transport.cost_matrix(measure, measure, metric).tolist()
    return found


def default_metric(name: str, points: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """Return the usual distance of points: of numbers, dates, coordinates or histograms."""
    kinds = {_kind(point) for point in points}
    if kinds == {"date"}:
        return lambda a, b: abs((a - b).days)
    if kinds == {"histogram"}:
        return _between_histograms
    if kinds == {"number"}:
        return lambda a, b: abs(_python(a) - _python(b))
    if kinds == {"coordinates"} and len({len(point) for point in points}) == 1:
        return Euclidean()
    if kinds == {"coordinates"}:
        raise InputError(
            name,
            "must be given: these points have different numbers of coordinates",
            remedy="Between sets pass lambda a, b: hausdorff(a, b).value.",
        )
    raise InputError(
        name,
        "must be given: these points have no distance of their own",
        remedy="Pass a function of two points, such as flexdp.distances.EditDistance() or Equality().",
    )


def _between_histograms(x: Histogram, y: Histogram) -> float:
    """W∞ of the normalised histograms; an empty one is infinitely far from all others."""
    if x == y:
        return 0.0
    return lossy_winf(x, y).value if x.size and y.size else math.inf


def _kind(point: Any) -> str:
    if isinstance(point, Histogram):
        return "histogram"
    if isinstance(point, dt.date) and not isinstance(point, dt.datetime):
        return "date"
    if isinstance(point, Real | np.number) and not (isinstance(point, float) and math.isnan(point)):
        return "number"
    if isinstance(point, tuple | np.ndarray) and all(isinstance(z, Real | np.number | Fraction) for z in point):
        return "coordinates"
    return "other"
