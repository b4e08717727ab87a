"""flexdp's own mechanism: each non-empty bucket loses a few records, drawn from a certified integer table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, HistogramMechanism, Question, Task
from flexdp.baselines.laws import WholeBars
from flexdp.guarantees import Privacy
from flexdp.noise.drop import DropNoise

__all__ = ["Dropping"]


@dataclass(frozen=True, slots=True)
class Dropping(HistogramMechanism):
    """Discrete dropping: a bucket of x records reports max(0, x − J), J on {0, …, q − 1} from ``DropNoise``.

    Calibration: q is the smallest reach for (ε, δ), of either parity; it never depends on the data. The claim is the
    table's own δ, which is at most the one requested.
    """

    name: ClassVar[str] = "dropping"
    citation: ClassVar[Citation] = Citation(
        "Damien Desfontaines, James Voss, Bryant Gipson, Chinmoy Mandayam",
        2022,
        "Differentially private partition selection; its optimal rule, here read as noise that drops records",
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        noise = _noise(EPSILON.check(epsilon), SMALL_DELTA.check(delta))
        return Privacy(epsilon=noise.epsilon, delta=noise.delta_real)

    def _histograms(self, task: Task) -> NDArray[Any]:
        noise = _noise(task.budget.epsilon, task.budget.delta)
        filled = np.flatnonzero(task.counts)
        drops = noise._draw(task.runs * len(filled), task.rng.bytes).reshape(task.runs, len(filled))
        out = np.zeros((task.runs, task.bars), dtype=np.int64)
        out[:, filled] = np.maximum(0, task.counts[filled] - drops)
        return out

    def _bar_law(self, asked: Question) -> WholeBars:
        """A bucket of x records reports more than h if fewer than x − h are dropped."""
        fewer, as_many = _running(asked.budget.epsilon, asked.budget.delta)
        q = len(fewer) - 1
        return WholeBars(
            exceeds=lambda x, h: fewer[np.clip(x - h, 0, q)],
            at_most=lambda x, h: as_many[np.clip(x - h, 0, q)],
            low=1 - q,
            high=0,
        )


@lru_cache(maxsize=64)
def _running(epsilon: Fraction, delta: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Pr[J < k] and Pr[J ≥ k] for k = 0, …, q, each rounded once, so that 0 and 1 are exact."""
    noise = _noise(epsilon, delta)
    whole, sums = 1 << noise.bits, list(accumulate(noise.weights, initial=0))
    return np.array([total / whole for total in sums]), np.array([(whole - total) / whole for total in sums])


@lru_cache(maxsize=64)
def _noise(epsilon: Fraction, delta: Fraction) -> DropNoise:
    return DropNoise(epsilon, delta)
