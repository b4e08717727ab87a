"""Computing the error sensitivity τ, on finitely many points, exactly.

The pairs (X, X′) with W∞_{γ₁}(X, X′) ≤ β₁ form a polytope with the vertices

    X = (1−γ₁)·x + γ₁·v,  X′ = (1−γ₁)·x′ + γ₁·v′  (x and x′ within β₁; v and v′ anywhere),

and those for which some Y does well enough form a convex set, so it suffices to look at the vertices. Where f is
deterministic v′ = x′ is worst, and the best Y sends each output of M(X) to the nearest value of f: the share of M(X)
that is farther than b from F(x′) = {f(y): ∂(x′, y) ≤ α₂} is lost. Where f is randomised, a linear program finds Y, but
few of the vertices need one.

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

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import GAMMA
from flexdp._core.exact import Number, exact, float_up
from flexdp._core.text import thousands
from flexdp.calculus.compose import Error, Sigma, Step
from flexdp.calculus.coupling import Chances, Group, Matched, most_matched
from flexdp.calculus.finite import (
    Computed,
    ErrorCase,
    bound_given,
    distortion_sensitivity,
    least_rank,
    level,
    symbol,
    to_law,
)
from flexdp.calculus.spaces import Outputs, Points, Table, make_table, points_given
from flexdp.distances import Difference, Metric
from flexdp.distances.axioms import Amount
from flexdp.distortions import Distortion, Drop
from flexdp.errors import InputError

__all__ = [
    "Setting",
    "Space",
    "Vertex",
    "best_match",
    "blend",
    "error_sensitivity",
    "sigma_on",
    "tau_on",
    "worst_blend",
]

_LIMB = 30  # bits of a mass that one matrix product of doubles adds up without rounding
_PARTS = ("numerator", "denominator")
_DOUBT = 1e-9  # shares closer than this to the largest are compared exactly


def error_sensitivity(
    M: Any,  # noqa: N803  (its name in the paper)
    f: Any,
    points: Points,
    distortion: Any,
    alpha2: Number = 0,
    gamma2: Number = 0,
    beta1: Number = 0,
    gamma1: Number = 0,
    *,
    targets: Points = (),
    metric: Any = None,
    output_metric: Any = None,
) -> Computed[ErrorCase]:
    """Compute τ_{M,f}^{α₂,γ₂}(β₁, γ₁): the output error of M when its input already carries an error.

    The largest, over random inputs X and X′ with W∞_{γ₁}(X, X′) ≤ β₁, of the least W∞_{γ₂}(M(X), f(Y)) over Y with
    ∂(X′, Y) ≤ α₂ (paper, Def. err-sens). At β₁ = γ₁ = 0 it is the least β for which M is (α₂, β, γ₂)-accurate for f.
    Everything is exact for the finite space of ``points``. Since Y = X′ is always allowed, the value is infinite only
    if the output metric is.

    Parameters
    ----------
    M, f
        The mechanism and the function that it approximates. Each takes a point and returns an output or, if it is
        randomised, its law: a mapping from outputs to probabilities, a list of pairs, or
        :class:`~flexdp.distances.Weighted` points. An object with a method ``law`` is asked for that.
    points
        The inputs: at least one.
    distortion
        Distortion of inputs: a quasi-metric, possibly infinite, such as ``Drop()``.
    alpha2, gamma2
        Distortion and loss that M itself is allowed.
    beta1, gamma1
        Error and loss of the input.
    targets
        Further points that Y may take, at which f is defined and M need not be.
    metric, output_metric
        Metrics of inputs and outputs: functions, or names of scipy metrics; by default the usual one of numbers,
        dates, coordinates or histograms.

    Returns
    -------
    Computed
        The value, and X, X′ and Y that attain it.

    Raises
    ------
    InputError
        A function raises or breaks its axioms on these points (which are named), or there are too many cases.

    Examples
    --------
    >>> from flexdp.distances import Equality
    >>> noisy = lambda x: {x: "0.9", x + 3: "0.1"}
    >>> print(error_sensitivity(noisy, lambda x: x, range(5), Equality(), beta1=1))
    τ(1, 0) = 4: with X = 1 and X′ = 0 the best Y is 0.
    >>> error_sensitivity(noisy, lambda x: x, range(5), Equality(), gamma2="0.1", beta1=1).value
    1
    >>> error_sensitivity(lambda _: 7, lambda _: 7, range(5), Equality(), beta1=1, gamma1="0.1").value
    0
    """
    setting = Setting(
        bound_given("alpha2", alpha2),
        replace(GAMMA, name="gamma2").check(gamma2),
        bound_given("beta1", beta1),
        replace(GAMMA, name="gamma1").check(gamma1),
    )
    inputs, outputs = points_given("points", points), Outputs()
    size, everything = len(inputs), points_given("points", [*inputs, *points_given("targets", targets, at_least=0)])
    mechanism, function = outputs.laws("M", M, inputs), outputs.laws("f", f, everything)
    moves = make_table("distortion", distortion, everything, where="points", symmetric=False).near(setting.alpha)[:size]
    close = _close(metric, inputs, setting.beta)
    apart = make_table("output_metric", output_metric, outputs.points, where="outputs", symmetric=True)
    space = Space(mechanism, function, moves, close, apart)
    rank, vertex = (worst_blend if any(len(law) > 1 for law in function) else _pointwise)(space, setting)
    case = ErrorCase(
        to_law(inputs, blend(setting.lost, vertex.x, vertex.v)),
        to_law(inputs, blend(setting.lost, vertex.to, vertex.w)),
        to_law(everything, _best(space, setting, vertex, rank)),
    )
    name = symbol("τ", [setting.beta, setting.lost], [setting.alpha, setting.gamma])
    return Computed(level(apart, rank), name, case)


def _close(metric: Any, inputs: Sequence[Any], beta: Amount) -> NDArray[np.bool_]:
    if metric is None and not beta:
        try:
            return make_table("metric", None, inputs, where="points", symmetric=True).near(beta)
        except InputError:  # without a distance of their own, points are at distance 0 if they are equal
            return np.eye(len(inputs), dtype=np.bool_)
    return make_table("metric", metric, inputs, where="points", symmetric=True).near(beta)


def _pointwise(space: Space, setting: Setting) -> tuple[int, Vertex]:
    """Find the worst vertex for a deterministic f, by bisecting the distances of outputs."""
    images = [next(iter(law)) for law in space.function]
    nearest = np.stack(
        [space.apart.ranks[:, [images[y] for y in np.flatnonzero(reach)]].min(axis=1) for reach in space.moves], axis=1
    )
    masses = _Masses(space.mechanism, len(space.apart.ranks))
    found: dict[int, Vertex | None] = {}

    def holds(rank: int) -> bool:
        found[rank] = _beyond(masses.of(nearest > rank), masses.totals, space.close, setting)
        return found[rank] is None

    rank = least_rank(holds, 0, len(space.apart.levels) - 1)
    return rank, (found.get(rank - 1) if rank else None) or Vertex(0, 0, 0, 0)


class _Masses:
    """The laws of M as integers, each over a total of its own, in limbs that doubles add up exactly."""

    def __init__(self, laws: Sequence[Chances], outputs: int) -> None:
        self.totals = [math.lcm(*(chance.denominator for chance in law.values())) for law in laws]
        count = max(1, -(-max(total.bit_length() for total in self.totals) // _LIMB))
        self._limbs = np.zeros((count, len(laws), outputs))
        for i, (law, total) in enumerate(zip(laws, self.totals, strict=True)):
            for c, chance in law.items():
                mass = int(chance * total)
                for k in range(count):
                    self._limbs[k, i, c] = (mass >> (_LIMB * k)) & (2**_LIMB - 1)

    def of(self, sets: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the mass of each set (a column) under each law, as exact integers."""
        columns = sets.astype(np.float64)
        found: NDArray[Any] = np.zeros((self._limbs.shape[1], sets.shape[1]), dtype=object)
        for k in range(len(self._limbs)):
            found = found + (self._limbs[k] @ columns).astype(np.int64).astype(object) * 2 ** (_LIMB * k)
        return found


def _beyond(masses: NDArray[Any], totals: Sequence[int], close: NDArray[np.bool_], setting: Setting) -> Vertex | None:
    """Return a vertex that loses more than γ₂, or None; ``masses`` are those of M(x) farther than b from F(x′).

    With their shares p, the vertex (x, x′, v, x′) loses (1−γ₁)·p(x, x′) + γ₁·max_v p(v, x′).
    """
    lost, worst = setting.lost, _largest(masses, totals) if setting.lost else [0] * masses.shape[1]
    left = [setting.gamma - lost * Fraction(int(masses[v, j]), totals[v]) for j, v in enumerate(worst)]
    if lost == 1:
        beyond = close & np.array([rest < 0 for rest in left])[None, :]
    else:  # the most that p(x, x′) may be, in units of each law's total
        most = [rest / (1 - lost) for rest in left]
        above, below = (np.array([getattr(each, part) for each in most], dtype=object) for part in _PARTS)
        allowed = np.array(totals, dtype=object)[:, None] * above[None, :] // below[None, :]
        beyond = close & (masses > allowed)
    if not beyond.any():
        return None
    shares = masses[beyond] / np.array(totals, dtype=object)[np.nonzero(beyond)[0]]
    x, to = np.argwhere(beyond)[int(np.argmax(shares.astype(np.float64)))].tolist()
    return Vertex(x, to, worst[to] if lost else x, to)


def _largest(masses: NDArray[Any], totals: Sequence[int]) -> list[int]:
    """Return for each set the law that gives it the largest share."""
    if len(set(totals)) == 1:
        return [int(place) for place in masses.argmax(axis=0)]
    found = []
    shares = (masses / np.array(totals, dtype=object)[:, None]).astype(np.float64)
    for j in range(masses.shape[1]):
        most = shares[:, j].max()
        rivals = np.flatnonzero(shares[:, j] >= most * (1 - _DOUBT)).tolist() if most else [0]
        found.append(max(rivals, key=lambda v, j=j: Fraction(int(masses[v, j]), totals[v])))  # type: ignore[misc]
    return found


def _best(space: Space, setting: Setting, vertex: Vertex, rank: int) -> Chances:
    """The best Y; what it need not match stays where X′ is."""
    match = best_match(space, setting, vertex, rank)
    chances: dict[int, Fraction] = {}
    homes = [vertex.w] if setting.lost == 1 else [vertex.to, vertex.w][: len(match.groups)]
    for group, inputs, weights, home in zip(match.groups, match.places, match.found.weights, homes, strict=True):
        for y, weight in zip(inputs, weights, strict=True):
            chances[y] = chances.get(y, Fraction(0)) + weight
        chances[home] = chances.get(home, Fraction(0)) + group.mass - sum(weights, Fraction(0))
    return chances


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


def sigma_on(
    f: Any,
    points: Points,
    d1: Any,
    d2: Any,
    *,
    theta: Number = 0,
    omega: Number = 0,
    targets: Points = (),
    output_metric: Any = None,
) -> Sigma:
    """Return σ_f of a finite space as composition takes it; computed where it is asked for.

    Parameters
    ----------
    f, points, d1, d2, theta, omega, targets, output_metric
        As for :func:`flexdp.distortion_sensitivity`.

    Returns
    -------
    Sigma
        The bound, rounded up.

    Examples
    --------
    >>> gap = lambda a, b: abs(a - b)
    >>> halves = sigma_on(lambda x: 2 * x, range(9), gap, gap)
    >>> halves.bound(4), halves.bound(0)
    (2.0, 0.0)
    """
    inputs, further = points_given("points", points), points_given("targets", targets, at_least=0)

    @functools.cache
    def bound(alpha: float) -> float:
        return float(
            distortion_sensitivity(f, inputs, d1, d2, alpha, theta, omega, targets=further, output_metric=output_metric)
        )

    bound(0.0)  # refuses at once what cannot be computed
    return Sigma(bound=bound, theta=float_up(exact("theta", theta)), omega=float_up(exact("omega", omega)))


def tau_on(
    M: Any,  # noqa: N803  (its name in the paper)
    f: Any,
    points: Points,
    distortion: Any,
    alpha2: Number = 0,
    gamma2: Number = 0,
    *,
    targets: Points = (),
    metric: Any = None,
    output_metric: Any = None,
    named: Metric = Difference(),
    measured: Distortion = Drop(),
) -> Step:
    """Return τ_{M,f}^{α₂,γ₂} of a finite space as composition takes it, with its second argument.

    Parameters
    ----------
    M, f, points, distortion, alpha2, gamma2, targets, metric, output_metric
        As for :func:`flexdp.error_sensitivity`.
    named
        Metric of the output as guarantees name it.
    measured
        Distortion as guarantees name it.

    Returns
    -------
    Step
        Its bounds, rounded up; computed where they are asked for.

    Examples
    --------
    >>> from flexdp import Accuracy
    >>> from flexdp.calculus import compose_accuracy, identity
    >>> from flexdp.distances import Equality
    >>> parity = tau_on(lambda x: x % 2, lambda x: x % 2, range(9), Equality())
    >>> print(compose_accuracy(Accuracy(alpha=0, beta=2, gamma=.1), parity, sigma=identity()))
    Exact after leaving out at most 0% of the records, to within 1.
    """
    inputs, further = points_given("points", points), points_given("targets", targets, at_least=0)

    @functools.cache
    def bound(beta: float, gamma: float = 0.0) -> float:
        found = error_sensitivity(
            M, f, inputs, distortion, alpha2, gamma2, beta, gamma,
            targets=further, metric=metric, output_metric=output_metric,
        )  # fmt: skip
        return float(found)

    bound(0.0)  # refuses at once what cannot be computed
    own = float_up(exact("gamma2", gamma2))

    def tau(error: Error) -> Error:
        return Error(bound(error.beta, error.gamma), own, error.relative)

    return Step(tau, metric=named, alpha=alpha2, distortion=measured)
