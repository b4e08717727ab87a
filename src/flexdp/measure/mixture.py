"""Coupling a law with a mixture of laws that may be chosen: the linear program behind randomised statistics.

Of a law P on outputs y, mixtures Σ_i w_i·F_i on values z, and the pairs (y, z) within a distance b, this is

    V(b) = max Σ π(y, z)   over w ≥ 0 with Σ w_i = 1 and π ≥ 0 on those pairs,
           Σ_z π(y, z) ≤ P(y),   Σ_y π(y, z) ≤ Σ_i w_i·F_i(z).

By duality V(b) = min over v ∈ [0, 1]^Z of Σ_y P(y)·max(0, 1 − min_{z near y} v(z)) + max_i Σ_z F_i(z)·v(z). A solver
works in doubles; its w and its v are rounded to rationals, and each gives an exact bound: w by a maximum flow in
integers, from below, and v by the formula, from above. Where the two do not decide, the answer is on the safe side: no.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.extras import extra
from flexdp._core.text import thousands
from flexdp.distances.transport import Edges, flow
from flexdp.errors import InputError

__all__ = ["Mixing", "least_bound"]

_ROUNDINGS = (10**3, 10**6, 10**9)  # denominators tried
_MOST_VARIABLES = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Mixing:
    """A law and the laws that may be mixed, on common values, with all distances."""

    masses: list[Fraction]
    laws: list[list[Fraction]]
    gaps: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """The least bound, and the weights of a mixture that attains it; infinite where none does."""

    value: float
    weights: list[Fraction]


def least_bound(problem: Mixing, needed: Fraction) -> Bound:
    """Find the least b with V(b) ≥ needed; it is 0 or one of the distances."""
    if not needed:
        return Bound(0.0, _first(len(problem.laws)))
    finite = problem.gaps[np.isfinite(problem.gaps)]
    bounds = np.unique(np.append(finite, 0.0))
    low, high, best = 0, len(bounds), None
    while low < high:
        middle = (low + high) // 2
        weights = _enough(problem, float(bounds[middle]), needed)
        low, high, best = (middle + 1, high, best) if weights is None else (low, middle, weights)
    return Bound(math.inf, []) if best is None else Bound(float(bounds[high]), best)


def _first(many: int) -> list[Fraction]:
    return [Fraction(int(i == 0)) for i in range(many)]


def _enough(problem: Mixing, bound: float, needed: Fraction) -> list[Fraction] | None:
    """Return weights with which mass ``needed`` can be coupled within the bound, or None if there are none."""
    edges = Edges.of(problem.gaps, bound)
    if not len(edges.rows):
        return None
    weights, prices = _solved(problem, edges)
    for denominator in _ROUNDINGS:
        tried = [max(Fraction(0), Fraction(w).limit_denominator(denominator)) for w in weights.tolist()]
        total = sum(tried)
        if total:
            mixed = [w / total for w in tried]
            if _carried(problem, edges, mixed) >= needed:
                return mixed
        if _roof(problem, edges, [Fraction(v).limit_denominator(denominator) for v in prices.tolist()]) < needed:
            return None
    return None


def _solved(problem: Mixing, edges: Edges) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve the program in doubles: the weights, and the prices of the values."""
    with extra("lab", "scipy", "a randomised statistic"):
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

    outputs, values, many, links = *problem.gaps.shape, len(problem.laws), len(edges.rows)
    if links + many > _MOST_VARIABLES:
        raise InputError("outputs", f"must make at most {thousands(_MOST_VARIABLES)} pairs with values within reach")
    shares = np.array([[float(mass) for mass in law] for law in problem.laws]).T  # values × laws
    rows, columns = np.nonzero(shares)
    places = np.arange(links)
    matrix = csr_array(
        (
            np.concatenate((np.ones(2 * links), -shares[rows, columns])),
            (
                np.concatenate((edges.rows, outputs + edges.columns, outputs + rows)),
                np.concatenate((places, places, links + columns)),
            ),
        ),
        shape=(outputs + values, links + many),
    )
    solved = linprog(
        np.concatenate((-np.ones(links), np.zeros(many))),
        A_ub=matrix,
        b_ub=np.concatenate(([float(mass) for mass in problem.masses], np.zeros(values))),
        A_eq=csr_array((np.ones(many), (np.zeros(many, dtype=int), links + np.arange(many))), shape=(1, links + many)),
        b_eq=[1.0],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solved.success:
        raise InputError("outputs", ": the linear program could not be solved", remedy="Round the probabilities.")
    return solved.x[links:], np.clip(-solved.ineqlin.marginals[outputs:], 0, 1)


def _carried(problem: Mixing, edges: Edges, weights: list[Fraction]) -> Fraction:
    """Return the mass that can be coupled with one mixture, exactly."""
    used = [(w, law) for w, law in zip(weights, problem.laws, strict=True) if w]
    mixture = [sum((w * law[z] for w, law in used), Fraction(0)) for z in range(problem.gaps.shape[1])]
    scale = math.lcm(*(mass.denominator for mass in (*problem.masses, *mixture)))
    supply, demand = (_whole(masses, scale) for masses in (problem.masses, mixture))
    return Fraction(sum(flow(edges, supply, demand).masses.tolist()), scale)


def _whole(masses: list[Fraction], scale: int) -> NDArray[Any]:
    out = np.empty(len(masses), dtype=object)
    out[:] = [int(mass * scale) for mass in masses]
    return out


def _roof(problem: Mixing, edges: Edges, prices: list[Fraction]) -> Fraction:
    """Return the bound from above that prices of the values give, exactly."""
    cheapest: dict[int, Fraction] = {}
    for y, z in zip(edges.rows.tolist(), edges.columns.tolist(), strict=True):
        cheapest[y] = min(cheapest.get(y, Fraction(1)), prices[z])
    left = sum((problem.masses[y] * (1 - price) for y, price in cheapest.items()), Fraction(0))
    return left + max(sum((m * v for m, v in zip(law, prices, strict=True)), Fraction(0)) for law in problem.laws)
