"""Distances between distributions, some of whose mass may be left out: W∞, W1, and total variation."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import Domain
from flexdp._core.exact import Number
from flexdp.distances import line as _line
from flexdp.distances import transport as _transport
from flexdp.distances.inputs import Coupling, Scaled, Transport, scaled
from flexdp.distances.line import Pieces
from flexdp.distances.problem import Metric, Problem, make_problem, ordered

__all__ = ["GAMMA", "THETA", "lossy_w1", "lossy_winf", "total_variation"]


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
    problem = make_problem(p, q, metric)
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
    """Δ(P, Q), half the sum of |P − Q|: the mass that cannot stay where it is. The coupling keeps the rest in place.

    W∞_γ(P, Q) = 0 exactly if Δ(P, Q) ≤ γ (paper, Lemma generalizing-tv). ``left_p`` is the value as a Fraction.

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
    if p.masses is None and q.masses is None:  # only the coupling needs to know which point is where
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
    """The coupling of a distance on the line: monotone where nothing is lost, else the greedy one within ``bound``."""
    (x, order_x), (y, order_y) = (ordered(points) for points in line)
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
