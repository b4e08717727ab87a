"""The rules of answers in former versions, by which documents of their time are read."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flexdp.sharp.ranks import EVERYTHING, Span
from flexdp.sharp.rules import Rules
from flexdp.sharp.scale import TOP_DECADE, Scale

__all__ = ["FIRST", "SECOND", "former_rungs"]

_MANTISSAS = (*range(100, 200, 2), *range(200, 500, 5), *range(500, 1000, 10))  # hundredths: 160 a decade
_DECADES_BELOW = 8


@lru_cache(maxsize=64)
def former_rungs(scale: Scale, anchor: int, side: int, ends: Span = EVERYTHING) -> tuple[int, ...]:
    """Return the anchor and the rungs on one side of it, in order of distance, each of them once.

    Parameters
    ----------
    scale, anchor, side, ends
        As in :func:`flexdp.sharp.rungs.ladder_rungs`.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from flexdp.sharp.scale import INTEGERS
    >>> former_rungs(INTEGERS, -3, 1)[:8], len(former_rungs(INTEGERS, -3, 1))
    ((-3, -2, -1, 0, 1, 2, 3, 4), 6021)
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


FIRST = Rules(deep=30, floor=Fraction(3), many=10**5, few_for_mean=100, rungs=former_rungs)
SECOND = Rules(few_for_mean=100)
