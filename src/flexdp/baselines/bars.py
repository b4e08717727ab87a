"""Noisy histograms whose bars are independent: dropping, stlap, esa, bns and bns_swap.

    x = 12 records       dropping       12 − J,          J on 0 … q − 1, from a certified integer table
                         stlap, esa     12 − shift + Z,  rounded, cut at 0;  Z truncated Laplace, or Laplace
                         bns, bns_swap  12 + Z,          Z Laplace; not reported up to a threshold above 1

Each says what becomes of one bar (``law_of_bars``, in doubles) and draws rows of bars (``rows``, seeded). Everything
else follows: laws, exact errors and chains from :class:`~flexdp.mechanisms.BarNoise`, answers from rows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp.baselines.base import Citation, ComparedHistogram, Floats, Question
from flexdp.distribution import Distribution, Whole
from flexdp.errors import InputError, P
from flexdp.guarantees import Privacy, Replace
from flexdp.histogram import Histogram
from flexdp.mechanisms import HISTOGRAMS
from flexdp.mechanisms.bars import BarNoise, as_histogram, law_read_off
from flexdp.noise.bits import Bits
from flexdp.noise.continuous import truncated_laplace_quantile
from flexdp.noise.drop import DropNoise
from flexdp.simulation import Generator
from flexdp.statistics import Mode

__all__ = [
    "SUBSTITUTION",
    "NoisyBars",
    "SeededDropping",
    "ShiftedLaplace",
    "ShiftedTruncatedLaplace",
    "StabilityHistogram",
    "StabilityHistogramSwap",
    "shift",
    "stlap_reach",
    "stlap_tail",
    "swap_threshold",
    "threshold",
]

SUBSTITUTION = Replace()
FAR = 42.0  # scales after which tails are cut: e^−42 < 1e-18
MOST_HEIGHTS = 2**22  # of one bar
_CELLS = 2**17  # bars times heights per block
_NODES = 16  # quadrature nodes per panel of half a scale; smooth enough for products over hundreds of bars
_DOUBLE = 2.0**-53


class NoisyBars(ComparedHistogram, BarNoise):
    """A compared mechanism that changes each non-empty bar by itself; empty bars stay empty."""

    source = target = HISTOGRAMS

    @abstractmethod
    def noisy(self, heights: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        """Return what becomes of bars of these heights, one run per row; 0 is not published."""

    def rows(self, counts: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        filled = np.flatnonzero(counts)
        found = self.noisy(counts[filled], runs, rng)
        out = np.zeros((runs, len(counts)), dtype=found.dtype)
        out[:, filled] = found
        return out

    def draw(self, x: Any, bits: Bits) -> Histogram:
        """Draw each bar from its law."""
        histogram = as_histogram(x)
        bar = self.law_of_bars(histogram)
        return Histogram(histogram.keys, [_draw_height(bar(int(count)), bits) for count in histogram.counts])

    def law_of_answer(self, asked: Question) -> Distribution:
        found = law_read_off(self.law(asked.histogram), asked.statistic, nothing=None)
        assert found is not None  # there is a closed form for what may be asked
        chances = np.zeros(asked.buckets)
        for answer, mass in found.masses.items():
            chances[answer or 0] += max(0.0, mass)  # 1 minus a sum of doubles may be below 0
        return Whole(0, chances)


def _draw_height(law: Distribution, bits: Bits) -> int:
    low, masses = law.dense
    uniform = (int.from_bytes(bits.source(8), "little") >> 11) * _DOUBLE
    return low + min(int(np.searchsorted(np.cumsum(masses), uniform, side="right")), len(masses) - 1)


class SeededDropping(NoisyBars):
    """Discrete dropping, flexdp's own: a bucket of x records reports max(0, x − J), J on {0, …, q − 1}.

    Calibration: q is the smallest reach for (ε, δ), of either parity; it never depends on the data. The claim is the
    table's own δ, which is at most the one requested. Releases run :class:`flexdp.mechanisms.Dropping`; this one takes
    a seeded generator.
    """

    citation: ClassVar[Citation] = Citation(
        "Damien Desfontaines, James Voss, Bryant Gipson, Chinmoy Mandayam",
        2022,
        "Differentially private partition selection; its optimal rule, here read as noise that drops records",
    )

    @property
    def noise(self) -> DropNoise:
        """The table of one bar."""
        return _drop_noise(self.epsilon, self.delta)

    @property
    def privacy(self) -> Privacy:
        return Privacy(epsilon=self.epsilon, delta=self.noise.delta_real)

    def noisy(self, heights: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        drops = self.noise._draw(runs * len(heights), rng.bytes).reshape(runs, len(heights))
        return np.asarray(np.maximum(0, heights - drops))

    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:  # noqa: ARG002
        return lambda count: _dropped_bar(self.noise, count)


@lru_cache(maxsize=64)
def _drop_noise(epsilon: Fraction, delta: Fraction) -> DropNoise:
    return DropNoise(epsilon, delta)


@lru_cache(maxsize=64)
def _left_behind(noise: DropNoise) -> Floats:
    """Return Pr[J = j] from the largest j to 0."""
    return noise.pmf[::-1]


@lru_cache(maxsize=4096)
def _dropped_bar(noise: DropNoise, count: int) -> Distribution:
    masses = _left_behind(noise)
    if count > noise.max_drop:
        return Whole(count - noise.max_drop, masses)
    gone = float(1 - noise.survival(count))
    return Whole(0, np.concatenate(([gone], masses[noise.q - count :])))


def _bar(
    count: int, low: int, high: int, tail: Callable[[Floats], Floats], mirrored: Callable[[Floats], Floats]
) -> Distribution:
    """Return the law of a height from ``low`` to ``high``, more than h with chance tail(h), at most h with mirrored(h).

    Of the two, the smaller one is exact to a double: masses are differences of it.
    """
    if not count:
        return Whole(0, np.ones(1))
    if high - max(0, low) > MOST_HEIGHTS:
        raise InputError(
            "epsilon", "is too small to compute an exact law", remedy=("Choose a larger ", P("epsilon"), ".")
        )
    heights: Floats = np.arange(max(0, low), max(1, high) + 1, dtype=np.float64)
    above = np.concatenate((np.ones(1), tail(heights)))
    under = np.concatenate((np.zeros(1), mirrored(heights)))
    return Whole(int(heights[0]), np.where(under[1:] < 0.5, np.diff(under), -np.diff(above)))


def laplace_tail(z: Any, scale: float) -> Floats:
    """Return Pr[Laplace noise > z], with full relative precision above zero."""
    half = 0.5 * np.exp(-np.abs(z) / scale)
    return np.asarray(np.where(z >= 0, half, 1 - half))


# Shifted downwards and rounded


def stlap_reach(epsilon: float, delta: float) -> float:
    """Return the real q for which the noise lies in (−1, 0] with probability δ: (2/ε)·ln(1 + (e^ε − 1)/(2δ))."""
    if epsilon > 500:  # e^ε could overflow; the 1 is negligible
        return 2 / epsilon * (epsilon - math.log(2 * delta))
    return 2 / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta))


def stlap_tail(z: Any, epsilon: float, q: float) -> Floats:
    """Return Pr[noise > z]: exactly 1 up to −q and exactly 0 from 0 on."""
    away = np.minimum(np.abs(z + q / 2), q / 2)
    half = 0.5 * np.exp(-epsilon * away) * np.expm1(epsilon * (away - q / 2)) / np.expm1(-epsilon * q / 2)
    return np.asarray(np.where(z >= -q / 2, half, 1 - half))


class ShiftedTruncatedLaplace(NoisyBars):
    """Shifted, truncated Laplace: density ∝ e^{−ε|z + q/2|} on [−q, 0], added and rounded to the nearest integer.

    Calibration: a real q with δ = (e^ε − 1)/(2(e^{εq/2} − 1)), the paper's formula, but public and fixed in advance:
    with the data-dependent q = τ|x| the claim would be false (docs/errata.md).
    """

    citation: ClassVar[Citation] = Citation(
        "Aman Bansal, Rahul Chunduru, Deepesh Data, Manoj Prabhakaran",
        2022,
        "Flexible Accuracy for Differential Privacy, the paper that this library implements",
    )

    def noisy(self, heights: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        q, uniform = stlap_reach(*self.doubles), rng.random((runs, len(heights)))
        noise = truncated_laplace_quantile(uniform, reach=q, epsilon=float(self.epsilon))
        return np.maximum(0, np.rint(heights + noise))

    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:  # noqa: ARG002
        return lambda count: _stlap_bar(count, *self.doubles)


@lru_cache(maxsize=4096)
def _stlap_bar(count: int, epsilon: float, delta: float) -> Distribution:
    """A bar of x records reports more than h if the noise, symmetric about −q/2, exceeds h + 1/2 − x."""
    q = stlap_reach(epsilon, delta)
    return _bar(
        count,
        math.floor(count - q - 0.5),
        count,
        lambda h: stlap_tail(h - count + 0.5, epsilon, q),
        lambda h: stlap_tail(count - h - 0.5 - q, epsilon, q),
    )


def shift(epsilon: float, delta: float) -> float:
    """Return the shift of the noise to the left: 1 + ln(1/(2δ))/ε."""
    return 1 - math.log(2 * delta) / epsilon


class ShiftedLaplace(NoisyBars):
    """Shifted Laplace: non-empty buckets get Laplace noise of scale 1/ε about −T, rounded and cut at zero.

    Calibration: T = 1 + ln(1/(2δ))/ε, under add/remove neighbours. A bucket of one record is then reported with
    probability δ·e^{−ε/2} (the factor e^{−ε/2} is due to rounding) and an empty one never; between one record and more,
    ε alone suffices.
    """

    citation: ClassVar[Citation] = Citation(
        "Úlfar Erlingsson, Vitaly Feldman, Ilya Mironov, Ananth Raghunathan, Shuang Song, Kunal Talwar, "
        "Abhradeep Thakurta",
        2020,
        "Encode, Shuffle, Analyze Privacy Revisited: Formalizations and Empirical Evaluation",
    )

    def noisy(self, heights: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        noise = rng.laplace(-shift(*self.doubles), 1 / float(self.epsilon), (runs, len(heights)))
        return np.maximum(0, np.rint(heights + noise))

    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:  # noqa: ARG002
        return lambda count: _shifted_bar(count, *self.doubles)


@lru_cache(maxsize=4096)
def _shifted_bar(count: int, epsilon: float, delta: float) -> Distribution:
    """A bar of x records reports more than h if the centred noise exceeds h + 1/2 − x + T."""
    scale, middle = 1 / epsilon, count - shift(epsilon, delta)
    return _bar(
        count,
        math.floor(middle - FAR * scale),
        math.ceil(middle + FAR * scale),
        lambda h: laplace_tail(h + 0.5 - middle, scale),
        lambda h: laplace_tail(middle - h - 0.5, scale),
    )


# Reported above a threshold only


def threshold(epsilon: float, delta: float) -> float:
    """Return 1 + ln(1/(2δ))/ε: noise of scale 1/ε lifts a single record above it with probability δ."""
    return 1 - math.log(2 * delta) / epsilon


def swap_threshold(epsilon: float, delta: float) -> float:
    """Return 1 + 2·ln(2/δ)/ε: noise of scale 2/ε lifts a single record above it with probability δ/4."""
    return 1 + 2 * math.log(2 / delta) / epsilon


class StabilityHistogram(NoisyBars):
    """Stability-based histogram, calibrated for add/remove neighbours.

    Calibration: Laplace noise of scale 1/ε, threshold 1 + ln(1/(2δ))/ε; tight for the neighbour relation under which
    all mechanisms are compared here. As a mechanism of the library it reports heights rounded down, which no max and no
    max_k can tell; runs have real heights, which do not tie.
    """

    citation: ClassVar[Citation] = Citation(
        "Mark Bun, Kobbi Nissim, Uri Stemmer", 2016, "Simultaneous Private Learning of Multiple Concepts"
    )

    def calibrate(self) -> tuple[float, float]:
        """Return the scale of the noise, and the threshold."""
        return 1 / float(self.epsilon), threshold(*self.doubles)

    def noisy(self, heights: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        scale, least = self.calibrate()
        noisy = heights + rng.laplace(0, scale, (runs, len(heights)))
        return np.where(noisy > least, noisy, 0)

    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:  # noqa: ARG002
        return lambda count: _stable_bar(count, *self.calibrate())

    def law_of_answer(self, asked: Question) -> Distribution:
        if not isinstance(asked.statistic, Mode):
            return super().law_of_answer(asked)
        scale, least = self.calibrate()
        filled = np.flatnonzero(asked.counts)
        heights = asked.counts[filled].astype(np.float64)
        chances = np.zeros(asked.buckets)
        if len(filled):
            chances[filled] = _tallest_of_laplace(heights, scale, least)
        chances[0] += np.prod(laplace_tail(heights - least, scale))
        return Whole(0, chances)


class StabilityHistogramSwap(StabilityHistogram):
    """Stability-based histogram as in Vadhan's survey, calibrated for replacement of one record.

    Calibration: Laplace noise of scale 2/ε, threshold 1 + 2·ln(2/δ)/ε. Under add/remove neighbours it is more private
    than requested, (ε/2, δ/4), at the expense of accuracy.
    """

    citation: ClassVar[Citation] = Citation("Salil Vadhan", 2017, "The Complexity of Differential Privacy, theorem 3.5")

    @property
    def privacy(self) -> Privacy:
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=SUBSTITUTION)

    def calibrate(self) -> tuple[float, float]:
        """Return the scale of the noise, and the threshold."""
        return 2 / float(self.epsilon), swap_threshold(*self.doubles)


@lru_cache(maxsize=4096)
def _stable_bar(count: int, scale: float, least: float) -> Distribution:
    """A bar of x records reports at least h + 1 if x + Z exceeds the threshold and reaches h + 1."""
    lowest = math.floor(count - FAR * scale)
    return _bar(
        count,
        0 if lowest <= least else lowest,
        math.ceil(max(count, least) + FAR * scale),
        lambda h: laplace_tail(np.maximum(h + 1, least) - count, scale),
        lambda h: laplace_tail(count - np.maximum(h + 1, least), scale),
    )


# The mode of bars with real heights: Pr[bar i is tallest] = ∫ density_i(z)·Π_{j≠i} F_j(z) dz over z > threshold


def _tallest_of_laplace(heights: Floats, scale: float, least: float) -> Floats:
    """Integrate above the tallest bar, and from the threshold up to it; real heights do not tie."""
    behind, low = heights - heights.max(), least - float(heights.max())  # relative to the tallest, for precision
    out = _above_all(behind, max(0.0, low), scale)
    return out + _below_the_tallest(behind, low, scale) if low < 0 else out


def _above_all(behind: Floats, low: float, scale: float) -> Floats:
    """Integrate above every bar: a polynomial in u = e^{−z/scale}, for which Gauss quadrature is exact."""
    u, weights = _gauss((len(behind) + 1) // 2)
    shows = 0.5 * np.exp((behind - low) / scale)[:, None]  # Pr[the bar reports more than low], and u times that at u
    at_most = 1 - shows * u
    return np.asarray((shows * _before(at_most) * _after(at_most)) @ weights)


def _below_the_tallest(behind: Floats, least: float, scale: float) -> Floats:
    """Integrate panel by panel between kinks, starting where the integrand matters; accurate to about 1e-13."""
    low = max(least, -FAR * scale)
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
        away = (here[:-1, None] + width * nodes).ravel() - behind[:, None]
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
