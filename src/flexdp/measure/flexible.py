"""The flexible error of each output of a mechanism, for a deterministic statistic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import attribute, function
from flexdp._core.exact import Number
from flexdp.distortions import Distortion
from flexdp.errors import FlexdpError, InputError
from flexdp.histogram import Histogram
from flexdp.measure.data_sets import Ball, make_ball
from flexdp.measure.gaps import Distance, least_gaps, own_distance, to_intervals
from flexdp.measure.moving import Intervals, intervals_of
from flexdp.measure.outputs import Cells, Law, cells_of, is_law, missing, on_a_line, only, runs
from flexdp.measure.sums import remaining_sums
from flexdp.statistics.base import BuiltIn, histogram_given, to_python

__all__ = ["Measurable", "asked", "check_functions", "errors_of", "is_randomised", "value_on"]


class Measurable(Protocol):
    """A statistic of your own: any function from a non-empty histogram to a value.

    Two optional methods make it faster or more general:

    - ``attainable(histogram, alpha)`` returns the values that f can take once at most ⌊αn⌋ records, but not all, are
      dropped: a sorted array, with None last if "no value" is among them. Without it, all sub-multisets within the
      budget are tried; more than ``LARGEST_SEARCH`` of them raise an error.
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


def asked(
    histogram: Histogram,
    outputs: object,
    statistic: Measurable,
    alpha: Number,
    distance: Distance | None,
    distortion: Distortion | None,
    domain: Iterable[Any] | None,
    candidates: Iterable[Histogram] | None,
) -> tuple[Ball, Law]:
    """Check what a flexible error of each output is asked for."""
    ball = make_ball(histogram_given(histogram), alpha, distortion, domain, candidates)
    law = runs(outputs)
    check_functions(statistic, distance)
    if is_randomised(statistic, ball.centre):
        raise InputError(
            "statistic",
            "must be deterministic for an error of each output: it returned a law",
            remedy="Use accuracy_curve or smallest_beta.",
        )
    return ball, law


def check_functions(statistic: object, distance: object) -> None:
    """Check a statistic and a distance, without calling them."""
    function("statistic", statistic, "a histogram")
    if distance is not None:
        function("distance", distance, "an output and a value")


def is_randomised(statistic: Any, histogram: Histogram) -> bool:
    """Return True if a statistic returns laws; built-in ones, and those that know their attainable set, do not."""
    if isinstance(statistic, BuiltIn) or attribute(statistic, "attainable") is not None:
        return False
    return is_law(value_on(statistic, histogram, 1))


def errors_of(law: Law, statistic: Any, ball: Ball, distance: Distance | None) -> NDArray[np.float64]:
    """Return the error of each output; everything has been checked."""
    own = attribute(statistic, "flexible_error")
    if distance is None and own is not None and ball.only_drops:
        return np.asarray(own(ball.centre, law.points, ball.alpha), dtype=np.float64)
    if ball.moves_freely:
        if distance is not None:
            raise InputError(
                "distance",
                "needs data sets that can be listed",
                remedy="Give domain, the keys that records may move to, or candidates, a list of histograms.",
            )
        return _errors_in(intervals_of(ball, statistic), law.points)
    values = _attainable(ball, statistic)
    known = [value for value in values if value is not None] if isinstance(values, list) else values
    gone = missing(law.points)
    errors = np.full(len(law.points), math.inf)
    if len(known) < len(values):  # "no value" is attainable
        errors[gone] = 0.0
    if len(known) and not gone.all():
        errors[~gone] = least_gaps(known, only(law.points, ~gone), distance or own_distance(statistic))
    return errors


def _errors_in(found: Intervals, outputs: Cells) -> NDArray[np.float64]:
    gone = missing(outputs)
    errors = np.full(len(outputs), math.inf)
    if found.none:
        errors[gone] = 0.0
    line = None if gone.all() else on_a_line(only(outputs, ~gone))
    if line is not None and line.of == found.of and len(found.low):
        errors[~gone] = to_intervals(found.low, found.high, line.places.astype(np.float64))
    return errors


def _attainable(ball: Ball, statistic: Any) -> Cells:
    own = attribute(statistic, "attainable")
    if own is not None and ball.only_drops:
        found = cells_of(own(ball.centre, ball.alpha))
        return [] if found is None else found
    sums = remaining_sums(ball.centre, ball.dropped, statistic) if ball.only_drops else None
    if sums is not None:
        return sums.values.tolist() if sums.values.dtype == object else sums.values
    values = [to_python(value_on(statistic, each, place)) for place, each in enumerate(ball, 1)]
    if any(map(is_law, values)):
        raise InputError("statistic", "must return a law for every histogram, or for none")
    return values


def value_on(statistic: Any, histogram: Histogram, place: int) -> Any:
    """Return the value on one of the data sets tried; what the statistic raises is reported with that place."""
    try:
        return statistic(histogram)
    except FlexdpError:
        raise
    except Exception as failure:
        raise InputError(
            "statistic",
            f"raised {type(failure).__name__} on data set {place} of those within reach",
            remedy="It must have a value, or None, on every histogram that is not empty.",
        ) from failure
