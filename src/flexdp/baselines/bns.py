"""The stability-based histogram: Laplace noise on non-empty buckets, reported above a threshold only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, HistogramMechanism, Question, Task
from flexdp.baselines.laws import LaplaceBars
from flexdp.guarantees import ONE_RECORD, Privacy, Replace

__all__ = ["SUBSTITUTION", "StabilityHistogram", "StabilityHistogramSwap", "swap_threshold", "threshold"]

SUBSTITUTION = Replace()


def threshold(epsilon: float, delta: float) -> float:
    """Return 1 + ln(1/(2δ))/ε: noise of scale 1/ε lifts a single record above it with probability δ."""
    return 1 - math.log(2 * delta) / epsilon


def swap_threshold(epsilon: float, delta: float) -> float:
    """Return 1 + 2·ln(2/δ)/ε: noise of scale 2/ε lifts a single record above it with probability δ/4."""
    return 1 + 2 * math.log(2 / delta) / epsilon


@dataclass(frozen=True, slots=True)
class StabilityHistogram(HistogramMechanism):
    """Stability-based histogram, calibrated for add/remove neighbours.

    Calibration: Laplace noise of scale 1/ε, threshold 1 + ln(1/(2δ))/ε; tight for the neighbour relation under which
    all mechanisms are compared here.
    """

    name: ClassVar[str] = "bns"
    citation: ClassVar[Citation] = Citation(
        "Mark Bun, Kobbi Nissim, Uri Stemmer", 2016, "Simultaneous Private Learning of Multiple Concepts"
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta), neighbours=ONE_RECORD)

    def _histograms(self, task: Task) -> NDArray[Any]:
        return _reported(task, self._bar_law(task))

    def _bar_law(self, asked: Question) -> LaplaceBars:
        return LaplaceBars(scale=1 / asked.epsilon, least=threshold(asked.epsilon, asked.delta))


@dataclass(frozen=True, slots=True)
class StabilityHistogramSwap(HistogramMechanism):
    """Stability-based histogram as in Vadhan's survey, calibrated for replacement of one record.

    Calibration: Laplace noise of scale 2/ε, threshold 1 + 2·ln(2/δ)/ε. Under add/remove neighbours it is more private
    than requested, (ε/2, δ/4), at the expense of accuracy.
    """

    name: ClassVar[str] = "bns_swap"
    citation: ClassVar[Citation] = Citation("Salil Vadhan", 2017, "The Complexity of Differential Privacy, theorem 3.5")

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta), neighbours=SUBSTITUTION)

    def _histograms(self, task: Task) -> NDArray[Any]:
        return _reported(task, self._bar_law(task))

    def _bar_law(self, asked: Question) -> LaplaceBars:
        return LaplaceBars(scale=2 / asked.epsilon, least=swap_threshold(asked.epsilon, asked.delta))


def _reported(task: Task, law: LaplaceBars) -> NDArray[np.float64]:
    filled = np.flatnonzero(task.counts)
    noisy = task.counts[filled] + task.rng.laplace(0, law.scale, (task.runs, len(filled)))
    out = np.zeros((task.runs, task.bars))
    out[:, filled] = np.where(noisy > law.least, noisy, 0)
    return out
