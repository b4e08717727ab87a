"""Computing the error sensitivity τ, on finitely many points, exactly.

The pairs (X, X′) with W∞_{γ₁}(X, X′) ≤ β₁ form a polytope with the vertices

    X = (1−γ₁)·x + γ₁·v,  X′ = (1−γ₁)·x′ + γ₁·v′  (x and x′ within β₁; v and v′ anywhere),

and those for which some Y does well enough form a convex set, so it suffices to look at the vertices. Where f is
deterministic v′ = x′ is worst, and the best Y sends each output of M(X) to the nearest value of f: the share of M(X)
that is farther than b from F(x′) = {f(y): ∂(x′, y) ≤ α₂} is lost. Where f is randomised, a linear program finds Y, and
:mod:`flexdp.calculus.blends` finds the vertices that need one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import GAMMA
from flexdp._core.exact import Number
from flexdp.calculus.blends import Setting, Space, Vertex, best_match, blend, worst_blend
from flexdp.calculus.computed import Computed, ErrorCase
from flexdp.calculus.coupling import Chances
from flexdp.calculus.finite import bound_given, least_rank, level, symbol, to_law
from flexdp.calculus.laws import Outputs, Points, points_given
from flexdp.distances.axioms import Amount
from flexdp.distances.tables import make_table
from flexdp.errors import InputError

__all__ = ["error_sensitivity"]

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
