"""Exact distributions of statistics of a noisy histogram with independent counts.

With F_j(h) = Pr[bucket j reports at most h], the distribution of the largest bucket that is tall enough is a product.
The mode is i if bucket i reports some height h and the others stay below it, or reach it where the tie rule favours i:

    Pr[mode = i] = Σ_h Pr[bucket i reports h] · Π_{j<i} F_j(h − 1) · Π_{j>i} F_j(h)        (ties to the smallest index).

For integer counts these are finite sums of closed forms in doubles, truncated where less than 1e-18 remains. For
unrounded Laplace noise, Σ is an integral: above the tallest bucket, of a polynomial, for which Gauss quadrature is
exact; below it, of a smooth function between kinks, for which quadrature on short panels is accurate to about 1e-13.
Random ties need E[1/(1 + tied)] = ∫₀¹ Π_j (F_j(h − 1) + s·Pr[bucket j reports h]) ds, a polynomial in s, for which
Gauss quadrature with half as many nodes as buckets is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp.errors import InputError, P

__all__ = ["NEGLIGIBLE", "BarLaw", "LaplaceBars", "WholeBars", "laplace_tail", "reading_law"]

NEGLIGIBLE = 42.0  # tails are truncated after this many scales: e^−42 < 1e-18
_CELLS = 2**17  # buckets times heights per block
_LARGEST_SUM = 2**31  # buckets times heights in total: half a minute
_NODES = 16  # quadrature nodes per panel of half a scale; smooth enough for products over hundreds of buckets

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBars:
    """Integer counts: ``exceeds(x, h)`` = Pr[a bucket of x records reports more than h], for integers h ≥ 0.

    ``at_most(x, h)`` is the complement, computed without subtraction: both have full relative precision where they are
    small, so that products distinguish the very unlikely from the impossible. Except with probability 1e-18, a bucket
    of x records reports between x + low and x + high.
    """

    exceeds: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
    at_most: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceBars:
    """Counts plus Laplace noise, reported only above the positive threshold ``least``."""

    scale: float
    least: float


BarLaw: TypeAlias = WholeBars | LaplaceBars


def laplace_tail(z: NDArray[np.floating[Any]], scale: float) -> Floats:
    """Return Pr[Laplace noise > z], with full relative precision above zero."""
    half = 0.5 * np.exp(-np.abs(z) / scale)
    return np.asarray(np.where(z >= 0, half, 1 - half))


def reading_law(counts: NDArray[np.int64], level: int | None, law: BarLaw, *, empty: str, ties: str) -> Floats:
    """Return the probability of each bucket, for max_k at ``level`` k or (None) the mode; empty buckets stay empty."""
    filled = np.flatnonzero(counts)
    heights = counts[filled]
    out = np.zeros(len(counts))
    seen, unseen = _seen(heights, 1 if level is None else level, law)
    nothing = float(np.prod(unseen))
    if level is not None:
        out[filled] = seen * _after(unseen)
    elif len(filled):
        out[filled] = _tallest(heights, law, ties)
    if empty == "zero":
        out[0] += nothing
    else:
        out += nothing / len(counts)
    return out


def _seen(heights: NDArray[np.int64], level: int, law: BarLaw) -> tuple[Floats, Floats]:
    """Return the probability that each bucket reports at least ``level`` records, and its complement."""
    if isinstance(law, WholeBars):
        below = np.array(level - 1)
        return law.exceeds(heights, below), law.at_most(heights, below)
    short = max(float(level), law.least) - heights
    return laplace_tail(short, law.scale), laplace_tail(-short, law.scale)


def _tallest(heights: NDArray[np.int64], law: BarLaw, ties: str) -> Floats:
    """Return the probability that each bucket is reported and is the mode."""
    if isinstance(law, WholeBars):
        return _tallest_whole(heights, law, ties)
    return _tallest_laplace(heights, law)


def _tallest_whole(heights: NDArray[np.int64], law: WholeBars, ties: str) -> Floats:
    top = int(heights.max())
    first, last = max(1, top + law.low), max(1, top + law.high)  # the tallest bucket rules out lower heights
    passes = (len(heights) + 1) // 2 if ties == "random" else 1
    if (last - first + 1) * len(heights) * passes > _LARGEST_SUM:
        raise InputError(
            "epsilon",
            "is too small, or there are too many buckets, to compute the exact distribution of the mode",
            remedy=(
                "Choose a larger ",
                P("epsilon"),
                *((" or another rule for ", P("ties")) if passes > 1 else ()),
                ".",
            ),
        )
    chances = np.zeros(len(heights))
    step = max(1, _CELLS // len(heights))
    for start in range(first, last + 1, step):
        levels = np.arange(start - 1, min(start + step, last + 1))
        more, rest = (part(heights[:, None], levels[None, :]) for part in (law.exceeds, law.at_most))
        below, at_most = rest[:, :-1], rest[:, 1:]
        shows = np.where(at_most < 0.5, at_most - below, more[:, :-1] - more[:, 1:])
        chances += _wins(below, shows, at_most, ties).sum(axis=1)
    return chances


def _wins(below: Floats, shows: Floats, at_most: Floats, ties: str) -> Floats:
    """Return the probability that each bucket (row) reports each height (column) and is the mode."""
    if ties == "smallest":
        return shows * _before(below) * _after(at_most)
    if ties == "largest":
        return shows * _before(at_most) * _after(below)
    out = np.zeros_like(below)
    for node, weight in zip(*_gauss((len(below) + 1) // 2), strict=True):
        mixed = below + node * shows
        out += weight * (_before(mixed) * _after(mixed))
    return shows * out


def _tallest_laplace(heights: NDArray[np.int64], law: LaplaceBars) -> Floats:
    """Integrate density_i(z)·Π_{j≠i} F_j(z) over z > least; real heights do not tie."""
    behind = (heights - heights.max()).astype(np.float64)  # relative to the tallest bucket, for precision in doubles
    least = law.least - float(heights.max())
    out = _above_all(behind, max(0.0, least), law.scale)
    if least < 0:
        out += _below_the_tallest(behind, least, law.scale)
    return out


def _above_all(behind: Floats, low: float, scale: float) -> Floats:
    """Integrate above every bucket: a polynomial in u = e^{−z/scale}, for which Gauss quadrature is exact."""
    u, weights = _gauss((len(behind) + 1) // 2)
    shows = 0.5 * np.exp((behind - low) / scale)[:, None]  # Pr[the bucket reports more than low], and u times that at u
    at_most = 1 - shows * u
    return np.asarray((shows * _before(at_most) * _after(at_most)) @ weights)


def _below_the_tallest(behind: Floats, least: float, scale: float) -> Floats:
    """Integrate from the threshold to the tallest bucket, panel by panel, starting where the integrand matters."""
    low = max(least, -NEGLIGIBLE * scale)
    even = np.linspace(low, 0.0, 1 + math.ceil(2 * -low / scale))
    edges = np.union1d(even, behind[behind > low])
    all_lower = np.prod(laplace_tail(behind[:, None] - edges, scale), axis=0)
    edges = edges[max(0, int(np.argmax(all_lower > 1e-20)) - 1) :]
    nodes, weights = _gauss(_NODES)
    chances = np.zeros(len(behind))
    step = max(1, _CELLS // (_NODES * len(behind)))
    for start in range(0, len(edges) - 1, step):
        here = edges[start : start + step + 1]
        width = np.diff(here)[:, None]
        z = (here[:-1, None] + width * nodes).ravel()
        away = z - behind[:, None]
        at_most = laplace_tail(-away, scale)
        density = np.exp(-np.abs(away) / scale) / (2 * scale)
        chances += (density * _before(at_most) * _after(at_most)) @ (width * weights).ravel()
    return chances


@lru_cache(maxsize=64)
def _gauss(number: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss quadrature on [0, 1], exact for polynomials of degree 2·number − 1."""
    nodes, weights = np.polynomial.legendre.leggauss(number)
    return (nodes + 1) / 2, weights / 2


def _before(values: Floats) -> Floats:
    """Return the product of all rows above each row."""
    return np.concatenate((np.ones_like(values[:1]), np.cumprod(values[:-1], axis=0)))


def _after(values: Floats) -> Floats:
    """Return the product of all rows below each row."""
    return _before(values[::-1])[::-1]
