"""The rungs of a ladder: an anchor, then nice numbers ever further from it, by 1 to 2.5 per cent of the distance."""

from __future__ import annotations

from functools import lru_cache

from flexdp.sharp.ranks import EVERYTHING, Span
from flexdp.sharp.scale import TOP_DECADE, Scale

__all__ = ["fine_steps", "ladder_rungs"]

_MANTISSAS = (*range(100, 200, 2), *range(200, 500, 5), *range(500, 1000, 10))  # hundredths: 160 a decade
_DECADES_BELOW = 8
_MOST_STEPS = 40


@lru_cache(maxsize=64)
def ladder_rungs(scale: Scale, anchor: int, side: int, ends: Span = EVERYTHING) -> tuple[int, ...]:
    """Return the anchor and the rungs on one side of it, in order of distance.

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
    >>> ladder_rungs(INTEGERS, -3, 1)[:8], len(ladder_rungs(INTEGERS, -3, 1)), ladder_rungs(INTEGERS, 7, -1)[-1]
    ((-3, -2, -1, 0, 1, 2, 3, 4), 6021, -1000000000000000000000000000000000000000)
    """
    lowest = 0 if scale.integral else scale.decade(max(abs(anchor), scale.ten(-4))) - _DECADES_BELOW
    found = set()
    for k in range(lowest, TOP_DECADE + 1):
        decade = scale.ten(k)
        grain = max(decade // 100, 1)
        for mantissa in _MANTISSAS:
            # (A ± mantissa·10^k/100), rounded outwards to a multiple of the grain
            found.add(-((-side * 100 * anchor - mantissa * decade) // (100 * grain)) * grain * side)
    if anchor * side < 0:
        found.add(0)
    last = scale.limit * side
    if side > 0 and ends.high is not None:
        last = min(last, ends.high - 1)
    if side < 0 and ends.low is not None:
        last = max(last, ends.low)
    inside = (rung for rung in found if anchor * side < rung * side < last * side)
    return (anchor, *sorted(inside, reverse=side < 0), *([last] if last * side > anchor * side else []))


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
