"""Shifted Laplace noise, as in encode-shuffle-analyze: mostly downwards, but not truncated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, HistogramMechanism, Question, Task
from flexdp.baselines.laws import NEGLIGIBLE, WholeBars, laplace_tail
from flexdp.guarantees import Privacy

__all__ = ["ShiftedLaplace", "shift"]


def shift(epsilon: float, delta: float) -> float:
    """Return the shift of the noise to the left: 1 + ln(1/(2δ))/ε."""
    return 1 - math.log(2 * delta) / epsilon


@dataclass(frozen=True, slots=True)
class ShiftedLaplace(HistogramMechanism):
    """Shifted Laplace: non-empty buckets get Laplace noise of scale 1/ε about −T, rounded and clamped at zero.

    Calibration: T = 1 + ln(1/(2δ))/ε, under add/remove neighbours. A bucket of one record is then reported with
    probability δ·e^{−ε/2} (the factor e^{−ε/2} is due to rounding) and an empty one never; between one record and more,
    ε alone suffices.
    """

    name: ClassVar[str] = "esa"
    citation: ClassVar[Citation] = Citation(
        "Úlfar Erlingsson, Vitaly Feldman, Ilya Mironov, Ananth Raghunathan, Shuang Song, Kunal Talwar, "
        "Abhradeep Thakurta",
        2020,
        "Encode, Shuffle, Analyze Privacy Revisited: Formalizations and Empirical Evaluation",
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta))

    def _histograms(self, task: Task) -> NDArray[Any]:
        filled = np.flatnonzero(task.counts)
        noise = task.rng.laplace(-shift(task.epsilon, task.delta), 1 / task.epsilon, (task.runs, len(filled)))
        out = np.zeros((task.runs, task.bars))
        out[:, filled] = np.maximum(0, np.rint(task.counts[filled] + noise))
        return out

    def _bar_law(self, asked: Question) -> WholeBars:
        """A bucket of x records reports more than h if the centred noise exceeds h + 1/2 − x + T."""
        moved, scale = shift(asked.epsilon, asked.delta), 1 / asked.epsilon
        return WholeBars(
            exceeds=lambda x, h: laplace_tail(h - x + (0.5 + moved), scale),
            at_most=lambda x, h: laplace_tail(x - h - (0.5 + moved), scale),
            low=math.floor(-moved - NEGLIGIBLE * scale),
            high=math.ceil(-moved + NEGLIGIBLE * scale),
        )
