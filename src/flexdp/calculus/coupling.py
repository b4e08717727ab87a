"""The one coupling program: how much of a law can be matched with a mixture of laws that may be chosen.

    law P          groups of laws Q_k, each group with its mass          near pairs of outputs
    c: ▇▇▅▁         g₁ (mass ½): Q₁ Q₂ Q₃    g₂ (mass ½): Q₂ Q₄          c ─ d within a distance

    maximise Σ flow(c, d)  subject to  Σ_d flow(c, d) ≤ P(c),  Σ_c flow(c, d) ≤ Σ_k w_k·Q_k(d),  Σ_{k in g} w_k ≤ mass_g

with everything at least 0. A distance suffices if all but γ is matched over the pairs within it, and the least such
distance is 0 or one of those between outputs (Strassen). σ and τ of finite spaces, Δ of random functions, and the
smallest β of a randomised statistic are such distances. The origin is feasible, so the simplex method needs no first
phase. It runs on integers (every division is exact), so no tolerance decides anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.enclosure import least
from flexdp.errors import InputError

__all__ = ["Chances", "Group", "Matched", "least_matched", "most_matched"]

Chances: TypeAlias = Mapping[int, Fraction]

_MOST_CELLS = 400_000  # entries of a linear program
_GREEDY_STEPS = 60  # pivots by the steepest rule; afterwards by the rule that cannot cycle


@dataclass(frozen=True, slots=True)
class Group:
    """Laws that may be mixed with a total weight of ``mass``."""

    mass: Fraction
    laws: Sequence[Chances]


@dataclass(frozen=True, slots=True)
class Matched:
    """Mass that was matched, and the weight of each law of each group that does so (summing to at most its mass)."""

    mass: Fraction
    weights: tuple[tuple[Fraction, ...], ...]


def least_matched(
    law: Chances, groups: Sequence[Group], ranks: NDArray[np.int64], needed: Fraction, *, low: int = 0, high: int
) -> tuple[int, Matched | None]:
    """Return the least rank of distances from ``low`` on within which ``needed`` is matched, and the match.

    At the rank ``high``, which stands for infinity or is known to suffice, nothing is solved.
    """
    found: dict[int, Matched] = {}

    def enough(rank: int) -> bool:
        found[rank] = most_matched(law, groups, lambda c, d: bool(ranks[c, d] <= rank), enough=needed)
        return found[rank].mass >= needed

    rank = low if low == high or enough(low) else least(enough, low + 1, high)
    return rank, found.get(rank)


def most_matched(
    law: Chances, groups: Sequence[Group], near: Callable[[int, int], bool], *, enough: Fraction = Fraction(1)
) -> Matched:
    """Match as much of a law as possible with a mixture; stop once ``enough`` is matched.

    Parameters
    ----------
    law
        The law to be matched.
    groups
        Laws to mix, in groups.
    near
        Function that tells whether an output of the law may be matched with an output of the mixture.
    enough
        Mass beyond which the search may stop.

    Returns
    -------
    Matched
        At least ``enough``, or the most that can be matched.
    """
    for g, group in enumerate(groups):  # a law of its own, or one that matches it point for point
        for k, other in enumerate(group.laws):
            if group.mass == 1 and other == law and all(near(c, c) for c in law):
                return Matched(Fraction(1), _single(groups, g, k))
    outputs = sorted({d for group in groups for other in group.laws for d in other})
    pairs = [(c, d) for c in law for d in outputs if near(c, d)]
    if not pairs:
        return Matched(Fraction(0), tuple(tuple(Fraction(0) for _ in group.laws) for group in groups))
    if len(groups) == 1 and all(len(other) == 1 for other in groups[0].laws):
        return _points(law, groups[0], pairs)
    return _solved(law, groups, pairs, enough)


def _single(groups: Sequence[Group], g: int, k: int) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(
        tuple(Fraction(int((i, j) == (g, k))) for j in range(len(group.laws))) for i, group in enumerate(groups)
    )


def _points(law: Chances, group: Group, pairs: list[tuple[int, int]]) -> Matched:
    """Mix points: every output that is near one of them is matched by the first such."""
    place = {next(iter(other)): k for k, other in reversed(list(enumerate(group.laws)))}
    weights = [Fraction(0)] * len(group.laws)
    partner: dict[int, int] = {}
    for c, d in pairs:
        partner.setdefault(c, place[d])
    found = Fraction(0)
    for c, k in partner.items():
        take = min(law[c], group.mass - found)
        weights[k] += take
        found += take
    return Matched(found, (tuple(weights),))


def _solved(law: Chances, groups: Sequence[Group], pairs: list[tuple[int, int]], enough: Fraction) -> Matched:
    used = sorted({d for _, d in pairs})
    row_c = {c: i for i, c in enumerate(law)}
    row_d = {d: len(law) + i for i, d in enumerate(used)}
    first_group = len(law) + len(used)
    rows, columns = first_group + len(groups), len(pairs) + sum(len(group.laws) for group in groups)
    if rows * columns > _MOST_CELLS:
        raise InputError(
            "points",
            "make a linear program that is too large",
            remedy="Take fewer points, or laws with fewer outputs.",
        )
    table = np.zeros((rows + 1, columns + 1), dtype=object)
    for column, (c, d) in enumerate(pairs):
        table[row_c[c], column] = table[row_d[d], column] = Fraction(1)
        table[rows, column] = Fraction(-1)
    column = len(pairs)
    for g, group in enumerate(groups):
        table[first_group + g, columns] = group.mass
        for other in group.laws:
            for d, chance in other.items():
                if d in row_d:
                    table[row_d[d], column] = -chance
            table[first_group + g, column] = Fraction(1)
            column += 1
    for c, i in row_c.items():
        table[i, columns] = law[c]
    found, values = _simplex(table, enough)
    weights, column = [], len(pairs)
    for group in groups:
        weights.append(tuple(values[column : column + len(group.laws)]))
        column += len(group.laws)
    return Matched(found, tuple(weights))


def _simplex(table: NDArray[Any], enough: Fraction) -> tuple[Fraction, list[Fraction]]:
    """Maximise by the simplex method in integers, from the origin; stop at ``enough``.

    ``table`` holds one row per constraint, with its bound in the last column, and the negative objective in the last
    row. Rows are scaled to integers; after each pivot all entries are integers over one common denominator.
    """
    rows, columns = table.shape[0] - 1, table.shape[1] - 1
    for i in range(rows + 1):
        scale = math.lcm(*(cell.denominator for cell in table[i]))
        table[i] = [cell.numerator * (scale // cell.denominator) for cell in table[i]]
    inside, outside = list(range(columns, columns + rows)), list(range(columns))
    over, steps = 1, 0
    while table[rows, columns] < enough * over:
        costs = table[rows, :columns].tolist()
        entering = [j for j, cost in enumerate(costs) if cost < 0]
        if not entering:
            break
        # the steepest at first; then the smallest index, in and out, which never returns to a corner that it left
        s = min(entering, key=(costs if steps < _GREEDY_STEPS else outside).__getitem__)
        limits = [(i, cell) for i, cell in enumerate(table[:rows, s].tolist()) if cell > 0]
        r, pivot = min(limits, key=lambda limit: (Fraction(int(table[limit[0], columns]), limit[1]), inside[limit[0]]))
        column, row = table[:, s].copy(), table[r].copy()
        table = (table * pivot - np.outer(column, row)) // over
        table[r], table[:, s] = row, -column
        table[r, s] = over
        over, steps = pivot, steps + 1
        inside[r], outside[s] = outside[s], inside[r]
    values = [Fraction(0)] * columns
    for i, variable in enumerate(inside):
        if variable < columns:
            values[variable] = Fraction(int(table[i, columns]), over)
    return Fraction(int(table[rows, columns]), over), values
