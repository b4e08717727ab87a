"""Attainable sets of built-in statistics when records move anywhere on the line: unions of closed intervals.

After k of n records are dropped, the rest may move by r(k) = (α − k/n)/η in drop-move, and by α in move, where k = 0.

- Quantiles and their kin, and means, are monotone and move along when all records move by the same amount: a value v
  becomes [v − r, v + r]. Range and interquartile range become [max(0, v − 2r), v + 2r], unless one record is left; a
  sum of m records [v − m·r, v + m·r]; a count stays.
- The mode, with r(0) > 0: all other records can be moved apart, so any place that two records reach, and any place that
  the smallest record left reaches. The largest value shared by k ≥ 2 records: any place that k records reach, or none.
- The number of records above t: all integers from the fewest, max(0, surely above t − k), to those that may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import thousands
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram
from flexdp.measure.data_sets import Ball, submultisets
from flexdp.measure.outputs import cells_of, on_a_line
from flexdp.measure.sums import remaining_sums
from flexdp.statistics import (
    IQR,
    Count,
    CountAbove,
    InterpolatedQuantile,
    KthLargest,
    Max,
    MaxAtLeast,
    Mean,
    Median,
    MidpointMedian,
    Min,
    Mode,
    Quantile,
    Range,
    Sum,
    TrimmedMean,
)
from flexdp.statistics.attainable import Attainable, reachable
from flexdp.statistics.base import running

__all__ = ["Intervals", "intervals_of"]

_SHIFTED = (Max, Min, Quantile, Median, MidpointMedian, KthLargest, InterpolatedQuantile, Mean, TrimmedMean)
_SPREAD = (Range, IQR)
_MOST_BUDGETS = 10**7  # numbers of dropped records that are tried one by one

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Closed intervals on a line of ``of`` (numbers, dates or spans); ``none`` if "no value" is attainable, too."""

    of: str
    low: Floats
    high: Floats
    none: bool = False


def intervals_of(ball: Ball, statistic: Any) -> Intervals:
    """Return the attainable set of a built-in statistic, or refuse where no formula is known."""
    if isinstance(statistic, MaxAtLeast) and statistic.count == 1:
        statistic = Max()
    if isinstance(statistic, Mode):
        return _mode(ball)
    if isinstance(statistic, MaxAtLeast):
        return _shared(ball, statistic)
    if isinstance(statistic, CountAbove):
        return _count_above(ball, statistic)
    if isinstance(statistic, (*_SHIFTED, *_SPREAD, Sum, Count)):
        return _widened(ball, statistic)
    raise InputError(
        "distortion",
        f": no formula is known for this statistic where records move ({type(statistic).__name__})",
        remedy=(
            "Give ", P("domain"), ", the keys that records may move to, or ", P("candidates"), ", some histograms.",
        ),
    )  # fmt: skip


def _radii(ball: Ball, drops: NDArray[Any]) -> Floats:
    """Return how far records may move once so many were dropped."""
    size, price = ball.centre.size, ball.price
    if price is None:
        return np.full(len(drops), float(ball.alpha))
    # in integers until the last step: (α − k/n)/η = (a·n − k·b) / (b·n·η) for α = a/b
    top, bottom = ball.alpha.numerator * size, ball.alpha.denominator
    scale = bottom * size * price
    return np.array([float((top - int(k) * bottom) / scale) for k in drops.tolist()], dtype=np.float64)


def _widened(ball: Ball, statistic: Any) -> Intervals:
    if isinstance(statistic, Attainable):
        found = reachable(statistic, ball.centre, ball.dropped)
        values, drops = cells_of(found.values), found.drops
    elif (sums := remaining_sums(ball.centre, ball.dropped, statistic)) is not None:
        values, drops = cells_of(sums.values), sums.drops
    else:
        kept = [(statistic(each), ball.centre.size - each.size) for each in submultisets(ball.centre, ball.dropped)]
        values, drops = cells_of([value for value, _ in kept]), np.array([lost for _, lost in kept], dtype=object)
    assert values is not None
    known = np.array([value is not None for value in values], dtype=bool)
    none = not known.all()
    listed = [value for value in values if value is not None] if none else values
    line = on_a_line(listed)
    if line is None:
        raise _no_line()
    radius, sizes = _radii(ball, drops[known]), (ball.centre.size - drops[known]).astype(np.float64)
    if isinstance(statistic, _SPREAD):
        radius = np.where(sizes > 1, 2 * radius, 0.0)
    elif isinstance(statistic, Sum):
        radius = radius * sizes
    elif isinstance(statistic, Count):
        radius = np.zeros_like(radius)
    places = line.places.astype(np.float64)
    low = places - radius
    if isinstance(statistic, _SPREAD):
        low = np.maximum(0.0, low)
    return Intervals(line.of, low, places + radius, none)


def _keys(histogram: Histogram) -> tuple[str, Floats]:
    keys = cells_of(histogram.keys)
    line = None if keys is None else on_a_line(keys)
    if line is None:
        raise _no_line()
    return line.of, line.places.astype(np.float64)


def _reached(ball: Ball, places: Floats, records: int) -> tuple[Floats, Floats]:
    """Return the intervals of places that so many records reach, without dropping any."""
    up_to = running(ball.centre)
    first = up_to - ball.centre.counts  # records before each key
    last = np.searchsorted(up_to, first + records, side="left")  # the key at which there are enough, counted from each
    radius = float(_radii(ball, np.zeros(1, dtype=np.int64))[0])
    inside = np.flatnonzero(last < len(places))
    low, high = places[last[inside]] - radius, places[inside] + radius
    return low[low <= high], high[low <= high]


def _mode(ball: Ball) -> Intervals:
    of, places = _keys(ball.centre)
    if not ball.alpha:
        exact = places[[int(np.argmax(ball.centre.counts))]]
        return Intervals(of, exact, exact)
    below = running(ball.centre) - ball.centre.counts
    smallest = np.flatnonzero((below <= ball.dropped).astype(bool))
    radius = _radii(ball, below[smallest])
    low, high = _reached(ball, places, 2)
    return Intervals(
        of,
        np.concatenate((low, places[smallest] - radius)),
        np.concatenate((high, places[smallest] + radius)),
    )


def _shared(ball: Ball, statistic: MaxAtLeast) -> Intervals:
    of, places = _keys(ball.centre)
    if not ball.alpha:
        tall = np.flatnonzero(ball.centre.counts >= statistic.count)[-1:]
        return Intervals(of, places[tall], places[tall], none=not len(tall))
    low, high = _reached(ball, places, statistic.count)
    return Intervals(of, low, high, none=True)


def _count_above(ball: Ball, statistic: CountAbove) -> Intervals:
    _, places = _keys(ball.centre)
    given = on_a_line([statistic.threshold])
    if given is None:
        raise _no_line()
    threshold = float(given.places[0])
    if ball.dropped > _MOST_BUDGETS:
        raise InputError("alpha", f"must not let more than {thousands(_MOST_BUDGETS)} records be dropped")
    up_to = np.concatenate(([0], running(ball.centre)))
    drops = np.arange(ball.dropped + 1)
    radius = _radii(ball, drops) if ball.price is not None else np.full(1, float(ball.alpha))
    surely = up_to[-1] - up_to[np.searchsorted(places, threshold + radius, side="right")]
    possibly = int(up_to[-1] - up_to[np.searchsorted(places, threshold - radius[0], side="right")])
    fewest = int(np.maximum(0, surely - drops[: len(surely)]).min())
    whole = np.arange(fewest, possibly + 1, dtype=np.float64)
    return Intervals("numbers", whole, whole)


def _no_line() -> InputError:
    return InputError(
        "histogram", "must have numbers or dates as keys where records move", remedy="Give the distortion another way."
    )
