"""Smooth sensitivity: Laplace noise on the answer, scaled by how much the answer could move near this data set."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON
from flexdp._core.exact import Number
from flexdp.baselines.base import SMALL_DELTA, Citation, ComparedMechanism, Question, Task
from flexdp.baselines.stability import drawn_answers, smooth_sensitivity
from flexdp.errors import InputError
from flexdp.guarantees import Privacy

__all__ = ["MODERATE_EPSILON", "SmoothSensitivity", "smoothness"]

MODERATE_EPSILON = replace(
    EPSILON, high=Fraction(5), remedy="Beyond 5 this calibration of smooth sensitivity is not private as claimed."
)


def smoothness(epsilon: float, delta: float) -> float:
    """β = ε/(2·ln(2/δ)): how fast the smooth sensitivity may change from one neighbour to the next."""
    return epsilon / (2 * math.log(2 / delta))


@dataclass(frozen=True, slots=True)
class SmoothSensitivity(ComparedMechanism):
    """Smooth-sensitivity mechanism: f(x) + (2S/ε)·Lap(1), clamped to [0, B − 1], S the exact β-smooth sensitivity.

    Calibration: β = ε/(2·ln(2/δ)), for adding or removing one record. Half of ε pays for the shift of the answer,
    half for the change of scale, where δ covers the tails. The exact divergence of the two Laplace laws stays below δ/2
    for ε ≤ 5 and δ ≤ 1/2 (checked on a grid in the tests), but exceeds δ for large ε (five times at ε = 20,
    δ = 2⁻²⁰): above 5 nothing is claimed or run. With ties drawn at random, S counts how far any possible answers of
    two neighbours, or of one data set, can be apart; whichever are drawn, the claim holds of them.
    """

    name: ClassVar[str] = "ss"
    citation: ClassVar[Citation] = Citation(
        "Kobbi Nissim, Sofya Raskhodnikova, Adam Smith",
        2007,
        "Smooth Sensitivity and Sampling in Private Data Analysis",
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=MODERATE_EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta))

    def _answers(self, task: Task) -> NDArray[np.float64]:
        MODERATE_EPSILON.check(task.budget.epsilon)
        spread = smooth_sensitivity(task.counts, task.level, smoothness(task.epsilon, task.delta), task.ties)
        noise = task.rng.laplace(0, 2 * spread / task.epsilon, task.runs)
        return np.clip(drawn_answers(task) + noise, 0, task.bars - 1)

    def _law(self, asked: Question) -> NDArray[np.float64]:  # noqa: ARG002
        raise InputError(
            f"mechanism {self.name!r} has no law on the bars: its answer is a real number between them. Run it instead."
        )
