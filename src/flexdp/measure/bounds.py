"""Flexible errors as bounds from both sides, which are equal unless the attainable set is too large to list."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import Number, upper_text
from flexdp.distances.inputs import Weighted
from flexdp.distortions import Distortion
from flexdp.errors import BoundsWarning
from flexdp.histogram import Histogram
from flexdp.measure.data_sets import Ball, how_many
from flexdp.measure.dense import moment_bounds
from flexdp.measure.flexible import Measurable, asked, errors_of
from flexdp.measure.gaps import Distance
from flexdp.measure.outputs import Law, missing, on_a_line, only
from flexdp.measure.sums import fits_a_lattice

__all__ = ["ErrorBounds", "bounds_of", "flexible_error", "flexible_error_bounds", "largest_excess"]

_MOST_CELLS = 10**6  # buckets of all data sets together that are searched where bounds are the alternative


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorBounds:
    """Bounds of the flexible error of each output.

    Parameters
    ----------
    lower, upper
        The distance to the attainable set lies between them. They are rounded outwards, and are equal if ``exact``.
    exact
        True if all attainable values were known.

    Examples
    --------
    >>> from flexdp.statistics import Std
    >>> found = flexible_error_bounds(Histogram.from_values([1, 3, 8]), [2.0], Std(), alpha="1/3")
    >>> found.exact, found.upper.tolist(), found.excess
    (True, [0.5], 0.0)
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    exact: bool

    @property
    def excess(self) -> float:
        """Most by which an upper bound may exceed the exact error."""
        return 0.0 if self.exact else largest_excess(self.lower, self.upper)


def largest_excess(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> float:
    """Return the largest difference of bounds, rounded up; where both are infinite there is none."""
    known = np.isfinite(upper)
    return math.nextafter(float((upper[known] - lower[known]).max(initial=0.0)), math.inf)


def flexible_error_bounds(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted,
    statistic: Measurable,
    alpha: Number,
    *,
    distance: Distance | None = None,
    distortion: Distortion | None = None,
    domain: Iterable[Any] | None = None,
    candidates: Iterable[Histogram] | None = None,
) -> ErrorBounds:
    """Bound the flexible error of each output from both sides.

    The bounds are equal, and are what :func:`flexible_error` returns, wherever the attainable values can be listed.
    Sums, means, trimmed means, variances and standard deviations of many records take too many values for that when
    records are dropped. Then the upper bound is the distance to the nearest of many attained values, and the lower one
    the distance to the interval between the least and the largest attainable value. An upper bound certifies a β: a
    mechanism whose upper bounds stay below β, but for a fraction γ of the runs, is (α, β, γ)-accurate on them.

    Parameters
    ----------
    histogram, outputs, statistic, alpha, distance, distortion, domain, candidates
        As for :func:`flexible_error`.

    Returns
    -------
    ErrorBounds
        The bounds, and whether they are exact.

    Raises
    ------
    InputError
        As for :func:`flexible_error`.

    Examples
    --------
    >>> from flexdp.statistics import Std
    >>> many = Histogram(range(100), [1000] * 100)
    >>> found = flexible_error_bounds(many, [28.8, 35.0], Std(), alpha="0.005")
    >>> found.exact, found.excess < 1e-5
    (False, True)
    >>> found.upper.round(4).tolist()
    [0.0, 6.0615]
    """
    ball, law = asked(histogram, outputs, statistic, alpha, distance, distortion, domain, candidates)
    return bounds_of(law, statistic, ball, distance)


def flexible_error(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted,
    statistic: Measurable,
    alpha: Number,
    *,
    distance: Distance | None = None,
    distortion: Distortion | None = None,
    domain: Iterable[Any] | None = None,
    candidates: Iterable[Histogram] | None = None,
) -> NDArray[np.float64]:
    """Compute the distance from each output to the nearest value that a distortion of at most α makes attainable.

    Parameters
    ----------
    histogram
        The data; not empty.
    outputs
        Outputs of independent runs of a mechanism on ``histogram``; or its law, as a mapping from outputs to
        probabilities or as weighted points, whose outputs are then measured in that order. None or NaN is a run without
        an output: its error is infinite unless "no value" is attainable.
    statistic
        The statistic that the mechanism approximates; deterministic.
    alpha
        Largest distortion, taken exactly. By default it is the fraction of the records that may be dropped: ⌊αn⌋
        records.
    distance
        Distance between an output and a value. By default numbers and dates are compared by their difference (dates in
        days), points (tuples of numbers) by their Euclidean distance, supports by Hausdorff's, and any other values are
        equal or infinitely far apart.
    distortion
        Measure of α: ``Drop()``, ``Move()``, ``DropMove(eta)``, or your own function of two histograms. Records that
        move may move anywhere on the line; for quantiles, means, sums, counts, the mode and ranges the attainable set
        is then a union of intervals, and other statistics need one of the next two.
    domain
        With ``Move()`` and ``DropMove(eta)``: the keys that records may move to. All data sets on them are tried.
    candidates
        With any distortion: the data sets that the input may become; those within α count.

    Returns
    -------
    ndarray of float64
        One error per output; infinite if no data set but the empty one is within α. It is exact, or an upper bound
        where a sum, a mean, a variance or their kin takes too many values to list: then a
        :class:`~flexdp.errors.BoundsWarning` says by how much it may exceed the exact one
        (:func:`flexible_error_bounds` returns both bounds).

    Raises
    ------
    InputError
        If the histogram is empty, a parameter is out of range, the statistic is randomised or raises, or the
        attainable set is not known or too large to search.

    Examples
    --------
    >>> from flexdp.distortions import DropMove, Move
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> flexible_error(h, [70, 20, 12, 60, None], Max(), alpha=0.01).tolist()
    [0.0, 0.0, 8.0, 10.0, inf]
    >>> flexible_error(h, [70, 20, 12, 60, None], Max(), alpha=3, distortion=Move()).tolist()
    [0.0, 47.0, 55.0, 7.0, inf]
    >>> flexible_error(h, [70, 20, 12, 60], Max(), alpha="0.02", distortion=DropMove("0.005")).tolist()
    [0.0, 0.0, 6.0, 6.0]
    """
    found = flexible_error_bounds(
        histogram, outputs, statistic, alpha,
        distance=distance, distortion=distortion, domain=domain, candidates=candidates,
    )  # fmt: skip
    if not found.exact and len(found.upper):
        warnings.warn(
            f"the attainable set is too large to list: errors are upper bounds, at most {upper_text(found.excess)} "
            "above the exact distances; flexible_error_bounds returns both bounds.",
            BoundsWarning,
            stacklevel=2,
        )
    return found.upper


def bounds_of(law: Law, statistic: Any, ball: Ball, distance: Distance | None) -> ErrorBounds:
    """Return bounds of the error of each output; everything has been checked."""
    found = _too_many(law, statistic, ball) if distance is None and ball.only_drops else None
    if found is not None:
        return found
    errors = errors_of(law, statistic, ball, distance)
    return ErrorBounds(lower=errors, upper=errors, exact=True)


def _too_many(law: Law, statistic: Any, ball: Ball) -> ErrorBounds | None:
    """Return bounds where a moment takes too many values to list, else None."""
    gone = missing(law.points)
    line = None if gone.all() else on_a_line(only(law.points, ~gone))
    places = np.empty(0) if line is None or line.of != "numbers" else line.places.astype(np.float64)
    if _listable(ball, statistic):
        return None
    found = moment_bounds(ball.centre, ball.dropped, statistic, places)
    if found is None:
        return None
    lower, upper = np.full((2, len(law.points)), math.inf)
    if len(places):
        lower[~gone], upper[~gone] = found
    return ErrorBounds(lower=lower, upper=upper, exact=False)


def _listable(ball: Ball, statistic: Any) -> bool:
    if fits_a_lattice(ball.centre, ball.dropped, statistic):
        return True
    sets = how_many(ball.centre, ball.dropped)
    return sets is not None and (ball.dropped == 0 or sets * len(ball.centre) <= _MOST_CELLS)
