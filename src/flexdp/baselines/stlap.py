"""The paper's continuous noise: shifted, truncated Laplace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, HistogramMechanism, Question, Task
from flexdp.baselines.laws import WholeBars
from flexdp.guarantees import Privacy
from flexdp.noise.continuous import truncated_laplace_quantile

__all__ = ["ShiftedTruncatedLaplace", "reach", "tail"]


def reach(epsilon: float, delta: float) -> float:
    """Return the real q for which the noise lies in (−1, 0] with probability δ: (2/ε)·ln(1 + (e^ε − 1)/(2δ))."""
    if epsilon > 500:  # e^ε could overflow; the 1 is negligible
        return 2 / epsilon * (epsilon - math.log(2 * delta))
    return 2 / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta))


def tail(z: NDArray[np.floating[Any]], epsilon: float, q: float) -> NDArray[np.float64]:
    """Return Pr[noise > z]: exactly 1 up to −q and exactly 0 from 0 on."""
    away = np.minimum(np.abs(z + q / 2), q / 2)
    half = 0.5 * np.exp(-epsilon * away) * np.expm1(epsilon * (away - q / 2)) / np.expm1(-epsilon * q / 2)
    return np.asarray(np.where(z >= -q / 2, half, 1 - half))


@dataclass(frozen=True, slots=True)
class ShiftedTruncatedLaplace(HistogramMechanism):
    """Shifted, truncated Laplace: density ∝ e^{−ε|z + q/2|} on [−q, 0], added and rounded to the nearest integer.

    Calibration: a real q with δ = (e^ε − 1)/(2(e^{εq/2} − 1)), the paper's formula, but public and fixed in advance:
    with the data-dependent q = τ|x| the claim would be false (docs/errata.md). Empty buckets stay empty.
    """

    name: ClassVar[str] = "stlap"
    citation: ClassVar[Citation] = Citation(
        "Aman Bansal, Rahul Chunduru, Deepesh Data, Manoj Prabhakaran",
        2022,
        "Flexible Accuracy for Differential Privacy, the paper that this library implements",
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta))

    def _histograms(self, task: Task) -> NDArray[Any]:
        q = reach(task.epsilon, task.delta)
        filled = np.flatnonzero(task.counts)
        noise = truncated_laplace_quantile(task.rng.random((task.runs, len(filled))), reach=q, epsilon=task.epsilon)
        out = np.zeros((task.runs, task.bars))
        out[:, filled] = np.maximum(0, np.rint(task.counts[filled] + noise))
        return out

    def _bar_law(self, asked: Question) -> WholeBars:
        """A bucket of x records reports more than h if the noise exceeds h + 1/2 − x."""
        epsilon, q = asked.epsilon, reach(asked.epsilon, asked.delta)
        return WholeBars(
            exceeds=lambda x, h: tail(h - x + 0.5, epsilon, q),
            at_most=lambda x, h: tail(x - h - 0.5 - q, epsilon, q),  # the noise is symmetric about −q/2
            low=-math.ceil(q + 0.5),
            high=0,
        )
