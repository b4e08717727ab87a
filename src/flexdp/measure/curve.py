"""The smallest β for each α and γ: quantiles of the flexible error, or linear programs for randomised statistics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA, GAMMA, Domain, elements
from flexdp._core.exact import Number, number_text, upper_text
from flexdp._core.text import plural, safe_repr
from flexdp.distances.inputs import Weighted
from flexdp.distortions import Distortion, Drop
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram
from flexdp.measure.bounds import bounds_of, largest_excess
from flexdp.measure.data_sets import AMOUNT, Ball, make_ball
from flexdp.measure.flexible import Measurable, check_functions, is_randomised, value_on
from flexdp.measure.gaps import Distance, all_gaps, own_distance
from flexdp.measure.mixture import Mixing, least_bound
from flexdp.measure.outputs import Law, is_law, law_of, runs
from flexdp.statistics.base import histogram_given

__all__ = ["AccuracyCurve", "SmallestBeta", "accuracy_curve", "smallest_beta"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AccuracyCurve:
    """The smallest β for each α (rows) and γ (columns) on one histogram, over a number of runs or for an exact law.

    Parameters
    ----------
    alphas, gammas
        The grid.
    beta
        ``beta[i, j]`` is the smallest β for ``alphas[i]`` and ``gammas[j]``; infinite if more than a fraction γ of the
        runs have an infinite error.
    runs
        Number of runs; None if the distribution of the outputs was given.
    excess
        Most by which a β may exceed the smallest one; above 0 only where the attainable set is too large to list.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> curve = accuracy_curve(h, [70, 20, 12, 60], Max(), alphas=["0.01"], gammas=[0, "0.25"])
    >>> curve.at("0.01", "0.25")
    8.0
    >>> print(curve)
    Measured over 4 runs: the error exceeds β in at most a fraction γ of them.
    α = 0.01: β = 10 at γ = 0, 8 at γ = 0.25.
    """

    alphas: tuple[Fraction, ...]
    gammas: tuple[Fraction, ...]
    beta: NDArray[np.float64]
    runs: int | None
    excess: float = 0.0

    def at(self, alpha: Number, gamma: Number = 0) -> float:
        """Return the β of one α and γ of the grid.

        Parameters
        ----------
        alpha, gamma
            Values that the curve was computed for.

        Returns
        -------
        float
            The smallest β.

        Raises
        ------
        InputError
            If the curve was not computed for them.
        """
        pair = AMOUNT.check(alpha), GAMMA.check(gamma)
        if pair[0] not in self.alphas or pair[1] not in self.gammas:
            raise InputError("alpha", ("and ", P("gamma"), " must be among the values that the curve was computed for"))
        return float(self.beta[self.alphas.index(pair[0]), self.gammas.index(pair[1])])

    def __str__(self) -> str:
        lines = [
            "Computed from the distribution of the outputs: the error exceeds β with probability at most γ."
            if self.runs is None
            else f"Measured over {plural(self.runs, 'run')}: the error exceeds β in at most a fraction γ of them."
        ]
        for alpha, row in zip(self.alphas, self.beta, strict=True):
            cells = ", ".join(
                f"{upper_text(float(beta), 6)} at γ = {number_text(gamma)}"
                for gamma, beta in zip(self.gammas, row, strict=True)
            )
            lines.append(f"α = {number_text(alpha)}: β = {cells}.")
        if self.excess:
            lines.append(f"Each β is an upper bound, at most {upper_text(self.excess)} above the smallest one.")
        return "\n".join(lines)


def accuracy_curve(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted,
    statistic: Measurable,
    alphas: Sequence[Number],
    gammas: Sequence[Number],
    *,
    distance: Distance | None = None,
    distortion: Distortion | None = None,
    domain: Iterable[Any] | None = None,
    candidates: Iterable[Histogram] | None = None,
) -> AccuracyCurve:
    """Compute, for each α and γ, the smallest β for which a mechanism is (α, β, γ)-accurate at a histogram.

    For a deterministic statistic and R runs it is the error of rank ⌈(1 − γ)·R⌉ in ascending order, the rank computed
    exactly; for a law, the smallest error that is not exceeded with probability 1 − γ; at γ = 1 it is 0. For a
    randomised statistic see :func:`smallest_beta`.

    Parameters
    ----------
    histogram
        The data; not empty.
    outputs
        Outputs of independent runs, at least one, or a law, as for :func:`flexible_error`.
    statistic
        The statistic that the mechanism approximates; it may be randomised.
    alphas, gammas
        The grid.
    distance, distortion, domain, candidates
        As for :func:`flexible_error`.

    Returns
    -------
    AccuracyCurve
        The smallest β for each pair.

    Raises
    ------
    InputError
        If there is no run, or as for :func:`flexible_error`.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> accuracy_curve(h, [70, 20, 12, 60], Max(), alphas=[0, 0.01], gammas=[0, 0.25]).beta.tolist()
    [[58.0, 50.0], [10.0, 8.0]]
    >>> print(accuracy_curve(h, {70: "0.9", 60: "0.1"}, Max(), alphas=[0], gammas=[0, "0.1"]))
    Computed from the distribution of the outputs: the error exceeds β with probability at most γ.
    α = 0: β = 10 at γ = 0, 0 at γ = 0.1.
    """
    ball = make_ball(histogram_given(histogram), 0, distortion, domain, candidates)
    law = runs(outputs)
    check_functions(statistic, distance)
    shares = tuple(_limit(ball).check(alpha) for alpha in _listed("alphas", alphas))
    chances = tuple(GAMMA.check(gamma) for gamma in _listed("gammas", gammas))
    if not len(law.points):
        raise InputError("outputs", "must contain at least one run")
    beta = np.zeros((len(shares), len(chances)))
    drawn, excess = is_randomised(statistic, ball.centre), 0.0
    for row, share in enumerate(shares):
        if drawn:
            mixing = _mixing(law, statistic, ball.at(share), distance)
            beta[row] = [least_bound(mixing.problem, 1 - chance).value for chance in chances]
        else:
            found = bounds_of(law, statistic, ball.at(share), distance)
            beta[row] = _quantiles(found.upper, law, chances)
            if not found.exact:
                least = np.array(_quantiles(found.lower, law, chances))
                excess = max(excess, largest_excess(least, beta[row]))
    beta.flags.writeable = False
    many = len(law.points) if law.masses is None else None
    return AccuracyCurve(alphas=shares, gammas=chances, beta=beta, runs=many, excess=excess)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmallestBeta:
    """The smallest β at one α and γ, with a random data set x′ that attains it.

    Parameters
    ----------
    value
        β; infinite if there is none.
    mixture
        Pairs (histogram, probability): the law of x′. Empty if β is infinite.

    Examples
    --------
    >>> coin = lambda histogram: {0: 1, int(histogram.keys[-1]): 1}
    >>> h = Histogram.from_counts({1: 3, 9: 1})
    >>> found = smallest_beta(h, {0: "0.5", 1: "0.25", 9: "0.25"}, coin, alpha="0.25")
    >>> float(found), [(x.size, chance) for x, chance in found.mixture]
    (0.0, [(4, Fraction(1, 2)), (3, Fraction(1, 2))])
    """

    value: float
    mixture: tuple[tuple[Histogram, Fraction], ...]

    def __float__(self) -> float:
        return self.value


def smallest_beta(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted,
    statistic: Measurable,
    alpha: Number,
    gamma: Number = 0,
    *,
    distance: Distance | None = None,
    distortion: Distortion | None = None,
    domain: Iterable[Any] | None = None,
    candidates: Iterable[Histogram] | None = None,
) -> SmallestBeta:
    """Compute the smallest β for which a mechanism is (α, β, γ)-accurate at a histogram, with the x′ that attains it.

    This is the definition itself (paper, Def. alpha-beta-gamma-accuracy), for statistics that may be randomised: the
    least b such that some random x′, all of whose values are within α of x, lets all but a mass γ of the mechanism's
    law be coupled with that of f(x′) within distance b. All data sets within reach are listed. Each b is decided by a
    linear program whose solution is checked in exact arithmetic, from both sides.

    Parameters
    ----------
    histogram
        The data; not empty.
    outputs
        Outputs of independent runs, at least one, or a law, as for :func:`flexible_error`.
    statistic
        The statistic; a randomised one returns a law on each histogram.
    alpha, gamma
        The distortion and the mass that may be lost.
    distance, distortion, domain, candidates
        As for :func:`flexible_error`.

    Returns
    -------
    SmallestBeta
        β and the law of x′.

    Raises
    ------
    InputError
        As for :func:`flexible_error`, and if scipy is missing.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 2, 20: 1, 70: 1})
    >>> found = smallest_beta(h, [70, 18, 18, 18], Max(), alpha="1/4")
    >>> found.value, [x.keys.tolist()[-1] for x, _ in found.mixture]
    (2.0, [70, 20])
    """
    ball = make_ball(histogram_given(histogram), alpha, distortion, domain, candidates)
    law = runs(outputs)
    check_functions(statistic, distance)
    if not len(law.points):
        raise InputError("outputs", "must contain at least one run")
    mixing = _mixing(law, statistic, ball, distance)
    found = least_bound(mixing.problem, 1 - GAMMA.check(gamma))
    mixture = tuple((each, w) for each, w in zip(mixing.data_sets, found.weights, strict=False) if w)
    return SmallestBeta(value=found.value, mixture=mixture)


@dataclass(frozen=True, slots=True, eq=False)
class _Mixing:
    problem: Mixing
    data_sets: list[Histogram]


def _mixing(law: Law, statistic: Any, ball: Ball, distance: Distance | None) -> _Mixing:
    """Return the program: one law for each distinct law of f(x′), with the first x′ that has it."""
    points, masses = law.exactly()
    values: list[Any] = []
    places: dict[Any, int] = {}
    known: dict[tuple[tuple[int, Fraction], ...], Histogram] = {}
    for number, each in enumerate(ball, 1):
        found = value_on(statistic, each, number)
        drawn = law_of("statistic", found) if is_law(found) else Law([found], [Fraction(1)])
        weights: dict[int, Fraction] = {}
        for value, mass in zip(*drawn.exactly(), strict=True):
            place = _place(value, values, places)
            weights[place] = weights.get(place, Fraction(0)) + mass
        known.setdefault(tuple(sorted(weights.items())), each)
    laws = [[dict(each).get(z, Fraction(0)) for z in range(len(values))] for each in known]
    if not laws:
        return _Mixing(Mixing(masses, [[]], np.empty((len(points), 0))), [])
    return _Mixing(
        Mixing(masses, laws, all_gaps(points, values, distance or own_distance(statistic))), list(known.values())
    )


def _place(value: Any, values: list[Any], places: dict[Any, int]) -> int:
    try:
        if value not in places:
            places[value] = len(values)
            values.append(value)
        return places[value]
    except TypeError:  # unhashable: never merged
        values.append(value)
        return len(values) - 1


def _quantiles(errors: NDArray[np.float64], law: Law, chances: tuple[Fraction, ...]) -> list[float]:
    order = np.argsort(errors, kind="stable")
    ascending = errors[order]
    if law.masses is None:
        ranks = [math.ceil((1 - chance) * len(errors)) for chance in chances]
        return [float(ascending[rank - 1]) if rank else 0.0 for rank in ranks]
    up_to = list(accumulate(law.masses[i] for i in order.tolist()))
    return [
        next(error for error, mass in zip(ascending.tolist(), up_to, strict=True) if mass >= 1 - chance)
        if chance < 1
        else 0.0
        for chance in chances
    ]


def _limit(ball: Ball) -> Domain:
    return ALPHA if isinstance(ball.distortion, Drop) else AMOUNT


def _listed(name: str, values: object) -> list[Any]:
    listed = elements(values)
    if listed is None:
        raise InputError(name, "must be a list of numbers", given=safe_repr(values))
    return listed
