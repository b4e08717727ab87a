"""The paper's continuous noise: Laplace, shifted to the left and cut off on both sides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._parameters import EPSILON, Number
from flexdp.baselines._base import SMALL_DELTA, Citation, HistogramMechanism, Task
from flexdp.guarantees import Privacy

__all__ = ["ShiftedTruncatedLaplace", "reach"]


def reach(epsilon: float, delta: float) -> float:
    """The real q at which the noise has a chance of exactly δ to lie in (−1, 0]: (2/ε)·ln(1 + (e^ε − 1)/(2δ))."""
    if epsilon > 500:  # e^ε leaves the doubles; the 1 is then far below the last digit
        return 2 / epsilon * (epsilon - math.log(2 * delta))
    return 2 / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta))


@dataclass(frozen=True, slots=True)
class ShiftedTruncatedLaplace(HistogramMechanism):
    """Shifted, truncated Laplace: density ∝ e^{−ε|z + q/2|} on [−q, 0], added and rounded to the nearest integer.

    Calibration: a public real q with δ = (e^ε − 1)/(2(e^{εq/2} − 1)), as the paper's formula has it, but fixed in
    advance: with q = τ|x|, which depends on the data, the claim would be false (docs/errata.md). Empty bars stay empty.
    """

    name: ClassVar[str] = "stlap"
    citation: ClassVar[Citation] = Citation(
        "Aman Bansal, Rahul Chunduru, Deepesh Data, Manoj Prabhakaran",
        2022,
        "differential privacy with flexible accuracy: the paper this library implements",
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta))

    def _histograms(self, task: Task) -> NDArray[Any]:
        q = reach(task.epsilon, task.delta)
        filled = np.flatnonzero(task.counts)
        u = 2 * task.rng.random((task.runs, len(filled))) - 1
        away = -np.log1p(np.abs(u) * np.expm1(-task.epsilon * q / 2)) / task.epsilon
        noise = np.clip(np.copysign(away, u) - q / 2, -q, 0)
        out = np.zeros((task.runs, task.bars))
        out[:, filled] = np.maximum(0, np.rint(task.counts[filled] + noise))
        return out
