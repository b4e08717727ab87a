"""The worst vertex of τ for a randomised function: exact, with a linear program for few of the vertices.

A vertex blends a pair (x, x′) within β₁ with any pair (v, w): X = (1−γ₁)·x + γ₁·v and X′ = (1−γ₁)·x′ + γ₁·w. Its loss
at a distance b is the mass of M(X) that no Y within α₂ of X′ matches within b; write L(x, x′) for that of a single
pair. The search keeps the largest distance found so far and looks for a vertex that loses more than γ₂ there; such a
vertex raises it. Only vertices that four facts do not settle need a program:

1. Losses are convex: a blend loses at most (1−γ₁)·L(x, x′) + γ₁·L(v, w), because the best Y of either part may be kept.
2. They fall as b grows: what a pair lost at a smaller distance bounds its loss from above.
3. L(v, w) = 0 if all outputs of M at v are within b of all those of f at w, and L(v, w) = 1 if no output of M at v is
   within b of an output of f on the points that w may become ("v does not touch w").
4. If v does not touch x′ and x does not touch w, no mass can be matched across the parts. The program then falls into
   two, and the blend loses exactly (1−γ₁)·L(x, x′) + γ₁·L(v, w), without a program of its own.

By 3 and 4, one pair (v, w) that touches nothing decides for (x, x′): either the blend is too much, or 1 settles every
blend with (x, x′). What is left has to touch, and is decided one by one, in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import float_up
from flexdp._core.text import thousands
from flexdp.calculus.coupling import Chances, Group, Matched, most_matched
from flexdp.calculus.finite import least_rank
from flexdp.distances.axioms import Amount
from flexdp.distances.tables import Table
from flexdp.errors import InputError

__all__ = ["Setting", "Space", "Vertex", "best_match", "blend", "worst_blend"]

_MOST_PROGRAMS = 100_000  # that are solved for blends
_ONE = Fraction(1)


class Setting(NamedTuple):
    """α₂, γ₂, β₁ and γ₁."""

    alpha: Amount
    gamma: Fraction
    beta: Amount
    lost: Fraction


class Vertex(NamedTuple):
    """X = (1−γ₁)·x + γ₁·v and X′ = (1−γ₁)·to + γ₁·w."""

    x: int
    to: int
    v: int
    w: int


@dataclass(frozen=True, eq=False, slots=True)
class Space:
    """Laws of M and f at each point; points within α₂ (``moves``) and within β₁ (``close``); distances of outputs."""

    mechanism: list[dict[int, Fraction]]
    function: list[dict[int, Fraction]]
    moves: NDArray[np.bool_]
    close: NDArray[np.bool_]
    apart: Table


class BestMatch(NamedTuple):
    """Parts of Y, each with the points that it may take and the weights that match the most, and the mass matched."""

    groups: list[Group]
    places: list[list[int]]
    found: Matched


def blend(lost: Fraction, one: int, other: int) -> Chances:
    """Return (1−γ₁)·one + γ₁·other."""
    if one == other:
        return {one: _ONE}
    return {one: 1 - lost, other: lost}


def best_match(space: Space, setting: Setting, vertex: Vertex, rank: int, *, whole: bool = False) -> BestMatch:
    """Match M(X) with the best Y within a distance; up to a mass of 1 − γ₂, or all that is possible if ``whole``."""
    parts = [(1 - setting.lost, vertex.to), (setting.lost, vertex.w)]
    if vertex.to == vertex.w:
        parts = [(_ONE, vertex.to)]
    kept = [(mass, np.flatnonzero(space.moves[to]).tolist()) for mass, to in parts if mass]
    groups = [Group(mass, [space.function[y] for y in places]) for mass, places in kept]
    near = space.apart.ranks <= rank
    law = _output(space, setting, vertex)
    enough = _ONE if whole else 1 - setting.gamma
    return BestMatch(
        groups, [places for _, places in kept], most_matched(law, groups, lambda c, d: bool(near[c, d]), enough=enough)
    )


def _output(space: Space, setting: Setting, vertex: Vertex) -> Chances:
    if vertex.x == vertex.v:
        return space.mechanism[vertex.x]
    found: dict[int, Fraction] = {}
    for i, chance in blend(setting.lost, vertex.x, vertex.v).items():
        for c, share in space.mechanism[i].items():
            if chance:
                found[c] = found.get(c, Fraction(0)) + chance * share
    return found


def worst_blend(space: Space, setting: Setting) -> tuple[int, Vertex]:
    """Find the rank of the largest distance that some vertex needs, and that vertex."""
    search = _Search(space, setting)
    pairs = np.argwhere(space.close).tolist()
    for x, to in pairs:
        search.exceeds(Vertex(x, to, x, to))
    if setting.lost:
        for x, to in pairs:
            while search.blend_exceeds(x, to):
                pass
    return search.rank, search.vertex


@dataclass(eq=False)
class _Search:
    space: Space
    setting: Setting
    rank: int = 0  # of the largest distance found so far
    vertex: Vertex = field(default_factory=lambda: Vertex(0, 0, 0, 0))
    _losses: dict[tuple[int, int], Fraction] = field(default_factory=dict)  # of single pairs, at this rank
    _programs: int = 0

    def __post_init__(self) -> None:
        size, outputs = len(self.space.mechanism), len(self.space.apart.ranks)
        self._at, beside = np.zeros((size, outputs)), np.zeros((len(self.space.function), outputs))
        for supports, laws in ((self._at, self.space.mechanism), (beside, self.space.function)):
            for i, law in enumerate(laws):
                supports[i, list(law)] = 1.0
        self._within = self.space.moves.astype(np.float64) @ beside  # outputs of f on what each point may become
        self._farthest = _farthest_outputs(self.space)
        self._most = np.ones((size, size))  # bounds of the losses of pairs, rounded up
        self._look()

    def _look(self) -> None:
        """Find out which points touch at this rank, and which pairs may lose anything."""
        near = (self.space.apart.ranks <= self.rank).astype(np.float64)
        self._touch = (self._at @ near @ self._within.T) > 0
        self._most[self._farthest <= self.rank] = 0.0

    def exceeds(self, vertex: Vertex) -> bool:
        """Return True, and raise the distance to what the vertex needs, if that is more than was found so far."""
        space, setting, last = self.space, self.setting, len(self.space.apart.levels) - 1
        found = least_rank(
            lambda rank: best_match(space, setting, vertex, rank).found.mass >= 1 - setting.gamma, self.rank, last
        )
        if found == self.rank:
            return False
        self.rank, self.vertex = found, vertex
        self._losses.clear()
        self._look()
        return True

    def blend_exceeds(self, x: int, to: int) -> bool:
        """Return True, and raise the distance, if a blend with (x, to) needs more than was found so far."""
        room = self.setting.gamma - (1 - self.setting.lost) * self._loss(x, to)  # for γ₁·L(v, w)
        if self.setting.lost <= room:
            return False
        alone = ~self._touch[:, [to]] & ~self._touch[[x], :]
        free = np.where(alone & ~self._touch, self._farthest, -1)
        if free.max() >= 0:
            v, w = divmod(int(free.argmax()), len(free))
            return self._raised(Vertex(x, to, v, w))
        return any(
            self._raised(Vertex(x, to, v, w)) if alone[v, w] else self.exceeds(self._counted(Vertex(x, to, v, w)))
            for v, w in self._open(room)
        )

    def _open(self, room: Fraction) -> Iterator[tuple[int, int]]:
        """Yield the pairs (v, w) that lose more than there is room for; the others are settled by convexity."""
        lost = self.setting.lost
        places = np.argwhere(self._most > -float_up(-room / lost))
        order = np.argsort(-self._farthest[places[:, 0], places[:, 1]], kind="stable")  # which may raise it the most
        for v, w in places[order].tolist():
            if lost * (self._loss(v, w) if self._touch[v, w] else _ONE) > room:
                yield v, w

    def _loss(self, x: int, to: int) -> Fraction:
        if (x, to) not in self._losses:
            found = best_match(self.space, self.setting, Vertex(x, to, x, to), self.rank, whole=True).found.mass
            self._losses[x, to] = 1 - found
            self._most[x, to] = float_up(1 - found)
        return self._losses[x, to]

    def _raised(self, vertex: Vertex) -> bool:
        """Raise the distance by a vertex that is known to exceed it."""
        if not self.exceeds(vertex):  # pragma: no cover  (the loss of parts that do not touch is a sum)
            raise AssertionError("a blend of parts that do not touch loses what they lose")
        return True

    def _counted(self, vertex: Vertex) -> Vertex:
        self._programs += 1
        if self._programs > _MOST_PROGRAMS:
            raise InputError(
                "points",
                f"make more than {thousands(_MOST_PROGRAMS)} linear programs for a randomised function after a loss",
                remedy="Take fewer points, or gamma1=0.",
            )
        return vertex


def _farthest_outputs(space: Space) -> NDArray[np.int64]:
    """The rank of the largest distance between an output of M at v and one of f at w, for inputs v and w."""
    size = len(space.mechanism)
    found = np.empty((size, size), dtype=np.int64)
    for w in range(size):
        beside = space.apart.ranks[:, list(space.function[w])].max(axis=1)
        found[:, w] = [beside[list(law)].max() for law in space.mechanism]
    return found
