"""Attainable sets when records move anywhere on the line: unions of closed intervals, by formulas or by a hook.

After k of n records are dropped, the rest may move by r(k) = (α − k/n)/η in drop-move, and by α in move, where k = 0.

- Quantiles and their kin, and means, are monotone and move along when all records move by the same amount: a value v
  becomes [v − r, v + r]. Range and interquartile range become [max(0, v − 2r), v + 2r], unless one record is left; a
  sum of m records [v − m·r, v + m·r]; a count stays.
- The mode, with r(0) > 0: all other records can be moved apart, so any place that two records reach, and any place that
  the smallest record left reaches. The largest value shared by k ≥ 2 records: any place that k records reach, or none.
- The number of records above t: all integers from the fewest, max(0, surely above t − k), to those that may be.
- The number of distinct values: all integers from the fewest places that meet the reaches of all records left, to n.

A statistic of one's own may know its set: ``attainable_moving(histogram, alpha, moved)`` returns what it can become
once ⌊αn⌋ records are left out and the others move by at most ``moved``, as values and as pairs (low, high).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import attribute
from flexdp._core.text import thousands
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.measure.ball import Ball, how_many, submultisets
from flexdp.measure.outputs import Cells, cells_of, missing, on_a_line, only, to_intervals
from flexdp.measure.search import value_of
from flexdp.statistics import (
    IQR,
    Count,
    CountAbove,
    Distinct,
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

__all__ = ["Attained", "Intervals", "intervals_of"]

_SHIFTED = (Max, Min, Quantile, Median, MidpointMedian, KthLargest, InterpolatedQuantile, Mean, TrimmedMean)
_SPREAD = (Range, IQR)
_MOST_ASKED = 1_000  # numbers of dropped records for which a hook is asked
_MOST_STABBED = 10**6  # cells of the fewest places for all records
_MOST_BUDGETS = 10**7  # numbers of dropped records that are tried one by one

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Closed intervals on a line of ``of`` (numbers, dates or spans); ``none`` if "no value" is attainable, too."""

    of: str
    low: Floats
    high: Floats
    none: bool = False

    def errors(self, outputs: Cells) -> Floats:
        """Return the distance from each output to the nearest interval."""
        gone = missing(outputs)
        errors = np.full(len(outputs), math.inf)
        if self.none:
            errors[gone] = 0.0
        line = None if gone.all() else on_a_line(only(outputs, ~gone))
        if line is not None and line.of == self.of and len(self.low):
            errors[~gone] = to_intervals(self.low, self.high, line.places.astype(np.float64))
        return errors


class Attained(NamedTuple):
    """Sets between which the attainable one lies; they are the same unless a hook was asked for some k only."""

    inner: Intervals
    outer: Intervals


def intervals_of(ball: Ball, statistic: Any) -> Attained | None:
    """Return the attainable set where the statistic knows it, or a formula is known; else None."""
    hook = attribute(statistic, "attainable_moving")
    if hook is not None:
        return _hooked(ball, hook)
    found = _by_formula(ball, statistic)
    return None if found is None else Attained(found, found)


def _hooked(ball: Ball, hook: Callable[[Histogram, Fraction, Fraction], Any]) -> Attained:
    """Ask for each number k of dropped records what becomes of the others; of very many k for an even choice."""
    size, most = ball.centre.size, ball.dropped
    asked = list(dict.fromkeys(np.linspace(0, most, min(most, _MOST_ASKED) + 1).astype(int).tolist()))
    inner = _united([hook(ball.centre, Fraction(k, size), ball.moved(k)) for k in asked])
    if len(asked) == most + 1:
        return Attained(inner, inner)
    # between two of them: as many records left out as at the second, as far moved as at the first
    return Attained(inner, _united([hook(ball.centre, Fraction(j, size), ball.moved(i)) for i, j in pairwise(asked)]))


def _united(sets: Iterable[Any]) -> Intervals:
    cells = [cell for each in sets for cell in (each.tolist() if isinstance(each, np.ndarray) else each)]
    known = [cell if isinstance(cell, tuple | list) else (cell, cell) for cell in cells if cell is not None]
    low, high = on_a_line([low for low, _ in known]), on_a_line([high for _, high in known])
    if low is None or high is None or low.of != high.of:
        raise InputError("statistic", ": its attainable_moving must return values, pairs (low, high) and None")
    ends = low.places.astype(np.float64), high.places.astype(np.float64)
    return Intervals(low.of, *ends, none=len(known) < len(cells))


def _by_formula(ball: Ball, statistic: Any) -> Intervals | None:
    if isinstance(statistic, MaxAtLeast) and statistic.count == 1:
        statistic = Max()
    if isinstance(statistic, Mode):
        return _mode(ball)
    if isinstance(statistic, MaxAtLeast):
        return _shared(ball, statistic)
    if isinstance(statistic, CountAbove):
        return _count_above(ball, statistic)
    if isinstance(statistic, Distinct):
        return _distinct(ball)
    return _widened(ball, statistic) if isinstance(statistic, (*_SHIFTED, *_SPREAD, Sum, Count)) else None


def _radii(ball: Ball, drops: NDArray[Any]) -> Floats:
    """Return how far records may move once so many were dropped."""
    radius = {k: float(ball.moved(k)) for k in set(drops.tolist())}
    return np.array([radius[k] for k in drops.tolist()], dtype=np.float64)


def _widened(ball: Ball, statistic: Any) -> Intervals | None:
    if isinstance(statistic, Attainable):
        found = reachable(statistic, ball.centre, ball.dropped)
        values, drops = cells_of(found.values), found.drops
    elif how_many(ball.centre, ball.dropped) is None:
        return None
    else:
        kept = [(value_of(statistic, each), each.size) for each in submultisets(ball.centre, ball.dropped)]
        values = [value for value, _ in kept]
        drops = np.array([ball.centre.size - size for _, size in kept])
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


def _distinct(ball: Ball) -> Intervals | None:
    """From the fewest places that all records left can share, to as many as there are records."""
    of, places = _keys(ball.centre)
    counts, size, most = ball.centre.counts.tolist(), ball.centre.size, ball.dropped
    if of == "dates" or (most + 1) * len(counts) > _MOST_STABBED:
        return None
    fewest = [_stabbed(places, counts, k, 2 * float(ball.moved(k))) for k in range(most + 1)]
    whole = np.arange(min(fewest), (size if ball.moved(0) else len(counts)) + 1, dtype=np.float64)
    return Intervals("numbers", whole, whole)


def _stabbed(places: Floats, counts: list[int], allowed: int, width: float) -> int:
    """The fewest windows of a width that cover all keys but those of at most so many records.

    lost[i] is the fewest records outside of j windows among the first i keys; a window that ends with key i − 1 covers
    those from the first key within its width on.
    """
    first = [int(start) for start in np.searchsorted(places, places - width, side="left")]
    lost = [0, *np.cumsum(counts).tolist()]
    for windows in range(1, len(counts) + 1):
        row = [0]
        for i, count in enumerate(counts):
            row.append(min(row[-1] + count, lost[first[i]]))
        lost = row
        if lost[-1] <= allowed:
            return windows
    return len(counts)


def _no_line() -> InputError:
    return InputError(
        "histogram", "must have numbers or dates as keys where records move", remedy="Give the distortion another way."
    )
