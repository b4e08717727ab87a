"""The flexible error of each output of a mechanism, and its law."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import attribute, function
from flexdp._core.exact import Number, upper_text
from flexdp.distances import Weighted
from flexdp.distortions import Distortion
from flexdp.distribution import Law
from flexdp.errors import BoundsWarning, InputError
from flexdp.histogram import Histogram
from flexdp.measure.ball import Ball, how_many, make_ball
from flexdp.measure.errors import Errors
from flexdp.measure.moving import intervals_of
from flexdp.measure.outputs import (
    Cells,
    Distance,
    Outputs,
    cells_of,
    is_law,
    least_gaps,
    outputs_given,
    own_distance,
)
from flexdp.measure.search import declared_errors, found_errors, value_of
from flexdp.statistics.base import BuiltIn, histogram_given

__all__ = [
    "ErrorBounds",
    "Measurable",
    "bounds_of",
    "check_functions",
    "errors_of",
    "flexible_error",
    "flexible_error_bounds",
    "is_randomised",
]

_SLACK = 1e-9  # relative: values of a statistic are rounded
_SAID = {  # how bounds were found
    "listed": "Exact: all attainable values are known.",
    "declared": "From above by data sets that were found within reach; from below by the sensitivity that the "
    "statistic declares.",
    "hook": "From above and from below by the statistic's own attainable_moving.",
    "found": "From above by data sets that were found within reach; from below nothing is known, as the statistic "
    "declares no sensitivity.",
}


class Measurable(Protocol):
    """A statistic of your own: any function from a non-empty histogram to a value.

    It returns None where it has no value; NaN is refused. Optional methods make it faster, or its errors exact:

    - ``attainable(histogram, alpha)`` returns the values that f can take once at most ⌊αn⌋ records, but not all, are
      dropped: a sorted array, with None last if "no value" is among them. Without it, all sub-multisets within the
      budget are tried, if there are at most ``LARGEST_SEARCH``.
    - ``attainable_moving(histogram, alpha, moved)`` does so for records that are left and may move by at most
      ``moved``: values and pairs (low, high) of intervals, None among them if there may be no value.
    - ``sensitivity(beta)`` returns Δ_f(β), the most by which f changes if every share of records moves by at most β;
      ``equal_size_sensitivity(beta)`` the same between histograms of equal size. They bound errors from below where
      attainable values can be searched only.
    - ``flexible_error(histogram, outputs, alpha)`` returns the distances themselves, for attainable sets that are too
      large to list.

    A randomised statistic returns a law: a mapping from values to probabilities, or
    :class:`~flexdp.distances.Weighted` points. It is measured by :func:`accuracy_curve` and :func:`smallest_beta`.
    """

    def __call__(self, histogram: Histogram, /) -> Any:
        """Compute the statistic.

        Parameters
        ----------
        histogram
            A non-empty histogram.

        Returns
        -------
        object
            The value, or None if the statistic has none; or a law.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorBounds:
    """Bounds of the flexible error of each output, and how they were found.

    Parameters
    ----------
    lower, upper
        The distance to the attainable set lies between them; they are equal where it is known.
    how
        ``"listed"`` (exact), ``"declared"``, ``"hook"`` or ``"found"``; printed as a sentence.

    Examples
    --------
    >>> from flexdp.distortions import Move
    >>> from flexdp.statistics import Std
    >>> x = Histogram.from_values([1, 3, 8])
    >>> found = flexible_error_bounds(x, [2.0, 4.5], Std(), alpha="0.5", distortion=Move())
    >>> found.lower.round(3).tolist(), found.upper.round(3).tolist(), found.exact
    ([0.444, 1.056], [0.494, 1.101], False)
    >>> print(flexible_error_bounds(x, [2.0], Std(), alpha="1/3"))
    Exact: all attainable values are known.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    how: str = "listed"

    @property
    def exact(self) -> bool:
        """True if all attainable values were known."""
        return self.how == "listed"

    @property
    def excess(self) -> float:
        """Most by which an upper bound may exceed the exact error, rounded up."""
        known = np.isfinite(self.upper)
        most = float((self.upper[known] - self.lower[known]).max(initial=0.0))
        return 0.0 if self.exact else math.nextafter(most, math.inf)

    def __str__(self) -> str:
        return _SAID[self.how]


def flexible_error_bounds(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted | Law,
    statistic: Measurable,
    alpha: Number,
    *,
    distance: Distance | None = None,
    distortion: Distortion | None = None,
    domain: Iterable[Any] | None = None,
    candidates: Iterable[Histogram] | None = None,
) -> ErrorBounds:
    """Bound the flexible error of each output from both sides.

    The bounds are equal, and are what :func:`flexible_error` returns, wherever the attainable values are known: by
    formula, by the statistic's own methods, or because all data sets within reach can be listed. Otherwise data sets
    within reach are searched, with any function as the statistic. What is found is attained, so an upper bound
    certifies a β: a mechanism whose upper bounds stay below β, but for a fraction γ of the runs, is (α, β, γ)-accurate
    on them. The lower bounds follow from the sensitivity that the statistic declares, and are 0 if it declares none.

    Parameters
    ----------
    histogram, outputs, statistic, alpha, distance, distortion, domain, candidates
        As for :func:`flexible_error`.

    Returns
    -------
    ErrorBounds
        The bounds, and how they were found.

    Raises
    ------
    InputError
        As for :func:`flexible_error`.

    Examples
    --------
    >>> def spread(x):  # a black box
    ...     return float(x.keys[-1] - x.keys[0]) ** 2
    >>> from flexdp.distortions import DropMove
    >>> many = Histogram(range(100), [100] * 100)
    >>> found = flexible_error_bounds(many, [9500.0, 11000.0], spread, alpha="0.02", distortion=DropMove("0.01"))
    >>> found.upper.round(6).tolist()
    [0.0, 391.0]
    >>> print(found)
    From above by data sets that were found within reach; from below nothing is known, as the statistic declares no \
sensitivity.
    """
    ball, given = _asked(histogram, outputs, statistic, alpha, distance, distortion, domain, candidates)
    return bounds_of(given.points, statistic, ball, distance)


def flexible_error(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted | Law,
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
        probabilities, as weighted points or as a Distribution, whose outputs are then measured in that order. None or
        NaN is a run without an output: its error is infinite unless "no value" is attainable.
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
        move may move anywhere on the line; unless one of the next two is given.
    domain
        With ``Move()`` and ``DropMove(eta)``: the keys that records may move to. All data sets on them are tried.
    candidates
        With any distortion: the data sets that the input may become; those within α count.

    Returns
    -------
    ndarray of float64
        One error per output; infinite if no data set but the empty one is within α. It is exact, or an upper bound
        where attainable values can only be searched: then a :class:`~flexdp.errors.BoundsWarning` says so
        (:func:`flexible_error_bounds` returns both bounds).

    Raises
    ------
    InputError
        If the histogram is empty, a parameter is out of range, the statistic is randomised or returns NaN, or the data
        sets within reach can be neither listed nor searched.

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
    ball, given = _asked(histogram, outputs, statistic, alpha, distance, distortion, domain, candidates)
    return _upper(bounds_of(given.points, statistic, ball, distance))


def errors_of(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any] | Mapping[Any, Number] | Weighted | Law,
    statistic: Measurable,
    alpha: Number,
    *,
    empty: Any = None,
    distance: Distance | None = None,
    distortion: Distortion | None = None,
    domain: Iterable[Any] | None = None,
    candidates: Iterable[Histogram] | None = None,
) -> Errors:
    """Return the law of the flexible error: of runs, or of a mechanism's law, exact or in doubles.

    Parameters
    ----------
    histogram, outputs, statistic, alpha, distance, distortion, domain, candidates
        As for :func:`flexible_error`.
    empty
        Answer that no answer counts as, whether the mechanism or the statistic has none; by default none.

    Returns
    -------
    Errors
        Its mean, its quantiles β(γ), and bounds with confidence for what runs show.

    Raises
    ------
    InputError
        As for :func:`flexible_error`.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> found = errors_of(h, {70: "0.9", 60: "0.1"}, Max(), alpha="0.01")
    >>> found.mean, found.beta(0), found.beta("0.1"), found.exceeds(5)
    (1.0, 10.0, 0.0, Fraction(1, 10))
    """
    ball, given = _asked(histogram, outputs, statistic, alpha, distance, distortion, domain, candidates)
    points = given.points
    if empty is not None and isinstance(points, list):
        points = [empty if point is None else point for point in points]
    return Errors(_upper(bounds_of(points, statistic, ball, distance, empty)), given.masses)


def _upper(found: ErrorBounds) -> NDArray[np.float64]:
    if not found.exact and len(found.upper):
        most = f"at most {upper_text(found.excess)} above the exact distances" if found.how != "found" else "attained"
        warnings.warn(
            f"the attainable set cannot be listed: errors are upper bounds, {most}; flexible_error_bounds says how "
            "they were found.",
            BoundsWarning,
            stacklevel=3,
        )
    return found.upper


def _asked(
    histogram: Histogram,
    outputs: object,
    statistic: Measurable,
    alpha: Number,
    distance: Distance | None,
    distortion: Distortion | None,
    domain: Iterable[Any] | None,
    candidates: Iterable[Histogram] | None,
) -> tuple[Ball, Outputs]:
    """Check what flexible errors are asked for."""
    ball = make_ball(histogram_given(histogram), alpha, distortion, domain, candidates)
    given = outputs_given(outputs)
    check_functions(statistic, distance)
    if is_randomised(statistic, ball.centre):
        raise InputError(
            "statistic",
            "must be deterministic for an error of each output: it returned a law",
            remedy="Use accuracy_curve or smallest_beta.",
        )
    return ball, given


def check_functions(statistic: object, distance: object) -> None:
    """Check a statistic and a distance, without calling them."""
    function("statistic", statistic, "a histogram")
    if distance is not None:
        function("distance", distance, "an output and a value")


def is_randomised(statistic: Any, histogram: Histogram) -> bool:
    """Return True if a statistic returns laws; built-in ones, and those that know their attainable set, do not."""
    known = any(attribute(statistic, name) is not None for name in ("attainable", "attainable_moving"))
    return not (isinstance(statistic, BuiltIn) or known) and is_law(statistic(histogram))


def bounds_of(outputs: Cells, statistic: Any, ball: Ball, distance: Distance | None, empty: Any = None) -> ErrorBounds:
    """Return bounds of the error of each output; everything has been checked."""
    own = attribute(statistic, "flexible_error")
    if distance is None and own is not None and ball.only_drops and empty is None:
        return _exactly(np.asarray(own(ball.centre, outputs, ball.alpha), dtype=np.float64))
    if ball.moves_freely and distance is None:
        found = intervals_of(ball, statistic)
        if found is not None:
            how = "listed" if found.inner is found.outer else "hook"
            return ErrorBounds(lower=found.outer.errors(outputs), upper=found.inner.errors(outputs), how=how)
    values = _attainable(ball, statistic)
    if values is not None:
        if empty is not None and isinstance(values, list):
            values = [empty if value is None else value for value in values]
        return _exactly(least_gaps(values, outputs, distance or own_distance(statistic)))
    upper = found_errors(ball, statistic, outputs, distance or own_distance(statistic))
    lower = None if distance is not None else declared_errors(ball, statistic, outputs)
    if lower is None:
        return ErrorBounds(lower=np.zeros(len(outputs)), upper=upper, how="found")
    if (lower > upper + _SLACK * (1 + lower)).any():
        raise InputError(
            "statistic",
            "declares a smaller sensitivity than it has: a data set within reach has a value beyond it",
            remedy="Correct its method sensitivity, or leave it out.",
        )
    return ErrorBounds(lower=np.minimum(lower, upper), upper=upper, how="declared")


def _exactly(errors: NDArray[np.float64]) -> ErrorBounds:
    return ErrorBounds(lower=errors, upper=errors)


def _attainable(ball: Ball, statistic: Any) -> Cells | None:
    """Return all attainable values, or None where they can only be searched."""
    own = attribute(statistic, "attainable")
    if own is not None and ball.only_drops:
        found = cells_of(own(ball.centre, ball.alpha))
        return [] if found is None else found
    if ball.moves_freely or (ball.only_drops and how_many(ball.centre, ball.dropped) is None):
        return None
    return [value_of(statistic, each) for each in ball]
