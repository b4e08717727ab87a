"""The exponential mechanism: the probability of a bucket falls with its distance from the true answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, ComparedMechanism, Question, Task
from flexdp.baselines.stability import answers
from flexdp.guarantees import Privacy
from flexdp.simulation import Generator

__all__ = ["Exponential", "TightExponential", "law"]

_CITATION = Citation("Frank McSherry, Kunal Talwar", 2007, "Mechanism Design via Differential Privacy")


def law(place: float, bars: int, epsilon: float, sensitivity: int | None = None) -> NDArray[np.float64]:
    """Return Pr[y] ∝ e^{−ε|place − y|/(2Δ)} on the buckets 0, …, B − 1, with Δ = B unless given."""
    weights = np.exp(-epsilon * np.abs(np.arange(bars) - place) / (2 * (bars if sensitivity is None else sensitivity)))
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class _OnTheAnswer(ComparedMechanism, ABC):
    """Both calibrations; ``_sensitivity`` is what tells them apart."""

    citation: ClassVar[Citation] = _CITATION

    @abstractmethod
    def _sensitivity(self, bars: int) -> int:
        """Return Δ for so many buckets."""

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        SMALL_DELTA.check(delta)
        return Privacy(epsilon=EPSILON.check(epsilon), delta=0)

    def _answers(self, task: Task) -> NDArray[np.float64]:
        # Drawing f(x) uniformly and then from its distribution is one draw from the mixture.
        running = np.cumsum(self._law(task))
        drawn = np.searchsorted(running[:-1], task.rng.random(task.runs), side="right")
        return drawn.astype(np.float64)

    def around(
        self, answer: float, bars: int, runs: int, rng: Generator, *, epsilon: Number, delta: Number
    ) -> NDArray[np.float64]:
        """Return runs for a statistic with values from 0 to B − 1, given its exact value."""
        running = np.cumsum(
            law(answer, bars, float(self.claim(epsilon=epsilon, delta=delta).epsilon), self._sensitivity(bars))
        )
        return np.searchsorted(running[:-1], rng.random(runs), side="right").astype(np.float64)

    def _law(self, asked: Question) -> NDArray[np.float64]:
        places, sensitivity = answers(asked.counts, asked.level, asked.ties), self._sensitivity(asked.bars)
        total = sum(law(int(place), asked.bars, asked.epsilon, sensitivity) for place in places)
        return np.asarray(total / len(places))


@dataclass(frozen=True, slots=True)
class Exponential(_OnTheAnswer):
    """Exponential mechanism with utility −|f(x) − y|.

    Calibration: sensitivity B, the number of buckets, as in the paper: one record can move max, max_k and mode from end
    to end. That is a distance of B − 1, by which ``em_tight`` is calibrated. The exponent is ε/(2B) times the utility.
    Pure: δ is not used. With random ties, f(x) is drawn first; any two of the resulting distributions are within ε of
    each other, so the claim holds.
    """

    name: ClassVar[str] = "em"

    def _sensitivity(self, bars: int) -> int:
        return bars


@dataclass(frozen=True, slots=True)
class TightExponential(_OnTheAnswer):
    """Exponential mechanism as ``em``, calibrated by the exact sensitivity of max, max_k and mode, B − 1.

    With a single bucket there is nothing to choose.
    """

    name: ClassVar[str] = "em_tight"

    def _sensitivity(self, bars: int) -> int:
        return max(1, bars - 1)
