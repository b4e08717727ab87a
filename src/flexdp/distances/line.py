"""Transport on the line: the monotone coupling, and the least radius within which enough mass can be matched.

``probe`` and ``match`` are plain Python that numba compiles where it is installed (the ``lab`` extra); without it the
same lines run as they are. Points are sorted doubles or Fractions, masses whole numbers, so no tolerance decides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pieces", "least_radius", "matched", "monotone", "monotone_radius"]

_WORTH_COMPILING = 20_000  # points; below that the plain loop ends before a compiler has started
_SAMPLE = 4096  # quantiles from which a long search guesses where to look


@dataclass(frozen=True, eq=False, slots=True)
class Pieces:
    """Mass ``masses[k]`` goes from sorted point ``sources[k]`` to sorted point ``targets[k]``."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    masses: NDArray[Any]


def monotone_radius(x: NDArray[Any], y: NDArray[Any], a: NDArray[Any] | None, b: NDArray[Any] | None) -> Any:
    """sup |F⁻¹ − G⁻¹| of two measures of one total mass: W∞ on the line. No masses say that all points weigh alike."""
    if a is None and b is None and len(x) == len(y):
        gaps = x - y
        return max(gaps.max(), -gaps.min())
    if a is None or b is None:
        to_y, to_x = _partners(len(x), len(y)), _partners(len(y), len(x))
    else:
        ends_x, ends_y = np.cumsum(a), np.cumsum(b)
        to_y, to_x = np.searchsorted(ends_y, ends_x), np.searchsorted(ends_x, ends_y)
    above, below = x - y[to_y], x[to_x] - y
    return max(above.max(), -above.min(), below.max(), -below.min())


def _partners(size: int, other: int) -> NDArray[np.int64]:
    """Where the upper ends of ``size`` equal parts of a whole lie among ``other`` equal parts of it."""
    return (np.arange(1, size + 1) * other - 1) // size


def monotone(a: NDArray[Any], b: NDArray[Any]) -> Pieces:
    """The coupling that keeps the order: the quantiles of one measure to those of the other."""
    ends_x, ends_y = np.cumsum(a), np.cumsum(b)
    ends = np.sort(np.concatenate((ends_x, ends_y)), kind="stable")  # two sorted runs: merging them is linear
    ends = ends[np.append(ends[1:] != ends[:-1], True)]
    masses = np.diff(ends, prepend=ends[:1] * 0)
    return Pieces(np.searchsorted(ends_x, ends), np.searchsorted(ends_y, ends), masses)


def probe(x: Any, y: Any, a: Any, b: Any, bound: Any, needed: int, spare_x: int, spare_y: int) -> tuple[bool, Any]:
    """Whether mass ``needed`` can be matched within ``bound``, and where the next answer to that could lie.

    Two pointers: whichever point lies more than ``bound`` behind the other can be matched by nothing and is lost;
    points within reach are matched at once. If enough is matched, the largest distance used is returned: the same
    matching serves for it. If not, the smallest distance that was too large: up to it every step would be the same.
    """
    i = 0
    j = 0
    left = a[0]
    right = b[0]
    done = left - left
    lost_x = done
    lost_y = done
    used = x[0] - x[0]
    missed = used - 1
    while i < len(x) and j < len(y):
        gap = x[i] - y[j]
        if gap > bound:
            if missed < 0 or gap < missed:
                missed = gap
            lost_y += right
            if lost_y > spare_y:
                return False, missed
            j += 1
            if j < len(y):
                right = b[j]
        elif -gap > bound:
            if missed < 0 or -gap < missed:
                missed = -gap
            lost_x += left
            if lost_x > spare_x:
                return False, missed
            i += 1
            if i < len(x):
                left = a[i]
        else:
            if gap > used:
                used = gap
            elif -gap > used:
                used = -gap
            if left < right:
                done += left
                right -= left
                i += 1
                if i < len(x):
                    left = a[i]
            else:
                done += right
                left -= right
                j += 1
                if j < len(y):
                    right = b[j]
                if left == 0:
                    i += 1
                    if i < len(x):
                        left = a[i]
            if done >= needed:
                return True, used
    return False, missed


def match(x: Any, y: Any, a: Any, b: Any, bound: Any, sources: Any, targets: Any, masses: Any) -> int:
    """Match as much mass as lies within ``bound``; write the pieces and return their number."""
    i = 0
    j = 0
    left = a[0]
    right = b[0]
    pieces = 0
    while i < len(x) and j < len(y):
        gap = x[i] - y[j]
        take = left - left
        if gap > bound:
            right = take
        elif -gap > bound:
            left = take
        else:
            take = min(left, right)
            left -= take
            right -= take
            sources[pieces] = i
            targets[pieces] = j
            masses[pieces] = take
            pieces += 1
        if left == 0:
            i += 1
            if i < len(x):
                left = a[i]
        if right == 0:
            j += 1
            if j < len(y):
                right = b[j]
    return pieces


@functools.cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    try:
        from numba import njit
    except ImportError:
        return None
    return njit(probe), njit(match)


def _kernels(x: NDArray[Any], y: NDArray[Any], a: NDArray[Any]) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The compiled pair, where it is worth its start and the numbers are the machine's own."""
    if len(x) + len(y) < _WORTH_COMPILING or x.dtype != np.float64 or a.dtype != np.int64:
        return None
    return _compiled()


def matched(x: NDArray[Any], y: NDArray[Any], a: NDArray[Any], b: NDArray[Any], bound: Any) -> Pieces:
    """A coupling of the most mass that can be matched within ``bound``."""
    kernels = _kernels(x, y, a)
    size = len(x) + len(y)
    if kernels is None:
        sources, targets, masses = [0] * size, [0] * size, [0] * size
        pieces = match(x.tolist(), y.tolist(), a.tolist(), b.tolist(), bound, sources, targets, masses)
        del sources[pieces:], targets[pieces:], masses[pieces:]
        return Pieces(
            np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64), np.array(masses, dtype=a.dtype)
        )
    into = [np.empty(size, dtype=np.int64) for _ in range(3)]
    pieces = kernels[1](x, y, a, b, bound, *into)
    return Pieces(*(column[:pieces].copy() for column in into))


def least_radius(x: NDArray[Any], y: NDArray[Any], a: NDArray[Any], b: NDArray[Any], needed: int) -> Any:
    """The least b for which mass ``needed`` of the sorted points can be matched within b: 0 or a distance of a pair.

    Each probe returns a distance that the answer does not exceed or does not fall short of, so the bracket closes on
    the answer itself; all n·m distances are candidates, and none is listed.
    """
    if needed <= 0:
        return 0.0
    spare_x, spare_y = int(a.sum()) - needed, int(b.sum()) - needed
    kernels = _kernels(x, y, a)
    if kernels is None:
        run, lines = probe, (x.tolist(), y.tolist(), a.tolist(), b.tolist())
    else:
        run, lines = kernels[0], (x, y, a, b)

    def test(bound: Any) -> tuple[bool, Any]:
        enough, edge = run(*lines, bound, needed, spare_x, spare_y)
        return enough, edge

    enough, low = test(lines[0][0] - lines[0][0])
    if enough:
        return low
    high = max(lines[0][-1] - lines[1][0], lines[1][-1] - lines[0][0])
    if len(x) + len(y) >= 16 * _SAMPLE:
        low, high = _bracket(test, _guess(x, y, a, b, needed), low, high)
    while low < high:
        middle = _between(low, high)
        enough, edge = test(middle)
        if enough:
            high = edge
        else:
            low = edge
    return high


def _between(low: Any, high: Any) -> Any:
    """A point of [low, high) about its middle; by magnitude where the two are magnitudes apart."""
    if isinstance(low, float) and high > 8 * low:
        middle: Any = math.sqrt(low) * math.sqrt(high)
    else:
        middle = low + (high - low) / 2
    return middle if low <= middle < high else low


def _bracket(test: Callable[[Any], tuple[bool, Any]], guess: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Close in on a guess: step away from it, farther each time, until the answer lies between two probes."""
    if not low <= guess < high:
        return low, high
    enough, edge = test(guess)
    step = guess / 64
    if enough:
        high = edge
        while low < high and high - step > low:
            enough, edge = test(high - step)
            if not enough:
                return edge, high
            high, step = edge, step * 8
        return low, high
    low = edge
    while low + step < high:
        enough, edge = test(low + step)
        if enough:
            return low, edge
        low, step = edge, step * 8
    return low, high


def _guess(x: NDArray[Any], y: NDArray[Any], a: NDArray[Any], b: NDArray[Any], needed: int) -> Any:
    """The answer for a few thousand quantiles instead of all points, each standing for the same mass."""
    ends = np.cumsum(a), np.cumsum(b)
    most = max(int(ends[0][-1]), int(ends[1][-1]))
    few = []
    for line, sums in zip((x, y), ends, strict=True):
        size = max(1, round(_SAMPLE * int(sums[-1]) / most))
        levels = ((np.arange(size) + 0.5) / size * float(sums[-1])).astype(sums.dtype)
        few.append(line[np.searchsorted(sums, levels).clip(max=len(line) - 1)])
    wanted = min(max(1, round(_SAMPLE * needed / most)), len(few[0]), len(few[1]))
    few_x, few_y = few
    ones = (np.ones(len(few_x), dtype=np.int64), np.ones(len(few_y), dtype=np.int64))
    return least_radius(few_x, few_y, *ones, wanted)
