"""The rungs of a ladder: an anchor, then round numbers ever further from it, about 1.5 per cent of the distance apart.

Values often end at a round number: at 0, 1 or 1000. So every rung is the roundest number of its part of the way, and
some rungs stop a climb more readily than others. A rung of h *halvings* stops it as often as 2^h plain ones would:

* one that is exceptionally round, a multiple of a 1, 2 or 5 × 10^j of at least half its distance from the anchor: 1;
* the anchor: 7, as many as there are rungs in a decade, so that a column of one value is answered with it;
* one that lies k decades further out than values are expected: k more. So no climb goes on for long in empty space.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from flexdp.sharp.ranks import EVERYTHING, Span
from flexdp.sharp.scale import TOP_DECADE, Scale

__all__ = ["Rungs", "ladder_rungs", "single_rungs"]

_MANTISSAS = (*range(100, 200, 2), *range(200, 500, 5), *range(500, 1000, 10))  # hundredths: 160 a decade
_DECADES_BELOW = 8  # the magnitude of the anchor, rungs of numbers begin
_OF_ZERO = -4  # the decade of that magnitude if the anchor is 0
_ROUND = 1  # halvings of an exceptionally round rung
_AT_ANCHOR = 7  # and of the anchor
_UNKNOWN = 3  # decades beyond the anchor's own in which values may well lie, where nothing else is known


class Rungs(NamedTuple):
    """Rungs in the direction of the climb: public values in units, each once, and their halvings.

    ``far`` are those of them that a rung has for its distance alone.
    """

    values: tuple[int, ...]
    halvings: tuple[int, ...]
    far: tuple[int, ...]


def ladder_rungs(scale: Scale, anchor: int, side: int, ends: Span = EVERYTHING, spread: int = 0) -> Rungs:
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
    spread : int, optional
        About how far values lie apart, in units; 0 if that is not known.

    Returns
    -------
    Rungs

    Examples
    --------
    >>> from flexdp.sharp.scale import INTEGERS
    >>> rungs = ladder_rungs(INTEGERS, 1617, -1)
    >>> halvings = dict(zip(rungs.values, rungs.halvings))
    >>> halvings[1000], halvings[1010], halvings[0], rungs.values[-1] == -10**39
    (1, 0, 1, True)
    """
    return _ladder(scale, anchor, side, ends, expected_decade(scale, anchor, spread))


def expected_decade(scale: Scale, anchor: int, spread: int) -> int:
    """Return the decade of the distance from the anchor up to which values may well lie."""
    if spread:
        return scale.decade(spread)
    return scale.decade(anchor) + _UNKNOWN if anchor else TOP_DECADE + 1


@lru_cache(maxsize=64)
def _ladder(scale: Scale, anchor: int, side: int, ends: Span, expected: int) -> Rungs:
    plain = _rungs(scale, anchor, side, ends)
    far = []
    beyond, limit = 0, scale.ten(min(expected, TOP_DECADE) + 1)  # distances grow, and with them their decades
    for rung, _ in plain:
        while abs(rung - anchor) >= limit and expected <= TOP_DECADE:
            beyond, limit = beyond + 1, 10 * limit
        far.append(beyond)
    halvings = [own + more for (_, own), more in zip(plain, far, strict=True)]
    return Rungs(tuple([rung for rung, _ in plain]), tuple(halvings), tuple(far))


@lru_cache(maxsize=64)
def _rungs(scale: Scale, anchor: int, side: int, ends: Span) -> tuple[tuple[int, int], ...]:
    """The anchor and the rungs on one side of it, each with the halvings that it has for its roundness."""
    size = max(abs(anchor), scale.ten(scale.low_decade)) if anchor else scale.ten(_OF_ZERO)
    lowest = 0 if scale.integral else scale.decade(size) - _DECADES_BELOW
    last = scale.limit * side
    if side > 0 and ends.high is not None:
        last = min(last, ends.high - 1)
    if side < 0 and ends.low is not None:
        last = max(last, ends.low)
    start, stop = anchor * side, last * side
    found, before = [(anchor, _AT_ANCHOR)], start
    for k in range(lowest, TOP_DECADE + 1):
        if lowest < k and stop == scale.limit and abs(start) < scale.ten(k) // 100:
            found += _far(scale, k, start < 0, side)
        else:
            found += [(rung * side, halvings) for rung, halvings in _decade(scale, k, start, before, stop)]
        before = min(start + scale.ten(k) * _MANTISSAS[-1] // 100, stop - 1)
    return (*found, *([(last, 0)] if stop > start else []))


@lru_cache(maxsize=1024)
def _far(scale: Scale, k: int, below: bool, side: int) -> tuple[tuple[int, int], ...]:
    """The rungs of a decade whose hundredth, G, exceeds the anchor's magnitude; of the anchor only its sign matters.

    Every part of the way is (s + a, s + b], s the anchor times the side, a and b multiples of G, |s| < G. The multiples
    of G in it are a + G, …, b for s ≥ 0 and a, …, b − G for s < 0, and the roundest number is one of them. It is
    exceptionally round if twice its grain minus itself, a multiple of G, is at least −s. So s is 0 or −1 here.
    """
    start = -below
    before = start + scale.ten(k) // 100 * 99
    return tuple((rung * side, halvings) for rung, halvings in _decade(scale, k, start, before, scale.limit))


def _decade(scale: Scale, k: int, start: int, before: int, stop: int) -> list[tuple[int, int]]:
    """The rungs at distances of the decade 10^k, upwards from ``start``; the way up to ``before`` is done."""
    found: list[tuple[int, int]] = []
    decade = scale.ten(k)
    grain = max(decade // 100, 1)
    for mantissa in _MANTISSAS if k < TOP_DECADE else (*_MANTISSAS, 1000):
        edge = min(start + mantissa * decade // 100, stop - 1)
        if edge > before:
            rung, roundness = _roundest(before, edge, grain)
            found.append((rung, _ROUND if not rung or 2 * roundness >= rung - start else 0))
            before = edge
    return found


def single_rungs(scale: Scale, anchor: int, side: int, ends: Span = EVERYTHING) -> tuple[int, ...]:
    """Return the same rungs, all of them plain.

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
    return tuple([rung for rung, _ in _rungs(scale, anchor, side, ends)])


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
