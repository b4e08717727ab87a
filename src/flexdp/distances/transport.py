"""Transport under any metric: cost matrices, threshold flows, and partial optimal transport.

scipy provides maximum flow and linear programming and is loaded on first use. Masses are integers throughout, and the
couplings returned are exact even though the solvers round.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.extras import extra
from flexdp._core.text import thousands
from flexdp.distances.axioms import called, check_sample, checked_costs
from flexdp.distances.inputs import Measure, line_coordinates
from flexdp.distances.line import Pieces
from flexdp.errors import InputError, P

__all__ = ["METRIC", "Edges", "Threshold", "cheapest", "check_pairs", "cost_matrix", "least_threshold"]

_USE = "a distance in several dimensions or with a metric"
METRIC = "must be a name, a function of two points or a two-dimensional array of distances"
_METRICS = ("euclidean", "cityblock", "chebyshev")
_LARGEST_FLOW = 2**31 - 1  # scipy's maximum flow uses 32-bit integers, which wrap
_MOST_PAIRS = 50_000_000  # entries of a cost matrix
_MOST_VARIABLES = 4_000_000  # variables of a linear program


def check_pairs(rows: int, columns: int, most: int = _MOST_PAIRS) -> None:
    """Raise an error if there are too many pairs for the memory."""
    if rows * columns > most:
        raise InputError(
            "p",
            ("and ", P("q"), f" must have at most {thousands(most)} pairs of points"),
            remedy="Merge equal points, or take a sample.",
        )


def cost_matrix(p: Measure, q: Measure, metric: Any) -> NDArray[np.float64]:
    """Return all pairwise distances under a metric named as for scipy's ``cdist``, or a function of two points."""
    check_pairs(len(p), len(q))
    if callable(metric):
        here, there = (list(z.points) if z.points.ndim == 2 else z.points.tolist() for z in (p, q))
        return np.array([[float(cell) for cell in row] for row in called(metric, here, there, ("p", "q"))])
    if not isinstance(metric, str):
        raise InputError("metric", METRIC)
    pair = (p.points, q.points) if p.points.ndim == 2 else line_coordinates(p.points, q.points)
    x, y = (np.asarray(z, dtype=np.float64).reshape(len(z), -1) for z in pair)
    cost = checked_costs(_named(x, y, metric))
    if metric not in _METRICS:  # some of scipy's are none
        both = np.concatenate((x, y))
        check_sample(
            "metric",
            lambda places, _: _named(both[places], both[places], metric),
            (len(x), len(y)),
            ("p", "q"),
            symmetric=True,
        )
    return cost


def _named(x: NDArray[np.float64], y: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    with extra("lab", "scipy", _USE):
        from scipy.spatial.distance import cdist

    try:
        cost: NDArray[np.float64] = cdist(x, y, metric)
    except (ValueError, TypeError):
        raise InputError(
            "metric", "must be a name known to scipy.spatial.distance.cdist, such as 'cityblock'"
        ) from None
    return cost


@dataclass(frozen=True, eq=False, slots=True)
class Edges:
    """Pairs within a threshold, row by row, with their costs."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    costs: NDArray[np.float64]

    @classmethod
    def of(cls, cost: NDArray[np.float64], bound: float) -> Edges:
        """Return the entries of a matrix that are at most ``bound``."""
        flat = cost.reshape(-1)
        places = np.flatnonzero(flat <= bound)
        rows, columns = np.divmod(places, cost.shape[1])
        return cls(rows, columns, flat[places])

    def within(self, bound: float) -> Edges:
        """Return the pairs that cost at most ``bound``."""
        kept = np.flatnonzero(self.costs <= bound)
        return Edges(self.rows[kept], self.columns[kept], self.costs[kept])


@dataclass(frozen=True, eq=False, slots=True)
class Threshold:
    """The least bound that lets enough mass flow, and a maximum flow within it."""

    value: float
    pieces: Pieces


def least_threshold(cost: NDArray[np.float64], a: NDArray[Any], b: NDArray[Any], needed: int) -> Threshold:
    """Find the least bound within which mass ``needed`` can flow, and a maximum flow within it.

    The bound is 0 or one of the costs. Nearest neighbours give a lower bound; from there the number of admitted pairs
    is doubled until enough mass flows, and the costs in between are bisected. Each flow narrows the search to the
    largest cost that it used.
    """
    low = max(0.0, _least_reach(cost.min(axis=1), a, needed), _least_reach(cost.min(axis=0), b, needed))
    flat = cost.reshape(-1)
    ranks = np.append(np.sort(flat[:: max(1, len(flat) // 65536)]), flat.max())
    edges = Edges.of(cost, low)
    best = flow(edges, a, b)
    if _total(best) >= needed:
        return Threshold(low, best)
    high = low
    while _total(best) < needed:
        reached = int(np.searchsorted(ranks, high, side="right"))
        high = float(ranks[min(2 * reached + 1, len(ranks) - 1)])
        low, edges = max(low, edges.costs.max(initial=low)), Edges.of(cost, high)
        best = flow(edges, a, b)
    high = float(cost[best.sources, best.targets].max())
    candidates = np.unique(edges.costs[(edges.costs > low) & (edges.costs <= high)])
    first, last = 0, len(candidates) - 1  # the answer is among first..last, and last suffices
    while first < last:
        middle = (first + last) // 2
        edges_within = edges.within(candidates[middle])
        carried = flow(edges_within, a, b)
        if _total(carried) >= needed:
            best, edges = carried, edges_within
            last = int(np.searchsorted(candidates, cost[carried.sources, carried.targets].max()))
        else:
            first = middle + 1
    return Threshold(float(candidates[last]), best)


def _total(pieces: Pieces) -> int:
    return int(pieces.masses.sum())


def _least_reach(nearest: NDArray[np.float64], masses: NDArray[Any], needed: int) -> float:
    """Return the bound below which points of mass ``needed`` have no partner at all."""
    if needed <= 0:
        return 0.0
    order = np.argsort(nearest)
    return float(nearest[order[np.searchsorted(np.cumsum(masses[order]), needed)]])


def flow(edges: Edges, a: NDArray[Any], b: NDArray[Any]) -> Pieces:
    """Return a maximum flow from supplies ``a`` to demands ``b`` over the edges, in integers of any size."""
    total = min(int(a.sum()), int(b.sum()))
    if max(int(a.max()), int(b.max()), total) <= _LARGEST_FLOW:
        return _one_flow(edges, a.astype(np.int32), b.astype(np.int32))
    return _flow_by_digits(edges, a.astype(object), b.astype(object), total)


def _one_flow(edges: Edges, a: NDArray[np.int32], b: NDArray[np.int32]) -> Pieces:
    """Call scipy's maximum flow once, on source → x → y → sink, with the rows already in order."""
    with extra("lab", "scipy", _USE):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

    n, m, links = len(a), len(b), len(edges.rows)
    starts = np.empty(n + m + 3, dtype=np.int32)
    starts[0] = 0
    starts[1 : n + 1] = np.cumsum(np.bincount(edges.rows, minlength=n))
    starts[n + 1 : n + m + 1] = np.arange(links + 1, links + m + 1)
    starts[n + m + 1 :] = links + m + n
    ends = np.empty(links + m + n, dtype=np.int32)
    ends[:links] = edges.columns
    ends[:links] += n
    ends[links : links + m] = n + m + 1
    ends[links + m :] = np.arange(n)
    graph = csr_array((np.concatenate((a[edges.rows], b, a)), ends, starts), shape=(n + m + 2, n + m + 2))
    carried = maximum_flow(graph, n + m, n + m + 1).flow
    used = np.flatnonzero(carried.data[: carried.indptr[n]] > 0)
    sources = np.searchsorted(carried.indptr[: n + 1], used, side="right") - 1
    return Pieces(sources, carried.indices[used].astype(np.int64) - n, carried.data[used].astype(np.int64))


def _flow_by_digits(edges: Edges, a: NDArray[Any], b: NDArray[Any], total: int) -> Pieces:
    """Return a maximum flow beyond 32 bits by scaling: the leading digits first, then the next.

    After a phase in units of 2^s, at most one unit per edge of its minimum cut can still flow. This bounds the next
    phase, so larger capacities can be truncated.
    """
    with extra("lab", "scipy", _USE):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

    n, m, links = len(a), len(b), len(edges.rows)
    roof = 2**29
    digits = 29 - (links + n + m).bit_length()
    x, y = edges.rows, edges.columns + n
    starts = np.concatenate((x, y, np.arange(n, n + m), np.full(n, n + m)))
    ends = np.concatenate((y, x, np.full(m, n + m + 1), np.arange(n)))
    on_edge = np.zeros(links, dtype=object)
    supply, demand = a.copy(), b.copy()
    shift = max(0, total.bit_length() - 29)
    while True:
        room = np.concatenate((np.full(links, roof, dtype=object), on_edge, demand, supply))
        room = np.minimum(room // 2**shift, roof)
        room[:links] = roof
        places = (starts.astype(np.int32), ends.astype(np.int32))  # scipy before 1.15 takes no others
        graph = csr_array((room.astype(np.int32), places), shape=(n + m + 2, n + m + 2))
        carried = maximum_flow(graph, n + m, n + m + 1).flow
        sent = np.asarray(carried[x, y]).reshape(-1).astype(object) * 2**shift
        np.add.at(on_edge, np.arange(links), sent)
        np.subtract.at(supply, edges.rows, sent)
        np.subtract.at(demand, edges.columns, sent)
        if not shift:
            break
        shift = max(0, shift - digits)
    used = np.flatnonzero(on_edge > 0)
    return Pieces(edges.rows[used], edges.columns[used], on_edge[used])


def cheapest(cost: NDArray[np.float64], a: NDArray[Any], b: NDArray[Any], lost: int) -> Pieces:
    """Solve partial optimal transport: the cheapest coupling that leaves mass ``lost`` out on either side.

    An extra row and column of cost 0 absorb what is left out, which balances the problem. With integer masses some
    vertex is integral; the solver's vertex names the pairs, and their masses are then computed exactly.
    """
    n, m = cost.shape
    if n == m and a.min() == a.max() == b.min() == b.max() and lost % int(a[0]) == 0:
        return _assigned(cost, int(a[0]), lost // int(a[0]))
    supply, demand = [*a.tolist(), lost], [*b.tolist(), lost]
    padded = np.zeros((n + 1, m + 1))
    padded[:n, :m] = cost
    rows, columns = np.divmod(np.arange(padded.size - 1), m + 1)  # all but the corner: nothing is left out twice
    if not lost:
        inside = (rows < n) & (columns < m)
        rows, columns = rows[inside], columns[inside]
    mass = _vertex(padded[rows, columns], rows, columns, supply, demand)
    used = np.flatnonzero(mass > 1e-12 * max(n, m))
    pieces = _exactly(rows[used].tolist(), columns[used].tolist(), mass[used].tolist(), supply, demand)
    kept = [(i, j, piece) for (i, j), piece in pieces.items() if piece and i < n and j < m]
    sources, targets, masses = zip(*kept, strict=True) if kept else ((), (), ())
    return Pieces(np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64), np.array(masses, dtype=object))


def _assigned(cost: NDArray[np.float64], mass: int, unmatched: int) -> Pieces:
    """Solve the case of equal masses as an assignment that leaves ``unmatched`` points out on either side."""
    with extra("lab", "scipy", _USE):
        from scipy.optimize import linear_sum_assignment

    n = len(cost)
    padded = np.zeros((n + unmatched, n + unmatched))
    padded[:n, :n] = cost
    padded[n:, n:] = math.inf
    rows, columns = linear_sum_assignment(padded)
    inside = (rows < n) & (columns < n)
    return Pieces(rows[inside], columns[inside], np.full(int(inside.sum()), mass, dtype=object))


def _vertex(
    costs: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    supply: list[int],
    demand: list[int],
) -> NDArray[np.float64]:
    """Return an optimal vertex of the transportation polytope in doubles, by the dual simplex method of HiGHS."""
    with extra("lab", "scipy", _USE):
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

    check_pairs(len(costs), 1, _MOST_VARIABLES)
    size, total = max(len(supply), len(demand)), sum(supply)
    places = np.arange(len(costs))
    balance = csr_array(
        (np.ones(2 * len(costs)), (np.concatenate((rows, columns + len(supply))), np.concatenate((places, places)))),
        shape=(len(supply) + len(demand), len(costs)),
    )
    solved = linprog(
        costs / (costs.max(initial=0) or 1.0),
        A_eq=balance,
        b_eq=[size * mass / total for mass in (*supply, *demand)],
        method="highs-ds",
        options={  # presolving takes minutes here and gains nothing
            "presolve": False,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    if not solved.success:
        raise InputError(
            "p",
            ("and ", P("q"), " must have weights of similar magnitude for the linear program"),
            remedy="Round the weights.",
        )
    mass: NDArray[np.float64] = solved.x
    return mass


def _exactly(
    rows: list[int], columns: list[int], guesses: list[float], supply: list[int], demand: list[int]
) -> dict[tuple[int, int], int]:
    """Compute exact masses on the pairs of a vertex, which form a forest: a leaf's edge carries all of the leaf's mass.

    Any mass that rounding left unplaced, less than the solver's own tolerance, is placed in order.
    """
    have = [*supply, *demand]
    beside: dict[int, dict[int, float]] = defaultdict(dict)
    for i, j, guess in zip(rows, columns, guesses, strict=True):
        beside[i][j + len(supply)] = guess
        beside[j + len(supply)][i] = guess
    leaves = [node for node, others in beside.items() if len(others) == 1]
    pieces: dict[tuple[int, int], int] = defaultdict(int)
    while True:
        while leaves:
            leaf = leaves.pop()
            if not beside[leaf]:
                continue
            (other,) = beside[leaf]
            piece = min(have[leaf], have[other])
            pieces[min(leaf, other), max(leaf, other) - len(supply)] += piece
            have[leaf] -= piece
            have[other] -= piece
            del beside[leaf][other], beside[other][leaf]
            if len(beside[other]) == 1:
                leaves.append(other)
        stuck = [(guess, i, j) for i, others in beside.items() for j, guess in others.items()]
        if not stuck:
            break
        _, i, j = min(stuck)  # a cycle, if the solver stopped between vertices: drop its lightest pair
        del beside[i][j], beside[j][i]
        leaves = [node for node in (i, j) if len(beside[node]) == 1]
    left = [i for i in range(len(supply)) if have[i]]
    wanting = [j for j in range(len(demand)) if have[j + len(supply)]]
    while left and wanting:
        piece = min(have[left[-1]], have[wanting[-1] + len(supply)])
        pieces[left[-1], wanting[-1]] += piece
        have[left[-1]] -= piece
        have[wanting[-1] + len(supply)] -= piece
        if not have[left[-1]]:
            left.pop()
        if not have[wanting[-1] + len(supply)]:
            wanting.pop()
    return pieces
