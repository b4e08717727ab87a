"""Records in order of value: sums up to any place, and data sets that are left when rows of records are dropped."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp.histogram import Histogram
from flexdp.statistics.base import to_python

__all__ = ["Dropped", "Floats", "Ordered", "Places", "ordered_records", "spread_evenly"]

_MOST_RECORDS = 2**50  # so that places are exact in doubles, also those within a record

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Dropped(NamedTuple):
    """Records that were dropped: ``bottom`` and ``top`` of them at the ends, ``wide`` from place ``start`` on."""

    bottom: Places
    top: Places
    start: Places
    wide: Places

    def only(self, chosen: NDArray[Any]) -> Dropped:
        """Return some of the data sets."""
        return Dropped(*(part[chosen] for part in self))

    def many(self) -> Places:
        """Return how many records were dropped."""
        return self.bottom + self.top + self.wide

    @staticmethod
    def together(*parts: Dropped) -> Dropped:
        """Return one list of data sets."""
        return Dropped(*(np.concatenate(each) for each in zip(*parts, strict=True)))


class Ordered:
    """Records in ascending order, shifted by ``middle`` and divided by ``half``, so that all are in [−1, 1].

    Sums are computed in integers and rounded once; with u = 2⁻⁵³, a sum up to a place is then within 8·n·u.
    """

    def __init__(self, keys: list[Any], counts: list[int]) -> None:
        ratios = [key.as_integer_ratio() for key in keys]
        scale = 2 * math.lcm(*{bottom for _, bottom in ratios})
        whole = [top * (scale // bottom) for top, bottom in ratios]
        middle, half = (whole[0] + whole[-1]) // 2, (whole[-1] - whole[0]) // 2 or 1
        offsets = [each - middle for each in whole]
        self.middle, self.half = Fraction(middle, scale), Fraction(half, scale)
        self.values = np.array([offset / half for offset in offsets])
        self.edges = np.array([0, *accumulate(counts)], dtype=np.int64)
        self.size = int(self.edges[-1])
        first = [offset * count for offset, count in zip(offsets, counts, strict=True)]
        second = [offset * each for offset, each in zip(offsets, first, strict=True)]
        square = half * half
        self._sums = np.array([0.0, *(each / half for each in accumulate(first))])
        self._squares = np.array([0.0, *(each / square for each in accumulate(second))])
        self.below = sum(count for each, count in zip(whole, counts, strict=True) if each < 0)
        self.above = sum(count for each, count in zip(whole, counts, strict=True) if each > 0)

    def at(self, places: NDArray[Any]) -> Floats:
        """Return the records at some places."""
        return np.asarray(self.values[self._bars(places)])

    def sums(self, places: NDArray[Any]) -> Floats:
        """Return the sum of all records before each place, which may lie within a record."""
        bars = self._bars(places)
        return np.asarray(self._sums[bars] + (places - self.edges[bars]) * self.values[bars])

    def kept(self, gone: Dropped) -> tuple[Floats, Floats]:
        """Return the sums of the records that are left, and of their squares."""
        ends = self._both(self.size - gone.top)
        starts, lows, highs = (self._both(each) for each in (gone.bottom, gone.start, gone.start + gone.wide))
        first, second = (ends[i] - starts[i] - (highs[i] - lows[i]) for i in range(2))
        return first, second

    def left_in(self, bars: NDArray[np.intp], gone: Dropped) -> NDArray[np.bool_]:
        """Return whether a record of each key is left in each data set."""
        low, high = self.edges[bars], self.edges[bars + 1]
        first, last = np.maximum(low, gone.bottom), np.minimum(high, self.size - gone.top)
        missing = np.maximum(0, np.minimum(last, gone.start + gone.wide) - np.maximum(first, gone.start))
        return np.asarray(last - first > missing)

    def _both(self, places: Places) -> tuple[Floats, Floats]:
        bars = self._bars(places)
        inside, values = places - self.edges[bars], self.values[bars]
        return self._sums[bars] + inside * values, self._squares[bars] + inside * (values * values)

    def _bars(self, places: NDArray[Any]) -> NDArray[np.intp]:
        return np.minimum(np.searchsorted(self.edges, places, side="right") - 1, len(self.values) - 1)


def ordered_records(histogram: Histogram) -> Ordered | None:
    """Return the records of a histogram of numbers; None for other keys, and for too many records."""
    if histogram.keys.ndim != 1 or histogram.size > _MOST_RECORDS:
        return None
    keys = histogram.keys.tolist()
    if not all(isinstance(to_python(key), float | Rational) for key in keys):
        return None
    return Ordered(keys, histogram.counts.tolist())


def spread_evenly(size: int, dropped: int, draws: int, towards: tuple[int, int]) -> Dropped:
    """Return data sets spread evenly over those without some rows, and a chain of ``dropped`` + 1 of them.

    They follow a sequence of low discrepancy in four dimensions: how many records are dropped, how many of them in a
    row, how many of the rest at the bottom, and where the row begins. Half of them drop almost as many as possible. In
    the chain, one record after the other is given back at the ends and dropped in a row instead; ``towards`` tells how
    many are dropped at the bottom at first, and where the row begins.
    """
    numbers = np.arange(1, draws + 1)
    # powers of 1/ρ, where ρ⁵ = ρ + 1: the sequence that generalises the golden ratio
    root = 1.1673039782614187
    one, two, three, four = (numbers * root**-power % 1.0 for power in range(1, 5))
    many = _share(np.where(numbers % 2 == 0, one, 1 - one**4), np.full(draws, dropped))
    wide = _share(two, many)
    low = _share(three, many - wide)
    begin = low + _share(four, size - many)
    steps = np.arange(dropped + 1)
    kept = dropped - steps
    lows = kept * towards[0] // max(1, dropped)
    chain = Dropped(lows, kept - lows, np.clip(towards[1], lows, size - (kept - lows) - steps), steps)
    return Dropped.together(Dropped(low, many - wide - low, begin, wide), chain)


def _share(part: NDArray[Any], most: Places) -> Places:
    """Return an integer from 0 to ``most``, by a number in [0, 1]."""
    return np.minimum(np.floor(part * (most + 1)).astype(np.int64), most)
