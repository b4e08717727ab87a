"""Attainable sums and means of keys on a lattice, such as integers or the centres of buckets of one width.

Which sums remain after dropping k records depends on the sum of what was dropped. With keys m + g·d, d whole numbers, a
set of bits for each k holds the sums of d of all multisets of k records, and each key shifts them. That takes about
(buckets)·(records dropped)² shifts instead of a search over all sub-multisets.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp.histogram import Histogram
from flexdp.statistics import Mean, Sum
from flexdp.statistics.base import to_python

__all__ = ["Remaining", "fits_a_lattice", "remaining_sums"]

_MOST_WORDS = 2**28  # words of 64 bits that are shifted in all
_MOST_VALUES = 10**7


class Remaining(NamedTuple):
    """Values that can remain, each with a number of dropped records that leads to it."""

    values: NDArray[Any]
    drops: NDArray[np.int64]


class _Lattice(NamedTuple):
    start: Fraction
    step: Fraction
    offsets: list[int]


def fits_a_lattice(histogram: Histogram, dropped: int, statistic: Any) -> bool:
    """Return True if all sums, or means, can be listed: the keys fit a short lattice, and few records are dropped."""
    return isinstance(statistic, Mean | Sum) and _short_lattice(histogram, dropped) is not None


def remaining_sums(histogram: Histogram, dropped: int, statistic: Any) -> Remaining | None:
    """Return all sums, or means, after dropping at most so many records; None where the keys fit no short lattice."""
    lattice = _short_lattice(histogram, dropped) if isinstance(statistic, Mean | Sum) else None
    if lattice is None:
        return None
    counts = [min(count, dropped) for count in histogram.counts.tolist()]
    total = sum(d * count for d, count in zip(lattice.offsets, histogram.counts.tolist(), strict=True))
    values, drops = [], []
    for lost, bits in enumerate(_dropped_sums(lattice.offsets, counts, dropped)):
        left = histogram.size - lost
        rest = total - _places(bits)
        values.append(_sums(rest, left, lattice) if isinstance(statistic, Sum) else _means(rest, left, lattice))
        drops.append(np.full(len(rest), lost))
    return Remaining(np.concatenate(values), np.concatenate(drops))


def _short_lattice(histogram: Histogram, dropped: int) -> _Lattice | None:
    """Return the lattice of the keys if its sums can be listed."""
    longest = (dropped + 1) * (1 + dropped * (len(histogram) - 1))  # at least one step from key to key
    lattice = _lattice(histogram) if histogram.keys.ndim == 1 and longest <= _MOST_VALUES else None
    if lattice is None:
        return None
    counts = [min(count, dropped) for count in histogram.counts.tolist()]
    words = 1 + dropped * lattice.offsets[-1] // 64
    shifts = sum(dropped if count == dropped else dropped * count for count in counts)
    if shifts * words > _MOST_WORDS or (dropped + 1) * (1 + dropped * lattice.offsets[-1]) > _MOST_VALUES:
        return None
    return lattice


def _lattice(histogram: Histogram) -> _Lattice | None:
    cells = [to_python(key) for key in histogram.keys]
    if not all(isinstance(cell, float | Rational) for cell in cells):
        return None
    ratios = [cell.as_integer_ratio() for cell in cells]
    scale = math.lcm(*{bottom for _, bottom in ratios})
    whole = [top * (scale // bottom) for top, bottom in ratios]
    common = math.gcd(*(each - whole[0] for each in whole)) or 1
    offsets = [(each - whole[0]) // common for each in whole]
    return _Lattice(Fraction(whole[0], scale), Fraction(common, scale), offsets)


def _dropped_sums(offsets: list[int], counts: list[int], dropped: int) -> list[int]:
    """Return for k = 0, 1, … the sums of k dropped records, as the bits of an integer."""
    sums = [1] + [0] * dropped
    for d, count in zip(offsets, counts, strict=True):
        if count == dropped:  # as many as one likes: going up, each may be followed by another
            for k in range(1, dropped + 1):
                sums[k] |= sums[k - 1] << d
            continue
        before = list(sums)
        for taken in range(1, count + 1):
            for k in range(taken, dropped + 1):
                sums[k] |= before[k - taken] << (d * taken)
    return sums


def _places(bits: int) -> NDArray[np.int64]:
    row = np.frombuffer(bits.to_bytes(bits.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(row, bitorder="little"))


def _sums(rest: NDArray[np.int64], left: int, lattice: _Lattice) -> NDArray[Any]:
    if lattice.step.denominator == lattice.start.denominator == 1:
        return rest.astype(object) * int(lattice.step) + int(lattice.start) * left
    return np.array([float(lattice.start * left + lattice.step * int(each)) for each in rest], dtype=np.float64)


def _means(rest: NDArray[np.int64], left: int, lattice: _Lattice) -> NDArray[np.float64]:
    """Return exact quotients, rounded once where the sums are exact in doubles."""
    scale = math.lcm(lattice.start.denominator, lattice.step.denominator)
    start, step = int(lattice.start * scale) * left, int(lattice.step * scale)
    if abs(start) + step * int(rest.max(initial=0)) < 2**53 and scale * left < 2**53:
        return np.asarray((start + step * rest) / (scale * left), dtype=np.float64)
    return np.array([float(Fraction(start + step * int(each), scale * left)) for each in rest], dtype=np.float64)
