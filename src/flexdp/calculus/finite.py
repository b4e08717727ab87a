"""Computing sensitivities of distortion (σ) and of metric (Δ), on finitely many points, exactly.

Suprema run over all distributions on the points given, infima over all distributions on the same points. A set of
distributions that satisfies the infimum's conditions is convex, so each supremum is attained at a vertex: point masses
where the function is deterministic, and otherwise finitely many mixtures, for each of which a linear program is
solved in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import BETA, GAMMA
from flexdp._core.enclosure import least
from flexdp._core.exact import Number, float_up, number_text
from flexdp._core.text import plain_scalar, thousands
from flexdp.calculus.coupling import Chances, Group, least_matched, most_matched
from flexdp.calculus.spaces import Law, Outputs, Points, Table, law_text, make_table, point_text, points_given
from flexdp.distances.axioms import Amount
from flexdp.errors import InputError

__all__ = [
    "Computed",
    "DistortionCase",
    "ErrorCase",
    "MetricCase",
    "Value",
    "bound_given",
    "distortion_sensitivity",
    "level",
    "metric_sensitivity",
    "symbol",
    "to_law",
    "value_text",
]

_MOST_VERTICES = 50_000  # distorted outputs of a randomised function
_ONE = Fraction(1)


def bound_given(name: str, value: object) -> Amount:
    """A parameter that must be at least 0, and may be infinite; taken exactly."""
    given = plain_scalar(value)
    return math.inf if isinstance(given, float) and given == math.inf else replace(BETA, name=name).check(value)


def symbol(letter: str, arguments: Sequence[Amount], raised: Sequence[Amount] = ()) -> str:
    """Write a sensitivity in the notation of the paper: σ^{θ,ω}(α); without superscripts that are zero."""
    above = f"^{{{','.join(map(value_text, raised))}}}" if any(raised) else ""
    return f"{letter}{above}({', '.join(map(value_text, arguments))})"


def to_law(points: Sequence[Any], chances: Chances) -> Law:
    """Return a law over numbered points as one over the points themselves, without those of probability zero."""
    return tuple((points[i], chance) for i, chance in sorted(chances.items()) if chance)


def level(table: Table, rank: int) -> Any:
    """Return a distance by its rank, as the metric returned it; infinity beyond the last one."""
    return table.levels[rank] if rank < len(table.levels) else math.inf


def distortion_sensitivity(
    f: Any,
    points: Points,
    d1: Any,
    d2: Any,
    alpha: Number,
    theta: Number = 0,
    omega: Number = 0,
    *,
    targets: Points = (),
    output_metric: Any = None,
) -> Computed[DistortionCase]:
    """Compute σ_f^{θ,ω}(α): the distortion of the input that brings about a distortion α of the output.

    The largest, over inputs x and random outputs Y with ∂₂(f(x), Y) ≤ α, of the least ∂₁(x, X) over random inputs X
    with f(X) = Y; relaxed, with W∞_θ(f(X), Y) ≤ ω (paper, Def. dist-sens and the remark after it). It is infinite where
    no X gives Y. Everything is exact for the finite space of ``points``; for a larger space it is a lower bound where
    only outputs were left out, and no bound where inputs were.

    Parameters
    ----------
    f
        The function of a point: it returns an output or, if it is randomised, its law, as a mapping from outputs to
        probabilities, a list of pairs, or :class:`~flexdp.distances.Weighted` points.
    points
        The inputs: at least one.
    d1, d2
        Distortions of inputs and of outputs: quasi-metrics, possibly infinite, such as ``Drop()``.
    alpha
        Distortion of the output; may be infinite.
    theta, omega
        Mass that need not match, and distance up to which the rest matches.
    targets
        Further outputs that Y may take, beside those that f has.
    output_metric
        Metric of the outputs, for ω: a function, or the name of a metric; by default the usual one of numbers, dates,
        coordinates or histograms.

    Returns
    -------
    Computed
        The value, and the case that attains it.

    Raises
    ------
    InputError
        A function raises or is not a quasi-metric on these points (which are named), or there are too many cases.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.distortions import Drop
    >>> tables = [Histogram.from_counts({7: n}) for n in (1, 2, 4)]
    >>> print(distortion_sensitivity(lambda x: x, tables, Drop(), Drop(), alpha="0.5"))
    σ(0.5) = 0.5: at x = {7: 2} the output {7: 1} takes the input {7: 1}.
    >>> size = lambda x: x.size
    >>> fewer = lambda m, n: 0 if m == n else 1 - n / m if n < m else float("inf")
    >>> print(distortion_sensitivity(size, tables, Drop(), fewer, alpha="0.25", targets=[3]))
    σ(0.25) = infinite: at x = {7: 4} no input has the output 3.
    """
    most, loss, reach = bound_given("alpha", alpha), _theta(theta), bound_given("omega", omega)
    inputs, outputs = points_given("points", points), Outputs()
    laws = outputs.laws("f", f, inputs)
    for i, target in enumerate(points_given("targets", targets, at_least=0)):
        outputs.place("targets", target, f"targets[{i}]")
    first = make_table("d1", d1, inputs, where="points", symmetric=False)
    second = make_table("d2", d2, outputs.points, where="outputs", symmetric=False)
    near = np.eye(len(outputs.points), dtype=np.bool_)
    if reach:
        near = make_table("output_metric", output_metric, outputs.points, where="outputs", symmetric=True).near(reach)
    ball = second.near(most)
    if all(len(law) == 1 for law in laws):
        rank, x, y = _deterministic(first, [next(iter(law)) for law in laws], ball, near, loss)
        found: Chances = {y: _ONE}
    else:
        rank, x, found = _randomised(first, laws, ball, near, loss)
    by = None
    if rank < len(first.levels) and not math.isinf(first.levels[rank]):
        by = to_law(inputs, _cheapest(first, laws, near, loss, rank, x, found) or {})
    case = DistortionCase(inputs[x], to_law(outputs.points, found), by)
    return Computed(level(first, rank), symbol("σ", [most], [loss, reach]), case)


def _theta(theta: Number) -> Fraction:
    return replace(GAMMA, name="theta").check(theta)


def _deterministic(
    first: Table, images: list[int], ball: NDArray[np.bool_], near: NDArray[np.bool_], loss: Fraction
) -> tuple[int, int, int]:
    """Find the worst x and y: any Y is a mixture of points, each of which is reached by itself."""
    nowhere = len(first.levels)
    least = np.full((len(images), len(ball)), nowhere, dtype=np.int64)
    if loss == 1:
        least[:] = np.diag(first.ranks)[:, None]
    else:
        for y in range(len(ball)):
            sources = np.flatnonzero(near[images, y])
            if len(sources):
                least[:, y] = first.ranks[:, sources].min(axis=1)
    least[~ball[images]] = -1
    x, target = divmod(int(least.argmax()), least.shape[1])
    return int(least[x, target]), x, target


def _randomised(
    first: Table, laws: Sequence[Chances], ball: NDArray[np.bool_], near: NDArray[np.bool_], loss: Fraction
) -> tuple[int, int, Chances]:
    """Find the worst x and Y among the vertices: each output of f(x) goes to one output within α."""
    worst: tuple[int, int, Chances] = (int(first.ranks[0, 0]), 0, laws[0])
    finite = sum(not math.isinf(each) for each in first.levels)
    for x, law in enumerate(laws):
        for y in _vertices(law, ball):
            if _cheapest(first, laws, near, loss, worst[0], x, y) is not None:
                continue

            def enough(rank: int, x: int = x, y: Chances = y) -> bool:
                return _cheapest(first, laws, near, loss, rank, x, y) is not None

            rank = least(enough, worst[0] + 1, finite)
            worst = (rank, x, y) if rank < finite else (len(first.levels), x, y)
            if rank == finite:
                return worst
    return worst


def _vertices(law: Chances, ball: NDArray[np.bool_]) -> Iterator[Chances]:
    choices = [np.flatnonzero(ball[b]).tolist() for b in law]
    if math.prod(map(len, choices)) > _MOST_VERTICES:
        raise InputError(
            "alpha",
            f"lets a random output be distorted in more than {thousands(_MOST_VERTICES)} ways",
            remedy="Take a smaller alpha, or a function with fewer outputs at each point.",
        )
    seen: set[frozenset[tuple[int, Fraction]]] = set()
    for targets in product(*choices):
        found: dict[int, Fraction] = {}
        for target, chance in zip(targets, law.values(), strict=True):
            found[target] = found.get(target, Fraction(0)) + chance
        key = frozenset(found.items())
        if key not in seen:
            seen.add(key)
            yield found


def _cheapest(
    first: Table,
    laws: Sequence[Chances],
    near: NDArray[np.bool_],
    loss: Fraction,
    rank: int,
    x: int,
    y: Chances,
) -> Chances | None:
    """Return a random input within a rank of x whose output matches Y; None if there is none."""
    sources = np.flatnonzero(first.ranks[x] <= rank).tolist()
    if not loss:  # every output of X must be matched
        close: list[bool] = np.any(near[:, list(y)], axis=1).tolist()
        sources = [i for i in sources if all(close[b] for b in laws[i])]
    if not sources:
        return None
    group = Group(_ONE, [laws[i] for i in sources])
    found = most_matched(y, [group], lambda c, d: bool(near[d, c]), enough=1 - loss)
    if found.mass < 1 - loss:
        return None
    chances = dict(zip(sources, found.weights[0], strict=True))
    rest = 1 - sum(chances.values(), Fraction(0))
    if rest:  # mass that need not match stays at x
        chances[x] = chances.get(x, Fraction(0)) + rest
    return chances


def metric_sensitivity(
    f: Any, points: Points, beta: Number, *, metric: Any = None, output_metric: Any = None
) -> Computed[MetricCase]:
    """Compute Δ_f(β): how far the output moves when the input moves by at most β.

    The largest distance between f(x) and f(x′) over x and x′ within β of one another (paper, Eq. fhbs-sens). The
    outputs of a randomised function are compared by W∞. It equals τ_{f,f}^{0,0}(β, 0) (Lem. err-sens-deterministic).

    Parameters
    ----------
    f
        The function of a point, deterministic or returning its law (as in :func:`distortion_sensitivity`).
    points
        The inputs: at least one.
    beta
        Distance of the inputs; may be infinite.
    metric, output_metric
        Metrics of inputs and outputs: functions, or names of scipy metrics; by default the usual one of numbers,
        dates, coordinates or histograms.

    Returns
    -------
    Computed
        The value, and a pair that attains it.

    Raises
    ------
    InputError
        A function raises or is not a metric on these points, which are named.

    Examples
    --------
    >>> from flexdp.distances import Cyclic
    >>> print(metric_sensitivity(lambda hour: hour // 6, range(24), beta=1, metric=Cyclic(24)))
    Δ(1) = 3: from x = 0 to x′ = 23 the output goes from 0 to 3.
    """
    most = bound_given("beta", beta)
    inputs, outputs = points_given("points", points), Outputs()
    laws = outputs.laws("f", f, inputs)
    close = make_table("metric", metric, inputs, where="points", symmetric=True).near(most)
    apart = make_table("output_metric", output_metric, outputs.points, where="outputs", symmetric=True)
    worst = (int(apart.ranks[next(iter(laws[0])), next(iter(laws[0]))]), 0, 0)
    for i, j in np.argwhere(np.triu(close, 1)).tolist():
        rank = _farthest(apart, laws[i], laws[j], worst[0])
        if rank > worst[0]:
            worst = (rank, i, j)
    rank, i, j = worst
    case = MetricCase(inputs[i], inputs[j], to_law(outputs.points, laws[i]), to_law(outputs.points, laws[j]))
    return Computed(level(apart, rank), symbol("Δ", [most]), case)


def _farthest(table: Table, p: Chances, q: Chances, known: int) -> int:
    """Return the rank of W∞ between two laws if it is above ``known``, else any rank up to that."""
    if len(p) == len(q) == 1:
        return int(table.ranks[next(iter(p)), next(iter(q))])
    if p == q:
        return 0
    return least_matched(p, [Group(_ONE, [q])], table.ranks, _ONE, low=known, high=len(table.levels) - 1)[0]


def least_rank(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least rank from low to high at which a condition holds, given that it holds at high."""
    return low if holds(low) else least(holds, low + 1, high)


Value: TypeAlias = int | Fraction | float
Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class Computed(Generic[Case]):
    """A sensitivity of finitely many points, with the case that attains it; ``float`` rounds it up.

    Parameters
    ----------
    value
        The number: a distance exactly as the metric or distortion returned it, 0, or infinity.
    symbol
        The quantity in the notation of the paper, such as "σ(0.25)".
    witness
        The worst case.

    Examples
    --------
    >>> from flexdp import metric_sensitivity
    >>> doubled = metric_sensitivity(lambda x: 2 * x, range(5), beta=1)
    >>> print(doubled)
    Δ(1) = 2: from x = 0 to x′ = 1 the output goes from 0 to 2.
    >>> doubled.value, doubled.witness.x, float(doubled)
    (2, 0, 2.0)
    """

    value: Value
    symbol: str
    witness: Case = field(repr=False)

    def __float__(self) -> float:
        return float_up(self.value) if isinstance(self.value, Fraction) else float(self.value)

    def __str__(self) -> str:
        return f"{self.symbol} = {value_text(self.value)}: {self.witness}."


@dataclass(frozen=True, slots=True)
class DistortionCase:
    """An input x whose output is distorted to Y, and the least distorted input X that gives Y; None if there is none.

    Parameters
    ----------
    x
        The input.
    y
        The distorted output Y, as points with probabilities.
    by
        The distorted input X, likewise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(DistortionCase(0, ((1, Fraction(1)),), None))
    at x = 0 no input has the output 1
    """

    x: Any
    y: Law
    by: Law | None

    def __str__(self) -> str:
        if self.by is None:
            return f"at x = {point_text(self.x)} no input has the output {law_text(self.y)}"
        return f"at x = {point_text(self.x)} the output {law_text(self.y)} takes the input {law_text(self.by)}"


@dataclass(frozen=True, slots=True)
class ErrorCase:
    """An input X of the mechanism, an input X′ close to it, and the best distortion Y of X′ for the function.

    Parameters
    ----------
    x, other, y
        X, X′ and Y, as points with probabilities.

    Examples
    --------
    >>> from fractions import Fraction
    >>> point = ((0, Fraction(1)),)
    >>> print(ErrorCase(point, point, point))
    with X = 0 and X′ = 0 the best Y is 0
    """

    x: Law
    other: Law
    y: Law

    def __str__(self) -> str:
        return f"with X = {law_text(self.x)} and X′ = {law_text(self.other)} the best Y is {law_text(self.y)}"


@dataclass(frozen=True, slots=True)
class MetricCase:
    """Two inputs close to one another, and their outputs.

    Parameters
    ----------
    x, other
        The inputs.
    output, other_output
        Their outputs, as points with probabilities.

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(MetricCase(0, 1, ((0, Fraction(1)),), ((2, Fraction(1)),)))
    from x = 0 to x′ = 1 the output goes from 0 to 2
    """

    x: Any
    other: Any
    output: Law
    other_output: Law

    def __str__(self) -> str:
        way = f"from x = {point_text(self.x)} to x′ = {point_text(self.other)}"
        return f"{way} the output goes from {law_text(self.output)} to {law_text(self.other_output)}"


def value_text(value: Value) -> str:
    """Write a sensitivity: exactly if it is short, "infinite" where there is no bound."""
    return "infinite" if isinstance(value, float) and math.isinf(value) else number_text(value)
