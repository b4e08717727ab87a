"""The smallest β for each α and γ: quantiles of the flexible error, or linear programs for randomised statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA, GAMMA, Domain, elements
from flexdp._core.exact import Number, number_text, upper_text
from flexdp._core.text import plural, safe_repr
from flexdp.calculus.coupling import Chances, Group, least_matched
from flexdp.distances import Weighted
from flexdp.distortions import Distortion, Drop
from flexdp.distribution import Law
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram
from flexdp.measure.ball import AMOUNT, Ball, make_ball
from flexdp.measure.errors import ChanceBounds, Errors
from flexdp.measure.flexible import Measurable, bounds_of, check_functions, is_randomised
from flexdp.measure.outputs import Distance, Outputs, all_gaps, is_law, outputs_given, own_distance
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
    lower
        What the smallest β is at least; equal to ``beta`` where the attainable values are known.
    how
        How bounds were found, as a sentence; empty where β is exact.
    errors
        The errors for each α, unless the statistic is randomised.

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
    lower: NDArray[np.float64]
    how: str = ""
    errors: tuple[Errors, ...] = field(default=(), repr=False)

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

    def gamma_bounds(self, alpha: Number, beta: Number, confidence: Number = "0.95") -> ChanceBounds:
        """Bound the mechanism's γ at an α and a β, with confidence, from the runs (Clopper and Pearson).

        Parameters
        ----------
        alpha
            A value that the curve was computed for.
        beta
            β, chosen before the runs were looked at.
        confidence
            Least chance that the interval contains γ.

        Returns
        -------
        ChanceBounds
            The ends, rounded outwards; both are γ itself where the distribution of the outputs was given.

        Raises
        ------
        InputError
            If the curve was not computed for this α, or the statistic is randomised.

        Examples
        --------
        >>> from flexdp.statistics import Max
        >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
        >>> curve = accuracy_curve(h, [70, 20, 12, 60] * 25, Max(), alphas=["0.01"], gammas=[0])
        >>> [round(bound, 3) for bound in curve.gamma_bounds("0.01", 9)]
        [0.169, 0.347]
        """
        share = AMOUNT.check(alpha)
        if share not in self.alphas or not self.errors:
            raise InputError("alpha", "must be a value that a curve of a deterministic statistic was computed for")
        return self.errors[self.alphas.index(share)].exceeds_bounds(beta, confidence)

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
        if self.how:
            lines.append(f"Each β is an upper bound. {self.how}")
        return "\n".join(lines)


def accuracy_curve(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted | Law,
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
    given = outputs_given(outputs)
    check_functions(statistic, distance)
    shares = tuple(_limit(ball).check(alpha) for alpha in _listed("alphas", alphas))
    chances = tuple(GAMMA.check(gamma) for gamma in _listed("gammas", gammas))
    if not len(given.points):
        raise InputError("outputs", "must contain at least one run")
    beta = np.zeros((len(shares), len(chances)))
    lower, how, errors = beta.copy(), "", []
    drawn = is_randomised(statistic, ball.centre)
    for row, share in enumerate(shares):
        if drawn:
            mixing = _mixing(given, statistic, ball.at(share), distance)
            lower[row] = beta[row] = [_least(mixing, chance).value for chance in chances]
        else:
            found = bounds_of(given.points, statistic, ball.at(share), distance)
            errors.append(Errors(found.upper, given.masses))
            beta[row] = [errors[-1].beta(chance) for chance in chances]
            lower[row] = [Errors(found.lower, given.masses).beta(chance) for chance in chances]
            how = how if found.exact else str(found)
    beta.flags.writeable = lower.flags.writeable = False
    runs = len(given.points) if given.masses is None else None
    return AccuracyCurve(
        alphas=shares, gammas=chances, beta=beta, runs=runs, lower=lower, how=how, errors=tuple(errors)
    )


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
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted | Law,
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
    linear program in exact arithmetic.

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
        As for :func:`flexible_error`, and if the linear program is too large.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 2, 20: 1, 70: 1})
    >>> found = smallest_beta(h, [70, 18, 18, 18], Max(), alpha="1/4")
    >>> found.value, [x.keys.tolist()[-1] for x, _ in found.mixture]
    (2.0, [70, 20])
    """
    ball = make_ball(histogram_given(histogram), alpha, distortion, domain, candidates)
    given = outputs_given(outputs)
    check_functions(statistic, distance)
    if not len(given.points):
        raise InputError("outputs", "must contain at least one run")
    return _least(_mixing(given, statistic, ball, distance), GAMMA.check(gamma))


class _Mixing(NamedTuple):
    """The law of the outputs, those of f(x′) with an x′ each, and the distances between them."""

    law: Chances
    laws: dict[tuple[tuple[int, Fraction], ...], Histogram]
    gaps: NDArray[np.float64]


def _least(mixing: _Mixing, gamma: Fraction) -> SmallestBeta:
    levels, ranks = np.unique(np.append(mixing.gaps, [0.0, np.inf]), return_inverse=True)
    ranks = ranks[:-2].reshape(mixing.gaps.shape)
    groups = [Group(Fraction(1), [dict(law) for law in mixing.laws])]
    rank, found = least_matched(mixing.law, groups, ranks, 1 - gamma, high=len(levels) - 1)
    if found is None:
        return SmallestBeta(value=np.inf, mixture=())
    rest = 1 - sum(found.weights[0], Fraction(0))  # what need not be matched may be any data set
    weights = [weight + (rest if place == 0 else 0) for place, weight in enumerate(found.weights[0])]
    mixture = tuple((x, weight) for x, weight in zip(mixing.laws.values(), weights, strict=True) if weight)
    return SmallestBeta(value=float(levels[rank]), mixture=mixture)


def _mixing(given: Outputs, statistic: Any, ball: Ball, distance: Distance | None) -> _Mixing:
    """Return the program: one law for each distinct law of f(x′), with the first x′ that has it."""
    points, masses = given.exactly()
    values: list[Any] = []
    places: dict[Any, int] = {}
    known: dict[tuple[tuple[int, Fraction], ...], Histogram] = {}
    for each in ball:
        found = statistic(each)
        drawn = outputs_given(found, "statistic") if is_law(found) else Outputs([found], [Fraction(1)])
        weights: dict[int, Fraction] = {}
        for value, mass in zip(*drawn.exactly(), strict=True):
            place = _place(value, values, places)
            weights[place] = weights.get(place, Fraction(0)) + mass
        known.setdefault(tuple(sorted(weights.items())), each)
    gaps = all_gaps(points, values, distance or own_distance(statistic))
    return _Mixing(dict(enumerate(masses)), known, gaps)


def _place(value: Any, values: list[Any], places: dict[Any, int]) -> int:
    try:
        if value not in places:
            places[value] = len(values)
            values.append(value)
        return places[value]
    except TypeError:  # unhashable: never merged
        values.append(value)
        return len(values) - 1


def _limit(ball: Ball) -> Domain:
    return ALPHA if isinstance(ball.distortion, Drop) else AMOUNT


def _listed(name: str, values: object) -> list[Any]:
    listed = elements(values)
    if listed is None:
        raise InputError(name, "must be a list of numbers", given=safe_repr(values))
    return listed
