"""Mechanisms on the answer itself: the exponential mechanism, propose-test-release and smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON
from flexdp._core.fields import Exact, param
from flexdp.baselines.base import Citation, ComparedMechanism, Floats, Question
from flexdp.baselines.stability import answers, distance_to_instability, smooth_sensitivity
from flexdp.distribution import Distribution, Whole
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.simulation import Generator

__all__ = [
    "MODERATE_EPSILON",
    "Exponential",
    "ProposeTestRelease",
    "SmoothSensitivity",
    "TightExponential",
    "exponential_law",
    "release_chance",
    "smoothness",
]

MODERATE_EPSILON = replace(
    EPSILON, high=Fraction(5), remedy="Above 5 this calibration of smooth sensitivity violates its privacy claim."
)


def _draw_true_answers(asked: Question, runs: int, rng: Generator) -> NDArray[np.intp]:
    """Return f(x) for each run; nothing is drawn if only one answer is possible."""
    possible = answers(asked.counts, asked.level, asked.ties)
    return possible if len(possible) == 1 else possible[rng.integers(len(possible), size=runs)]


def exponential_law(place: float, buckets: int, epsilon: float, sensitivity: int) -> Floats:
    """Return Pr[y] ∝ e^{−ε|place − y|/(2Δ)} on the buckets 0, …, B − 1."""
    weights = np.exp(-epsilon * np.abs(np.arange(buckets) - place) / (2 * sensitivity))
    return np.asarray(weights / weights.sum())


class Exponential(ComparedMechanism):
    """Exponential mechanism with utility −|f(x) − y|: the chance of a bucket falls with its distance from the answer.

    Calibration: sensitivity B, the number of buckets, as in the paper: one record can move max, max_k and mode from end
    to end. That is a distance of B − 1, by which ``em_tight`` is calibrated. The exponent is ε/(2B) times the utility.
    Pure: δ is not used. With random ties, f(x) is drawn first; any two of the resulting distributions are within ε of
    each other, so the claim holds.
    """

    citation: ClassVar[Citation] = Citation(
        "Frank McSherry, Kunal Talwar", 2007, "Mechanism Design via Differential Privacy"
    )

    @property
    def privacy(self) -> Privacy:
        return Privacy(epsilon=self.epsilon, delta=0)

    def sensitivity(self, buckets: int) -> int:
        """Return Δ for so many buckets."""
        return buckets

    def law(self, place: float, buckets: int) -> Floats:
        """Return the chances of all buckets, given the true answer."""
        return exponential_law(place, buckets, float(self.epsilon), self.sensitivity(buckets))

    def law_of_answer(self, asked: Question) -> Distribution:
        return Whole(0, self._mix(asked))

    def answers(self, asked: Question, runs: int, rng: Generator) -> Floats:
        # Drawing f(x) uniformly and then from its distribution is one draw from the mixture.
        return _draw_places(self._mix(asked), runs, rng)

    def around(self, answer: float, buckets: int, runs: int, rng: Generator) -> Floats:
        """Return runs for a statistic with values from 0 to B − 1, given its exact value."""
        return _draw_places(self.law(answer, buckets), runs, rng)

    def _mix(self, asked: Question) -> Floats:
        places = answers(asked.counts, asked.level, asked.ties)
        return np.asarray(sum(self.law(int(place), asked.buckets) for place in places) / len(places))


def _draw_places(chances: Floats, runs: int, rng: Generator) -> Floats:
    return np.searchsorted(np.cumsum(chances)[:-1], rng.random(runs), side="right").astype(np.float64)


class TightExponential(Exponential):
    """Exponential mechanism as ``em``, calibrated by the exact sensitivity of max, max_k and mode, B − 1.

    With a single bucket there is nothing to choose.
    """

    def sensitivity(self, buckets: int) -> int:
        """Return Δ for so many buckets."""
        return max(1, buckets - 1)


def release_chance(distance: float, epsilon: float, delta: float) -> float:
    """Return Pr[d + Lap(1/ε) > ln(1/δ)/ε]: δ/2 at distance zero, growing by a factor of at most e^ε per record."""
    short = -math.log(delta) - epsilon * distance
    return 0.5 * math.exp(-short) if short >= 0 else 1 - 0.5 * math.exp(short)


class ProposeTestRelease(ComparedMechanism):
    """Propose-test-release: f(x) if d + Lap(1/ε) > ln(1/δ)/ε, else a uniform bucket; d is the distance to instability.

    Calibration, under add/remove neighbours: d changes by at most one between neighbours, so the test costs ε. If
    neighbours have different answers, both have d = 0 and pass with probability δ/2 only. With random ties the same
    holds for the distribution of the answer, which is stable if one bucket leads by at least two records.
    """

    citation: ClassVar[Citation] = Citation(
        "Cynthia Dwork, Jing Lei", 2009, "Differential Privacy and Robust Statistics"
    )

    def answers(self, asked: Question, runs: int, rng: Generator) -> Floats:
        passed = rng.random(runs) < self._chance(asked)
        random_places = rng.integers(asked.buckets, size=runs)
        return np.where(passed, _draw_true_answers(asked, runs, rng), random_places).astype(np.float64)

    def law_of_answer(self, asked: Question) -> Distribution:
        chance, places = self._chance(asked), answers(asked.counts, asked.level, asked.ties)
        out = np.full(asked.buckets, (1 - chance) / asked.buckets)
        out[places] += chance / len(places)
        return Whole(0, out)

    def _chance(self, asked: Question) -> float:
        return release_chance(distance_to_instability(asked.counts, asked.level, asked.ties), *self.doubles)


def smoothness(epsilon: float, delta: float) -> float:
    """Return β = ε/(2·ln(2/δ)), the rate at which the smooth sensitivity may change between neighbours."""
    return epsilon / (2 * math.log(2 / delta))


class SmoothSensitivity(ComparedMechanism):
    """Smooth-sensitivity mechanism: f(x) + (2S/ε)·Lap(1), clamped to [0, B − 1], S the exact β-smooth sensitivity.

    Calibration, under add/remove neighbours: β = ε/(2·ln(2/δ)). Half of ε pays for the shift of the answer, half for
    the change of scale, where δ covers the tails. The exact divergence of the two Laplace distributions is below δ/2
    for ε ≤ 5 and δ ≤ 1/2 (the tests check a grid), but exceeds δ for large ε (fivefold at ε = 20, δ = 2⁻²⁰), so ε above
    5 is refused. With random ties, S is the largest distance between any possible answers of two neighbours, or of one
    data set, so the claim holds whichever are drawn.
    """

    citation: ClassVar[Citation] = Citation(
        "Kobbi Nissim, Sofya Raskhodnikova, Adam Smith",
        2007,
        "Smooth Sensitivity and Sampling in Private Data Analysis",
    )

    epsilon: Exact = param(MODERATE_EPSILON)

    def answers(self, asked: Question, runs: int, rng: Generator) -> Floats:
        epsilon, delta = self.doubles
        spread = smooth_sensitivity(asked.counts, asked.level, smoothness(epsilon, delta), asked.ties)
        noise = rng.laplace(0, 2 * spread / epsilon, runs)
        return np.clip(_draw_true_answers(asked, runs, rng) + noise, 0, asked.buckets - 1)

    def law_of_answer(self, asked: Question) -> Distribution:  # noqa: ARG002
        raise InputError(
            "mechanism",
            "'ss' has no distribution on the buckets: its output is a real number",
            remedy="Run it instead.",
        )
