"""Exact laws of what is read off a noisy histogram whose bars are independent.

With F_j(h) = Pr[bar j shows at most h], the largest bar that is tall enough has a law of products. The mode is i if bar
i shows some height h and the others stay below it, or level with it where the rule for ties lets i win:

    Pr[mode = i] = Σ_h Pr[bar i shows h] · Π_{j<i} F_j(h − 1) · Π_{j>i} F_j(h)        (ties to the smallest place).

What is exact: for whole bars these are finite sums of closed forms, cut off where less than 1e-18 is left, in doubles.
For Laplace noise that is not rounded, Σ is an integral of a smooth function between kinks; Gauss's rule on short panels
gives it to about 1e-13. Ties drawn at random need E[1/(1 + tied)] = ∫₀¹ Π_j (F_j(h − 1) + s·Pr[bar j shows h]) ds, a
polynomial in s, for which Gauss's rule with half as many nodes as bars is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp.errors import InputError

__all__ = ["NEGLIGIBLE", "BarLaw", "LaplaceBars", "WholeBars", "laplace_tail", "reading_law"]

NEGLIGIBLE = 42.0  # e^−42 < 1e-18: tails are cut off that many scales away
_CELLS = 2**17  # bars times heights looked at together
_LARGEST_SUM = 2**31  # bars times heights looked at in all
_NODES = 16  # of Gauss's rule on a panel of half a scale: products of hundreds of bars are that smooth

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBars:
    """Bars that show whole numbers: ``exceeds(x, h)`` = Pr[a bar of x records shows more than h], for whole h ≥ 0.

    But for a chance of 1e-18 a bar of x records shows between x + low and x + high.
    """

    exceeds: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceBars:
    """Bars that show x plus Laplace noise if that is more than ``least``, which is positive, and else nothing."""

    scale: float
    least: float


BarLaw: TypeAlias = WholeBars | LaplaceBars


def laplace_tail(z: NDArray[np.floating[Any]], scale: float) -> Floats:
    """Pr[Laplace noise > z], with full relative precision above zero."""
    half = 0.5 * np.exp(-np.abs(z) / scale)
    return np.asarray(np.where(z >= 0, half, 1 - half))


def reading_law(counts: NDArray[np.int64], level: int | None, law: BarLaw, *, empty: str, ties: str) -> Floats:
    """The chance of each place: of max_k at ``level`` k, or of the mode where it is None. Empty bars stay empty."""
    filled = np.flatnonzero(counts)
    heights = counts[filled]
    out = np.zeros(len(counts))
    if level is not None:
        seen = _seen(heights, level, law)
        out[filled] = seen * _after(1 - seen)
        nothing = float(np.prod(1 - seen))
    else:
        nothing = float(np.prod(1 - _seen(heights, 1, law)))
        if len(filled):
            out[filled] = _tallest(heights, law, ties)
    if empty == "zero":
        out[0] += nothing
    else:
        out += nothing / len(counts)
    return out


def _seen(heights: NDArray[np.int64], level: int, law: BarLaw) -> Floats:
    """The chance that each bar shows at least ``level`` records."""
    if isinstance(law, WholeBars):
        return law.exceeds(heights, np.array(level - 1))
    return laplace_tail(max(float(level), law.least) - heights, law.scale)


def _tallest(heights: NDArray[np.int64], law: BarLaw, ties: str) -> Floats:
    """The chance that each bar shows something and is the mode."""
    if isinstance(law, WholeBars):
        return _tallest_whole(heights, law, ties)
    return _tallest_laplace(heights, law)


def _tallest_whole(heights: NDArray[np.int64], law: WholeBars, ties: str) -> Floats:
    top = int(heights.max())
    first, last = max(1, top + law.low), max(1, top + law.high)  # the tallest bar alone makes lower heights irrelevant
    if (last - first + 1) * len(heights) > _LARGEST_SUM:
        raise InputError("epsilon is so small that the exact law of the mode takes too long. Choose a larger epsilon.")
    chances = np.zeros(len(heights))
    step = max(1, _CELLS // len(heights))
    for start in range(first, last + 1, step):
        levels = np.arange(start - 1, min(start + step, last + 1))
        more = law.exceeds(heights[:, None], levels[None, :])
        shows = more[:, :-1] - more[:, 1:]
        chances += _wins(1 - more[:, :-1], shows, 1 - more[:, 1:], ties).sum(axis=1)
    return chances


def _wins(below: Floats, shows: Floats, at_most: Floats, ties: str) -> Floats:
    """For each bar (row) and height (column), the chance that the bar shows it and is the mode."""
    if ties == "smallest":
        return shows * _before(below) * _after(at_most)
    if ties == "largest":
        return shows * _before(at_most) * _after(below)
    nodes, weights = np.polynomial.legendre.leggauss((len(below) + 1) // 2)
    out = np.zeros_like(below)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        mixed = below + node * shows
        out += weight * (_before(mixed) * _after(mixed))
    return shows * out


def _tallest_laplace(heights: NDArray[np.int64], law: LaplaceBars) -> Floats:
    """∫ over z > least of density_i(z)·Π_{j≠i} F_j(z); real heights do not tie."""
    behind = (heights - heights.max()).astype(np.float64)  # measured from the tallest bar, so that doubles stay fine
    kinks, least = np.unique(behind), law.least - float(heights.max())
    low = max(least, -NEGLIGIBLE * law.scale)
    high = max(least, 0.0) + NEGLIGIBLE * law.scale
    even = np.linspace(low, high, 1 + math.ceil(2 * (high - low) / law.scale))
    edges = np.union1d(even, kinks[(kinks > low) & (kinks < high)])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    chances = np.zeros(len(heights))
    step = max(1, _CELLS // (_NODES * len(heights)))
    for start in range(0, len(edges) - 1, step):
        here = edges[start : start + step + 1]
        half = np.diff(here)[:, None] / 2
        z = (here[:-1, None] + half * (1 + nodes)).ravel()
        away = z[None, :] - behind[:, None]
        at_most = 1 - laplace_tail(away, law.scale)
        density = np.exp(-np.abs(away) / law.scale) / (2 * law.scale)
        chances += (density * _before(at_most) * _after(at_most)) @ (half * weights).ravel()
    return chances


def _before(values: Floats) -> Floats:
    """The product of all rows above each row."""
    return np.concatenate((np.ones_like(values[:1]), np.cumprod(values[:-1], axis=0)))


def _after(values: Floats) -> Floats:
    """The product of all rows below each row."""
    return _before(values[::-1])[::-1]
