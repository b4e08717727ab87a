"""Distances between distributions and sets: lossy Wasserstein (W∞ and W1), total variation, Hausdorff."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import Domain
from flexdp._core.exact import Number
from flexdp._core.text import plain_scalar, shown
from flexdp.distances import line as _line
from flexdp.distances import transport as _transport
from flexdp.distances.inputs import (
    Coupling,
    Measure,
    Scaled,
    Transport,
    Weighted,
    are_dates,
    line_coordinates,
    read,
    read_weights,
    scaled,
)
from flexdp.distances.line import Pieces
from flexdp.errors import InputError

__all__ = [
    "Coupling",
    "Farthest",
    "Metric",
    "Transport",
    "Weighted",
    "hausdorff",
    "lossy_w1",
    "lossy_winf",
    "total_variation",
]

Metric: TypeAlias = str | Callable[[Any, Any], float] | NDArray[Any] | None

_ON_THE_LINE = (None, "euclidean", "cityblock", "chebyshev")  # in one dimension all of these are |x − y|


def _share(name: str) -> Domain:
    return Domain(
        name=name,
        low=Fraction(0),
        low_included=True,
        high=Fraction(1),
        high_included=True,
        remedy="It is the fraction of the mass that may be left out.",
    )


GAMMA = _share("gamma")
THETA = _share("theta")


def lossy_winf(p: Any, q: Any, gamma: Number = 0, metric: Metric = None) -> Transport:
    """W∞_γ(P, Q): the least b such that all but a fraction γ of the mass can be moved from P to Q by at most b.

    Paper, Def. infty-delta-wass-dist. W∞_γ ≤ b exactly if mass 1 − γ can be transported within distance b (Strassen),
    so the value is 0 or the distance of a pair of points. On the line: sup |F⁻¹ − G⁻¹| for γ = 0, a search with
    a linear matching otherwise; under any other metric, maximal flows. The coupling carries the most mass that the
    value allows, which may be more than 1 − γ.

    >>> lossy_winf([0, 1, 2, 100], [0, 1, 2, 3]).value, lossy_winf([0, 1, 2, 100], [0, 1, 2, 3], gamma="1/4").value
    (97.0, 0.0)
    """
    lost = GAMMA.check(gamma)
    problem = _problem(p, q, metric)
    if problem.line is not None:
        return _line_winf(problem, problem.line, lost)
    scale = scaled(problem.p, problem.q)
    cost = problem.cost()
    found = _transport.least_threshold(cost, scale.a, scale.b, scale.needed(lost))
    return Transport(found.value, problem.plan(found.pieces, scale.total))


def lossy_w1(p: Any, q: Any, theta: Number = 0, metric: Metric = None) -> Transport:
    """W_θ(P, Q): the least Σ mass·distance over couplings that leave a fraction θ of the mass out on either side.

    Paper, Def. gamma-wass-dist: what is left out may stay where it is, so the expectation over a lossy coupling is the
    cost of a partial transport of mass 1 − θ. W_β ≤ W∞_β ≤ W_β′/(β − β′) for β′ < β (paper, Lemma W-Winf).

    >>> lossy_w1([0, 0, 0, 10], [0, 0, 0, 0]).value, lossy_w1([0, 0, 0, 10], [0, 0, 0, 0], theta="1/8").value
    (2.5, 1.25)
    """
    lost = THETA.check(theta)
    problem = _problem(p, q, metric)
    scale = scaled(problem.p, problem.q)
    if problem.line is not None and not lost:
        if problem.p.masses is None and problem.q.masses is None and len(problem.p) == len(problem.q):
            line = problem.line
            mean = np.abs(np.sort(line[0]) - np.sort(line[1])).mean()
            return Transport(float(mean), lambda: _line_plan(problem, line, scale, None))
        (x, order_x), (y, order_y) = (_ordered(line) for line in problem.line)
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
    """Δ(P, Q), half the sum of |P − Q|: the mass that cannot stay where it is. The coupling keeps the rest in place.

    W∞_γ(P, Q) = 0 exactly if Δ(P, Q) ≤ γ (paper, Lemma generalizing-tv). ``left_p`` is the value as a Fraction.

    >>> total_variation(["a", "a", "b"], ["a", "b", "c"]).left_p
    Fraction(1, 3)
    """
    problem = _problem(p, q, None, distances=False)
    scale = scaled(problem.p, problem.q)
    here, there = _labels(problem.p.points, problem.q.points)
    order_x, order_y = np.argsort(here, kind="stable"), np.argsort(there, kind="stable")
    same = _line.matched(
        here[order_x].astype(np.float64), there[order_y].astype(np.float64), scale.a[order_x], scale.b[order_y], 0.0
    )
    pieces = Pieces(order_x[same.sources], order_y[same.targets], same.masses)
    kept = Fraction(int(sum(pieces.masses.tolist())), scale.total)
    return Transport(float(1 - kept), problem.plan(pieces, scale.total))


@dataclass(frozen=True, slots=True)
class Farthest:
    """A Hausdorff distance and where it is attained: point ``index`` of set ``side``, its ``nearest`` in the other."""

    value: float
    side: Literal["a", "b"]
    index: int
    nearest: int

    def __float__(self) -> float:
        return self.value


def hausdorff(a: Any, b: Any, metric: Metric = None) -> Farthest:
    """The farthest that a point of either set is from the other set; weights do not matter, beyond being positive.

    >>> hausdorff([0, 10], [0, 5, 10]).value
    5.0
    """
    problem = _problem(a, b, metric, names=("a", "b"))
    if problem.line is not None:
        x, y = problem.line
        ways = (_nearest(x, y), _nearest(y, x))
    else:
        cost = problem.cost()
        ways = tuple((c.argmin(axis=1), c.min(axis=1)) for c in (cost, cost.T))  # type: ignore[assignment]
    found = []
    for side, (nearest, gaps), own, other in zip(
        ("a", "b"), ways, (problem.p, problem.q), (problem.q, problem.p), strict=True
    ):
        worst = int(np.argmax(gaps))
        place, close = own.given(np.array([worst])), other.given(np.array([nearest[worst]]))
        found.append(Farthest(float(gaps[worst]), side, int(place[0]), int(close[0])))  # type: ignore[arg-type]
    return max(found, key=float)


def _nearest(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """For each point of x the nearest of y on the line, and how far it is."""
    y, order = _ordered(y)
    after = np.searchsorted(y, x).clip(max=len(y) - 1)
    before = (after - 1).clip(min=0)
    up, down = abs(y[after] - x), abs(x - y[before])
    return order[np.where(down < up, before, after)], np.minimum(up, down)


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
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


def _problem(
    p: Any, q: Any, metric: Metric, *, names: tuple[str, str] = ("p", "q"), distances: bool = True
) -> _Problem:
    metric = plain_scalar(metric)  # type: ignore[assignment]
    if not (metric is None or isinstance(metric, str | np.ndarray) or callable(metric)):
        raise InputError(
            "metric must be a name, a function of two points or a two-dimensional array of distances; "
            f"got {shown(metric)}."
        )
    if isinstance(metric, np.ndarray):
        if metric.ndim != 2 or metric.dtype.kind not in "biuf":
            raise InputError(
                "metric must be a two-dimensional array of numbers, a row for each point of the first set."
            )
        costs = _transport.checked_costs(metric.astype(np.float64))
        first, second = (read_weights(name, z, size) for name, z, size in zip(names, (p, q), costs.shape, strict=True))
        return _Problem(first, second, costs, None)
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
    return _Problem(first, second, metric, line)


def _ordered(line: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    order = np.argsort(line, kind="stable")
    return line[order], order


def _line_winf(problem: _Problem, line: tuple[NDArray[Any], NDArray[Any]], lost: Fraction) -> Transport:
    p, q = problem.p, problem.q
    if p.masses is None and q.masses is None:  # only the coupling needs to know which point is where
        x, y = np.sort(line[0]), np.sort(line[1])
        if not lost:
            value = _line.monotone_radius(x, y, None, None)
            return Transport(float(value), lambda: _line_plan(problem, line, scaled(p, q), None))
        scale = scaled(p, q)
        value = _line.least_radius(x, y, scale.a, scale.b, scale.needed(lost))
    else:
        (x, order_x), (y, order_y) = (_ordered(points) for points in line)
        scale = scaled(p, q)
        a, b = scale.a[order_x], scale.b[order_y]
        value = _line.least_radius(x, y, a, b, scale.needed(lost)) if lost else _line.monotone_radius(x, y, a, b)
    return Transport(float(value), lambda: _line_plan(problem, line, scale, value if lost else None))


def _line_plan(problem: _Problem, line: tuple[NDArray[Any], NDArray[Any]], scale: Scaled, bound: Any) -> Coupling:
    """The coupling of a distance on the line: monotone where nothing is lost, else the greedy one within ``bound``."""
    (x, order_x), (y, order_y) = (_ordered(points) for points in line)
    a, b = scale.a[order_x], scale.b[order_y]
    pieces = _line.monotone(a, b) if bound is None else _line.matched(x, y, a, b, bound)
    return problem.plan(Pieces(order_x[pieces.sources], order_y[pieces.targets], pieces.masses), scale.total)()


def _labels(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for each distinct point, equal where the points are."""
    if x.ndim == 2:
        _, label = np.unique(np.concatenate((x, y)) + 0.0, axis=0, return_inverse=True)
        label = label.reshape(-1)
    elif x.dtype.kind == y.dtype.kind and x.dtype.kind in "if":
        _, label = np.unique(np.concatenate((x, y)), return_inverse=True)
    else:
        number: dict[Any, int] = {}
        label = np.array([number.setdefault(point, len(number)) for point in (*x.tolist(), *y.tolist())])
    return label[: len(x)], label[len(x) :]
