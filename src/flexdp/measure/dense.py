"""Distances to attainable sets of moments that are too large to list: bounded from both sides.

After dropping at most k of n records, a sum, a mean or a variance takes so many values that whether a number is one of
them is a subset-sum problem. What can be had is an interval that holds the distance from a number t to the set:

- *from above*, the distance to the nearest of many values that are attained: those of data sets from which a records
  were dropped at the bottom, b at the top and w in a row between, a + b + w ≤ k; and, from several of these that come
  near t with a + b + w < k, one record more, whichever brings the value nearest to t;
- *from below*, the distance to the interval between the least and the largest attainable value.

The two ends. Sums and averages of quantiles, such as means and trimmed means: the least drops the largest records, the
largest the smallest ones (of a sum only those above, or below, 0). Variances:

- *Least*: the m records nearest to any c have the least Σ(x − c)²/m, and a variance is the least such mean over c; so
  the best records to keep lie in a row. Dropping the record farthest from the mean never raises a variance, whether it
  is divided by n or by n − 1; so k are dropped, and there are k + 1 rows to try.
- *Largest*: as a function of one record, the others fixed, a variance is strictly convex. A record that is kept between
  two that are dropped could be exchanged for one of them with profit; so the records to drop lie in a row. Let g(s) be
  the variance without the w records from the s-th on. Keeping x_s instead of x_{s+w} changes it by a positive multiple
  of (x_{s+w} − x_s)·(2μ_s − x_s − x_{s+w}), with μ_s the mean of the others. As s grows, μ_s falls and x_s + x_{s+w}
  rises: g rises to the first s with 2μ_s < x_s + x_{s+w}, which bisection finds for all w ≤ k at once, and then falls.

With u = 2⁻⁵³ and records shifted and scaled to [−1, 1], each sum of kept records is within 64·n·u. Each value is within
the ``rounding`` of its statistic, by which the distances are widened outwards.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp.histogram import Histogram
from flexdp.measure.ordered import Dropped, Floats, Ordered, Places, ordered_records, spread_evenly
from flexdp.statistics import Mean, SampleVariance, Std, Sum, TrimmedMean, Variance

__all__ = ["MOST_DROPPED", "Between", "moment_bounds"]

MOST_DROPPED = 10**6  # records, each number of which is tried
_DRAWS = 2**16  # data sets that are spread over those possible
_BESIDE = 2  # data sets on either side of an output from which one record more is dropped
_UNIT = 2.0**-53

Chosen = NDArray[np.intp]


class Between(NamedTuple):
    """Bounds of the distance from each output to the attainable set."""

    lower: Floats
    upper: Floats


def moment_bounds(histogram: Histogram, dropped: int, statistic: Any, outputs: Floats) -> Between | None:
    """Bound the distance from each output to the attainable set of a moment; None for other statistics and keys."""
    known = isinstance(statistic, Mean | Sum | TrimmedMean | Std | Variance | SampleVariance)
    records = ordered_records(histogram) if known and dropped <= MOST_DROPPED else None
    if records is None:
        return None
    spread = isinstance(statistic, Std | Variance | SampleVariance)
    moment: _Moment = (_Spread if spread else _Average)(records, dropped, statistic)
    values = moment.values
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    place = np.searchsorted(ascending, outputs)
    gap = np.minimum(
        np.abs(outputs - ascending[np.maximum(place - 1, 0)]),
        np.abs(outputs - ascending[np.minimum(place, len(order) - 1)]),
    )
    inside = np.flatnonzero((outputs > ascending[0]) & (outputs < ascending[-1]) & (gap > moment.rounding))
    room = order[moment.gone.many()[order] < dropped]  # where one record more may be dropped
    if len(inside) and len(room):
        wanted = outputs[inside]
        near = np.searchsorted(values[room], wanted)
        for step in range(-_BESIDE, _BESIDE):
            chosen = room[np.clip(near + step, 0, len(room) - 1)]
            for found in moment.one_more(chosen, wanted):
                gap[inside] = np.fmin(gap[inside], np.abs(wanted - found))
    outside = np.maximum(0.0, np.maximum(moment.low - outputs, outputs - moment.high))
    error = 4 * _UNIT * np.where(np.isinf(outputs), 0.0, np.abs(outputs))
    lower = np.maximum(0.0, (outside - error) * (1 - 4 * _UNIT))
    return Between(lower, (gap + error + moment.rounding) * (1 + 8 * _UNIT))


class _Moment(ABC):
    """Attained values of a statistic, one for each data set in ``gone``, and bounds of all attainable ones."""

    gone: Dropped
    values: Floats
    low: float
    high: float
    rounding: float
    records: Ordered

    @abstractmethod
    def one_more(self, chosen: Chosen, wanted: Floats) -> Iterator[Floats]:
        """Yield values attained when one record more is dropped from some data sets, near to those wanted, or NaN."""

    def _kept_beside(self, chosen: Chosen, wanted: Floats) -> Iterator[Floats]:
        """Yield records that are left in some data sets, below and above those wanted, or NaN."""
        keys, gone = self.records.values, self.gone.only(chosen)
        above = np.searchsorted(keys, np.nan_to_num(wanted))
        for bars in (np.clip(above - 1, 0, len(keys) - 1), np.clip(above, 0, len(keys) - 1)):
            yield np.where(self.records.left_in(bars, gone) & ~np.isnan(wanted), keys[bars], np.nan)


class _Spread(_Moment):
    """Variances, divided by n or by n − 1, and standard deviations."""

    def __init__(self, records: Ordered, dropped: int, statistic: Any) -> None:
        self.records, self._half = records, float(records.half)
        self._sample, self._root = isinstance(statistic, SampleVariance), isinstance(statistic, Std)
        size, ends = records.size, np.arange(dropped + 1)
        if self._sample and size - dropped < 2:
            statistic(Histogram([0], [1]))  # which has none, and says so
        none = np.zeros_like(ends)
        tails = Dropped(ends, dropped - ends, ends, none)
        rows = Dropped(none, none, _rows_to_drop(records, dropped), ends)
        least, most = self._variance(*self._sums(tails)), self._variance(*self._sums(rows))
        towards = int(np.argmin(least)), int(rows.start[int(np.argmax(most))])
        self.gone = Dropped.together(tails, rows, spread_evenly(size, dropped, _DRAWS, towards))
        self._parts = self._sums(self.gone)
        variances = self._variance(*self._parts)
        slack = 300 * _UNIT * size / (size - dropped) * (2 if self._sample else 1)
        missed = 600 * _UNIT * (size / np.maximum(1, size - ends - 1)) ** 2  # by a bisection in doubles
        bound = 2.0 if self._sample else 1.0  # of any variance on [−1, 1]
        self.values, self.low, self.high = self._scaled(
            variances, max(0.0, float(least.min()) - slack), min(float((most + missed).max()) + slack, bound)
        )
        self.rounding = (slack + 8 * _UNIT * float(variances.max())) * self._half**2
        if self._root:
            apart = np.sqrt(variances + slack) - np.sqrt(np.maximum(0.0, variances - slack))
            self.rounding = (float(apart.max()) + 8 * _UNIT) * self._half
        self.low, self.high = self.low - self.rounding, self.high + self.rounding

    def _sums(self, gone: Dropped) -> tuple[Places, Floats, Floats]:
        return self.records.size - gone.many(), *self.records.kept(gone)

    def _variance(self, left: Places, first: Floats, second: Floats) -> Floats:
        found = np.maximum(0.0, second / left - (first / left) ** 2)
        return np.asarray(found * (left / (left - 1)) if self._sample else found)

    def _scaled(self, variances: Floats, low: float, high: float) -> tuple[Floats, float, float]:
        if self._root:
            return np.sqrt(variances) * self._half, math.sqrt(low) * self._half, math.sqrt(high) * self._half
        square = self._half**2
        return variances * square, low * square, high * square

    def one_more(self, chosen: Chosen, wanted: Floats) -> Iterator[Floats]:
        """Solve (m·x − S₁)² = S₁² + m·((m−1)·S₂ − S₁² − (m−1)²·V) for the record x whose loss gives the variance V."""
        left, first, second = self._parts[0][chosen], self._parts[1][chosen], self._parts[2][chosen]
        rest = left - 1
        target = (wanted / self._half) ** 2 if self._root else wanted / self._half**2
        if self._sample:
            target = target * ((rest - 1) / rest)
        within = first**2 + left * (rest * second - first**2 - rest.astype(np.float64) ** 2 * target)
        away = np.sqrt(np.where(within >= 0, within, np.nan))
        for root in ((first - away) / left, (first + away) / left):
            for record in self._kept_beside(chosen, root):
                found = self._variance(rest, first - record, second - record * record)
                yield self._scaled(found, 0.0, 0.0)[0]


class _Average(_Moment):
    """Sums, means and trimmed means: sums of the records between two cuts, divided by a mass that the size decides."""

    def __init__(self, records: Ordered, dropped: int, statistic: Any) -> None:
        self.records, self._total = records, isinstance(statistic, Sum)
        trim = statistic.trim if isinstance(statistic, TrimmedMean) else Fraction(0)
        self._trim, self._inside = float(trim), float(1 - 2 * trim)
        self._half, self._middle, size = float(records.half), float(records.middle), records.size
        tops, bottoms = (min(dropped, records.above), min(dropped, records.below)) if self._total else (dropped,) * 2
        fewer, more = np.arange(tops + 1), np.arange(bottoms + 1)
        ends = Dropped.together(
            Dropped(0 * fewer, fewer, 0 * fewer, 0 * fewer), Dropped(more, 0 * more, more, 0 * more)
        )
        self.gone = Dropped.together(ends, spread_evenly(size, dropped, _DRAWS, (0, 0)))
        left = size - self.gone.many()
        before = self._trim * left  # mass that is cut off at either end
        self.values = self._scaled(_mass(records, self.gone, left - before) - _mass(records, self.gone, before), left)
        self.low, self.high = float(self.values[tops]), float(self.values[len(fewer) + bottoms])
        share = 1.0 if self._total else 1 / ((size - dropped) * self._inside)
        shift = abs(self._middle) * (size if self._total else 1)
        self.rounding = (256 * _UNIT * size * share + 8 * _UNIT) * self._half + 8 * _UNIT * shift
        self.low, self.high = self.low - self.rounding, self.high + self.rounding

    def _scaled(self, sums: Floats, left: Places) -> Floats:
        if self._total:
            return np.asarray(sums * self._half + self._middle * left)
        return np.asarray(sums / (left * self._inside) * self._half + self._middle)

    def one_more(self, chosen: Chosen, wanted: Floats) -> Iterator[Floats]:
        """Find the record between the cuts whose loss gives the value: the upper cut then moves on by one record."""
        gone = self.gone.only(chosen)
        left = self.records.size - gone.many() - 1
        before = self._trim * left
        low, high = before, left - before + 1
        between = _mass(self.records, gone, high) - _mass(self.records, gone, low)
        if self._total:
            target = (wanted - self._middle * left) / self._half
        else:
            target = (wanted - self._middle) / self._half * (left * self._inside)
        least, most = (self.records.at(_place(gone, each)) for each in (low, high))
        for record in self._kept_beside(chosen, between - target):
            if self._trim:
                record = np.where((record > least) & (record < most), record, np.nan)
            yield self._scaled(between - record, left)


def _rows_to_drop(records: Ordered, dropped: int) -> Places:
    """Return for w = 0, …, k where to begin to drop w records in a row, for the largest variance."""
    size, wide = records.size, np.arange(dropped + 1)
    total = float(records.sums(np.array([size]))[0])
    low, high = np.zeros_like(wide), size - wide  # the first start at which shifting the row on would not pay
    while (searching := low < high).any():
        middle = np.minimum((low + high) // 2, size - wide - 1)
        others = total - (records.sums(middle + wide + 1) - records.sums(middle))
        falls = 2 * others / np.maximum(1, size - wide - 1) < records.at(middle) + records.at(middle + wide)
        high = np.where(searching & falls, middle, high)
        low = np.where(searching & ~falls, middle + 1, low)
    return np.asarray(low)


def _place(gone: Dropped, amount: NDArray[Any]) -> Floats:
    """Return the place at which that mass of the records that are left ends."""
    return np.asarray(gone.bottom + amount + np.where(amount <= gone.start - gone.bottom, 0, gone.wide))


def _mass(records: Ordered, gone: Dropped, amount: NDArray[Any]) -> Floats:
    """Return the sum of the smallest records that are left, up to a mass, which may end within a record."""
    ahead = gone.start - gone.bottom  # left before the row
    within = amount <= ahead
    below = records.sums(gone.bottom + np.where(within, amount, ahead)) - records.sums(gone.bottom)
    end = gone.start + gone.wide
    beyond = records.sums(end + np.where(within, 0.0, amount - ahead)) - records.sums(end)
    return np.asarray(below + beyond)
