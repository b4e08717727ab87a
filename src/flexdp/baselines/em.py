"""The exponential mechanism: the probability of a bucket falls with its distance from the true answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, ComparedMechanism, Question, Task
from flexdp.baselines.stability import answers
from flexdp.guarantees import Privacy

__all__ = ["Exponential", "law"]


def law(place: int, bars: int, epsilon: float) -> NDArray[np.float64]:
    """Return Pr[y] ∝ e^{−ε|place − y|/(2B)} on the buckets 0, …, B − 1."""
    weights = np.exp(-epsilon * np.abs(np.arange(bars) - place) / (2 * bars))
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Exponential(ComparedMechanism):
    """Exponential mechanism with utility −|f(x) − y|.

    Calibration: sensitivity B, the number of buckets, since one record can move max, max_k and mode from end to end.
    The exponent is ε/(2B) times the utility. Pure: δ is not used. With random ties, f(x) is drawn first; any two of the
    resulting distributions are within ε of each other, so the claim holds.
    """

    name: ClassVar[str] = "em"
    citation: ClassVar[Citation] = Citation(
        "Frank McSherry, Kunal Talwar", 2007, "Mechanism Design via Differential Privacy"
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        SMALL_DELTA.check(delta)
        return Privacy(epsilon=EPSILON.check(epsilon), delta=0)

    def _answers(self, task: Task) -> NDArray[np.float64]:
        # Drawing f(x) uniformly and then from its distribution is one draw from the mixture.
        running = np.cumsum(self._law(task))
        drawn = np.searchsorted(running[:-1], task.rng.random(task.runs), side="right")
        return drawn.astype(np.float64)

    def _law(self, asked: Question) -> NDArray[np.float64]:
        places = answers(asked.counts, asked.level, asked.ties)
        total = sum(law(int(place), asked.bars, asked.epsilon) for place in places)
        return np.asarray(total / len(places))
