"""Transport on the line: the monotone coupling, and the least radius within which enough mass can be matched.

``probe`` and ``match`` are plain Python, compiled by numba where it is installed (the ``lab`` extra). Points are sorted
doubles or Fractions and masses are integers, so no comparison needs a tolerance.
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

_WORTH_COMPILING = 20_000  # points; below this, interpreting is faster than compiling
_SAMPLE = 4096  # quantiles that give a long search its starting point


@dataclass(frozen=True, eq=False, slots=True)
class Pieces:
    """Pieces of a coupling: mass ``masses[k]`` moves from point ``sources[k]`` to point ``targets[k]``."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    masses: NDArray[Any]


def monotone_radius(x: NDArray[Any], y: NDArray[Any], a: NDArray[Any] | None, b: NDArray[Any] | None) -> Any:
    """Return sup |F⁻¹ − G⁻¹|, W∞ on the line, for equal total masses; None means that all points weigh the same."""
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
    """Locate the upper ends of ``size`` equal parts of a whole among ``other`` equal parts of it."""
    return (np.arange(1, size + 1) * other - 1) // size


def monotone(a: NDArray[Any], b: NDArray[Any]) -> Pieces:
    """Return the monotone coupling, which sends quantiles to quantiles."""
    ends_x, ends_y = np.cumsum(a), np.cumsum(b)
    ends = np.sort(np.concatenate((ends_x, ends_y)), kind="stable")  # merging two sorted runs takes linear time
    ends = ends[np.append(ends[1:] != ends[:-1], True)]
    masses = np.diff(ends, prepend=ends[:1] * 0)
    return Pieces(np.searchsorted(ends_x, ends), np.searchsorted(ends_y, ends), masses)


def probe(x: Any, y: Any, a: Any, b: Any, bound: Any, needed: int, spare_x: int, spare_y: int) -> tuple[bool, Any]:
    """Decide whether mass ``needed`` can be matched within ``bound``, and return the next bound worth trying.

    Two pointers: a point more than ``bound`` behind the other cannot be matched at all and is lost; points within
    reach are matched greedily. On success, return the largest distance used, since the same matching works for it. On
    failure, return the smallest distance that was too large, since every smaller bound takes the same steps.
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
    """Match as much mass as possible within ``bound``; store the pieces and return their number."""
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
    """Return the compiled functions for large inputs of machine numbers, else None."""
    if len(x) + len(y) < _WORTH_COMPILING or x.dtype != np.float64 or a.dtype != np.int64:
        return None
    return _compiled()


def matched(x: NDArray[Any], y: NDArray[Any], a: NDArray[Any], b: NDArray[Any], bound: Any) -> Pieces:
    """Couple as much mass as can be matched within ``bound``."""
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
    """Return the least b within which mass ``needed`` of the sorted points can be matched: 0 or a pairwise distance.

    Each probe returns an upper or lower bound that is itself a pairwise distance, so the bracket closes on the exact
    answer without listing the n·m candidates.
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
    """Return a point of [low, high) near the middle: the geometric mean if they differ by orders of magnitude."""
    if isinstance(low, float) and high > 8 * low:
        middle: Any = math.sqrt(low) * math.sqrt(high)
    else:
        middle = low + (high - low) / 2
    return middle if low <= middle < high else low


def _bracket(test: Callable[[Any], tuple[bool, Any]], guess: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Bracket the answer around a guess by steps of growing size."""
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
    """Estimate the answer from a few thousand equally spaced quantiles."""
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
