"""The rungs of a ladder: an anchor, then round numbers ever further from it, about 1.5 per cent of the distance apart.

Values often end at a round number: at 0, 1 or 1000. So every rung is the roundest number of its part of the way, and
one that is exceptionally round, a multiple of a 1, 2 or 5 × 10^j of at least half its distance from the anchor, is
there several times over: the climb then has several chances to stop at it. An integer close to the anchor is there once
for each part of the way that ends at it, so that a climb has as many chances in these decades as in all others; and the
anchor as often as there are rungs in a decade, so that a column of one value is answered with it.
"""

from __future__ import annotations

from functools import lru_cache

from flexdp.sharp.ranks import EVERYTHING, Span
from flexdp.sharp.scale import TOP_DECADE, Scale

__all__ = ["fine_steps", "ladder_rungs", "single_rungs"]

_MANTISSAS = (*range(100, 200, 2), *range(200, 500, 5), *range(500, 1000, 10))  # hundredths: 160 a decade
_DECADES_BELOW = 8  # the magnitude of the anchor, rungs of numbers begin
_OF_ZERO = -4  # the decade of that magnitude if the anchor is 0
_TIMES = 8  # an exceptionally round rung is there so many times
_AT_ANCHOR = len(_MANTISSAS)  # and the anchor so many
_MOST_STEPS = 40


def ladder_rungs(scale: Scale, anchor: int, side: int, ends: Span = EVERYTHING) -> tuple[int, ...]:
    """Return the anchor and the rungs on one side of it, in order of distance; exceptionally round ones repeated.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    anchor : int
        A public value in units.
    side : int
        1 upwards, −1 downwards.
    ends : Span, optional
        Public bounds of the values; the last rung is the last value within them, ±10^39 without.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from flexdp.sharp.scale import INTEGERS
    >>> rungs = ladder_rungs(INTEGERS, 1617, -1)
    >>> sorted(set(rungs[-3000:]), reverse=True)[-1], rungs.count(1000), rungs.count(1010), rungs.count(0)
    (-1000000000000000000000000000000000000000, 8, 1, 8)
    """
    return _rungs(scale, anchor, side, ends, _TIMES)


@lru_cache(maxsize=64)
def _rungs(scale: Scale, anchor: int, side: int, ends: Span, times: int) -> tuple[int, ...]:
    """The anchor and the rungs on one side of it, some of them several times; each once if ``times`` is 1."""
    size = max(abs(anchor), scale.ten(scale.low_decade)) if anchor else scale.ten(_OF_ZERO)
    lowest = 0 if scale.integral else scale.decade(size) - _DECADES_BELOW
    last = scale.limit * side
    if side > 0 and ends.high is not None:
        last = min(last, ends.high - 1)
    if side < 0 and ends.low is not None:
        last = max(last, ends.low)
    start, stop = anchor * side, last * side
    found, before = [anchor] * (_AT_ANCHOR if times > 1 else 1), start
    for k in range(lowest, TOP_DECADE + 1):
        if lowest < k and stop == scale.limit and abs(start) < scale.ten(k) // 100:
            found += _far(scale, k, start < 0, side, times)
        else:
            found += [rung * side for rung in _decade(scale, k, start, before, stop, times)]
        before = min(start + scale.ten(k) * _MANTISSAS[-1] // 100, stop - 1)
    return (*found, *([last] if stop > start else []))


@lru_cache(maxsize=1024)
def _far(scale: Scale, k: int, below: bool, side: int, times: int) -> tuple[int, ...]:
    """The rungs of a decade whose hundredth, G, exceeds the anchor's magnitude; of the anchor only its sign matters.

    Every part of the way is (s + a, s + b], s the anchor times the side, a and b multiples of G, |s| < G. The multiples
    of G in it are a + G, …, b for s ≥ 0 and a, …, b − G for s < 0, and the roundest number is one of them. It is
    exceptionally round if twice its grain minus itself, a multiple of G, is at least −s. So s is 0 or −1 here.
    """
    start = -below
    before = start + scale.ten(k) // 100 * 99
    return tuple(rung * side for rung in _decade(scale, k, start, before, scale.limit, times))


def _decade(scale: Scale, k: int, start: int, before: int, stop: int, times: int) -> list[int]:
    """The rungs at distances of the decade 10^k, upwards from ``start``; the way up to ``before`` is done."""
    found: list[int] = []
    decade = scale.ten(k)
    grain = max(decade // 100, 1)
    for mantissa in _MANTISSAS if k < TOP_DECADE else (*_MANTISSAS, 1000):
        edge = min(start + mantissa * decade // 100, stop - 1)
        if edge == before < stop - 1 and found and times > 1:  # of integers
            found.append(found[-1])
        elif edge > before:
            rung, roundness = _roundest(before, edge, grain)
            found += [rung] * (times if not rung or 2 * roundness >= rung - start else 1)
            before = edge
    return found


def single_rungs(scale: Scale, anchor: int, side: int, ends: Span = EVERYTHING) -> tuple[int, ...]:
    """Return the same rungs, each of them once.

    Parameters
    ----------
    scale, anchor, side, ends
        As in :func:`ladder_rungs`.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from flexdp.sharp.scale import INTEGERS
    >>> single_rungs(INTEGERS, -3, 1)[:8], single_rungs(INTEGERS, 7, -1)[-1]
    ((-3, -2, -1, 0, 1, 2, 3, 4), -1000000000000000000000000000000000000000)
    """
    return _rungs(scale, anchor, side, ends, 1)


def _roundest(low: int, high: int, power: int = 1) -> tuple[int, int]:
    """Return the roundest number above ``low`` and up to ``high``, and the largest 1, 2 or 5 × 10^j that divides it.

    Of several that are equally round, the highest. Zero is divided by everything; its grain is told as 0. The search
    begins at a power of ten.

    Examples
    --------
    >>> _roundest(987, 1003), _roundest(1003, 1019, 10), _roundest(-7, 12), _roundest(1234, 1235, 1000)
    ((1000, 1000), (1010, 10), (0, 0), (1235, 5))
    """
    if low < 0 <= high:
        return 0, 0
    while high // power * power <= low:
        power //= 10
    while high // (10 * power) * 10 * power > low:  # where no multiple of it is, none of a larger power is
        power *= 10
    for grain in (5 * power, 2 * power):
        rung = high // grain * grain
        if rung > low:
            return rung, grain
    return high // power * power, power


def fine_steps(start: int, end: int) -> tuple[int, ...]:
    """Return at most forty nice numbers strictly between two rungs, from the first to the second, and the second.

    Parameters
    ----------
    start, end : int
        Two different rungs in units.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> fine_steps(100, 110)
    (101, 102, 103, 104, 105, 106, 107, 108, 109, 110)
    """
    low, high = min(start, end), max(start, end)
    power = 1
    while power * 10 * _MOST_STEPS < high - low:
        power *= 10
    grain = next(power * m for m in (1, 2, 5, 10) if high - low <= power * m * _MOST_STEPS)
    steps = [i * grain for i in range(low // grain + 1, -(-high // grain))]
    return (*(steps if end > start else reversed(steps)), end)
