"""Smooth sensitivity: Laplace noise on the answer, scaled to how much it can change near this data set."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, ComparedMechanism, Question, Task
from flexdp.baselines.stability import drawn_answers, smooth_sensitivity
from flexdp.errors import InputError
from flexdp.guarantees import Privacy

__all__ = ["MODERATE_EPSILON", "SmoothSensitivity", "smoothness"]

MODERATE_EPSILON = replace(
    EPSILON, high=Fraction(5), remedy="Above 5 this calibration of smooth sensitivity violates its privacy claim."
)


def smoothness(epsilon: float, delta: float) -> float:
    """Return β = ε/(2·ln(2/δ)), the rate at which the smooth sensitivity may change between neighbours."""
    return epsilon / (2 * math.log(2 / delta))


@dataclass(frozen=True, slots=True)
class SmoothSensitivity(ComparedMechanism):
    """Smooth-sensitivity mechanism: f(x) + (2S/ε)·Lap(1), clamped to [0, B − 1], S the exact β-smooth sensitivity.

    Calibration, under add/remove neighbours: β = ε/(2·ln(2/δ)). Half of ε pays for the shift of the answer, half for
    the change of scale, where δ covers the tails. The exact divergence of the two Laplace distributions is below δ/2
    for ε ≤ 5 and δ ≤ 1/2 (the tests check a grid), but exceeds δ for large ε (fivefold at ε = 20, δ = 2⁻²⁰), so ε above
    5 is refused. With random ties, S is the largest distance between any possible answers of two neighbours, or of one
    data set, so the claim holds whichever are drawn.
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
            "mechanism",
            f"{self.name!r} has no distribution on the buckets: its output is a real number",
            remedy="Run it instead.",
        )
