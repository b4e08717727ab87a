"""Distances between distributions that may ignore part of the mass: lossy W∞, lossy W1, total variation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import GAMMA
from flexdp._core.exact import Number
from flexdp._core.nearest import nearest
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances import line as _line
from flexdp.distances import transport as _transport
from flexdp.distances.axioms import checked_costs
from flexdp.distances.coupling import Coupling, Side, Transport
from flexdp.distances.inputs import Measure, Scaled, are_dates, line_coordinates, read, read_weights, scaled
from flexdp.distances.line import Pieces
from flexdp.distances.metrics import Metric
from flexdp.errors import InputError, P

__all__ = [
    "THETA",
    "Farthest",
    "Hausdorff",
    "MetricLike",
    "Problem",
    "hausdorff",
    "lossy_w1",
    "lossy_winf",
    "make_problem",
    "ordered",
    "total_variation",
]

THETA = replace(GAMMA, name="theta")


def lossy_winf(p: Any, q: Any, gamma: Number = 0, metric: MetricLike = None) -> Transport:
    """Compute the lossy ∞-Wasserstein distance W∞_γ(P, Q).

    It is the least b such that all but a fraction γ of the mass can be moved from P to Q by at most b (paper, Def.
    infty-delta-wass-dist). W∞_γ ≤ b if and only if mass 1 − γ can be transported within distance b (Strassen), so the
    value is 0 or the distance between two of the points. On the line it is sup ``|F⁻¹ − G⁻¹|`` for γ = 0, and otherwise
    found by a search with a linear-time matching; under any other metric, by maximum flows.

    Parameters
    ----------
    p, q
        Distributions: a Histogram, an array of samples (n, or n×d), a mapping from points to their masses, a
        Distribution, or :class:`Weighted` points.
    gamma
        Fraction of the mass that may be ignored, in [0, 1]; taken exactly.
    metric
        None for the absolute difference or Euclidean distance, a name known to ``scipy.spatial.distance.cdist``, a
        function of two points, or a matrix of distances (``p`` and ``q`` are then weights).

    Returns
    -------
    Transport
        The distance (``value``) and a coupling within it, which carries as much mass as possible: at least 1 − γ.

    Raises
    ------
    InputError
        If a distribution has no mass, points have no distance, or ``metric`` is not a metric on them.

    Examples
    --------
    >>> lossy_winf({0: "0.9", 10: "0.1"}, {0: 1}).value, lossy_winf({0: "0.9", 10: "0.1"}, {0: 1}, gamma="0.1").value
    (10.0, 0.0)
    >>> lossy_winf([0, 1, 2, 100], [0, 1, 2, 3]).value, lossy_winf([0, 1, 2, 100], [0, 1, 2, 3], gamma="1/4").value
    (97.0, 0.0)
    """
    lost = GAMMA.check(gamma)
    problem = make_problem(p, q, metric)
    if problem.line is not None:
        return _line_winf(problem, problem.line, lost)
    scale = scaled(problem.p, problem.q)
    cost = problem.cost()
    found = _transport.least_threshold(cost, scale.a, scale.b, scale.needed(lost))
    return Transport(found.value, problem.plan(found.pieces, scale.total))


def lossy_w1(p: Any, q: Any, theta: Number = 0, metric: MetricLike = None) -> Transport:
    """Compute the lossy average Wasserstein distance W_θ(P, Q).

    It is the least Σ mass·distance over couplings that ignore a fraction θ of the mass on either side (paper, Def.
    gamma-wass-dist). Ignored mass stays where it is at no cost, so this is partial optimal transport of mass 1 − θ.
    W_β ≤ W∞_β ≤ W_β′/(β − β′) for β′ < β (paper, Lemma W-Winf).

    Parameters
    ----------
    p, q
        Distributions: a Histogram, an array of samples (n, or n×d), a mapping from points to their masses, a
        Distribution, or :class:`Weighted` points.
    theta
        Fraction of the mass that may be ignored, in [0, 1]; taken exactly.
    metric
        As for :func:`lossy_winf`.

    Returns
    -------
    Transport
        The distance (``value``) and an optimal coupling with exact masses.

    Raises
    ------
    InputError
        If a distribution has no mass, points have no distance, or ``metric`` is not a metric on them.

    Examples
    --------
    >>> lossy_w1([0, 0, 0, 10], [0, 0, 0, 0]).value, lossy_w1([0, 0, 0, 10], [0, 0, 0, 0], theta="1/8").value
    (2.5, 1.25)
    """
    lost = THETA.check(theta)
    problem = make_problem(p, q, metric)
    scale = scaled(problem.p, problem.q)
    if problem.line is not None and not lost:
        if problem.p.masses is None and problem.q.masses is None and len(problem.p) == len(problem.q):
            line = problem.line
            mean = np.abs(np.sort(line[0]) - np.sort(line[1])).mean()
            return Transport(float(mean), lambda: _line_plan(problem, line, scale, None))
        (x, order_x), (y, order_y) = (ordered(line) for line in problem.line)
        pieces = _line.monotone(scale.a[order_x], scale.b[order_y])
        gaps = np.abs(x[pieces.sources] - y[pieces.targets])
        pieces = Pieces(order_x[pieces.sources], order_y[pieces.targets], pieces.masses)
        return Transport(float((gaps * pieces.masses).sum() / scale.total), problem.plan(pieces, scale.total))
    finer = lost.denominator
    total = scale.total * finer
    cost = problem.cost()
    pieces = _transport.cheapest(
        cost, scale.a.astype(object) * finer, scale.b.astype(object) * finer, int(lost * total)
    )
    shares = [mass / total for mass in pieces.masses.tolist()]
    value = math.fsum(cost[pieces.sources, pieces.targets] * shares)
    return Transport(value, problem.plan(pieces, total))


def total_variation(p: Any, q: Any) -> Transport:
    """Compute the total variation distance Δ(P, Q) = ½ Σ|P − Q|: the mass that cannot stay in place.

    W∞_γ(P, Q) = 0 if and only if Δ(P, Q) ≤ γ (paper, Lemma generalizing-tv).

    Parameters
    ----------
    p, q
        Distributions over any keys, texts included: a Histogram, an array of samples or :class:`Weighted` points.

    Returns
    -------
    Transport
        The distance (``value``; exactly, ``left_p``) and the coupling that keeps all common mass in place.

    Examples
    --------
    >>> total_variation(["a", "a", "b"], ["a", "b", "c"]).left_p
    Fraction(1, 3)
    """
    problem = make_problem(p, q, None, distances=False)
    scale = scaled(problem.p, problem.q)
    here, there = _labels(problem.p.points, problem.q.points)
    order_x, order_y = np.argsort(here, kind="stable"), np.argsort(there, kind="stable")
    same = _line.matched(
        here[order_x].astype(np.float64), there[order_y].astype(np.float64), scale.a[order_x], scale.b[order_y], 0.0
    )
    pieces = Pieces(order_x[same.sources], order_y[same.targets], same.masses)
    kept = Fraction(int(sum(pieces.masses.tolist())), scale.total)
    return Transport(float(1 - kept), problem.plan(pieces, scale.total))


def _line_winf(problem: Problem, line: tuple[NDArray[Any], NDArray[Any]], lost: Fraction) -> Transport:
    p, q = problem.p, problem.q
    if p.masses is None and q.masses is None:  # the value needs no permutation; only the coupling does
        x, y = np.sort(line[0]), np.sort(line[1])
        if not lost:
            value = _line.monotone_radius(x, y, None, None)
            return Transport(float(value), lambda: _line_plan(problem, line, scaled(p, q), None))
        scale = scaled(p, q)
        value = _line.least_radius(x, y, scale.a, scale.b, scale.needed(lost))
    else:
        (x, order_x), (y, order_y) = (ordered(points) for points in line)
        scale = scaled(p, q)
        a, b = scale.a[order_x], scale.b[order_y]
        value = _line.least_radius(x, y, a, b, scale.needed(lost)) if lost else _line.monotone_radius(x, y, a, b)
    return Transport(float(value), lambda: _line_plan(problem, line, scale, value if lost else None))


def _line_plan(problem: Problem, line: tuple[NDArray[Any], NDArray[Any]], scale: Scaled, bound: Any) -> Coupling:
    """Return the coupling of a distance on the line: monotone if nothing is lost, else greedy within ``bound``."""
    (x, order_x), (y, order_y) = (ordered(points) for points in line)
    a, b = scale.a[order_x], scale.b[order_y]
    pieces = _line.monotone(a, b) if bound is None else _line.matched(x, y, a, b, bound)
    return problem.plan(Pieces(order_x[pieces.sources], order_y[pieces.targets], pieces.masses), scale.total)()


def _labels(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct points; equal points get equal numbers."""
    if x.ndim == 2:
        _, label = np.unique(np.concatenate((x, y)) + 0.0, axis=0, return_inverse=True)
        label = label.reshape(-1)
    elif x.dtype.kind == y.dtype.kind and x.dtype.kind in "if":
        _, label = np.unique(np.concatenate((x, y)), return_inverse=True)
    else:
        number: dict[Any, int] = {}
        label = np.array([number.setdefault(point, len(number)) for point in (*x.tolist(), *y.tolist())])
    return label[: len(x)], label[len(x) :]


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
