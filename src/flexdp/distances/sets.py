"""Hausdorff distance between sets of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flexdp._core.nearest import nearest
from flexdp.distances.metrics import Metric
from flexdp.distances.problem import MetricLike, make_problem, ordered

__all__ = ["Farthest", "Hausdorff", "hausdorff"]


@dataclass(frozen=True, slots=True)
class Farthest:
    """A Hausdorff distance and a point that attains it.

    Parameters
    ----------
    value
        The distance.
    side
        The set that contains the farthest point: "a" or "b".
    index
        Index of that point in its set.
    nearest
        Index of the nearest point in the other set.

    Examples
    --------
    >>> hausdorff([0, 10], [0, 5, 10])
    Farthest(value=5.0, side='b', index=1, nearest=1)
    """

    value: float
    side: Literal["a", "b"]
    index: int
    nearest: int

    def __float__(self) -> float:
        return self.value


def hausdorff(a: Any, b: Any, metric: MetricLike = None) -> Farthest:
    """Compute the Hausdorff distance: the largest distance from a point of either set to the other set.

    Weights are ignored, except that points of weight 0 do not count.

    Parameters
    ----------
    a, b
        Sets of points: a Histogram, an array (n, or n×d) or :class:`~flexdp.distances.Weighted` points.
    metric
        As for :func:`~flexdp.distances.lossy_winf`.

    Returns
    -------
    Farthest
        The distance and a point that attains it.

    Examples
    --------
    >>> hausdorff([0, 10], [0, 5, 10]).value
    5.0
    """
    problem = make_problem(a, b, metric, names=("a", "b"))
    if problem.line is not None:
        x, y = problem.line
        ways = (_nearest(x, y), _nearest(y, x))
    else:
        cost = problem.cost()
        ways = tuple((c.argmin(axis=1), c.min(axis=1)) for c in (cost, cost.T))  # type: ignore[assignment]
    found = []
    for side, (close_to, gaps), own, other in zip(
        ("a", "b"), ways, (problem.p, problem.q), (problem.q, problem.p), strict=True
    ):
        worst = int(np.argmax(gaps))
        place, close = own.given(np.array([worst])), other.given(np.array([close_to[worst]]))
        found.append(Farthest(float(gaps[worst]), side, int(place[0]), int(close[0])))  # type: ignore[arg-type]
    return max(found, key=float)


def _nearest(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Find the nearest point of y on the line for each point of x, and its distance."""
    y, order = ordered(y)
    index, gap = nearest(y, x)
    return order[index], gap


class Hausdorff(Metric):
    """Hausdorff distance between finite sets of numbers, dates or points.

    Examples
    --------
    >>> Hausdorff()((0, 10), {0, 5, 10})
    5.0
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "Hausdorff"

    def _between(self, a: Any, b: Any) -> float:
        return hausdorff(_listed(a), _listed(b)).value


def _listed(points: Any) -> list[Any]:
    return sorted(tuple(each) if isinstance(each, list | np.ndarray) else each for each in points)
